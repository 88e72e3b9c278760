"""What is drawn on triangles whose corners have moved across seams.

The rule: a triangle keeps its own texture. It is continued to where the corner is now as it lay
on the triangle before, so that no texture jumps; the vertex that is there is taken if it fits.
A texture that holds many pictures is continued no further than the picture goes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.quadric import THINNEST
from encoders.kit.mesh.vector import Float64, cross, dot, unit
from encoders.kit.mesh.weld import weld_vertices
from encoders.untold.piece import WIDTHS, Piece, Triangles, weld_piece

# A vertex fits where its coordinates and its normal differ by less than this.
UV_FIT, NORMAL_FIT = 1.0 / 512.0, 0.05
# A normal that leans further away from its face than this is replaced by the face's own.
LEAST_LEAN = 0.2

Numbers = npt.NDArray[np.intp]
Columns = dict[str, Any]


def dress(piece: Piece, triangles: Triangles, points: npt.NDArray[np.float32]) -> Piece:
    """Give a piece whose triangles, those given, have their corners at new points."""
    moved = (points != piece.position[triangles]).any(axis=2)
    row, corner = np.nonzero(moved)
    if not len(row):
        return weld_piece(replace(piece, triangles=triangles))
    made = _continued(piece, triangles, points, row, corner)
    fitting = _fitting(piece, made)
    dressed = triangles.copy()
    added = len(piece.position) + np.arange(len(row), dtype=np.int32)
    dressed[row, corner] = np.where(fitting >= 0, fitting, added)
    columns: Columns = {
        name: np.concatenate([getattr(piece, name), one]) for name, one in made.items()
    }
    border = np.concatenate([piece.is_border, np.zeros(len(row), np.bool_)])
    return weld_piece(replace(piece, **columns, is_border=border, triangles=dressed))


def _continued(
    piece: Piece,
    triangles: Triangles,
    points: npt.NDArray[np.float32],
    row: Numbers,
    corner: Numbers,
) -> Columns:
    """Return the vertices that moved corners would have: textures go on, normals turn along."""
    old = triangles[row, corner]
    made = {name: getattr(piece, name)[old] for name in WIDTHS if len(getattr(piece, name))}
    made["position"] = points[row, corner]
    before = piece.position[triangles[row]].astype(np.float64)
    along, across = _coordinates(before, made["position"].astype(np.float64))
    for name in ("uv", "uv1"):
        if name in made:
            value = getattr(piece, name)[triangles[row]].astype(np.float64)
            start = value[:, 0]
            way = (value[:, 1] - start) * along[:, None] + (value[:, 2] - start) * across[:, None]
            made[name] = np.where(np.isfinite(along)[:, None], start + way, made[name])
            low, high = _picture_bounds(piece, name)
            made[name] = np.clip(made[name], low[old], high[old]).astype(np.float32)
    after = points[row].astype(np.float64)
    made["normal"] = _turned(made["normal"].astype(np.float64), _facing(before), _facing(after))
    return made


def _picture_bounds(piece: Piece, name: str) -> tuple[Float64, Float64]:
    """Return for each vertex how far its picture goes: all triangles on which it goes on.

    Along an axis where it fills the texture, or goes beyond, the texture repeats and has no end.
    """
    uv = getattr(piece, name).astype(np.float64)
    place = weld_vertices([piece.position, getattr(piece, name)]).number
    label = np.zeros(len(uv), np.intp)
    label[piece.triangles] = label_components(place[piece.triangles], len(uv))[:, None]
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(int(label.max()) + 1))
    low = np.minimum.reduceat(uv[order], starts)
    high = np.maximum.reduceat(uv[order], starts)
    repeats = (low <= UV_FIT) & (high >= 1.0 - UV_FIT)
    return np.where(repeats, -np.inf, low)[label], np.where(repeats, np.inf, high)[label]


def _coordinates(corners: Float64, point: Float64) -> tuple[Float64, Float64]:
    """Return how far points lie along both edges of their triangles; NaN where those are thin."""
    first = (corners[:, 1] - corners[:, 0]).T
    second = (corners[:, 2] - corners[:, 0]).T
    way = (point - corners[:, 0]).T
    aa, bb, ab = dot(first, first), dot(second, second), dot(first, second)
    determinant = aa * bb - ab * ab
    is_wide = determinant > THINNEST * aa * bb
    inverse = np.divide(1.0, determinant, out=np.full(len(aa), np.nan), where=is_wide)
    wa, wb = dot(way, first), dot(way, second)
    return (wa * bb - wb * ab) * inverse, (wb * aa - wa * ab) * inverse


def _facing(corners: Float64) -> Float64:
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 2, 0)
    return unit(cross(edges[:, :, 0], edges[:, :, 1]))[0]


def _turned(normal: Float64, before: Float64, after: Float64) -> npt.NDArray[np.float32]:
    """Turn normals as their faces turned."""
    found = unit(normal.T + after - before)[0]
    is_away = dot(found, after) < LEAST_LEAN
    turned: npt.NDArray[np.float32] = np.where(is_away, after, found).T.astype(np.float32)
    return turned


def _fitting(piece: Piece, made: Columns) -> npt.NDArray[np.int32]:
    """Return for each new vertex the old one at its place that is as good; -1 where none is."""
    used = np.unique(piece.triangles)
    count = len(made["position"])
    position = np.concatenate([piece.position[used], made["position"]])
    part = np.concatenate([piece.part[used], made["part"]])
    place = weld_vertices([position, part]).number
    order = np.argsort(place[: len(used)], kind="stable")
    there, wanted = place[: len(used)][order], place[len(used) :]
    start = np.searchsorted(there, wanted, "left")
    many = np.searchsorted(there, wanted, "right") - start
    row = np.repeat(np.arange(count), many)
    step = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    vertex = used[order[start[row] + step]]
    shift = np.abs(piece.uv[vertex] - made["uv"][row]).max(axis=1)
    turn = np.abs(piece.normal[vertex] - made["normal"][row]).max(axis=1)
    fits = np.flatnonzero((shift <= UV_FIT) & (turn <= NORMAL_FIT))
    best = fits[np.lexsort((vertex[fits], turn[fits] + shift[fits], row[fits]))]
    found = np.full(count, -1, np.int32)
    found[row[best][::-1]] = vertex[best][::-1]
    return found
