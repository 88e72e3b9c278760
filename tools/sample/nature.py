"""Trees, rocks and flowers."""

from __future__ import annotations

import math

from sample.block import lump
from sample.shape import Model, lathe

NATURE = "nature"
BARK, LEAF, FIR, AUTUMN, ROCK = ((NATURE, n) for n in ("bark", "leaf", "fir", "autumn", "rock"))


def build_oak(name: str, skin: tuple[str, str], seed: int) -> Model:
    """Build a tree with a crown of four lumps."""
    model = Model(name)
    lathe(model, [(0.16, 2.6), (0.24, 1.2), (0.46, -0.3)], BARK, 5, 5)
    lump(model, (0, 3.6, 0), (1.55, 1.35, 1.55), skin, seed)
    lump(model, (1.0, 2.9, 0.35), (0.95, 0.85, 0.95), skin, seed + 1)
    lump(model, (-0.85, 2.75, 0.55), (0.9, 0.8, 0.9), skin, seed + 2)
    lump(model, (-0.1, 2.8, -0.95), (1.0, 0.85, 0.95), skin, seed + 3)
    return model


def build_fir() -> Model:
    """Build a fir of three skirts."""
    model = Model("fir")
    lathe(model, [(0.16, 1.2), (0.28, -0.3)], BARK, 5, 5)
    for radius, low, high in ((1.5, 0.8, 3.1), (1.15, 2.1, 4.4), (0.8, 3.5, 5.8)):
        bend = (radius * 0.55, low + (high - low) * 0.35)
        lathe(model, [(0, high), bend, (radius, low)], FIR, 7, 7)
        lathe(model, [(radius, low), (0.12, low + 0.3)], FIR, 7, 7)
    return model


def build_rock() -> Model:
    """Build a boulder, sunk into the ground."""
    model = Model("rock")
    lump(model, (0, 0.25, 0), (0.9, 0.65, 0.75), ROCK, 77, 0.22)
    return model


def build_bush() -> Model:
    """Build a low bush."""
    model = Model("bush")
    lump(model, (0, 0.4, 0), (0.8, 0.6, 0.7), LEAF, 90)
    lump(model, (0.6, 0.3, 0.3), (0.5, 0.42, 0.5), LEAF, 91)
    return model


def build_plant(surface: str) -> Model:
    """Build two crossed pictures, each with two sides, because no material here is double-sided."""
    model = Model(surface)
    for degrees in (20, 110, 200, 290):
        x, z = 0.5 * math.cos(math.radians(degrees)), 0.5 * math.sin(math.radians(degrees))
        points = [(-x, -0.05, -z), (x, -0.05, z), (x, 0.95, z), (-x, 0.95, -z)]
        model.quad(points, "flora", surface)
    return model
