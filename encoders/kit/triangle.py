"""Indexed triangles: the one form in which meshes pass between the geometry modules.

Positions are (vertices, 3), attributes (vertices, anything), indices (triangles, 3). Whatever
takes indices takes them through `checked_triangles`, so that no loop ever leaves its arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError

Indices = NDArray[np.int32]

# Kernels number the six states of a triangle in 32 bits.
MAX_TRIANGLES = (2**31 - 1) // 6


def checked_triangles(indices: NDArray[np.integer], vertex_count: int) -> Indices:
    """Return the indices as contiguous int32 triples that all name an existing vertex."""
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
    """Tell, for each triangle, whether its three vertices differ, so that it can draw something."""
    distinct: NDArray[np.bool_] = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    return distinct
