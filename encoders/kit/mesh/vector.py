"""Products and lengths of many vectors at once, as arrays with the axis first: (3, n).

Each step is one rounded float64 operation in a fixed order, so that every machine gets the same
bits; numpy's `dot` goes through BLAS, which may reorder and fuse operations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


def cross(a: Float64, b: Float64) -> Float64:
    """Return the cross products."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for axis in range(3):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        product[axis] = a[first] * b[second] - a[second] * b[first]
    return product


def dot(a: Float64, b: Float64) -> Float64:
    """Return the dot products, summed from left to right."""
    product: Float64 = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return product


def unit(vectors: Float64) -> tuple[Float64, Float64]:
    """Return the vectors scaled to unit length, zero vectors unchanged, and their lengths."""
    length = np.sqrt(dot(vectors, vectors))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    return vectors * scale, length
