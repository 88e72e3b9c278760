"""A tree of boxes over a scene's triangles, so that the runtime transforms only what is in view.

Nodes are numbered breadth first. Splits minimise the surface-area cost over eight bins of centres
on each axis, in integers, so that all machines build the same tree.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from encoders.splashpack.v20.bounds import Ints, join_boxes
from encoders.splashpack.v20.format import BVH_NODE, BVH_REF, NONE, Bvh

LEAF_LIMIT = 64
# The runtime's stack has 32 entries, two for each level.
DEPTH_LIMIT = 16
_BINS = 8


@dataclass
class _Tree:
    """Rows of the tables as they are built."""

    bounds: list[Ints] = field(default_factory=list)
    children: list[tuple[int, int]] = field(default_factory=list)
    first_ref: list[int] = field(default_factory=list)
    ref_count: list[int] = field(default_factory=list)
    order: list[Ints] = field(default_factory=list)


def empty_bvh() -> Bvh:
    """Return the tree of a scene that has none."""
    nodes = {key: np.zeros((0, *one.type.shape), np.int64) for key, one in BVH_NODE.columns.items()}
    return Bvh(nodes, {key: np.zeros(0, np.int64) for key in BVH_REF.columns})


def build_bvh(boxes: Ints, owner: Ints, counts: Ints) -> Bvh:
    """Build a tree over all triangles, given their boxes, their objects and counts of these."""
    if not len(boxes):
        return empty_bvh()
    tree = _Tree()
    waiting = deque([(np.arange(len(boxes)), 0)])
    known, used = 1, 0
    while waiting:
        rows, depth = waiting.popleft()
        tree.bounds.append(join_boxes(boxes[rows]))
        is_leaf = len(rows) <= LEAF_LIMIT or depth == DEPTH_LIMIT
        tree.first_ref.append(used if is_leaf else 0)
        tree.ref_count.append(len(rows) if is_leaf else 0)
        if is_leaf:
            # Rows are sorted, so triangles of one object stay neighbours.
            tree.children.append((NONE, NONE))
            tree.order.append(rows)
            used += len(rows)
            continue
        waiting.extend((part, depth + 1) for part in _split(boxes, rows))
        tree.children.append((known, known + 1))
        known += 2
    return _tables(tree, owner, counts)


def _tables(tree: _Tree, owner: Ints, counts: Ints) -> Bvh:
    order, children = np.concatenate(tree.order), np.array(tree.children)
    start = np.cumsum(counts) - counts
    nodes = {
        "bounds": np.array(tree.bounds),
        "left": children[:, 0],
        "right": children[:, 1],
        "first_ref": np.array(tree.first_ref),
        "ref_count": np.array(tree.ref_count),
    }
    return Bvh(nodes, {"object": owner[order], "triangle": order - start[owner[order]]})


def _split(boxes: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Split triangles in two at the cheapest border of bins, or in half where none separates."""
    # Twice the centres, which keeps them whole.
    centers = boxes[rows, :3] + boxes[rows, 3:]
    low, high = centers.min(axis=0), centers.max(axis=0)
    best: tuple[int, int, int] | None = None
    bins = (centers - low) * _BINS // (high - low + 1)
    for axis in range(3):
        for border in range(1, _BINS):
            cost = _cost(boxes[rows], bins[:, axis] < border)
            if cost is not None and (best is None or cost < best[0]):
                best = cost, axis, border
    if best is None:  # all centres are equal
        return rows[: len(rows) // 2], rows[len(rows) // 2 :]
    is_left = bins[:, best[1]] < best[2]
    return rows[is_left], rows[~is_left]


def _cost(boxes: Ints, is_left: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int | None:
    """Return the surface-area cost of a split; None where a side is empty."""
    count = int(is_left.sum())
    if count in (0, len(boxes)):
        return None
    sides = ((boxes[is_left], count), (boxes[~is_left], len(boxes) - count))
    return sum(_half_area(join_boxes(side)) * number for side, number in sides)


def _half_area(box: Ints) -> int:
    x, y, z = (box[3:] - box[:3]).tolist()
    return int(x * y + y * z + z * x)
