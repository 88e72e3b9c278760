"""Triangulate polygons: a fan from the first corner, or ear clipping where a fan would overlap.

A polygon of n corners gives n - 2 triangles with its winding; corners are never moved or merged.
Sums are taken in a fixed order, so that every machine makes the same triangles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.ear_clipping import Point, TooManyTestsError, clip_ears

# The time of ear clipping grows with the square of the number of corners. This is the sum of the
# squares that a file may have: one polygon of 4,000 corners, or 160,000 of ten.
EAR_WORK_LIMIT = 4000 * 4000
# The part of a polygon's area by which a fan may overlap: collinear corners are rarely exact.
FOLD_TOLERANCE = 1e-6

Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


class EarWorkError(ValueError):
    """Concave polygons have more corners than can be cut in a reasonable time."""

    def __init__(self, polygon: int) -> None:
        super().__init__(f"polygon {polygon}")
        self.polygon = polygon


def triangulate(
    sizes: Integers, vertices: npt.NDArray[np.floating], rows: npt.NDArray[np.integer]
) -> tuple[Integers, Integers]:
    """Cut polygons of so many corners into triangles: the corners of each, and its polygon.

    Corners are numbered through; `rows` gives the vertex of each.
    """
    corners, face = fan(sizes)
    # Triangles need no test, and most files have nothing else.
    many = np.flatnonzero(sizes[face] > 3)
    if not len(many):
        return corners, face
    areas = area_vectors(vertices[rows[corners[many]]].astype(np.float64))
    folded, normals = find_folded(areas, face[many])
    starts = np.searchsorted(face, folded)
    # The fan of a folded quad is wrong at one diagonal, so the other one is right.
    is_quad = sizes[folded] == 4
    cut_quads(corners, starts[is_quad])
    _check_work(sizes, folded[~is_quad])
    for number, start in zip(folded[~is_quad].tolist(), starts[~is_quad].tolist(), strict=True):
        polygon = corners[start, 0] + np.arange(sizes[number])
        points = flatten(vertices[rows[polygon]].astype(np.float64), normals[number])
        corners[start : start + len(polygon) - 2] = polygon[_clip(points, number)]
    return corners, face


def _clip(points: list[Point], number: int) -> Integers:
    try:
        return np.array(clip_ears(points))
    except TooManyTestsError as error:
        raise EarWorkError(number) from error


def _check_work(sizes: Integers, folded: Integers) -> None:
    is_over = np.cumsum(sizes[folded] ** 2) > EAR_WORK_LIMIT
    if is_over.any():
        raise EarWorkError(int(folded[np.argmax(is_over)]))


def fan(sizes: Integers) -> tuple[Integers, Integers]:
    """Split polygons with consecutively numbered corners into fans from their first corners.

    Return the corners of the triangles (triangles, 3) and the polygon of each, in order.
    """
    counts = np.maximum(sizes - 2, 0)
    polygon = np.repeat(np.arange(len(sizes)), counts)
    first = np.repeat(np.cumsum(sizes) - sizes, counts)
    # The position of each triangle within its fan.
    step = np.arange(len(polygon)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.stack((first, first + step + 1, first + step + 2), axis=1), polygon


def area_vectors(points: Doubles) -> Doubles:
    """Return the normals of triangles (triangles, corner, xyz), as long as twice their areas."""
    one, two = points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]
    return np.stack(cross(one.T, two.T), axis=1)


def cross(one: Doubles, two: Doubles) -> list[Doubles]:
    """Return x, y and z of the cross products of vectors that are given by x, y and z.

    Each operation is an array operation of its own, so that no compiler can fuse them.
    """
    return [
        one[forward] * two[backward] - one[backward] * two[forward]
        for forward, backward in ((1, 2), (2, 0), (0, 1))
    ]


def find_folded(areas: Doubles, polygon: Integers) -> tuple[Integers, Doubles]:
    """Return the polygons whose fans overlap, by the area vectors of their triangles.

    Also return the area vector of each polygon.
    """
    # bincount adds in order; np.sum adds in blocks that differ between machines.
    totals: Doubles = np.stack(
        [np.bincount(polygon, weights=areas[:, axis]).astype(np.float64) for axis in range(3)],
        axis=1,
    )
    # A triangle whose area vector points against the polygon's is folded over.
    along = _dot(areas, totals[polygon])
    is_folded = along < -FOLD_TOLERANCE * _dot(totals, totals)[polygon]
    return np.unique(polygon[is_folded]), totals


def _dot(one: Doubles, two: Doubles) -> Doubles:
    products = one * two
    return products[:, 0] + products[:, 1] + products[:, 2]


def cut_quads(corners: Integers, starts: Integers) -> None:
    """Split quads along their other diagonal, in place; `starts` are their first triangles."""
    first = corners[starts, :1]
    corners[starts] = first + np.array((0, 1, 3))
    corners[starts + 1] = first + np.array((1, 2, 3))


def flatten(points: Doubles, normal: Doubles) -> list[Point]:
    """Project a polygon along the axis nearest to its normal, so that it is counter-clockwise."""
    axis = int(np.argmax(np.abs(normal)))
    across, up = (axis + 1) % 3, (axis + 2) % 3
    # Looking along the axis from the other side would mirror the polygon.
    if normal[axis] < 0:
        across, up = up, across
    return list(zip(points[:, across].tolist(), points[:, up].tolist(), strict=True))
