"""The connected parts of an object, and what may be missing of them in a level.

The rule: what is said of a part comes from the whole, uncut object, so that the tiles on both sides
of a border decide alike whether a part that lies across it goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from encoders.kit.component import label_components
from encoders.kit.quadric import Float64, cross, unit
from encoders.kit.weld import weld_vertices
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


def describe_parts(
    shapes: Sequence[tuple[Floats, npt.NDArray[np.int32]]],
    planes: Sequence[tuple[int, float]],
    side: float,
) -> list[Floats]:
    """Return the columns `part` of all shapes of one object, given positions and triangles.

    `planes` are the borders that may cut it, axis and coordinate; `side` is the longer side of a
    tile. The largest part stands for the object and has its size, so that of a tree the crown goes
    last.
    """
    position = np.concatenate([points for points, _ in shapes])
    starts = np.cumsum([0, *(len(points) for points, _ in shapes)])
    triangles = np.concatenate(
        [one + start for (_, one), start in zip(shapes, starts[:-1].tolist(), strict=True)]
    )
    place = weld_vertices([position]).number
    label = label_components(place[triangles], int(place.max()) + 1)
    corners = position.astype(np.float64)[triangles]
    low, high = _bounds(corners, label)
    size, main = _sizes(corners, label, high - low)
    crosses = np.zeros(len(low), np.bool_)
    for axis, value in planes:
        crosses |= (low[:, axis] < value) & (high[:, axis] > value)
    table = np.zeros((len(low), WIDTHS["part"]), np.float32)
    table[:, NUMBER], table[:, SIZE] = np.arange(len(low)), size
    # Where a part of an object is not one tile's to leave out, neither is the largest part.
    table[:, HELD] = crosses
    table[main, HELD] = crosses.any()
    shares = _vanishing_shares(size, np.bincount(label), side)
    # With the largest part all others go, so that no chimney is left without its house.
    table[:, VANISHES] = np.maximum(shares * table[:, HELD], shares[main] * table[main, HELD])
    owner = np.zeros(len(position), np.intp)
    owner[triangles] = label[:, None]
    return np.split(table[owner], starts[1:-1])


def _bounds(corners: Float64, label: Numbers) -> tuple[Float64, Float64]:
    """Return the least and the greatest coordinates of each part."""
    low = np.full((int(label.max()) + 1, 3), np.inf)
    high = -low
    np.minimum.at(low, label, corners.min(axis=1))
    np.maximum.at(high, label, corners.max(axis=1))
    return low, high


def _sizes(corners: Float64, label: Numbers, reach: Float64) -> tuple[Float64, int]:
    """Return the size of each part, and which of them is the largest."""
    area = np.zeros(len(reach))
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 2, 0)
    np.add.at(area, label, 0.5 * unit(cross(edges[:, :, 0], edges[:, :, 1]))[1])
    size = _size(reach, area)
    main = int(np.argmax(size))
    whole = corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))
    object_size = _size(whole[None], area.sum(keepdims=True))[0]
    size[size >= MAIN * size[main]] = object_size
    return size, main


def _vanishing_shares(size: Float64, count: Numbers, side: float) -> Float64:
    """Return the share of a level below which each part goes, were it held; 0 is never."""
    loss = CROSSING_LOSS * LOSS * side / size
    shares = np.minimum(loss * loss, LEAST_TRIANGLES / count)
    found: Float64 = np.where(size <= CROSSING_LOSS * MOST_LOST * side, shares, 0.0)
    return found


def _size(reach: Float64, area: Float64) -> Float64:
    """Return how far something is seen: as it reaches, or less where it is thin."""
    size: Float64 = np.minimum(reach.max(axis=1), np.sqrt(area))
    return size
