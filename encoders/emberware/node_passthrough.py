"""The nodes of data files and of files already in the console's format: check and copy."""

from __future__ import annotations

import numpy as np

from encoders.emberware.format.clip import unpack_clip
from encoders.emberware.format.mesh import MESH_HEADER, VERTEX_LIMIT, unpack_mesh
from encoders.emberware.format.skeleton import unpack_skeleton
from encoders.emberware.format.vertex import unpack_vertices
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped


def encode_data(inputs: Inputs, _params: Params) -> Outputs:
    """Copy a data file."""
    return {"file": inputs["data"]}


def encode_loose_clip(inputs: Inputs, params: Params) -> Outputs:
    """Check and copy a clip."""
    unpack_clip(inputs["data"], str(params["source"]))
    return {"file": inputs["data"]}


def encode_loose_skeleton(inputs: Inputs, params: Params) -> Outputs:
    """Check and copy a skeleton."""
    unpack_skeleton(inputs["data"], str(params["source"]))
    return {"file": inputs["data"]}


def encode_loose_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Check and copy a mesh; add indices where it has none, or a ROM would draw nothing of it."""
    data = inputs["data"]
    mesh = unpack_mesh(data, str(params["source"]))
    count = mesh["vertex_count"]
    # Decoded for its checks: w has to be 1.
    unpack_vertices(mesh["vertex_data"], mesh["format"], count, str(params["source"]))
    if mesh["index_count"]:
        return {"file": data}
    # Without indices, every three vertices are a triangle.
    if count % 3 or count > VERTEX_LIMIT:
        facts = {"file": params["source"], "vertices": count}
        raise EncodeError("mesh has no indices, and its vertices are no whole triangles", facts)
    header = {"vertex_count": count, "index_count": count, "format": mesh["format"]}
    indices = np.arange(count, dtype="<u2").tobytes()
    indexed = MESH_HEADER.pack(header) + mesh["vertex_data"] + indices
    warning = grouped("missing", "the mesh had no indices; 0, 1, 2, ... were added")
    return {"file": indexed, WARNINGS: warning.encode()}
