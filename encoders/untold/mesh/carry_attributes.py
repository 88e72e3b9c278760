"""Carry attributes over to triangles whose corners were moved across seams.

A triangle keeps its own texture: it is extended to the corner's new position as it lay on the
triangle before, so that no texture jumps. An existing vertex at that position is used if it fits.
In an atlas, coordinates are not extended beyond the image that the triangle shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.simplify.quadric import triangle_coordinates
from encoders.kit.mesh.vector import Float64, cross, dot, unit
from encoders.kit.mesh.weld import weld_vertices
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh, Triangles, weld_tile_mesh

# An existing vertex fits if its coordinates and its normal differ by no more than this.
UV_TOLERANCE, NORMAL_TOLERANCE = 1.0 / 512.0, 0.05
# A normal is replaced by the face's own if the cosine between them is less than this.
LEAST_COSINE = 0.2

Numbers = npt.NDArray[np.intp]
Columns = dict[str, Any]


def carry_attributes(
    mesh: TileMesh, triangles: Triangles, points: npt.NDArray[np.float32]
) -> TileMesh:
    """Return the mesh with only these of its triangles, and their corners at new points."""
    moved = (points != mesh.position[triangles]).any(axis=2)
    row, corner = np.nonzero(moved)
    if not len(row):
        return weld_tile_mesh(replace(mesh, triangles=triangles))
    made = _extended(mesh, triangles, points, row, corner)
    fitting = _find_fitting(mesh, made)
    result = triangles.copy()
    added = len(mesh.position) + np.arange(len(row), dtype=np.int32)
    # New vertices are appended even where an existing one fits; welding removes the unused.
    result[row, corner] = np.where(fitting >= 0, fitting, added)
    columns: Columns = {
        name: np.concatenate([getattr(mesh, name), one]) for name, one in made.items()
    }
    border = np.concatenate([mesh.is_border, np.zeros(len(row), np.bool_)])
    return weld_tile_mesh(replace(mesh, **columns, is_border=border, triangles=result))


def _extended(
    mesh: TileMesh,
    triangles: Triangles,
    points: npt.NDArray[np.float32],
    row: Numbers,
    corner: Numbers,
) -> Columns:
    """Return a new vertex for each moved corner: UVs extrapolated, normals turned with the face."""
    old = triangles[row, corner]
    made = {name: getattr(mesh, name)[old] for name in ATTRIBUTE_WIDTHS if len(getattr(mesh, name))}
    made["position"] = points[row, corner]
    before = mesh.position[triangles[row]].astype(np.float64)
    along, across = triangle_coordinates(before, made["position"].astype(np.float64))
    for name in ("uv", "uv1"):
        if name in made:
            value = getattr(mesh, name)[triangles[row]].astype(np.float64)
            start = value[:, 0]
            step = (value[:, 1] - start) * along[:, None] + (value[:, 2] - start) * across[:, None]
            # On a triangle too thin to extrapolate from, the corner keeps its coordinates.
            made[name] = np.where(np.isfinite(along)[:, None], start + step, made[name])
            low, high = _island_bounds(mesh, name)
            made[name] = np.clip(made[name], low[old], high[old]).astype(np.float32)
    after = points[row].astype(np.float64)
    made["normal"] = _turned(made["normal"].astype(np.float64), _facing(before), _facing(after))
    return made


def _island_bounds(mesh: TileMesh, name: str) -> tuple[Float64, Float64]:
    """Return for each vertex the bounds of its UV island, which is one image of an atlas.

    Along an axis where the island spans the whole texture, the texture repeats and has no bounds.
    """
    uv = getattr(mesh, name).astype(np.float64)
    place = weld_vertices([mesh.position, getattr(mesh, name)]).number
    label = np.zeros(len(uv), np.intp)
    label[mesh.triangles] = label_components(place[mesh.triangles], len(uv))[:, None]
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(int(label.max()) + 1))
    low = np.minimum.reduceat(uv[order], starts)
    high = np.maximum.reduceat(uv[order], starts)
    repeats = (low <= UV_TOLERANCE) & (high >= 1.0 - UV_TOLERANCE)
    return np.where(repeats, -np.inf, low)[label], np.where(repeats, np.inf, high)[label]


def _facing(corners: Float64) -> Float64:
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 2, 0)
    return unit(cross(edges[:, :, 0], edges[:, :, 1]))[0]


def _turned(normal: Float64, before: Float64, after: Float64) -> npt.NDArray[np.float32]:
    """Turn normals by as much as their faces turned."""
    # The change of the face's normal added to the vertex's: no rotation is needed for small turns.
    found = unit(normal.T + after - before)[0]
    is_away = dot(found, after) < LEAST_COSINE
    turned: npt.NDArray[np.float32] = np.where(is_away, after, found).T.astype(np.float32)
    return turned


def _find_fitting(mesh: TileMesh, made: Columns) -> npt.NDArray[np.int32]:
    """Return for each new vertex the best existing one at its position; -1 where none fits."""
    used = np.unique(mesh.triangles)
    count = len(made["position"])
    position = np.concatenate([mesh.position[used], made["position"]])
    component = np.concatenate([mesh.component[used], made["component"]])
    place = weld_vertices([position, component]).number
    order = np.argsort(place[: len(used)], kind="stable")
    existing, wanted = place[: len(used)][order], place[len(used) :]
    # A row for each pair of a new vertex and an existing one at the same place.
    start = np.searchsorted(existing, wanted, "left")
    many = np.searchsorted(existing, wanted, "right") - start
    row = np.repeat(np.arange(count), many)
    step = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    vertex = used[order[start[row] + step]]
    shift = np.abs(mesh.uv[vertex] - made["uv"][row]).max(axis=1)
    turn = np.abs(mesh.normal[vertex] - made["normal"][row]).max(axis=1)
    fits = np.flatnonzero((shift <= UV_TOLERANCE) & (turn <= NORMAL_TOLERANCE))
    best = fits[np.lexsort((vertex[fits], turn[fits] + shift[fits], row[fits]))]
    found = np.full(count, -1, np.int32)
    # Reversed, because the last assignment to a row wins and the best pair comes first.
    found[row[best][::-1]] = vertex[best][::-1]
    return found
