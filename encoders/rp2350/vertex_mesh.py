"""Decode a mesh source to one vertex list for all attributes, and triangles that index it.

Corners share a vertex if they use the same rows of all attributes; equal values in different rows
are not merged, nor are vertices of different OBJ sections or glTF primitives. Missing attributes
become zeros, with a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.back_side import add_backs
from encoders.kit.mesh.base_uv import base_uv, move_by_tiles
from encoders.kit.mesh.import_mesh import import_mesh
from encoders.kit.mesh.mesh import Attribute, Mesh, weld
from encoders.kit.mesh.normal import Shading, shade_mesh
from encoders.kit.mesh.triangle import Indices, has_distinct_corners
from encoders.kit.mesh.weld import prune_vertices
from encoders.kit.plan import Inputs, Params
from encoders.kit.source.model import open_model
from encoders.kit.warning import grouped
from encoders.rp2350.patch_data import UV_HIGH, UV_LOW

Floats = npt.NDArray[np.float32]

NO_NORMALS = "(0, 0, 0) is stored and light leaves them black; `generate_normals = true` makes some"
NO_UVS = "(0, 0) is stored"


@dataclass(frozen=True, eq=False)
class VertexMesh:
    """Vertices with all their attributes, in order of first use, and triangles."""

    position: Floats
    normal: Floats
    uv: Floats
    triangles: Indices
    warnings: tuple[str, ...] = ()


def decode_mesh(inputs: Inputs, params: Params) -> VertexMesh:
    """Decode a model of any format."""
    source = str(params["source"])
    model = open_model(inputs, source, with_materials=False)
    warnings = list(model.warnings)
    # Patches hold no skinning, so nothing keeps a skinned mesh where its joints are.
    mesh = replace(model.mesh, joints=None, weights=None)
    mesh = import_mesh(mesh, params, source, warnings.append)
    shading = cast(Shading, params.get("shading", "auto"))
    if params["generate_normals"] or shading != "auto":
        mesh = shade_mesh(mesh, shading)
    mesh = add_backs(mesh, params.get("double_sided"))
    warnings += _missing(mesh.normal, "normal", NO_NORMALS)
    flips_v = bool(params["flip_v"])
    mesh = _with_stored_uv(mesh, flips_v)
    warnings += _missing(mesh.uv[0] if mesh.uv else None, "UV", NO_UVS)
    welded = weld(mesh, across_parts=False)
    # Degenerate triangles draw nothing, but would take strip entries.
    drawn = has_distinct_corners(welded.indices)
    if not drawn.any():
        raise EncodeError("no triangle has three different corners", {"file": source})
    if not drawn.all():
        count = int(np.count_nonzero(~drawn))
        warnings.append(
            grouped("degenerate", f"triangles with two equal corners were dropped ({count})")
        )
    used, triangles = prune_vertices(welded.indices[drawn], len(welded.corners))
    corners = welded.corners[used]
    uv = _values(mesh.uv[0] if mesh.uv else None, corners, 2)
    if flips_v:
        # In float32, like all arithmetic of the firmware's tools.
        uv[:, 1] = np.float32(1) - uv[:, 1]
    position, normal = mesh.position.at(corners), _values(mesh.normal, corners, 3)
    return VertexMesh(position, normal, uv, triangles, tuple(warnings))


def _with_stored_uv(mesh: Mesh, flips_v: bool) -> Mesh:
    """Keep only the UVs of the base colour textures, moved to where the format holds them."""
    uv = base_uv(mesh)
    if uv is None:
        return replace(mesh, uv=())
    low, high = np.full(2, UV_LOW), np.full(2, UV_HIGH)
    if flips_v:  # v becomes 1 - v later
        low[1], high[1] = 1 - high[1], 1 - low[1]
    return replace(mesh, uv=(move_by_tiles(uv, mesh, low, high),))


def _missing(attribute: Attribute[np.float32] | None, name: str, meaning: str) -> list[str]:
    """Return a warning about corners without a value."""
    if attribute is None:
        return [grouped("missing", f"no corner has a {name}; {meaning}")]
    count = int(np.count_nonzero(attribute.corner < 0))
    return (
        [grouped("missing", f"some corners have no {name} ({count}); {meaning}")] if count else []
    )


def _values(
    attribute: Attribute[np.float32] | None, corners: npt.NDArray[np.intp], width: int
) -> Floats:
    if attribute is None:
        return np.zeros((len(corners), width), np.float32)
    return attribute.at(corners)
