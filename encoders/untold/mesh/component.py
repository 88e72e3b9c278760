"""Connected components of an object, and from which level on each of them may be dropped.

A component is described from the whole, uncut object, so that the tiles on both sides of a border
decide alike about a component that crosses it.
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
from encoders.untold.mesh.tile_mesh import (
    ATTRIBUTE_WIDTHS,
    DROP_SHARE,
    GROUP,
    IS_MULTI_TILE,
    NUMBER,
    SIZE,
    THICKNESS,
    Floats,
)

# A level is seen from about a tile's side, and from further away the less it keeps: the area that
# one triangle has to show grows as the share falls. It may drop components up to DROP_RATIO of the
# side over the root of its share, and never more than MAX_DROP_RATIO of the side: with tiles of
# 25 m a tree of more than 4 m stays at every level.
DROP_RATIO, MAX_DROP_RATIO = 0.05, 0.16
# A component across a border is dropped whether its tiles are above their shares or not. It must
# therefore be smaller, by this ratio, and too coarse to show with the triangles it would keep.
MULTI_TILE_RATIO, MIN_TRIANGLES = 0.5, 16

# What is longer than so many times its thickness looks shorter than it is: from where its length
# would decide, the thickness is about a pixel of a screen with 1080 lines.
SLENDER = 50.0

# So many triangles are looked at together where all would take too much memory.
CHUNK = 1 << 16

# Components of at least this part of the largest one's size stand for the object as well, and so
# do those that reach beyond it by this part of the object's extent: a trunk below its crown.
MAIN_RATIO, BEYOND_RATIO = 0.8, 0.25
# What the largest component stands on carries it, if that lifts it by this part of the extent;
# both touch if their bounds are no further apart.
STAND_RATIO = 0.02
# What reaches beyond the largest component by some length is missed like a part so many times as
# large that does not.
BEYOND_TO_SIZE = 3.0

# The axis that points up.
UP = 1

Numbers = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
# The planes that may cut an object, as axis and coordinate.
Planes = Sequence[tuple[int, float]]


def largest_dropped_size(share: float, side: float) -> float:
    """Return the size in metres up to which a level of a share may drop components."""
    return side * min(DROP_RATIO / math.sqrt(share), MAX_DROP_RATIO)


@dataclass(frozen=True, eq=False)
class ObjectTriangles:
    """Triangles of one material; those of one object have the same `owner`."""

    owner: int
    position: Floats
    triangles: npt.NDArray[np.int32]


def describe_components(
    parts: Sequence[ObjectTriangles], planes: Sequence[Planes], side: float
) -> list[Floats]:
    """Return the column `component` of a TileMesh for each of the parts.

    `planes` are the tile borders within each object; `side` is the longer side of a tile. What
    stands for an object gets its whole size: the crown of a tree and its trunk are dropped last,
    and together.
    """
    position = np.concatenate([part.position for part in parts])
    starts = np.cumsum([0, *(len(part.position) for part in parts)])
    triangles = np.concatenate(
        [one.triangles + start for one, start in zip(parts, starts[:-1].tolist(), strict=True)]
    )
    owner = np.repeat(np.array([part.owner for part in parts], np.int32), np.diff(starts))
    # Connected by position: seams of texture coordinates and materials do not separate.
    place = weld_vertices([position, owner]).number
    label = label_components(place[triangles], int(place.max()) + 1)
    components = _Components(position[triangles], label, owner[triangles[:, 0]])
    table = components.table(planes, side)
    number = np.zeros(len(position), np.intp)
    number[triangles] = label[:, None]
    return np.split(table[number], starts[1:-1])


class _Components:
    """All components of all objects: bounds, size, triangle count and owner of each."""

    def __init__(self, corners: Floats, label: Numbers, owner: npt.NDArray[np.int32]) -> None:
        order = np.argsort(label, kind="stable")
        starts = np.searchsorted(label[order], np.arange(int(label.max()) + 1))
        self.owner = owner[order[starts]]
        self.count = np.bincount(label)
        low = np.minimum.reduceat(corners.min(axis=1)[order], starts)
        high = np.maximum.reduceat(corners.max(axis=1)[order], starts)
        self.low, self.high = low.astype(np.float64), high.astype(np.float64)
        self.area: Float64 = np.bincount(label, _areas(corners)).astype(np.float64)
        extent = self.high - self.low
        self.size = _visible_size(extent, self.area)
        self.thickness = _thickness(extent.max(axis=1), self.area)
        self._find_main()

    def _find_main(self) -> None:
        """Give components numbers within their objects, and the main ones the object's size."""
        by_owner = np.argsort(self.owner, kind="stable")
        # Objects are numbered without gaps and each has a component, so no range is empty.
        first = np.searchsorted(self.owner[by_owner], np.arange(int(self.owner.max()) + 1))
        self.number = np.empty(len(by_owner), np.intp)
        self.number[by_owner] = np.arange(len(by_owner)) - first[self.owner[by_owner]]
        self.main = np.lexsort((-self.size, self.owner))[first]
        low = np.minimum.reduceat(self.low[by_owner], first)
        extent, floor = np.maximum.reduceat(self.high[by_owner], first) - low, low[:, UP]
        whole = _visible_size(extent, np.bincount(self.owner, self.area).astype(np.float64))
        beyond = self._beyond(self.main[self.owner])
        longest = extent.max(axis=1)[self.owner]
        self.is_main = (
            (self.size >= MAIN_RATIO * self.size[self.main[self.owner]])
            | (beyond >= BEYOND_RATIO * longest)
            | self._carries(self.main[self.owner], floor[self.owner], longest)
        )
        apart = np.minimum(np.maximum(self.size, BEYOND_TO_SIZE * beyond), whole[self.owner])
        self.size = np.where(self.is_main, whole[self.owner], apart)

    def _carries(self, main: Numbers, floor: Float64, longest: Float64) -> Flags:
        """Tell which components the largest of their object stands on: a trunk, a table's legs."""
        bottom, spare = self.low[main, UP], STAND_RATIO * longest
        touches = (self.low <= self.high[main] + spare[:, None]) & (
            self.high >= self.low[main] - spare[:, None]
        )
        is_below = self.low[:, UP] <= (bottom + floor) / 2
        found: Flags = is_below & touches.all(axis=1) & (bottom - floor > spare)
        return found

    def _beyond(self, main: Numbers) -> Float64:
        """Return how far each component reaches beyond the bounds of the largest of its object."""
        reach = np.maximum(self.low[main] - self.low, self.high - self.high[main]).max(axis=1)
        found: Float64 = np.clip(reach, 0.0, (self.high - self.low).max(axis=1))
        return found

    def table(self, planes: Sequence[Planes], side: float) -> Floats:
        """Return a row of the column `component` for each component."""
        crosses = self._crosses(planes)
        # A tile that dropped the main components alone would leave those across a border behind,
        # so where one component concerns several tiles the main ones do as well.
        is_multi_tile = crosses | (
            self.is_main & (np.bincount(self.owner, crosses) > 0)[self.owner]
        )
        shares = np.where(is_multi_tile, _drop_shares(self.size, self.count, side), 0.0)
        table = np.empty((len(self.size), ATTRIBUTE_WIDTHS["component"]), np.float32)
        table[:, NUMBER], table[:, SIZE] = self.number, self.size
        table[:, IS_MULTI_TILE] = is_multi_tile
        table[:, THICKNESS] = self.thickness
        # What stands for an object is dropped together.
        main = self.number[self.main[self.owner]]
        table[:, GROUP] = np.where(self.is_main, main, self.number)
        # All other components go with the largest one: no chimney is left without its house.
        table[:, DROP_SHARE] = np.maximum(shares, shares[self.main[self.owner]])
        return table

    def _crosses(self, planes: Sequence[Planes]) -> Flags:
        """Tell which components lie on both sides of one of their object's planes."""
        found = np.zeros(len(self.size), np.bool_)
        for owner, borders in enumerate(planes):
            if not borders:
                continue
            rows = np.flatnonzero(self.owner == owner)
            for axis, value in borders:
                found[rows] |= (self.low[rows, axis] < value) & (self.high[rows, axis] > value)
        return found


def _areas(corners: Floats) -> Float64:
    """Return the area of each triangle, in chunks because float64 corners take much memory."""
    found = np.empty(len(corners))
    for start in range(0, len(corners), CHUNK):
        exact = corners[start : start + CHUNK].astype(np.float64)
        edges = np.moveaxis(exact[:, 1:] - exact[:, :1], 2, 0)
        found[start : start + CHUNK] = 0.5 * unit(cross(edges[:, :, 0], edges[:, :, 1]))[1]
    return found


def _drop_shares(size: Float64, count: Numbers, side: float) -> Float64:
    """Return the share below which each component is dropped if it crosses a border; 0 is never."""
    ratio = MULTI_TILE_RATIO * DROP_RATIO * side / size
    # `largest_dropped_size` solved for the share, at the smaller ratio.
    shares = np.minimum(np.minimum(ratio * ratio, MIN_TRIANGLES / count), 1.0)
    found: Float64 = np.where(size <= MULTI_TILE_RATIO * MAX_DROP_RATIO * side, shares, 0.0)
    return found


def _visible_size(extent: Float64, area: Float64) -> Float64:
    """Return how large something looks: its longest extent, or less where it is too thin to see."""
    longest = extent.max(axis=1)
    size: Float64 = np.minimum(longest, SLENDER * _thickness(longest, area))
    return size


def _thickness(longest: Float64, area: Float64) -> Float64:
    """Return about the diameter of a tube, and a third of the width of a strip."""
    found: Float64 = np.divide(area, 3.0 * longest, out=np.zeros_like(longest), where=longest > 0.0)
    return found
