"""Quadric error metrics: the weighted sum of squared distances to the planes around a vertex.

A quadric has eleven numbers: xx, yy, zz, xy, xz, yz, x, y, z, 1 and weight, that is the symmetric
matrix, the vector and the constant of the squared distance, and the sum of the weights. Sums run
in the order of the triangles in float64, so that every machine gets the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.vector import Float64, cross, dot, unit
from encoders.kit.native.kernel import choose

SIZE = 11
# The squared sine of the angle below which a triangle is too thin to give a gradient.
THINNEST = 1e-8


def plane_quadrics(direction: Float64, offset: Float64, weight: Float64) -> Float64:
    """Return the quadrics of weight * (direction . p + offset)^2, one column each."""
    x, y, z = direction
    columns = np.empty((SIZE, len(offset)))
    products = ((x, x), (y, y), (z, z), (x, y), (x, z), (y, z), (x, offset), (y, offset))
    # The rows stand in the order that the module head gives.
    for row, (a, b) in enumerate((*products, (z, offset), (offset, offset))):
        np.multiply(a, b, out=columns[row])
        columns[row] *= weight
    columns[SIZE - 1] = weight
    return columns


def face_quadrics(corners: Float64) -> Float64:
    """Return the quadric of each triangle's plane, weighted by its area."""
    normal, doubled = unit(cross(corners[1] - corners[0], corners[2] - corners[0]))
    return plane_quadrics(normal, -dot(normal, corners[0]), 0.5 * doubled)


def edge_quadrics(corners: Float64, edge: NDArray[np.int64], weight: Float64) -> Float64:
    """Return the quadric of the plane through an edge of each triangle, perpendicular to it.

    It keeps the outline of a surface from moving sideways.
    """
    column = np.arange(corners.shape[2])
    start, end = corners[edge, :, column].T, corners[(edge + 1) % 3, :, column].T
    normal, _ = unit(cross(corners[1] - corners[0], corners[2] - corners[0]))
    upright, length = unit(cross(normal, end - start))
    # Weighted by the squared length, to be comparable with areas.
    return plane_quadrics(upright, -dot(upright, start), weight * (length * length))


def gradient_quadrics(corners: Float64, values: Float64) -> Float64:
    """Return how attributes vary over each triangle, weighted by its area.

    For each attribute: its gradient and its value at the origin. Then the sum of the quadrics of
    all attributes. A triangle that is too thin has zeros.
    """
    first, second = corners[1] - corners[0], corners[2] - corners[0]
    aa, bb, ab = dot(first, first), dot(second, second), dot(first, second)
    determinant = aa * bb - ab * ab
    is_wide = determinant > THINNEST * aa * bb
    # The Gram determinant is the square of the doubled area.
    area = np.where(is_wide, 0.5 * np.sqrt(np.abs(determinant)), 0.0)
    inverse = np.divide(1.0, determinant, out=np.zeros_like(area), where=is_wide)
    count = values.shape[1]
    columns = np.zeros((4 * count + SIZE, len(area)))
    for n in range(count):
        start = values[0, n]
        rise, other = values[1, n] - start, values[2, n] - start
        # Cramer's rule for the gradient in the basis of the two edges.
        along, across = (rise * bb - other * ab) * inverse, (other * aa - rise * ab) * inverse
        gradient = first * along + second * across
        offset = start - dot(gradient, corners[0])
        columns[4 * n : 4 * n + 3] = gradient * area
        columns[4 * n + 3] = offset * area
        columns[4 * count :] += plane_quadrics(gradient, offset, area)
    columns[-1] = area
    return columns


def add_columns(columns: Float64, owners: NDArray[np.int32], sums: Float64) -> None:
    """Add column n to the rows `owners[n]` of `sums`, in order."""
    kernel = choose("add_columns", _add_reference)
    kernel(np.ascontiguousarray(columns), np.ascontiguousarray(owners), sums)


def _add_reference(columns: Float64, owners: NDArray[np.int32], sums: Float64) -> None:
    """Add the columns: the reference of the native kernel."""
    for number, column in enumerate(columns):
        # One after another, as the kernel adds; other sums may add in another order.
        np.add.at(sums[:, number], owners.reshape(-1), np.repeat(column, owners.shape[1]))


def triangle_coordinates(corners: Float64, point: Float64) -> tuple[Float64, Float64]:
    """Return points as multiples of two edges of their triangles; NaN for thin triangles."""
    first = (corners[:, 1] - corners[:, 0]).T
    second = (corners[:, 2] - corners[:, 0]).T
    way = (point - corners[:, 0]).T
    aa, bb, ab = dot(first, first), dot(second, second), dot(first, second)
    determinant = aa * bb - ab * ab
    is_wide = determinant > THINNEST * aa * bb
    inverse = np.divide(1.0, determinant, out=np.full(len(aa), np.nan), where=is_wide)
    wa, wb = dot(way, first), dot(way, second)
    return (wa * bb - wb * ab) * inverse, (wb * aa - wa * ab) * inverse
