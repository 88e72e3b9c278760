"""Tangents for normal maps by the rules of MikkTSpace, which bakers and engines agree on.

Corners with equal position, normal and UV are one vertex. Triangles that meet at a vertex, are
connected by edges and have the same texture orientation share a tangent there: the sum of their
own, each projected onto the normal's plane and weighted by the corner's angle. Only additions,
products, quotients and square roots are used, so that every machine gets the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.triangle import (
    Indices,
    checked_triangles,
    edges_of,
    has_distinct_corners,
    join_along_edges,
    paired_edges,
)
from encoders.kit.mesh.vector import Float64, dot, unit
from encoders.kit.mesh.weld import weld_mesh, weld_vertices

Float32 = NDArray[np.float32]

# The tangent of a corner that no triangle decides: along x, texture not mirrored.
UNKNOWN = (1.0, 0.0, 0.0, 1.0)
# Over how many triangles without an orientation that of a neighbour is passed on.
SPREAD_ROUNDS = 64


@dataclass(frozen=True)
class TangentMesh:
    """The mesh to compute tangents for."""

    positions: Float32
    normals: Float32
    uvs: Float32
    indices: NDArray[np.integer]


def corner_tangents(mesh: TangentMesh) -> Float32:
    """Return (x, y, z, sign) for each corner of each triangle; the bitangent is sign * n x t."""
    triangles = checked_triangles(mesh.indices, len(mesh.positions))
    vertices = weld_vertices([mesh.positions, mesh.normals, mesh.uvs])
    welded = vertices.number[triangles]
    place = weld_vertices([mesh.positions]).number[triangles]
    # By position, as MikkTSpace defines degenerate.
    is_good = has_distinct_corners(place)
    result = np.empty((len(triangles), 3, 4), np.float32)
    result[:] = UNKNOWN
    if is_good.any():
        result[is_good] = _good_tangents(mesh, triangles[is_good], welded[is_good])
        _copy_to_degenerate(result, welded, is_good)
    return result


def split_by_tangent(
    indices: NDArray[np.integer], tangents: Float32
) -> tuple[NDArray[np.int32], Float32, Indices]:
    """Split vertices whose corners have different tangents.

    Return the old index and the tangent of each new vertex, and the triangles that index these.
    """
    old = indices.reshape(-1).astype(np.int32)
    [number, tangent], triangles = weld_mesh([old, tangents.reshape(-1, 4)], np.arange(len(old)))
    return number.astype(np.int32), tangent.astype(np.float32), triangles


def _good_tangents(mesh: TangentMesh, triangles: Indices, welded: Indices) -> Float32:
    """Return the tangents of triangles that have three different positions."""
    slope, orientation = _slopes(mesh, triangles)
    one, other = paired_edges(edges_of(welded))
    orientation = _spread(orientation, one // 3, other // 3)
    group = _groups(orientation, one, other)
    direction, weight = _weighted(mesh, triangles, slope)
    sums = np.empty((3, int(group.max()) + 1))
    for axis in range(3):
        # bincount adds in the order of the corners, on every machine.
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


def _slopes(mesh: TangentMesh, triangles: Indices) -> tuple[Float64, NDArray[np.int8]]:
    """Return the direction of growing u on each triangle, and its texture orientation or 0."""
    points, uvs = _corners(mesh.positions, triangles), _corners(mesh.uvs, triangles)
    first, second = points[1] - points[0], points[2] - points[0]
    (u1, v1), (u2, v2) = uvs[1] - uvs[0], uvs[2] - uvs[0]
    sign = np.sign(u1 * v2 - v1 * u2)
    # The sign makes mirrored textures point along growing u as well.
    # MikkTSpace's direction of u, without the division by the area in texture space: unit length
    # drops it.
    slope, length = unit((first * v2 - second * v1) * sign)
    return slope, np.where(length > 0.0, sign, 0.0).astype(np.int8)


def _spread(
    orientation: NDArray[np.int8], one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Give triangles without a texture orientation that of their first neighbour with one."""
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
    """Return the first corner of each corner's group: connected by edges, equally oriented."""
    is_linked = orientation[one // 3] == orientation[other // 3]
    return join_along_edges(one[is_linked], other[is_linked], len(orientation))


def _weighted(mesh: TangentMesh, triangles: Indices, slope: Float64) -> tuple[Float64, Float64]:
    """Return each corner's tangent in the plane of its normal, and its angle there."""
    points, normals = _corners(mesh.positions, triangles), _corners(mesh.normals, triangles)
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
    """Return the unit vectors of the projections onto the normal's plane."""
    flat, _ = unit(vectors - normal * dot(normal, vectors))
    return flat


def _angle(a: Float64, b: Float64) -> Float64:
    """Return the angle between unit vectors, without a library's arc functions.

    The tangent of half the angle is the length of their difference over that of their sum.
    """
    difference, total = a - b, a + b
    across, along = np.sqrt(dot(difference, difference)), np.sqrt(dot(total, total))
    # The smaller over the larger keeps the argument of the arc tangent in 0..1.
    low, high = np.minimum(across, along), np.maximum(across, along)
    half = _arc_tangent(np.divide(low, high, out=np.zeros_like(low), where=high > 0.0))
    return np.where(across > along, math.pi - 2.0 * half, 2.0 * half)


def _arc_tangent(t: Float64) -> Float64:
    """Return the arc tangent of 0..1: the angle is halved twice, then the power series."""
    for _ in range(2):
        t = t / (1.0 + np.sqrt(1.0 + t * t))
    square = t * t
    total = np.zeros_like(t)
    for power in range(17, 0, -2):
        total = (1.0 if power % 4 == 1 else -1.0) / power + total * square
    return 4.0 * (t * total)


def _copy_to_degenerate(result: Float32, welded: Indices, is_good: NDArray[np.bool_]) -> None:
    """Give corners of degenerate triangles the tangent of the first other corner at the vertex."""
    flat, vertex = result.reshape(-1, 4), welded.reshape(-1)
    is_good_corner = np.repeat(is_good, 3)
    first = np.full(int(vertex.max()) + 1, len(flat))
    good = np.flatnonzero(is_good_corner)
    np.minimum.at(first, vertex[good], good)
    rest = np.flatnonzero(~is_good_corner & (first[vertex] < len(flat)))
    flat[rest] = flat[first[vertex[rest]]]
