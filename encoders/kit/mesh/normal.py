"""Compute missing normals, transform normals, and find degenerate triangles.

Sums run in the order of the triangles and every step is one rounded operation, so that all
machines get the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.mesh import (
    NOT_TOLD,
    Attribute,
    Corners,
    Floats,
    Mesh,
    compact,
    first_use,
    select,
)
from encoders.kit.mesh.polygon import area_vectors, cross
from encoders.kit.mesh.triangle import edges_of, join_along_edges, paired_edges

Doubles = npt.NDArray[np.float64]
Shading = Literal["auto", "angle", "smooth", "flat"]
# Triangles that meet at a smaller angle than 50 degrees share a normal: eight-sided columns are
# round, six-sided ones and boxes have edges. This is the cosine, written out because libraries
# round theirs differently.
SMOOTH_COSINE = 0.6427876096865394
# So many triangles are looked at together where a whole mesh would take too much memory.
CHUNK = 1 << 16


def shade_mesh(mesh: Mesh, shading: Shading = "auto") -> Mesh:
    """Return the mesh with all normals: the source's with "auto" where it has any, else new ones.

    New normals do not fit the source's tangents, so these are left out.
    """
    if shading != "auto":
        mesh = replace(mesh, normal=None, tangent=None)
    return fill_normals(mesh, shading)


def fill_normals(mesh: Mesh, shading: Shading = "auto") -> Mesh:
    """Give each corner without a normal, or with one of length zero, a computed one.

    A smooth normal is the sum of the area vectors around a position, within a smoothing group or
    where triangles meet at small angles; a flat one is the triangle's. With "auto" the source's
    groups count, where group 0 is flat, and the angle where the source says nothing. Corners of
    degenerate triangles may keep zeros.
    """
    missing = np.flatnonzero(_lacks_normal(mesh))
    if mesh.normal is not None and not len(missing):
        return mesh
    areas = _areas(mesh)
    ids, count = _group_corners(mesh, shading, areas)
    sums = np.stack([_sum(ids, areas[:, axis], count) for axis in range(3)], axis=1)
    found = normalise(sums[ids[missing]])
    # Opposite triangles can cancel out; then the corner gets its own triangle's normal.
    is_zero = ~found.any(axis=1)
    found[is_zero] = normalise(areas[missing[is_zero] // 3])
    return _with_normals(mesh, missing, found)


def _areas(mesh: Mesh) -> Doubles:
    return area_vectors(mesh.position.values[mesh.position.corner].astype(np.float64))


def _lacks_normal(mesh: Mesh) -> npt.NDArray[np.bool_]:
    """Tell for each flat corner whether its normal is missing or zero."""
    if mesh.normal is None:
        return np.ones(mesh.triangle_count * 3, np.bool_)
    is_zero = np.all(mesh.normal.values == 0, axis=1)
    # Index -1, a corner without a normal, finds the appended entry.
    lacks: npt.NDArray[np.bool_] = np.append(is_zero, True)[mesh.normal.corner.reshape(-1)]
    return lacks


def _group_corners(
    mesh: Mesh, shading: Shading, areas: Doubles
) -> tuple[npt.NDArray[np.intp], int]:
    """Return a group for each flat corner, the same for corners that share a normal."""
    told = {"angle": NOT_TOLD, "smooth": 1, "flat": 0}
    smoothing = mesh.smoothing if shading == "auto" else np.full_like(mesh.part, told[shading])
    # By value, not by row: a UV seam duplicates positions, but it is not a hard edge.
    position = compact(mesh.position).corner
    # Flat corners are grouped by triangle, smooth ones by position and smoothing group.
    key = np.where(smoothing[:, None] == 0, np.arange(len(smoothing))[:, None], position)
    by_angle = smoothing == NOT_TOLD
    if by_angle.any():
        key = np.where(by_angle[:, None], _angle_groups(position, areas, by_angle), key)
    first, ids = first_use([key.reshape(-1), np.repeat(smoothing, 3)])
    return ids, len(first)


def _angle_groups(
    position: Corners, areas: Doubles, by_angle: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Join corners across edges at which these triangles meet at a small angle."""
    normal = normalise(areas)
    one, other = paired_edges(edges_of(position))
    a, b = normal[one // 3], normal[other // 3]
    cosine = a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]
    is_smooth = (cosine >= SMOOTH_COSINE) & by_angle[one // 3] & by_angle[other // 3]
    return join_along_edges(one[is_smooth], other[is_smooth], len(position)).reshape(-1, 3)


def _sum(ids: npt.NDArray[np.intp], values: Doubles, count: int) -> Doubles:
    """Sum the triangles' values over the corners of each group, in order."""
    return np.bincount(ids, weights=np.repeat(values, 3), minlength=count).astype(np.float64)


def normalise(vectors: npt.NDArray[np.floating]) -> Doubles:
    """Scale vectors to unit length; zero vectors stay zero."""
    exact = vectors.astype(np.float64)
    # Dividing by the greatest component first keeps the squares of tiny vectors from underflow.
    greatest = np.abs(exact).max(axis=1, initial=0, keepdims=True)
    scaled = np.divide(exact, greatest, out=np.zeros_like(exact), where=greatest > 0)
    squares = scaled * scaled
    length = np.sqrt(squares[:, :1] + squares[:, 1:2] + squares[:, 2:3])
    unit: Doubles = np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0)
    return unit


def _with_normals(mesh: Mesh, corners: npt.NDArray[np.intp], normals: Doubles) -> Mesh:
    """Return the mesh with these normals at these flat corners; equal ones are stored once."""
    values, rows = np.zeros((0, 3), np.float32), np.full(mesh.triangle_count * 3, -1, np.int32)
    if mesh.normal is not None:
        values, rows = mesh.normal.values, mesh.normal.corner.reshape(-1).copy()
    # Merged after rounding, so that normals which differ in float64 alone are stored once.
    made = normals.astype(np.float32)
    first, ids = first_use(list(made.view(np.int32).T))
    rows[corners] = ids + len(values)
    normal = Attribute(np.concatenate((values, made[first])), rows.reshape(-1, 3))
    return replace(mesh, normal=normal)


def transform_normals(normals: Floats, matrix: Sequence[Sequence[float]]) -> Floats:
    """Transform normals by the inverse transpose of a matrix's upper left 3x3, given by rows.

    Computed by cofactors, which differ from the inverse transpose only by the determinant as a
    factor and also exist for singular matrices. The determinant's sign is applied.
    """
    (a, b, c), (d, e, f), (g, h, i) = (tuple(map(float, row[:3])) for row in matrix[:3])
    rows = (
        (e * i - f * h, f * g - d * i, d * h - e * g),
        (c * h - b * i, a * i - c * g, b * g - a * h),
        (b * f - c * e, c * d - a * f, a * e - b * d),
    )
    determinant = a * rows[0][0] + b * rows[0][1] + c * rows[0][2]
    sign = -1.0 if determinant < 0 else 1.0
    x, y, z = normals.astype(np.float64).T
    turned = [sign * (row[0] * x + row[1] * y + row[2] * z) for row in rows]
    return normalise(np.stack(turned, axis=1)).astype(np.float32)


def find_degenerate(mesh: Mesh) -> npt.NDArray[np.bool_]:
    """Tell for each triangle whether it has no area."""
    degenerate = np.empty(mesh.triangle_count, np.bool_)
    # By x, y and z, each of them in one piece.
    points = np.ascontiguousarray(mesh.position.values.T, np.float64)
    # In chunks: the corners of all triangles in float64 would be the largest arrays of an encoder.
    for start in range(0, mesh.triangle_count, CHUNK):
        rows = slice(start, start + CHUNK)
        first, second, third = (points.take(one, axis=1) for one in mesh.position.corner[rows].T)
        x, y, z = cross(second - first, third - first)
        degenerate[rows] = (x == 0) & (y == 0) & (z == 0)
    return degenerate


def drop_degenerate(mesh: Mesh) -> tuple[Mesh, int]:
    """Drop the triangles without area; also return how many there were."""
    degenerate = find_degenerate(mesh)
    count = int(degenerate.sum())
    return (select(mesh, ~degenerate), count) if count else (mesh, 0)
