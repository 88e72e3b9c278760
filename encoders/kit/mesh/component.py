"""Connected components of a mesh: triangles that are connected through shared vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.intp]


def label_components(triangles: npt.NDArray[np.integer], vertex_count: int) -> Numbers:
    """Return the component of each triangle; components are numbered by their first triangle."""
    roots = _roots(triangles.astype(np.intp), vertex_count)[triangles[:, 0]]
    _, first, inverse = np.unique(roots, return_index=True, return_inverse=True)
    number = np.empty_like(first)
    # unique sorts by root; numbers follow the first triangle instead.
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse]


def _roots(triangles: Numbers, vertex_count: int) -> Numbers:
    """Return for each vertex the lowest vertex of its component.

    Every round links the roots of neighbours to the lower one and then compresses all paths, so
    that the number of rounds stays small even for long chains of triangles.
    """
    root = np.arange(vertex_count)
    one, two = triangles[:, [0, 1]].reshape(-1), triangles[:, [1, 2]].reshape(-1)
    while True:
        low, high = np.minimum(root[one], root[two]), np.maximum(root[one], root[two])
        apart = low != high
        if not apart.any():
            return root
        one, two = one[apart], two[apart]
        # `at` because several edges may lower the same root in one round.
        np.minimum.at(root, high[apart], low[apart])
        while not np.array_equal(shorter := root[root], root):
            root = shorter
