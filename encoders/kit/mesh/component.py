"""Connected parts of a mesh: triangles that hang together by their vertices.

The rule: a part is numbered by its first triangle, so the numbers depend on the mesh alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.intp]


def label_components(triangles: npt.NDArray[np.integer], vertex_count: int) -> Numbers:
    """Give the number of each triangle's connected part, in order of their first triangles."""
    roots = _roots(triangles.astype(np.intp), vertex_count)[triangles[:, 0]]
    _, first, inverse = np.unique(roots, return_index=True, return_inverse=True)
    place = np.empty_like(first)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse]


def _roots(triangles: Numbers, vertex_count: int) -> Numbers:
    """Give each vertex the lowest vertex that it hangs together with.

    Every round hooks the roots of neighbours onto the lower one and then shortens all ways, so
    that there are few rounds however long a chain of triangles is.
    """
    root = np.arange(vertex_count)
    one, two = triangles[:, [0, 1]].reshape(-1), triangles[:, [1, 2]].reshape(-1)
    while True:
        low, high = np.minimum(root[one], root[two]), np.maximum(root[one], root[two])
        apart = low != high
        if not apart.any():
            return root
        one, two = one[apart], two[apart]
        np.minimum.at(root, high[apart], low[apart])
        while not np.array_equal(shorter := root[root], root):
            root = shorter
