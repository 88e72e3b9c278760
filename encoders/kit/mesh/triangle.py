"""Indexed triangles, as the geometry modules take them, and their edges.

Positions are (vertices, 3), attributes (vertices, ...), indices (triangles, 3). Every function that
takes indices checks them by `checked_triangles`, so that a wrong one is an error of the file that
names the vertex, and not one of the native kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError

Indices = NDArray[np.int32]

# The native kernels number six states per triangle in 32 bits.
MAX_TRIANGLES = (2**31 - 1) // 6


def checked_triangles(indices: NDArray[np.integer], vertex_count: int) -> Indices:
    """Return the indices as contiguous int32 triples, or refuse one without a vertex."""
    if indices.size % 3 or (indices.ndim == 2 and indices.shape[1] != 3):
        raise EncodeError("indices are not triangles", {"shape": indices.shape})
    triangles = indices.reshape(-1, 3)
    if len(triangles) > MAX_TRIANGLES:
        raise EncodeError("too many triangles", {"found": len(triangles), "allowed": MAX_TRIANGLES})
    if triangles.size and not 0 <= int(triangles.min()) <= int(triangles.max()) < vertex_count:
        wrong = triangles[(triangles < 0) | (triangles >= vertex_count)]
        raise EncodeError(
            "a triangle names a vertex that does not exist",
            {"found": int(wrong[0]), "allowed": f"0 to {vertex_count - 1}"},
        )
    return np.ascontiguousarray(triangles, dtype=np.int32)


def has_distinct_corners(triangles: Indices) -> NDArray[np.bool_]:
    """Tell for each triangle whether its three vertices differ."""
    one, two, three = triangles.T
    distinct: NDArray[np.bool_] = (one != two) & (two != three) & (three != one)
    return distinct


def paired_edges(ends: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of opposite edges (start, end) that share their ends with no third edge."""
    low, high = np.minimum(ends[:, 0], ends[:, 1]), np.maximum(ends[:, 0], ends[:, 1])
    # One number for an edge in either direction.
    key = low.astype(np.int64) * (int(high.max(initial=0)) + 1) + high
    order = np.argsort(key, kind="stable")
    # Padded on both sides, so that the first and last key have neighbours.
    is_same = np.zeros(len(key) + 2, np.bool_)
    is_same[1:-2] = key[order[1:]] == key[order[:-1]]
    # A pair is two equal keys in sorted order, with no equal key before or after them.
    is_first = is_same[1:-1] & ~is_same[:-2] & ~is_same[2:]
    one, other = order[is_first], order[np.flatnonzero(is_first) + 1]
    # Two edges in the same direction are no pair: the triangles face different ways.
    is_pair = ends[one, 0] == ends[other, 1]
    return one[is_pair], other[is_pair]


def join_along_edges(
    one: NDArray[np.int64], other: NDArray[np.int64], triangles: int
) -> NDArray[np.int64]:
    """Return for each corner the first corner that pairs of opposite edges join it with."""
    # Opposite edges: the start of one is the end of the other.
    after_one, after_other = (edge // 3 * 3 + (edge + 1) % 3 for edge in (one, other))
    here, near = np.concatenate([one, after_one]), np.concatenate([after_other, other])
    return join_pairs(here, near, 3 * triangles)


def join_pairs(here: NDArray[np.int64], near: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return for each of `count` things the first that pairs of neighbours join it with."""
    group = np.arange(count)
    # Label propagation with path compression, until neighbours agree.
    while True:
        low = np.minimum(group[here], group[near])
        if np.array_equal(group[here], low) and np.array_equal(group[near], low):
            return group
        np.minimum.at(group, group[here], low)
        np.minimum.at(group, group[near], low)
        while not np.array_equal(group, group[group]):
            group = group[group]


def edges_of(triangles: Indices) -> NDArray[np.int32]:
    """Return the edges (start, end) of all triangles, three for each."""
    return np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
