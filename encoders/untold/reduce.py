"""Fewer triangles for a level: gently first, then across seams, then without small parts.

The rule: each pass starts from the triangles of the pass before and only takes away, and what lies
on a tile's border stays, so that tiles of different levels meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.kit.component import label_components
from encoders.kit.quadric import Float64, cross, dot, unit
from encoders.kit.simplify import Surface, simplify
from encoders.kit.weld import weld_vertices
from encoders.untold.piece import Piece, Triangles

# Parts are dropped until a tile is as near to its share as this.
NEAR_ENOUGH = 1.1
# A part that reaches further than so many times the allowed error is missed where it is gone.
PART_ERRORS = 1.5
# Directions that differ by less fit a face equally well.
SAME_FIT = 1e-3

Numbers = npt.NDArray[np.intp]


def reduce_pieces(pieces: Sequence[Piece], share: float, drops: bool) -> list[Piece]:
    """Bring the pieces of a tile to a share of their triangles, or as near as they can come."""
    if share >= 1.0:
        return list(pieces)
    counts = [len(piece.triangles) for piece in pieces]
    targets = [max(1, math.ceil(count * share)) for count in counts]
    found = [_reduced(piece, target) for piece, target in zip(pieces, targets, strict=True)]
    if drops:
        found = _without_parts(found, math.ceil(sum(counts) * share))
    return [piece for piece in found if len(piece.triangles)]


def _reduced(piece: Piece, target: int) -> Piece:
    """Simplify a mesh within an error that fits what is left, across seams where it has to be."""
    if len(piece.triangles) <= target:
        return piece
    error = _allowed_error(piece.position, target)
    surface = Surface(piece.position, piece.triangles, piece.normal, piece.uv)
    found = simplify(surface, target, piece.is_border, error).indices
    # What is smaller than the error vanishes; a mesh that would be gone stays as it is.
    if len(found):
        piece = replace(piece, triangles=found)
    return _across_seams(piece, target, error) if len(piece.triangles) > target else piece


def _allowed_error(points: npt.NDArray[np.float32], target: int) -> float:
    """Return the diameter of what is drawn over the root of the triangles wanted."""
    flat = points.reshape(-1, 3)
    size = (flat.max(axis=0) - flat.min(axis=0)).astype(np.float64)
    return math.sqrt(math.fsum((size * size).tolist())) / math.sqrt(target)


def _across_seams(piece: Piece, target: int, error: float) -> Piece:
    """Simplify the bare shape, then give each corner the vertex at its place that fits best."""
    weld = weld_vertices([piece.position])
    locked = np.zeros(len(weld.first), np.bool_)
    locked[weld.number[piece.is_border]] = True
    shape = Surface(piece.position[weld.first], weld.number[piece.triangles])
    found = simplify(shape, target, locked, error).indices
    if not 0 < len(found) < len(piece.triangles):
        return piece
    return replace(piece, triangles=_dressed(piece, weld.number, found))


def _dressed(piece: Piece, place: npt.NDArray[np.int32], triangles: Triangles) -> Triangles:
    """Choose a vertex for each corner: by the face's direction, then near the first in UV."""
    used = np.unique(piece.triangles)
    used = used[np.argsort(place[used], kind="stable")]
    points = np.empty((3, len(place)))
    points[:, place] = piece.position.T
    corners = points[:, triangles]
    edges = corners[:, :, 1:] - corners[:, :, :1]
    facing = unit(cross(edges[:, :, 0], edges[:, :, 1]))[0]
    first = _fitting(piece, used, place, triangles[:, 0], facing, None)
    near = piece.uv[first]
    others = [_fitting(piece, used, place, triangles[:, n], facing, near) for n in (1, 2)]
    return np.stack([first, *others], axis=1).astype(np.int32)


def _fitting(
    piece: Piece,
    used: npt.NDArray[np.int32],
    place: npt.NDArray[np.int32],
    wanted: npt.NDArray[np.int32],
    facing: Float64,
    near: npt.NDArray[np.float32] | None,
) -> npt.NDArray[np.int32]:
    """Return, for each wanted place, the used vertex there that fits the face best."""
    start = np.searchsorted(place[used], wanted, "left")
    count = np.searchsorted(place[used], wanted, "right") - start
    row = np.repeat(np.arange(len(wanted)), count)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    vertex = used[start[row] + offset]
    turned = 1.0 - dot(piece.normal[vertex].T.astype(np.float64), facing[:, row])
    shift = np.zeros((2, len(row)))
    if near is not None:
        shift[:] = (piece.uv[vertex].astype(np.float64) - near[row]).T
    far = shift[0] * shift[0] + shift[1] * shift[1]
    order = np.lexsort((vertex, far, np.floor(turned / SAME_FIT + 0.5), row))
    best: npt.NDArray[np.int32] = vertex[order[np.cumsum(count) - count]]
    return best


def _without_parts(pieces: list[Piece], target: int) -> list[Piece]:
    """Drop whole parts of a tile, the smallest first, until it is near its share."""
    if sum(len(piece.triangles) for piece in pieces) <= NEAR_ENOUGH * target:
        return pieces
    part = _parts(pieces)
    area = np.zeros(int(part.max()) + 1)
    np.add.at(area, part, np.concatenate([_areas(piece) for piece in pieces]))
    stays = _widths(pieces, part) > PART_ERRORS * _allowed_error(_corners(pieces), target)
    stays[part[np.concatenate([_is_fixed(piece) for piece in pieces])]] = True
    stays[np.argmax(area)] = True
    gone = _dropped(area, np.bincount(part), stays, target)[part]
    ends = np.cumsum([len(piece.triangles) for piece in pieces])[:-1]
    return [
        replace(piece, triangles=piece.triangles[~lost])
        for piece, lost in zip(pieces, np.split(gone, ends), strict=True)
    ]


def _dropped(
    area: Float64, count: Numbers, stays: npt.NDArray[np.bool_], target: int
) -> npt.NDArray[np.bool_]:
    """Mark the parts that go; one that would leave the share further away stays."""
    gone = np.zeros(len(area), np.bool_)
    left = int(count.sum())
    for part in np.argsort(area, kind="stable").tolist():
        if left <= NEAR_ENOUGH * target:
            break
        after = left - int(count[part])
        if not stays[part] and abs(after - target) < left - target:
            gone[part] = True
            left = after
    return gone


def _parts(pieces: Sequence[Piece]) -> Numbers:
    """Return the number of each triangle's connected part, over all materials of a tile."""
    place = weld_vertices([np.concatenate([piece.position for piece in pieces])]).number
    starts = np.cumsum([0, *(len(piece.position) for piece in pieces)])
    triangles = [
        place[piece.triangles + start] for piece, start in zip(pieces, starts[:-1], strict=True)
    ]
    return label_components(np.concatenate(triangles), int(place.max()) + 1)


def _corners(pieces: Sequence[Piece]) -> npt.NDArray[np.float32]:
    """Return the corners of all triangles: triangle, corner, axis."""
    return np.concatenate([piece.position[piece.triangles] for piece in pieces])


def _widths(pieces: Sequence[Piece], part: Numbers) -> Float64:
    """Return how far each part reaches along the axis where it reaches furthest."""
    corners = _corners(pieces).astype(np.float64)
    low = np.full((int(part.max()) + 1, 3), np.inf)
    high = -low
    np.minimum.at(low, part, corners.min(axis=1))
    np.maximum.at(high, part, corners.max(axis=1))
    widths: Float64 = (high - low).max(axis=1)
    return widths


def _areas(piece: Piece) -> Float64:
    """Return the area of each triangle."""
    corners = piece.position.T.astype(np.float64)[:, piece.triangles]
    edges = corners[:, :, 1:] - corners[:, :, :1]
    return 0.5 * unit(cross(edges[:, :, 0], edges[:, :, 1]))[1]


def _is_fixed(piece: Piece) -> npt.NDArray[np.bool_]:
    """Tell which triangles keep their part: those at a border, and objects with a name."""
    if piece.object:
        return np.ones(len(piece.triangles), np.bool_)
    one, two, three = piece.is_border[piece.triangles].T
    at_border: npt.NDArray[np.bool_] = one | two | three
    return at_border
