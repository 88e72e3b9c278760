"""Tangents for normal maps by the rules of MikkTSpace, which bakers and engines agree on.

Corners with equal position, normal and UV are one vertex. Triangles that meet at a vertex through
shared edges and map their texture with the same orientation share a tangent there: the sum of
their own, each projected onto the normal's plane and weighted by its angle. The one rule: only
additions, products, quotients and square roots, so that every machine gets the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.quadric import Float64, dot, unit
from encoders.kit.mesh.triangle import (
    Indices,
    checked_triangles,
    edges_of,
    has_distinct_corners,
    paired_edges,
)
from encoders.kit.mesh.weld import weld_mesh, weld_vertices

Float32 = NDArray[np.float32]

# What a corner gets that no triangle says anything about: along x, the texture not mirrored.
UNKNOWN = (1.0, 0.0, 0.0, 1.0)
# How far an orientation reaches over triangles that have none.
SPREAD_ROUNDS = 64


@dataclass(frozen=True)
class Shape:
    """The mesh whose tangents are wanted."""

    positions: Float32
    normals: Float32
    uvs: Float32
    indices: NDArray[np.integer]


def corner_tangents(shape: Shape) -> Float32:
    """Return (x, y, z, sign) for each corner of each triangle; sign * cross(n, t) runs along v."""
    triangles = checked_triangles(shape.indices, len(shape.positions))
    vertices = weld_vertices([shape.positions, shape.normals, shape.uvs])
    welded = vertices.number[triangles]
    place = weld_vertices([shape.positions]).number[triangles]
    is_good = has_distinct_corners(place)
    result = np.empty((len(triangles), 3, 4), np.float32)
    result[:] = UNKNOWN
    if is_good.any():
        result[is_good] = _good_tangents(shape, triangles[is_good], welded[is_good])
        _copy_to_degenerate(result, welded, is_good)
    return result


def split_by_tangent(
    indices: NDArray[np.integer], tangents: Float32
) -> tuple[NDArray[np.int32], Float32, Indices]:
    """Split vertices whose corners have different tangents.

    Return the old number and the tangent of each new vertex, and the triangles that use these.
    """
    old = indices.reshape(-1).astype(np.int32)
    [number, tangent], triangles = weld_mesh([old, tangents.reshape(-1, 4)], np.arange(len(old)))
    return number.astype(np.int32), tangent.astype(np.float32), triangles


def _good_tangents(shape: Shape, triangles: Indices, welded: Indices) -> Float32:
    """Return the tangents of triangles that have three different positions."""
    slope, orientation = _slopes(shape, triangles)
    one, other = paired_edges(edges_of(welded))
    orientation = _spread(orientation, one // 3, other // 3)
    group = _groups(orientation, one, other)
    direction, weight = _weighted(shape, triangles, slope)
    sums = np.empty((3, int(group.max()) + 1))
    for axis in range(3):
        sums[axis] = np.bincount(group, weights=direction[axis] * weight)
    tangent, length = unit(sums)
    result = np.empty((len(group), 4), np.float32)
    result[:, :3] = tangent.T[group]
    result[:, 3] = np.where(np.repeat(orientation, 3) < 0, -1.0, 1.0)
    result[length[group] == 0.0] = UNKNOWN
    return result.reshape(-1, 3, 4)


def _corners(columns: Float32, triangles: Indices) -> Float64:
    """Return the columns at each corner: (corner, axis, triangle)."""
    return np.moveaxis(columns.astype(np.float64)[triangles], 0, 2)


def _slopes(shape: Shape, triangles: Indices) -> tuple[Float64, NDArray[np.int8]]:
    """Return where u grows on each triangle, and the orientation of its texture, or 0 for none."""
    points, uvs = _corners(shape.positions, triangles), _corners(shape.uvs, triangles)
    first, second = points[1] - points[0], points[2] - points[0]
    (u1, v1), (u2, v2) = uvs[1] - uvs[0], uvs[2] - uvs[0]
    sign = np.sign(u1 * v2 - v1 * u2)
    slope, length = unit((first * v2 - second * v1) * sign)
    return slope, np.where(length > 0.0, sign, 0.0).astype(np.int8)


def _spread(
    orientation: NDArray[np.int8], one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Give triangles without a texture's orientation that of their first neighbour with one."""
    orientation = orientation.copy()
    here, near = np.concatenate([one, other]), np.concatenate([other, one])
    for _ in range(SPREAD_ROUNDS):
        is_open = (orientation[here] == 0) & (orientation[near] != 0)
        if not is_open.any():
            break
        first = np.full(len(orientation), len(orientation))
        np.minimum.at(first, here[is_open], near[is_open])
        reached = np.flatnonzero(first < len(orientation))
        orientation[reached] = orientation[first[reached]]
    return orientation


def _groups(
    orientation: NDArray[np.int8], one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each corner the first corner of its group: linked by edges, equally oriented."""
    is_linked = orientation[one // 3] == orientation[other // 3]
    one, other = one[is_linked], other[is_linked]
    after_one, after_other = (edge // 3 * 3 + (edge + 1) % 3 for edge in (one, other))
    here, near = np.concatenate([one, after_one]), np.concatenate([after_other, other])
    group = np.arange(3 * len(orientation))
    while True:
        low = np.minimum(group[here], group[near])
        if np.array_equal(group[here], low) and np.array_equal(group[near], low):
            return group
        np.minimum.at(group, group[here], low)
        np.minimum.at(group, group[near], low)
        while not np.array_equal(group, group[group]):
            group = group[group]


def _weighted(shape: Shape, triangles: Indices, slope: Float64) -> tuple[Float64, Float64]:
    """Return each corner's direction in the plane of its normal, and its angle there."""
    points, normals = _corners(shape.positions, triangles), _corners(shape.normals, triangles)
    directions, angles = [], []
    for corner in range(3):
        normal, _ = unit(normals[corner])
        here = points[corner]
        ahead = _in_plane(points[(corner + 1) % 3] - here, normal)
        behind = _in_plane(points[(corner + 2) % 3] - here, normal)
        directions.append(_in_plane(slope, normal))
        angles.append(_angle(ahead, behind))
    return np.stack(directions, axis=2).reshape(3, -1), np.stack(angles, axis=1).reshape(-1)


def _in_plane(vectors: Float64, normal: Float64) -> Float64:
    """Return the direction of the vectors as seen along the normal."""
    flat, _ = unit(vectors - normal * dot(normal, vectors))
    return flat


def _angle(a: Float64, b: Float64) -> Float64:
    """Return the angle between directions, from sums and roots alone.

    The tangent of half the angle is the quotient of their difference and their sum.
    """
    difference, total = a - b, a + b
    across, along = np.sqrt(dot(difference, difference)), np.sqrt(dot(total, total))
    low, high = np.minimum(across, along), np.maximum(across, along)
    half = _arc_tangent(np.divide(low, high, out=np.zeros_like(low), where=high > 0.0))
    return np.where(across > along, math.pi - 2.0 * half, 2.0 * half)


def _arc_tangent(t: Float64) -> Float64:
    """Return the arc tangent of numbers from 0 to 1: halved twice, then the power series."""
    for _ in range(2):
        t = t / (1.0 + np.sqrt(1.0 + t * t))
    square = t * t
    total = np.zeros_like(t)
    for power in range(17, 0, -2):
        total = (1.0 if power % 4 == 1 else -1.0) / power + total * square
    return 4.0 * (t * total)


def _copy_to_degenerate(result: Float32, welded: Indices, is_good: NDArray[np.bool_]) -> None:
    """Give corners of triangles without area the tangent of the first good corner there."""
    flat, vertex = result.reshape(-1, 4), welded.reshape(-1)
    is_good_corner = np.repeat(is_good, 3)
    first = np.full(int(vertex.max()) + 1, len(flat))
    good = np.flatnonzero(is_good_corner)
    np.minimum.at(first, vertex[good], good)
    rest = np.flatnonzero(~is_good_corner & (first[vertex] < len(flat)))
    flat[rest] = flat[first[vertex[rest]]]
