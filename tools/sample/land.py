"""The ground: its height, and the paint on it. A square of 64 metres, cut into four."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sample.colour import Field, Picture, blend, tint
from sample.noise import clouds, grid, scatter
from sample.shape import Model

HALF = 32.0
CELL = 4
TEXELS = 512
QUARTERS = {"nw": (0, 0), "ne": (1, 0), "sw": (0, 1), "se": (1, 1)}
# fmt: off
PATHS: list[list[tuple[float, float]]] = [
    [(0, 0), (1.5, 8), (-2, 17), (0, 25), (-1, 33)],
    [(0, 0), (7, -3), (12, -9.5), (17.5, -14)],
    [(0, 0), (-8, 1), (-16, -2), (-24, 2), (-33, 0)],
    [(0, 0), (-6, -5)], [(0, 0), (0.6, -7)], [(5, -2), (9, -0.5)], [(0, 3), (-6.5, 6.5)],
    [(1, 5), (7, 8.5)],
]
# fmt: on
FIELD = (-27.0, 10.0, -14.0, 24.0)


def height_at(x: float, z: float) -> float:
    """Return the ground's height: flat where the village stands, hills towards the edges."""
    away = min(max((math.hypot(x, z) - 15) / 17, 0), 1)
    swell = clouds(np.array([(x + 40) / 80]), np.array([(z + 40) / 80]), 101, 4, 2)
    mill = max(0.0, 1 - math.hypot(x - 20, z + 18) / 9)
    return round(away * away * (3 - 2 * away) * (float(swell[0]) * 4.4 - 0.7) + mill * 0.8, 3)


def build_ground(quarter: str) -> Model:
    """Build one quarter of the ground, with a texture of its own."""
    right, down = QUARTERS[quarter]
    x0, z0 = (right - 1) * HALF, (down - 1) * HALF
    model = Model(f"ground_{quarter}")
    steps = np.arange(0, HALF, CELL)
    for z in z0 + steps:
        for x in x0 + steps:
            # Triangulated as a fan, whichever diagonal follows the slope better: it does not show.
            spots = [(x, z + CELL), (x + CELL, z + CELL), (x + CELL, z), (x, z)]
            points = [(a, height_at(a, b), b) for a, b in spots]
            uvs = [(_inset((a - x0) / HALF), _inset((b - z0) / HALF)) for a, b in spots]
            model.add(points, uvs, model.name, [slope_at(a, b) for a, b in spots])
    return model


def _inset(value: float) -> float:
    # Half a texel inside, so that sampling does not wrap around to the other side.
    return min(max(value, 0.5 / 256), 1 - 0.5 / 256)


def slope_at(x: float, z: float) -> tuple[float, float, float]:
    """Return the ground's normal, not yet of unit length."""
    along = height_at(x - 1, z) - height_at(x + 1, z)
    return (along, 2.0, height_at(x, z - 1) - height_at(x, z + 1))


def away_from_paths(x: Field, z: Field) -> Field:
    """Return the distance from the nearest path."""
    best = np.full(np.shape(x), 99.0)
    for path in PATHS:
        for (x0, z0), (x1, z1) in itertools.pairwise(path):
            dx, dz = x1 - x0, z1 - z0
            along = np.clip(((x - x0) * dx + (z - z0) * dz) / (dx * dx + dz * dz), 0, 1)
            off_x, off_z = x - x0 - along * dx, z - z0 - along * dz
            best = np.minimum(best, np.sqrt(off_x * off_x + off_z * off_z))
    return best


def paint_ground() -> dict[str, Picture]:
    """Paint grass, paths, the square and the field in sixteen colours, as four quarters."""
    i, j = grid(TEXELS, TEXELS)
    x, z = (i / TEXELS * 2 - 1) * HALF, (j / TEXELS * 2 - 1) * HALF
    u, v = i / TEXELS, j / TEXELS
    fine = clouds(u, v, 111, 64, 3) - 0.5
    picture = _paint_grass(u, v, fine)
    far = away_from_paths(x, z) + fine * 1.6
    picture = blend(picture, tint(0.35 + fine, "grass"), far < 1.75)
    dirt = 0.62 + fine * 0.9 - np.clip(far - 0.7, 0, 1) * 0.5
    picture = blend(picture, tint(dirt, "dirt"), far < 1.35)
    picture = _paint_field(picture, (x, z, fine))
    from_middle = np.sqrt(x * x + z * z) + fine * 2.2
    picture = blend(picture, _paint_cobbles(x, z, fine), from_middle < 5.2)
    side = TEXELS // 2
    return {
        name: picture[down * side : (down + 1) * side, right * side : (right + 1) * side]
        for name, (right, down) in QUARTERS.items()
    }


def _paint_grass(u: Field, v: Field, fine: Field) -> Picture:
    large = clouds(u, v, 121, 6, 3)
    strokes = clouds(u * 2, v, 131, 64, 2) - 0.5
    picture = tint(0.12 + large * 0.85 + strokes * 0.35 + fine * 0.3, "grass")
    chance = scatter(np.floor(u * TEXELS), np.floor(v * TEXELS), 141)
    meadow = clouds(u, v, 151, 10, 2)
    for name, low in (("linen", 0.0), ("gold", 0.005)):
        dots = (chance > low) & (chance < low + 0.005) & (meadow > 0.52)
        picture = blend(picture, tint(np.full(u.shape, 0.8), name, 0), dots)
    return picture


def _paint_field(picture: Picture, place: tuple[Field, Field, Field]) -> Picture:
    x, z, fine = place
    x0, z0, x1, z1 = FIELD
    edge = np.minimum(np.minimum(x - x0, x1 - x), np.minimum(z - z0, z1 - z)) + fine * 0.8
    furrow = abs((z * 0.9) % 1 - 0.5) * 1.1
    return blend(picture, tint(0.1 + furrow + fine * 0.4, "dirt"), edge > 0)


def _paint_cobbles(x: Field, z: Field, fine: Field) -> Picture:
    """Paint round stones: the nearest of nine neighbours' middles decides."""
    left, top = np.floor(x * 1.7), np.floor(z * 1.7)
    first, second = np.full(x.shape, 9.0), np.full(x.shape, 9.0)
    shade = np.zeros(x.shape)
    for dx in (-1, 0, 1):
        for dz in (-1, 0, 1):
            a, b = left + dx, top + dz
            px = a + 0.2 + scatter(a, b, 161) * 0.6 - x * 1.7
            pz = b + 0.2 + scatter(a, b, 162) * 0.6 - z * 1.7
            distance = np.sqrt(px * px + pz * pz)
            nearer = distance < first
            second = np.where(nearer, first, np.minimum(second, distance))
            shade = np.where(nearer, scatter(a, b, 163), shade)
            first = np.where(nearer, distance, first)
    value = 0.45 + shade * 0.3 + fine * 0.3 - first * 0.25
    return tint(np.where(second - first < 0.14, 0.08, value), "cobble")
