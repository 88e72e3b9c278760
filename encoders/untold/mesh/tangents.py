"""Tangents of a mesh: the source's own, or computed by the rules of MikkTSpace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.tangent import TangentMesh, corner_tangents, split_by_tangent
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh


def with_tangents(mesh: TileMesh) -> TileMesh:
    """Return the mesh with a tangent at every vertex."""
    return split_with_tangents(mesh)[0]


def split_with_tangents(mesh: TileMesh) -> tuple[TileMesh, npt.NDArray[np.intp]]:
    """Return the mesh with a tangent at every vertex, and the old vertex of each new one."""
    same = np.arange(len(mesh.position))
    if len(mesh.tangent):
        return mesh, same
    # Without texture coordinates there is no direction to follow: any unit vector will do.
    if not mesh.uv.any():
        flat = np.tile(np.array([1, 0, 0, 1], np.float32), (len(mesh.position), 1))
        return replace(mesh, tangent=flat), same
    tangents = corner_tangents(TangentMesh(mesh.position, mesh.normal, mesh.uv, mesh.triangles))
    # A vertex on a seam of the tangents becomes several.
    old, tangent, triangles = split_by_tangent(mesh.triangles, tangents)
    columns = {
        name: getattr(mesh, name)[old]
        for name in ATTRIBUTE_WIDTHS
        if name != "tangent" and len(getattr(mesh, name))
    }
    border = mesh.is_border[old]
    split = replace(mesh, **columns, tangent=tangent, is_border=border, triangles=triangles)
    return split, np.asarray(old, np.intp)
