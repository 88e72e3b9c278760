"""Quadrics: what it costs to move a vertex, as eleven sums over the planes around it.

The columns are xx, yy, zz, xy, xz, yz, x, y, z, 1 and weight: the symmetric matrix, the vector and
the constant of a squared distance, and the sum of the weights. Vectors have their axis first. The
one rule: sums run in the order of the triangles, in float64, so every machine gets the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.native.kernel import choose

Float64 = NDArray[np.float64]

SIZE = 11
# The square of the sine below which an angle says nothing about a gradient.
THINNEST = 1e-8


def cross(a: Float64, b: Float64) -> Float64:
    """Return the cross products, one rounding at a time."""
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
    """Return the vectors at length one (zero where they have none), and their lengths."""
    length = np.sqrt(dot(vectors, vectors))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    return vectors * scale, length


def plane_quadrics(direction: Float64, offset: Float64, weight: Float64) -> Float64:
    """Return weight * (direction . p + offset)^2 as columns."""
    x, y, z = direction
    columns = np.empty((SIZE, len(offset)))
    products = ((x, x), (y, y), (z, z), (x, y), (x, z), (y, z), (x, offset), (y, offset))
    for row, (a, b) in enumerate((*products, (z, offset), (offset, offset))):
        np.multiply(a, b, out=columns[row])
        columns[row] *= weight
    columns[SIZE - 1] = weight
    return columns


def face_quadrics(corners: Float64) -> Float64:
    """Return the quadric of each triangle's plane, weighted by its area."""
    normal, doubled = unit(cross(corners[1] - corners[0], corners[2] - corners[0]))
    return plane_quadrics(normal, -dot(normal, corners[0]), 0.5 * doubled)


def edge_quadrics(corners: Float64, edge: NDArray[np.int64]) -> Float64:
    """Return the quadric of the plane that stands on each triangle along one of its edges."""
    column = np.arange(corners.shape[2])
    start, end = corners[edge, :, column].T, corners[(edge + 1) % 3, :, column].T
    normal, _ = unit(cross(corners[1] - corners[0], corners[2] - corners[0]))
    upright, length = unit(cross(normal, end - start))
    return plane_quadrics(upright, -dot(upright, start), length * length)


def gradient_quadrics(corners: Float64, values: Float64) -> Float64:
    """Return how attributes vary over each triangle, weighted by its area.

    For each attribute there are its gradient and its value at the origin; then comes the sum of
    the quadrics of all attributes. A triangle too thin to tell counts for nothing.
    """
    first, second = corners[1] - corners[0], corners[2] - corners[0]
    aa, bb, ab = dot(first, first), dot(second, second), dot(first, second)
    determinant = aa * bb - ab * ab
    is_wide = determinant > THINNEST * aa * bb
    area = np.where(is_wide, 0.5 * np.sqrt(np.abs(determinant)), 0.0)
    inverse = np.divide(1.0, determinant, out=np.zeros_like(area), where=is_wide)
    count = values.shape[1]
    columns = np.zeros((4 * count + SIZE, len(area)))
    for n in range(count):
        start = values[0, n]
        rise, other = values[1, n] - start, values[2, n] - start
        along, across = (rise * bb - other * ab) * inverse, (other * aa - rise * ab) * inverse
        gradient = first * along + second * across
        offset = start - dot(gradient, corners[0])
        columns[4 * n : 4 * n + 3] = gradient * area
        columns[4 * n + 3] = offset * area
        columns[4 * count :] += plane_quadrics(gradient, offset, area)
    columns[-1] = area
    return columns


def add_columns(columns: Float64, owners: NDArray[np.int32], sums: Float64) -> None:
    """Add column n to the rows of `sums` that `owners[n]` names, in order."""
    kernel = choose("add_columns", _add_reference)
    kernel(np.ascontiguousarray(columns), np.ascontiguousarray(owners), sums)


def _add_reference(columns: Float64, owners: NDArray[np.int32], sums: Float64) -> None:
    """Add one number at a time."""
    for number, column in enumerate(columns):
        np.add.at(sums[:, number], owners.reshape(-1), np.repeat(column, owners.shape[1]))
