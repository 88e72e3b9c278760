"""Small things that stand about; each is also a file of its own. All show the sheet `prop`."""

from __future__ import annotations

import itertools
import math

from sample.block import box
from sample.shape import Model, disc, lathe

PROP = "prop"
CRATE, PLANKS, STAVES, IRON, RINGS = (
    (PROP, name) for name in ("crate", "planks", "staves", "iron", "rings")
)
STONE, GLOW, WATER, STRAW = ((PROP, name) for name in ("stone", "glow", "water", "straw"))
SIDES = ("right", "left", "front", "back")


def build_crate() -> Model:
    """Build a crate with soft edges."""
    model = Model("crate")
    box(model, (-0.45, 0, -0.45), (0.45, 0.9, 0.45), CRATE, 0.05)
    return model


def build_barrel() -> Model:
    """Build a barrel with a belly and two hoops."""
    model = Model("barrel")
    lathe(model, [(0.34, 1.05), (0.43, 0.7), (0.43, 0.35), (0.34, 0.0)], STAVES, 8, 2)
    lathe(model, [(0.393, 0.88), (0.421, 0.77)], IRON, 8, 4)
    lathe(model, [(0.421, 0.28), (0.393, 0.17)], IRON, 8, 4)
    lathe(model, [(0.29, 1.0), (0.29, 1.05), (0.34, 1.05)], PLANKS, 8, 2)
    disc(model, 0.3, 1.0, RINGS, 8)
    return model


def build_well() -> Model:
    """Build a stone well with water, a windlass and a roof."""
    model = Model("well")
    lathe(model, [(1.05, 0.85), (1.12, -0.2)], STONE, 9, 3)
    lathe(model, [(0.75, 0.2), (0.75, 0.85)], STONE, 9, 3)
    lathe(model, [(0.75, 0.92), (1.12, 0.92), (1.12, 0.8)], STONE, 9, 3)
    disc(model, 0.76, 0.35, WATER, 9)
    for x in (-0.92, 0.92):
        box(model, (x - 0.08, 0.8, -0.08), (x + 0.08, 2.3, 0.08), dict.fromkeys(SIDES, STAVES))
    box(model, (-0.92, 1.6, -0.09), (0.92, 1.78, 0.09), PLANKS)
    for turn in (0, 180):
        slab = Model("slab")
        low = [(-1.25, 2.1, 0.85), (1.25, 2.1, 0.85), (1.25, 2.85, 0), (-1.25, 2.85, 0)]
        slab.quad(low, PROP, "shingle")
        slab.quad(low[::-1], PROP, "planks")
        model.join(slab, turn=turn)
    gable = [(1.1, 2.15, 0.7), (1.1, 2.15, -0.7), (1.1, 2.8, 0)]
    for turn in (0, 180):
        side = Model("gable")
        side.add(gable, [(0.51, 0.24), (0.99, 0.24), (0.75, 0.01)], PROP)
        side.add(gable[::-1], [(0.75, 0.01), (0.99, 0.24), (0.51, 0.24)], PROP)
        model.join(side, turn=turn)
    return model


def build_lantern() -> Model:
    """Build a post with a light on an arm."""
    model = Model("lantern")
    box(model, (-0.2, -0.2, -0.2), (0.2, 0.25, 0.2), dict.fromkeys((*SIDES, "top"), STONE))
    sides = dict.fromkeys(SIDES, STAVES)
    box(model, (-0.07, 0.25, -0.07), (0.07, 2.7, 0.07), sides | {"top": PLANKS})
    box(model, (-0.05, 2.45, 0.07), (0.05, 2.55, 0.75), PLANKS)
    box(model, (-0.02, 2.27, 0.58), (0.02, 2.45, 0.62), dict.fromkeys(SIDES, IRON))
    lamp = Model("lamp")
    box(lamp, (-0.13, 1.85, -0.13), (0.13, 2.2, 0.13), dict.fromkeys(SIDES, GLOW))
    box(lamp, (-0.17, 1.78, -0.17), (0.17, 1.86, 0.17), IRON)
    lathe(lamp, [(0, 2.36), (0.24, 2.18)], IRON, 4, 4)
    model.join(lamp, (0, 0, 0.6))
    return model


def build_bench() -> Model:
    """Build a bench of three boards."""
    model = Model("bench")
    box(model, (-0.9, 0.42, -0.2), (0.9, 0.5, 0.2), PLANKS, 0.025)
    box(model, (-0.9, 0.62, -0.26), (0.9, 0.92, -0.19), PLANKS)
    for x in (-0.7, 0.7):
        legs = dict.fromkeys(SIDES, PLANKS)
        box(model, (x - 0.06, 0, 0.06), (x + 0.06, 0.42, 0.16), legs)
        box(model, (x - 0.06, 0, -0.3), (x + 0.06, 0.7, -0.2), legs)
    return model


def build_chest() -> Model:
    """Build a chest with a vaulted lid and iron bands."""
    model = Model("chest")
    box(model, (-0.5, 0, -0.3), (0.5, 0.44, 0.3), dict.fromkeys(SIDES, PLANKS))
    arc = [math.radians(30 * step) for step in range(7)]
    rim = [(0.42 + 0.24 * math.sin(a), 0.31 * math.cos(a)) for a in arc]
    for (y0, z0), (y1, z1) in itertools.pairwise(rim):
        for low, high, grow, skin in (
            (-0.5, 0.5, 1.0, "staves"),
            (-0.36, -0.26, 1.05, "iron"),
            (0.26, 0.36, 1.05, "iron"),
        ):
            lift = [0.42 + (y - 0.42) * grow for y in (y0, y1)]
            points = [
                (low, lift[0], z0 * grow),
                (high, lift[0], z0 * grow),
                (high, lift[1], z1 * grow),
                (low, lift[1], z1 * grow),
            ]
            model.quad(points, PROP, skin)
    for sign in (1, -1):
        points = [(sign * 0.5, y, -sign * z) for y, z in rim]
        uvs = [(0.51 + 0.48 * step / 6, 0.24 - (y - 0.42)) for step, (y, _) in enumerate(rim)]
        model.add(points, uvs, PROP)
    box(model, (-0.08, 0.3, 0.28), (0.08, 0.52, 0.35), IRON)
    return model


def build_hay() -> Model:
    """Build a round bale that lies on its side."""
    bale = Model("hay")
    lathe(bale, [(0.6, 0.6), (0.66, 0.45), (0.66, -0.45), (0.6, -0.6)], STRAW, 8, 4)
    disc(bale, 0.6, 0.6, STRAW, 8)
    lower = Model("lower")
    disc(lower, 0.6, 0.6, STRAW, 8)
    for one in lower.polygons:
        one.points[:, 1:] *= -1
        one.normals[:, 1:] *= -1
    bale.polygons += lower.polygons
    for one in bale.polygons:
        for rows, lift in ((one.points, 0.62), (one.normals, 0.0)):
            x, y = rows[:, 0].copy(), rows[:, 1].copy()
            rows[:, 0], rows[:, 1] = y, lift - x
    return bale


def build_fence() -> Model:
    """Build two posts and two rails, two metres wide."""
    model = Model("fence")
    for x in (-0.9, 0.9):
        box(
            model,
            (x - 0.07, -0.3, -0.07),
            (x + 0.07, 1.05, 0.07),
            dict.fromkeys((*SIDES, "top"), STAVES),
        )
    rail = dict.fromkeys(("front", "back", "top"), PLANKS)
    for y in (0.45, 0.8):
        box(model, (-1.02, y, -0.03), (1.02, y + 0.12, 0.03), rail)
    return model


PROPS = (
    build_crate, build_barrel, build_well, build_lantern, build_bench, build_chest, build_hay,
    build_fence,
)  # fmt: skip
