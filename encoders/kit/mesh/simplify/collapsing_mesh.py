"""The mesh of the reference simplification: triangles by place, with their quadrics.

A place is a position; a wedge is a vertex at that place (several along a seam).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.simplify.quadric import SIZE
from encoders.kit.mesh.triangle import Indices
from encoders.kit.mesh.vector import Float64

# A triangle may turn by at most 60 degrees from its original direction.
MIN_COSINE = 0.5
# Places with more triangles than this never move: the centre of a large fan would take too long.
MAX_RING = 48
# How a place may move: anywhere, not at all, or only along its open edge.
FREE, LOCKED, RIM = 0.0, 1.0, 2.0
# A locked place in border planes has the sum of their bits times PLANE instead. No move joins two
# places of one plane by a new edge: what lies beyond the plane would not have that edge.
PLANE, PLANE_BITS = 4, 6


class CollapsingMesh:
    """The remaining triangles, by place, and the accumulated quadrics."""

    def __init__(
        self, triangles: Indices, place: NDArray[np.int32], places: Float64, wedges: Float64
    ) -> None:
        self.corners: list[list[int]] = triangles.tolist()
        self.place: list[int] = place.tolist()
        rows: list[list[float]] = places.tolist()
        self.points = [row[:3] for row in rows]
        # No place leaves the box that all of them lie in.
        self.low = [min(axis) for axis in zip(*self.points, strict=True)]
        self.high = [max(axis) for axis in zip(*self.points, strict=True)]
        self.freedom = [row[3] for row in rows]
        self.max_errors = [row[4] for row in rows]
        self.quadrics = [row[5:] for row in rows]
        count = (wedges.shape[1] - SIZE) // 5
        self.values: list[list[float]] = wedges[:, :count].tolist()
        self.slopes: list[list[float]] = wedges[:, count : 5 * count].tolist()
        self.value_quadrics: list[list[float]] = wedges[:, 5 * count :].tolist()
        self.is_alive = [True] * len(self.corners)
        self.normals = [
            triangle_normal(*(self.points[self.place[vertex]] for vertex in corners))
            for corners in self.corners
        ]
        self.around: list[list[int]] = [[] for _ in rows]
        for triangle, corners in enumerate(self.corners):
            for vertex in corners:
                self.around[self.place[vertex]].append(triangle)

    def ring(self, place: int) -> list[int]:
        """Return the remaining triangles at a place."""
        self.around[place] = [t for t in self.around[place] if self.is_alive[t]]
        return self.around[place]

    def neighbours(self, place: int) -> set[int]:
        """Return the places that share a triangle with this one."""
        near = {self.place[v] for triangle in self.ring(place) for v in self.corners[triangle]}
        return near - {place}

    def planes(self, place: int) -> int:
        """Return the bits of the border planes that hold a place."""
        freedom = self.freedom[place]
        return int(freedom) // PLANE if PLANE <= freedom < PLANE << PLANE_BITS else 0

    def wedges(self, place: int) -> list[int]:
        """Return the wedges of a place that triangles use, in the order of their numbers."""
        used = {v for triangle in self.ring(place) for v in self.corners[triangle]}
        return sorted(v for v in used if self.place[v] == place)

    def expected(self, wedge: int, n: int, point: list[float]) -> float:
        """Return the attribute `n` at a point, as a wedge's triangles continue it, times area."""
        g, (x, y, z) = self.slopes[wedge][4 * n : 4 * n + 4], point
        return g[0] * x + g[1] * y + g[2] * z + g[3]

    def within(self, point: list[float]) -> list[float]:
        """Return the nearest point within the bounds of all places."""
        return [
            low if value < low else min(value, high)
            for value, low, high in zip(point, self.low, self.high, strict=True)
        ]

    def put(self, one: int, point: list[float]) -> None:
        """Move a place to a point, with the attributes of its wedges."""
        way = [there - here for there, here in zip(point, self.points[one], strict=True)]
        for wedge in self.wedges(one):
            weight = self.value_quadrics[wedge][SIZE - 1]
            for n in range(len(self.values[wedge]) if weight > 0.0 else 0):
                g = self.slopes[wedge][4 * n : 4 * n + 3]
                step = (g[0] * way[0] + g[1] * way[1] + g[2] * way[2]) / weight
                self.values[wedge][n] += step
        self.points[one] = point

    def stays_up(self, triangle: int, one: int, point: list[float]) -> bool:
        """Tell whether a triangle stays the right way up where a place moves to a point."""
        places = [self.place[vertex] for vertex in self.corners[triangle]]
        after = [point if place == one else self.points[place] for place in places]
        return not is_flipped(self.normals[triangle], triangle_normal(*after))


def triangle_normal(a: list[float], b: list[float], c: list[float]) -> tuple[float, float, float]:
    """Return the normal of a triangle, as long as twice its area."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    return uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx


def is_flipped(n: tuple[float, float, float], m: tuple[float, float, float]) -> bool:
    """Tell whether a triangle turns too far from its original normal, or loses its area."""
    before = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
    after = m[0] * m[0] + m[1] * m[1] + m[2] * m[2]
    both = n[0] * m[0] + n[1] * m[1] + n[2] * m[2]
    # A degenerate triangle has no direction to turn from.
    if before == 0.0:
        return False
    return both <= 0.0 or both * both < MIN_COSINE * MIN_COSINE * before * after
