"""Ear clipping: split a polygon in the plane into triangles by cutting off one corner at a time.

A corner is an ear if it is convex and no other corner lies in its triangle. The first ear in order
is cut, so the triangles are the same on every machine. A corner that is no ear remembers another
corner that lies in its triangle, and is tested again only after that one was cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Point = tuple[float, float]
Triangle = tuple[int, int, int]

# What is known of a corner instead of the number of the corner that lies in its triangle.
EAR, REFLEX = -1, -2
# Up to this many corners a loop is faster than array operations.
FEW_CORNERS = 64
# The tests that a polygon may take. About 3 a corner are usual, also where it crosses itself; this
# only bounds the time of one that was made to take long.
FREE_TESTS, TESTS_PER_CORNER = 4000, 20


class TooManyTestsError(ValueError):
    """The polygon crosses itself so often that cutting it would take too long."""


def clip_ears(points: Sequence[Point]) -> list[Triangle]:
    """Split a simple counter-clockwise polygon into triangles that do not overlap.

    A polygon that crosses itself is split too, but its triangles may overlap.
    """
    # Products of large coordinates may overflow, which is no ear.
    with np.errstate(over="ignore", invalid="ignore"):
        return _Clipper(points).clip()


class _Clipper:
    """A polygon that is being cut; `ring` are the corners that are left, in order."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = points
        self.ring = list(range(len(points)))
        self.tests_left = FREE_TESTS + TESTS_PER_CORNER * len(points)
        self.x, self.y = np.array(points, np.float64).T.copy()
        self.is_cut = [False] * len(points)
        self.blocker = [self._find_blocker(place) for place in range(len(points))]

    def clip(self) -> list[Triangle]:
        """Cut until one triangle is left, and return all of them."""
        triangles, ring = [], self.ring
        while len(ring) > 3:
            place = self._first_ear()
            before, after = ring[place - 1], ring[(place + 1) % len(ring)]
            triangles.append(_lowest_first(before, ring[place], after))
            self._cut(place)
            # Cutting an ear changes only its two neighbours.
            for neighbour in (place - 1, place % len(ring)):
                self.blocker[neighbour] = self._find_blocker(neighbour)
        return [*triangles, _lowest_first(*ring)]

    def _cut(self, place: int) -> None:
        corner = self.ring[place]
        self.is_cut[corner] = True
        # No comparison with NaN holds, so this corner is never found again.
        self.x[corner] = np.nan
        del self.ring[place], self.blocker[place]

    def _first_ear(self) -> int:
        """Return the position of the first ear, or 0 if there is none."""
        if EAR not in self.blocker:
            for place, corner in enumerate(self.blocker):
                if corner >= 0 and self.is_cut[corner]:
                    self.blocker[place] = self._find_blocker(place)
        return self.blocker.index(EAR) if EAR in self.blocker else 0

    def _find_blocker(self, place: int) -> int:
        """Return a corner that lies in the triangle of the corner at this position.

        It is the last one: corners are cut from the front, so that one stays the longest.
        """
        self.tests_left -= 1
        if self.tests_left < 0:
            raise TooManyTestsError
        ring = self.ring
        corners = ring[place - 1], ring[place], ring[(place + 1) % len(ring)]
        a, b, c = (self.points[corner] for corner in corners)
        if _turn(a, b, c) <= 0:
            return REFLEX
        find = self._find_few if len(ring) <= FEW_CORNERS else self._find_many
        return find(a, b, c)

    def _find_few(self, a: Point, b: Point, c: Point) -> int:
        low_x, _, high_x = sorted((a[0], b[0], c[0]))
        low_y, _, high_y = sorted((a[1], b[1], c[1]))
        # Most corners are ruled out by one comparison before the three turns.
        near = [i for i in self.ring if low_x <= self.points[i][0] <= high_x]
        for corner in reversed(near):
            p = self.points[corner]
            # Corners at the same point as the ear's own do not block it: holes are joined by such
            # bridges.
            if low_y <= p[1] <= high_y and p not in (a, b, c) and _is_inside(a, b, c, p):
                return corner
        return EAR

    def _find_many(self, a: Point, b: Point, c: Point) -> int:
        low_x, _, high_x = sorted((a[0], b[0], c[0]))
        low_y, _, high_y = sorted((a[1], b[1], c[1]))
        near = np.flatnonzero(
            (self.x >= low_x) & (self.x <= high_x) & (self.y >= low_y) & (self.y <= high_y)
        )
        x, y = self.x[near], self.y[near]
        inside = np.ones(len(near), np.bool_)
        for start, end in ((a, b), (b, c), (c, a)):
            # The same operations in the same order as in `_turn`.
            turn = (end[0] - start[0]) * (y - start[1]) - (end[1] - start[1]) * (x - start[0])
            inside &= (turn >= 0) & ((x != start[0]) | (y != start[1]))
        found = near[inside]
        return int(found[-1]) if len(found) else EAR


def _is_inside(a: Point, b: Point, c: Point, p: Point) -> bool:
    return _turn(a, b, p) >= 0 and _turn(b, c, p) >= 0 and _turn(c, a, p) >= 0


def _turn(a: Point, b: Point, c: Point) -> float:
    """Return twice the signed area of a triangle, positive if it is counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _lowest_first(a: int, b: int, c: int) -> Triangle:
    """Rotate a triangle so that its lowest index comes first."""
    low = min(a, b, c)
    return (a, b, c) if a == low else (b, c, a) if b == low else (c, a, b)
