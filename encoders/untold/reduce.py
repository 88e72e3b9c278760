"""Fewer triangles for a level: edges collapse and small parts go, always the least visible first.

The rule: no level has more triangles than the one before; and what lies on a tile's border stays,
or goes on both of its sides, so that tiles meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.simplify import Simplified, Surface, simplify, simplify_shape
from encoders.kit.mesh.vector import cross, unit
from encoders.kit.mesh.weld import prune_vertices
from encoders.untold.dress import dress
from encoders.untold.part import largest_loss
from encoders.untold.piece import (
    HELD,
    NUMBER,
    SIZE,
    VANISHES,
    WIDTHS,
    Cut,
    Floats,
    Piece,
    Triangles,
)

# A part that is missing is as bad as a surface that is wrong by this part of its size.
LOSS_ERRORS = 1.0 / 6.0
# A part is as large as so many times what it may be wrong by: it is there as it is, or not at all.
SIZE_ERRORS = 4.0
# How much of an error is for collapsing edges with what is drawn on them; the rest is for shapes.
GENTLE = 0.25
# No greater error is worth it to come nearer to a share than this.
NEAR_ENOUGH, SPARE_TRIANGLES = 1.05, 2
# Errors are allowed in so many steps, each twice the one before.
STEPS = 6

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Wanted:
    """What a level is to be: how many triangles, and how wrong it may be, in metres.

    `sides` are the axes on the ground, each with the length of a tile along it.
    """

    triangles: int
    error: float
    sides: Sequence[tuple[int, float]]

    def is_met(self, cut: Cut) -> bool:
        """Tell whether a tile is at its share: parts go whole, so it may be off by half of one."""
        return cut.triangle_count <= NEAR_ENOUGH * self.triangles + SPARE_TRIANGLES


def reduce_cut(cut: Cut, before: Cut, share: float, tile_size: Sequence[float]) -> Cut:
    """Bring a tile to a share of its triangles, or as near as the error allowed lets it come.

    It is never above the level `before`, whose triangles are taken where they are fewer. The longer
    side of a tile is what the distance goes by from which a level is seen.
    """
    across, _, along = tile_size
    side = max(across, along)
    error = LOSS_ERRORS * largest_loss(share, side)
    wanted = Wanted(math.ceil(cut.whole * share), error, ((0, across), (2, along)))
    found = _reduced(_without_held(cut, share), wanted)
    if before.pieces:
        before = _without_held(before, share)
        if before.triangle_count < found.triangle_count:
            return before
    return found


def _reduced(cut: Cut, wanted: Wanted) -> Cut:
    """Find the least error, of some that double, that brings a tile to its share."""
    found = _collapsed(cut, wanted, 1.0)
    if wanted.is_met(found) and not _is_worse_than_loss(found):
        return found
    low, high = 0, STEPS - 1
    found = _at_error(cut, wanted, high)
    while low < high and wanted.is_met(found):
        middle = (low + high) // 2
        closer = _at_error(cut, wanted, middle)
        if wanted.is_met(closer):
            found, high = closer, middle
        else:
            low = middle + 1
    return found


def _at_error(cut: Cut, wanted: Wanted, step: int) -> Cut:
    """Do all that an error allows: collapse edges, then leave out whole parts."""
    now = replace(wanted, error=wanted.error / 2.0 ** (STEPS - 1 - step))
    return _without_small(_reshaped(_collapsed(cut, now, GENTLE), now, 1.0 - GENTLE), now)


def _is_worse_than_loss(cut: Cut) -> bool:
    """Tell whether collapsing made errors where small parts could have gone instead."""
    size = cut.error / LOSS_ERRORS
    return any(bool((_may_go(piece) & (piece.part[:, SIZE] <= size)).any()) for piece in cut.pieces)


def _may_go(piece: Piece) -> Flags:
    """Tell which vertices are of parts that this tile alone decides on; a named object stays."""
    found: Flags = (piece.part[:, HELD] == 0) & (not piece.object)
    return found


def _collapsed(cut: Cut, wanted: Wanted, portion: float) -> Cut:
    """Collapse edges with what is drawn on them; a seam moves along itself alone."""
    if cut.triangle_count <= wanted.triangles:
        return cut
    errors = _errors(cut.pieces, wanted.error) * np.float32(portion)
    surface = _surface(cut.pieces, wanted)
    found = simplify(surface, wanted.triangles, _borders(cut.pieces), errors)
    pieces = [
        _pruned(piece, triangles)
        for piece, triangles in zip(cut.pieces, _split(cut.pieces, found.indices), strict=True)
    ]
    return _with(cut, pieces, found.error)


def _pruned(piece: Piece, triangles: Triangles) -> Piece:
    """Leave out the vertices that no triangle uses any more."""
    used, corners = prune_vertices(triangles, len(piece.position))
    columns = {name: getattr(piece, name)[used] for name in WIDTHS if len(getattr(piece, name))}
    return replace(piece, **columns, is_border=piece.is_border[used], triangles=corners)


def _reshaped(cut: Cut, wanted: Wanted, portion: float) -> Cut:
    """Collapse edges of the bare shape, and draw on what is left what was on it before."""
    if cut.triangle_count <= wanted.triangles:
        return cut
    errors = _errors(cut.pieces, wanted.error) * np.float32(portion)
    surface = _surface(cut.pieces, wanted)
    found = simplify_shape(surface, wanted.triangles, _borders(cut.pieces), errors)
    return _with(cut, _dressed(cut.pieces, found), found.error)


def _dressed(pieces: Sequence[Piece], found: Simplified) -> list[Piece]:
    points = np.concatenate([piece.position for piece in pieces])[found.indices]
    ends = np.cumsum([0, *(len(piece.triangles) for piece in pieces)])
    bounds = np.searchsorted(found.kept, ends)
    return [
        dress(piece, piece.triangles[found.kept[low:high] - start], points[low:high])
        for piece, start, low, high in zip(pieces, ends, bounds[:-1], bounds[1:], strict=False)
    ]


def _with(cut: Cut, pieces: Sequence[Piece], error: float) -> Cut:
    left = tuple(piece for piece in pieces if len(piece.triangles))
    return replace(cut, pieces=left, error=cut.error + error)


def _surface(pieces: Sequence[Piece], wanted: Wanted) -> Surface:
    """Put all pieces of a tile together, so that nothing opens between two materials."""
    starts = np.cumsum([0, *(len(piece.position) for piece in pieces)]).tolist()
    position = np.concatenate([piece.position for piece in pieces])
    part = np.concatenate([piece.part[:, NUMBER] for piece in pieces]).astype(np.int32)
    return Surface(
        position,
        np.concatenate([one.triangles + at for one, at in zip(pieces, starts, strict=False)]),
        np.concatenate([piece.normal for piece in pieces]),
        np.concatenate([_even_uv(piece) for piece in pieces]),
        part,
        _is_in_plane(position, wanted.sides),
    )


def _is_in_plane(position: Floats, sides: Sequence[tuple[int, float]]) -> Flags:
    """Tell which vertices lie exactly between two tiles, where another object may begin."""
    found = np.zeros(len(position), np.bool_)
    for axis, side in sides:
        column = position[:, axis]
        found |= column == (np.rint(column.astype(np.float64) / side) * side).astype(np.float32)
    return found


def _even_uv(piece: Piece) -> Floats:
    """Scale coordinates so that a texture is as large as what it is drawn on, in all pieces."""
    flat = np.zeros((len(piece.uv), 3))
    flat[:, :2] = piece.uv
    drawn = math.fsum(_areas(flat, piece.triangles))
    scale = math.sqrt(math.fsum(_areas(piece.position, piece.triangles)) / drawn) if drawn else 0.0
    return (piece.uv * scale).astype(np.float32)


def _areas(points: npt.NDArray[np.floating], triangles: Triangles) -> npt.NDArray[np.float64]:
    corners = points.T.astype(np.float64)[:, triangles]
    edges = corners[:, :, 1:] - corners[:, :, :1]
    return 0.5 * unit(cross(edges[:, :, 0], edges[:, :, 1]))[1]


def _borders(pieces: Sequence[Piece]) -> Flags:
    return np.concatenate([piece.is_border for piece in pieces])


def _errors(pieces: Sequence[Piece], error: float) -> Floats:
    """Return what each vertex may be wrong by: less than would cripple the part it is of."""
    sizes = np.concatenate([piece.part[:, SIZE] for piece in pieces])
    return np.minimum(sizes / np.float32(SIZE_ERRORS), np.float32(error))


def _split(pieces: Sequence[Piece], indices: Triangles) -> list[Triangles]:
    """Give each piece its triangles back."""
    starts = np.cumsum([0, *(len(piece.position) for piece in pieces)])
    owner = np.searchsorted(starts, indices[:, 0], "right") - 1
    return [indices[owner == n] - np.int32(start) for n, start in enumerate(starts[:-1].tolist())]


def _without_held(cut: Cut, share: float) -> Cut:
    """Leave out small parts across borders, which the tiles beyond leave out as well."""
    gone = [
        (piece.part[piece.triangles[:, 0], VANISHES] > share) & (not piece.object)
        for piece in cut.pieces
    ]
    # A tile without anything is no tile.
    if all(bool(one.all()) for one in gone):
        return cut
    return _without(cut, gone)


def _without_small(cut: Cut, wanted: Wanted) -> Cut:
    """Leave out whole parts, the smallest first, until the tile is at its share."""
    target = wanted.triangles
    part = np.concatenate([piece.part[piece.triangles[:, 0]] for piece in cut.pieces])
    may_go = np.concatenate([_may_go(piece)[piece.triangles[:, 0]] for piece in cut.pieces])
    _, first, owner, count = np.unique(
        part[:, NUMBER], return_index=True, return_inverse=True, return_counts=True
    )
    sizes = part[first, SIZE]
    is_small = may_go[first] & (sizes <= wanted.error / LOSS_ERRORS)
    is_small[np.argmax(sizes)] = False
    gone = np.zeros(len(first), np.bool_)
    left = len(part)
    for number in np.argsort(sizes, kind="stable").tolist():
        after = left - int(count[number])
        # One that would leave the share further away stays.
        if is_small[number] and left > target and abs(after - target) < left - target:
            gone[number] = True
            left = after
    ends = np.cumsum([len(piece.triangles) for piece in cut.pieces])[:-1]
    return _without(cut, np.split(gone[owner], ends))


def _without(cut: Cut, gone: Sequence[Flags]) -> Cut:
    pieces = [
        replace(piece, triangles=piece.triangles[~lost])
        for piece, lost in zip(cut.pieces, gone, strict=True)
    ]
    return _with(cut, pieces, 0.0)
