"""Triangulate polygons: a fan from the first corner, or ear clipping where a fan would overlap.

A polygon of n corners gives n - 2 triangles with its winding; corners are never moved or merged.
Sums are taken in a fixed order, so that every machine makes the same triangles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# The time of ear clipping grows with the square of the number of corners. This is the sum of the
# squares that a file may have: one polygon of 4,000 corners, or 160,000 of ten.
EAR_WORK_LIMIT = 4000 * 4000
# The part of a polygon's area by which a fan may overlap: collinear corners are rarely exact.
FOLD_TOLERANCE = 1e-6

Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Point = tuple[float, float]
Triangle = tuple[int, int, int]


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
        corners[start : start + len(polygon) - 2] = polygon[np.array(clip_ears(points))]
    return corners, face


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
    """Return twice the area of triangles (triangles, corner, xyz) as vectors along their normals.

    Each operation is an array operation of its own, so that no compiler can fuse them.
    """
    one, two = points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]
    forward, backward = [1, 2, 0], [2, 0, 1]
    return one[:, forward] * two[:, backward] - one[:, backward] * two[:, forward]


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


def clip_ears(points: Sequence[Point]) -> list[Triangle]:
    """Split a simple counter-clockwise polygon into triangles that do not overlap.

    A polygon that crosses itself is split too, but its triangles may overlap.
    """
    ring = list(range(len(points)))
    is_ear = [_is_ear(points, ring, place) for place in range(len(ring))]
    triangles = []
    while len(ring) > 3:
        place = _pick(points, ring, is_ear)
        triangles.append(_lowest_first(ring[place - 1], ring[place], ring[(place + 1) % len(ring)]))
        del ring[place], is_ear[place]
        # Cutting an ear changes only its two neighbours.
        for neighbour in (place - 1, place % len(ring)):
            is_ear[neighbour] = _is_ear(points, ring, neighbour)
    return [*triangles, _lowest_first(*ring)]


def _pick(points: Sequence[Point], ring: list[int], is_ear: list[bool]) -> int:
    """Return the position of an ear, or 0; test all corners again if none is known."""
    if True not in is_ear:
        is_ear[:] = [_is_ear(points, ring, place) for place in range(len(ring))]
    return is_ear.index(True) if True in is_ear else 0


def _is_ear(points: Sequence[Point], ring: list[int], place: int) -> bool:
    """Tell whether a corner is convex and no other corner of the ring lies in its triangle."""
    before, tip, after = ring[place - 1], ring[place], ring[(place + 1) % len(ring)]
    a, b, c = points[before], points[tip], points[after]
    if _turn(a, b, c) <= 0:
        return False
    low_x, _, high_x = sorted((a[0], b[0], c[0]))
    low_y, _, high_y = sorted((a[1], b[1], c[1]))
    # Most corners are ruled out by one comparison before the three turns.
    near = [points[i] for i in ring if low_x <= points[i][0] <= high_x]
    return not any(
        _turn(a, b, p) >= 0 and _turn(b, c, p) >= 0 and _turn(c, a, p) >= 0
        for p in near
        # Corners at the same point as the ear's own do not block it: holes are joined by such
        # bridges.
        if low_y <= p[1] <= high_y and p not in (a, b, c)
    )


def _turn(a: Point, b: Point, c: Point) -> float:
    """Return twice the signed area of a triangle, positive if it is counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _lowest_first(a: int, b: int, c: int) -> Triangle:
    """Rotate a triangle so that its lowest index comes first."""
    low = min(a, b, c)
    return (a, b, c) if a == low else (b, c, a) if b == low else (c, a, b)
