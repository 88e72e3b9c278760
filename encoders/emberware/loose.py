"""Files that another tool has already made, and data files: checked, and passed on as they are."""

from __future__ import annotations

import numpy as np

from encoders.emberware.clip import unpack_clip
from encoders.emberware.mesh import HEADER, unpack_mesh
from encoders.emberware.shape import VERTEX_LIMIT
from encoders.emberware.skeleton import unpack_skeleton
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params


def encode_data(inputs: Inputs, _params: Params) -> Outputs:
    """Pass a data file on."""
    return {"file": inputs["data"]}


def encode_loose_clip(inputs: Inputs, params: Params) -> Outputs:
    """Pass an animation on."""
    unpack_clip(inputs["data"], str(params["source"]))
    return {"file": inputs["data"]}


def encode_loose_skeleton(inputs: Inputs, params: Params) -> Outputs:
    """Pass a skeleton on."""
    unpack_skeleton(inputs["data"], str(params["source"]))
    return {"file": inputs["data"]}


def encode_loose_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Pass a mesh on; one without indices gets them, because a ROM would draw nothing of it."""
    data = inputs["data"]
    mesh = unpack_mesh(data, str(params["source"]))
    count = mesh["vertex_count"]
    if mesh["index_count"]:
        return {"file": data}
    if count % 3 or count > VERTEX_LIMIT:
        facts = {"file": params["source"], "vertices": count}
        raise EncodeError("mesh has no indices, and its vertices are no whole triangles", facts)
    header = {"vertex_count": count, "index_count": count, "format": mesh["format"]}
    indices = np.arange(count, dtype="<u2").tobytes()
    made = HEADER.pack(header) + mesh["vertex_data"] + indices
    return {"file": made, WARNINGS: b"the mesh had no indices; 0, 1, 2, ... were added"}
