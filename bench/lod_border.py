"""Edges between neighbouring tiles: those that are open in one tile and that the other one lacks.

Neighbours that have the same edges leave no gap between them. Tile z counts along -Z.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Mesh = tuple[NDArray[np.float32], NDArray[np.int32]]
# The tiles along x and z.
Place = tuple[int, int]


def unequal_edges(tiles: Mapping[Place, Mesh], side: float) -> tuple[int, int]:
    """Return how many open edges at borders the neighbour lacks, and how many there are."""
    lost = count = 0
    for (x, z), mesh in tiles.items():
        for axis, near, plane in (
            (0, (x + 1, z), side * (x + 1)),
            (2, (x, z + 1), -side * (z + 1)),
        ):
            if near not in tiles:
                continue
            here, there = (_plane_edges(one, axis, plane) for one in (mesh, tiles[near]))
            for edges, others in ((here, there), (there, here)):
                is_open = _counted(edges, edges) > _counted(edges, edges, is_reversed=True)
                either = _counted(edges, others) + _counted(edges, others, is_reversed=True)
                lost += int((is_open & (either == 0)).sum())
                count += int(is_open.sum())
    return lost, count


def _plane_edges(mesh: Mesh, axis: int, plane: float) -> NDArray[np.uint64]:
    """Return the edges that lie in a plane: two numbers of each end, which are its other axes."""
    points, triangles = mesh
    is_in = points[:, axis] == np.float32(plane)
    edges = np.concatenate([triangles[:, [one, (one + 1) % 3]] for one in range(3)])
    edges = edges[is_in[edges].all(axis=1)]
    # Without -0.0, whose bits differ from those of 0.0.
    bits = (points[:, [n for n in range(3) if n != axis]] + np.float32(0)).view(np.uint32)
    key = bits[:, 0].astype(np.uint64) << np.uint64(32) | bits[:, 1]
    return key[edges]


def _counted(
    edges: NDArray[np.uint64], among: NDArray[np.uint64], *, is_reversed: bool = False
) -> NDArray[np.int64]:
    """Return how often each edge is among some others."""
    wanted = edges[:, ::-1] if is_reversed else edges
    _, number = np.unique(np.concatenate([among, wanted]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    counts = np.bincount(number[: len(among)], minlength=len(number))
    return counts[number[len(among) :]]
