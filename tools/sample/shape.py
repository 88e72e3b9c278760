"""Polygons with texels: what all models of the sample are put together from.

The axes are those of glTF: y up, fronts counter-clockwise, v downwards. A corner is a position and
a place on the sheet; a polygon without normals is flat.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sample.sheet import SHEETS, Rect

Vector = npt.NDArray[np.float64]
Point = Sequence[float] | Vector
# In texels. Sampling between texels must not reach the neighbour on the sheet.
GUTTER = 0.6
SIDES = {"building": 256, "prop": 128, "nature": 128, "flora": 64, "hero": 128}


@dataclass
class Polygon:
    """Corners in order; `joints` says for each corner which bones it hangs on, if any."""

    points: Vector
    uvs: Vector
    normals: Vector
    material: str
    joints: list[dict[int, float]] = field(default_factory=list)


@dataclass
class Model:
    """Polygons under a name."""

    name: str
    polygons: list[Polygon] = field(default_factory=list)

    def add(
        self, points: Sequence[Point], uvs: Sequence[Point], material: str, normals: object = None
    ) -> None:
        """Add a polygon; without normals it gets its own."""
        corners = np.array(points, float)
        flat = np.tile(face_normal(corners), (len(corners), 1))
        found = flat if normals is None else np.array(normals, float)
        self.polygons.append(Polygon(corners, np.array(uvs, float), found, material))

    def quad(self, points: Sequence[Point], material: str, surface: str) -> None:
        """Add four corners from the lower left on, with the whole of a surface."""
        u0, v0, u1, v1 = uv_rect(material, surface)
        self.add(points, [(u0, v1), (u1, v1), (u1, v0), (u0, v0)], material)

    def join(self, other: Model, at: Point = (0, 0, 0), turn: float = 0, scale: float = 1) -> None:
        """Add another model's polygons, turned about y (in degrees) and moved."""
        spin = turn_y(turn)
        for one in other.polygons:
            points = apply(spin, one.points) * scale + np.array(at, float)
            normals = apply(spin, one.normals)
            self.polygons.append(Polygon(points, one.uvs, normals, one.material, one.joints))

    @property
    def triangles(self) -> int:
        """How many triangles it comes to."""
        return sum(len(one.points) - 2 for one in self.polygons)


def apply(matrix: Vector, rows: Vector) -> Vector:
    """Multiply every row by a matrix, summing in a fixed order."""
    # Without `@`: a BLAS library may sum in another order, and give other last bits elsewhere.
    return sum(matrix[:, k] * rows[:, k : k + 1] for k in range(3))  # type: ignore[return-value]


def turn_y(degrees: float) -> Vector:
    """Return the matrix of a turn about y."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def face_normal(points: Vector) -> Vector:
    """Return the unit normal of a polygon."""
    # Newell's sum: right for polygons that are not quite flat, too.
    after = np.roll(points, -1, axis=0)
    total = np.cross(points, after).sum(axis=0)
    return total / (math.sqrt(float((total * total).sum())) or 1)


def uv_rect(material: str, surface: str) -> tuple[float, float, float, float]:
    """Return u0, v0, u1, v1 of a surface, a little inside of it."""
    sheet = SHEETS.get(material)
    if sheet is None:
        return (0, 0, 1, 1)
    x0, y0, x1, y1 = sheet[surface]
    return _inside((x0, y0, x1, y1), SIDES[material])


def _inside(rect: Rect, side: int) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = rect
    return ((x0 + GUTTER) / side, (y0 + GUTTER) / side, (x1 - GUTTER) / side, (y1 - GUTTER) / side)


def lathe(
    model: Model,
    profile: Sequence[tuple[float, float]],
    skin: tuple[str, str],
    sides: int,
    repeat: int,
) -> None:
    """Turn a profile of (radius, height), from the top down, about y; the surface repeats around.

    Around it the light is smooth. Along it every ring has one normal, so edges stay edges.
    """
    u0, v0, u1, v1 = uv_rect(*skin)
    lengths = [math.hypot(r1 - r0, y1 - y0) for (r0, y0), (r1, y1) in itertools.pairwise(profile)]
    levels = [v0 + (v1 - v0) * at / sum(lengths) for at in itertools.accumulate(lengths, initial=0)]
    per = sides // repeat
    for upper, lower in itertools.pairwise(zip(profile, levels, strict=True)):
        for side in range(sides):
            turns = [2 * math.pi * (side + k) / sides for k in (0, 1)]
            across = [u0 + (u1 - u0) * (side % per + k) / per for k in (0, 1)]
            _panel(model, (upper, lower), list(zip(turns, across, strict=True)), skin[0])


def _panel(
    model: Model,
    rings: tuple[tuple[tuple[float, float], float], ...],
    edges: list[tuple[float, float]],
    material: str,
) -> None:
    """Add what lies between two rings and two turns; at a tip it has three corners."""
    ((r0, y0), _), ((r1, y1), _) = rings
    tilt = math.atan2(r1 - r0, y0 - y1)
    upper, lower = rings
    left, right = edges
    corners = [(lower, left), (lower, right), (upper, right), (upper, left)]
    # Two corners of a ring without radius are one point; one of them is kept.
    kept = [corner for n, corner in enumerate(corners) if corner[0][0][0] or n in (1, 3)]
    points = [(r * math.sin(a), y, r * math.cos(a)) for ((r, y), _), (a, _) in kept]
    uvs = [(u, v) for (_, v), (_, u) in kept]
    side, up = math.cos(tilt), math.sin(tilt)
    normals = [(math.sin(a) * side, up, math.cos(a) * side) for _, (a, _) in kept]
    model.add(points, uvs, material, normals)


def disc(model: Model, radius: float, height: float, skin: tuple[str, str], sides: int) -> None:
    """Close a lathed shape from above."""
    u0, v0, u1, v1 = uv_rect(*skin)
    spots = [2 * math.pi * side / sides for side in range(sides)]
    points = [(radius * math.sin(a), height, radius * math.cos(a)) for a in spots]
    uvs = [
        (u0 + (u1 - u0) * (0.5 + math.sin(a) / 2), v0 + (v1 - v0) * (0.5 + math.cos(a) / 2))
        for a in spots
    ]
    model.add(points, uvs, skin[0])
