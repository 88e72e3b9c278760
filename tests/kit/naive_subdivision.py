"""Subdivision by the published rules, one vertex at a time: slow, and written to be checked by eye.

Catmull and Clark 1978, Loop 1987, DeRose, Kass and Truong 1998 for sharp edges that fade.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Point = tuple[float, ...]
Faces = Sequence[Sequence[int]]
Edge = frozenset[int]


def mean(points: Sequence[Point]) -> Point:
    return tuple(sum(column) / len(points) for column in zip(*points, strict=True))


def mix(*parts: tuple[float, Point]) -> Point:
    return tuple(
        sum(weight * point[axis] for weight, point in parts) for axis in range(len(parts[0][1]))
    )


class Naive:
    """A net with sharpness by edge and by vertex; what is missing is 0."""

    def __init__(
        self,
        points: Sequence[Point],
        faces: Faces,
        edges: Mapping[Edge, float] | None = None,
        corners: Mapping[int, float] | None = None,
    ) -> None:
        self.points, self.faces = list(points), [list(face) for face in faces]
        self.corners = dict(corners or {})
        self.sides: dict[Edge, list[int]] = {}
        for number, face in enumerate(self.faces):
            for a, b in zip(face, face[1:] + face[:1], strict=True):
                self.sides.setdefault(frozenset((a, b)), []).append(number)
        self.edges = dict(edges or {})
        self.edges |= {edge: math.inf for edge, found in self.sides.items() if len(found) != 2}

    def refined(self, scheme: str) -> Naive:
        is_loop = scheme == "loop"
        middles = [mean([self.points[one] for one in face]) for face in self.faces]
        names = {
            edge: len(self.points) + n for n, edge in enumerate(sorted(self.sides, key=sorted))
        }
        points = [self.vertex(one, middles, is_loop) for one in range(len(self.points))]
        points += [self.edge(edge, middles, is_loop) for edge in names]
        faces = []
        for number, face in enumerate(self.faces):
            around = [
                names[frozenset(pair)] for pair in zip(face, face[1:] + face[:1], strict=True)
            ]
            before = around[-1:] + around[:-1]
            if is_loop:
                faces += [list(one) for one in zip(face, around, before, strict=True)] + [around]
            else:
                middle = len(self.points) + len(names) + number
                faces += [[v, a, middle, b] for v, a, b in zip(face, around, before, strict=True)]
        halves = {
            frozenset((end, names[edge])): sharp - 1
            for edge, sharp in self.edges.items()
            if sharp > 1
            for end in edge
        }
        left = {one: sharp - 1 for one, sharp in self.corners.items() if sharp > 1}
        return Naive(points if is_loop else points + middles, faces, halves, left)

    def edge(self, edge: Edge, middles: Sequence[Point], is_loop: bool) -> Point:
        ends = [self.points[one] for one in edge]
        sharp = self.edges.get(edge, 0.0)
        if sharp >= 1:
            return mean(ends)
        if is_loop:
            others = [
                self.points[one]
                for face in self.sides[edge]
                for one in self.faces[face]
                if one not in edge
            ]
            smooth = mix(*((3 / 8, one) for one in ends), *((1 / 8, one) for one in others))
        else:
            smooth = mean([*ends, *(middles[face] for face in self.sides[edge])])
        return mix((1 - sharp, smooth), (sharp, mean(ends)))

    def vertex(self, number: int, middles: Sequence[Point], is_loop: bool) -> Point:
        touching = [edge for edge in self.sides if number in edge]
        now = {edge: self.edges.get(edge, 0.0) for edge in touching}
        corner = self.corners.get(number, 0.0)
        later = {edge: max(sharp - 1, 0.0) for edge, sharp in now.items()}
        fading = [sharp for edge, sharp in now.items() if sharp > 0 and later[edge] == 0]
        fading += [corner] if 0 < corner <= 1 else []
        before = self.by_rule(number, now, corner, middles, is_loop)
        if not fading:
            return before
        after = self.by_rule(number, later, max(corner - 1, 0.0), middles, is_loop)
        weight = sum(fading) / len(fading)
        return mix((weight, before), (1 - weight, after))

    def by_rule(
        self,
        number: int,
        edges: Mapping[Edge, float],
        corner: float,
        middles: Sequence[Point],
        is_loop: bool,
    ) -> Point:
        here = self.points[number]
        sharp = [edge for edge, one in edges.items() if one > 0]
        if corner > 0 or len(sharp) > 2 or not edges:
            return here
        if len(sharp) == 2:
            ends = [self.points[one] for edge in sharp for one in edge if one != number]
            return mix((6 / 8, here), *((1 / 8, one) for one in ends))
        n = len(edges)
        near = [self.points[one] for edge in edges for one in edge if one != number]
        if is_loop:
            beta = (5 / 8 - (3 / 8 + math.cos(2 * math.pi / n) / 4) ** 2) / n
            return mix((1 - n * beta, here), *((beta, one) for one in near))
        faces = mean([middles[n] for n, face in enumerate(self.faces) if number in face])
        halves = mean([mean([here, one]) for one in near])
        return mix((1 / n, faces), (2 / n, halves), ((n - 3) / n, here))
