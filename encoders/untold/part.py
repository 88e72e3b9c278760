"""The connected parts of an object, and what may be missing of them in a level.

The rule: what is said of a part comes from the whole, uncut object, so that the tiles on both sides
of a border decide alike whether a part that lies across it goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.vector import Float64, cross, unit
from encoders.kit.mesh.weld import weld_vertices
from encoders.untold.piece import HELD, NUMBER, SIZE, VANISHES, WIDTHS, Floats

# What a level may lose is at most this part of a tile's side over the root of the share it keeps,
# as the area that a triangle has to stand for grows; and never more than that part of the side.
LOSS, MOST_LOST = 0.16, 0.5
# A part across a border goes whether its tiles are above their shares or not, so it is a smaller
# one, this part of what may be lost, and one that would have fewer triangles than could show it.
CROSSING_LOSS, LEAST_TRIANGLES = 0.5, 16

# A part that is as large as this part of the largest stands for the object as well.
MAIN = 0.8

Numbers = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]


def largest_loss(share: float, side: float) -> float:
    """Return how large a part may be, in metres, that is missing where a share is kept."""
    return side * min(LOSS / math.sqrt(share), MOST_LOST)


@dataclass(frozen=True, eq=False)
class Shape:
    """Triangles of an object; the shapes of one object, one for each material, name one `owner`."""

    owner: int
    position: Floats
    triangles: npt.NDArray[np.int32]


def describe_parts(
    shapes: Sequence[Shape], planes: Sequence[Sequence[tuple[int, float]]], side: float
) -> list[Floats]:
    """Return the columns `part` of each shape.

    `planes` are the borders that may cut each object, axis and coordinate; `side` is the longer
    side of a tile. An object's largest part stands for it and has its size, so that of a tree the
    crown goes last.
    """
    position = np.concatenate([shape.position for shape in shapes])
    starts = np.cumsum([0, *(len(shape.position) for shape in shapes)])
    triangles = np.concatenate(
        [one.triangles + start for one, start in zip(shapes, starts[:-1].tolist(), strict=True)]
    )
    owner = np.repeat(np.array([shape.owner for shape in shapes], np.int32), np.diff(starts))
    place = weld_vertices([position, owner]).number
    label = label_components(place[triangles], int(place.max()) + 1)
    parts = _Parts(position.astype(np.float64)[triangles], label, owner[triangles[:, 0]])
    table = parts.table(planes, side)
    number = np.zeros(len(position), np.intp)
    number[triangles] = label[:, None]
    return np.split(table[number], starts[1:-1])


class _Parts:
    """All parts of all objects: where they are, how large they are, and whose."""

    def __init__(self, corners: Float64, label: Numbers, owner: npt.NDArray[np.int32]) -> None:
        order = np.argsort(label, kind="stable")
        starts = np.searchsorted(label[order], np.arange(int(label.max()) + 1))
        self.owner = owner[order[starts]]
        self.count = np.bincount(label)
        self.low = np.minimum.reduceat(corners.min(axis=1)[order], starts)
        self.high = np.maximum.reduceat(corners.max(axis=1)[order], starts)
        edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 2, 0)
        areas = 0.5 * unit(cross(edges[:, :, 0], edges[:, :, 1]))[1]
        self.area: Float64 = np.bincount(label, areas).astype(np.float64)
        self.size = _size(self.high - self.low, self.area)
        self._group()

    def _group(self) -> None:
        """Find the largest parts of each object, and give them the object's size."""
        by_owner = np.argsort(self.owner, kind="stable")
        # Objects are numbered without a gap, and each has a part.
        first = np.searchsorted(self.owner[by_owner], np.arange(int(self.owner.max()) + 1))
        self.number = np.empty(len(by_owner), np.intp)
        self.number[by_owner] = np.arange(len(by_owner)) - first[self.owner[by_owner]]
        self.main = np.lexsort((-self.size, self.owner))[first]
        reach = np.maximum.reduceat(self.high[by_owner], first)
        reach -= np.minimum.reduceat(self.low[by_owner], first)
        whole = _size(reach, np.bincount(self.owner, self.area).astype(np.float64))
        self.is_main = self.size >= MAIN * self.size[self.main[self.owner]]
        self.size = np.where(self.is_main, whole[self.owner], self.size)

    def table(self, planes: Sequence[Sequence[tuple[int, float]]], side: float) -> Floats:
        """Return a row of `part` for each part."""
        crosses = self._crosses(planes)
        # Where a part of an object is not one tile's to leave out, neither are the largest parts.
        held = crosses | (self.is_main & (np.bincount(self.owner, crosses) > 0)[self.owner])
        shares = np.where(held, _vanishing_shares(self.size, self.count, side), 0.0)
        table = np.empty((len(self.size), WIDTHS["part"]), np.float32)
        table[:, NUMBER], table[:, SIZE], table[:, HELD] = self.number, self.size, held
        # With the largest part all others go, so that no chimney is left without its house.
        table[:, VANISHES] = np.maximum(shares, shares[self.main[self.owner]])
        return table

    def _crosses(self, planes: Sequence[Sequence[tuple[int, float]]]) -> Flags:
        """Tell which parts lie on both sides of a plane of their object."""
        found = np.zeros(len(self.size), np.bool_)
        for owner, borders in enumerate(planes):
            if not borders:
                continue
            rows = np.flatnonzero(self.owner == owner)
            for axis, value in borders:
                found[rows] |= (self.low[rows, axis] < value) & (self.high[rows, axis] > value)
        return found


def _vanishing_shares(size: Float64, count: Numbers, side: float) -> Float64:
    """Return the share of a level below which each part goes, were it held; 0 is never."""
    loss = CROSSING_LOSS * LOSS * side / size
    shares = np.minimum(np.minimum(loss * loss, LEAST_TRIANGLES / count), 1.0)
    found: Float64 = np.where(size <= CROSSING_LOSS * MOST_LOST * side, shares, 0.0)
    return found


def _size(reach: Float64, area: Float64) -> Float64:
    """Return how far something is seen: as it reaches, or less where it is thin."""
    size: Float64 = np.minimum(reach.max(axis=1), np.sqrt(area))
    return size
