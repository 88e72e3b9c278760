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
from encoders.untold.piece import CROSSES, NUMBER, SIZE, TRIANGLES, WIDTHS, Floats

# What a level may lose is at most this part of a tile's side over the root of the share it keeps,
# as the area that a triangle has to stand for grows; and never more than that part of the side.
LOSS, MOST_LOST = 0.16, 0.5
# A part across a border goes whether its tiles are above their shares or not, so it is a smaller
# one: this part of what may be lost.
CROSSING_LOSS = 0.5
# The triangles of the simplest body there is.
LEAST_TRIANGLES = 16

Numbers = npt.NDArray[np.intp]
Planes = Sequence[tuple[int, float]]


def largest_loss(share: float, side: float) -> float:
    """Return how large a part may be, in metres, that is missing where a share is kept."""
    return side * min(LOSS / math.sqrt(share), MOST_LOST)


def goes_across(part: Floats, share: float, side: float) -> npt.NDArray[np.bool_]:
    """Tell which vertices are of parts across a border that a level has to do without.

    Those are small ones that have too few triangles to be made simpler.
    """
    is_small = part[:, SIZE] <= np.float32(CROSSING_LOSS * largest_loss(share, side))
    is_plain = part[:, TRIANGLES] * np.float32(share) < LEAST_TRIANGLES
    found: npt.NDArray[np.bool_] = (part[:, CROSSES] > 0) & is_small & is_plain
    return found


def describe_parts(
    shapes: Sequence[tuple[Floats, npt.NDArray[np.int32]]], planes: Planes
) -> list[Floats]:
    """Return the columns `part` of all shapes of one object, given positions and triangles.

    `planes` are the borders that may cut it: axis and coordinate. The largest part stands for the
    object and has its size, so that of a tree the crown is what goes last.
    """
    position = np.concatenate([points for points, _ in shapes])
    starts = np.cumsum([0, *(len(points) for points, _ in shapes)])
    triangles = np.concatenate(
        [one + start for (_, one), start in zip(shapes, starts[:-1].tolist(), strict=True)]
    )
    place = weld_vertices([position]).number
    label = label_components(place[triangles], int(place.max()) + 1)
    table = _table(position.astype(np.float64)[triangles], label, planes)
    owner = np.zeros(len(position), np.intp)
    owner[triangles] = label[:, None]
    return np.split(table[owner], starts[1:-1])


def _table(corners: Float64, label: Numbers, planes: Planes) -> Floats:
    """Return a row for each part."""
    count = int(label.max()) + 1
    low = np.full((count, 3), np.inf)
    high = -low
    np.minimum.at(low, label, corners.min(axis=1))
    np.maximum.at(high, label, corners.max(axis=1))
    area = np.zeros(count)
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 2, 0)
    np.add.at(area, label, 0.5 * unit(cross(edges[:, :, 0], edges[:, :, 1]))[1])
    size = _size(high - low, area)
    reach = high.max(axis=0, keepdims=True) - low.min(axis=0, keepdims=True)
    size[np.argmax(size)] = _size(reach, area.sum(keepdims=True))[0]
    crosses = np.zeros(count, np.bool_)
    for axis, value in planes:
        crosses |= (low[:, axis] < value) & (high[:, axis] > value)
    table = np.zeros((count, WIDTHS["part"]), np.float32)
    table[:, NUMBER], table[:, SIZE] = np.arange(count), size
    table[:, TRIANGLES], table[:, CROSSES] = np.bincount(label), crosses
    return table


def _size(reach: Float64, area: Float64) -> Float64:
    """Return how far something is seen: as it reaches, or less where it is thin."""
    size: Float64 = np.minimum(reach.max(axis=1), np.sqrt(area))
    return size
