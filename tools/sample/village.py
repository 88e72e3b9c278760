"""The village and the woods around it: which model stands where.

Trees and flowers are placed at random, with a fixed seed.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

from sample import building, nature, prop
from sample.land import FIELD, HALF, QUARTERS, away_from_paths, build_ground, height_at
from sample.shape import Model


@dataclass(frozen=True)
class Placed:
    """A model in its place, turned about y by degrees."""

    model: str
    at: tuple[float, float, float]
    turn: float = 0.0
    scale: float = 1.0


# fmt: off
HOUSES = [
    ("cottage", -10, -8), ("inn", 0.5, -11.5), ("farmhouse", 13, -1), ("cottage", -11, 8),
    ("cottage", 10, 11),
]
THINGS = [
    ("well", 0, 0, 15), ("stall", 4.6, -4.2, -35), ("stall", -4.4, -4.4, 40),
    ("lantern", 4.2, 3.4, 220), ("lantern", -4.3, 3.2, 130),
    ("bench", -3.6, -1.2, 80), ("bench", 2.9, 4.9, 200),
    ("crate", 6.6, -5.2, 20), ("crate", 6.4, -6.2, 50), ("crate", 3.7, -8.1, 12),
    ("barrel", 7.4, -6.0, 0), ("barrel", -2.9, -8.0, 30),
    ("chest", -5.4, -5.2, 40), ("hay", 14.5, 5.2, 30), ("hay", 16.2, 4.4, 75),
]
# fmt: on
FENCES = [(-26.0 + 2 * step, 9.4, 0.0) for step in range(6)] + [
    (-13.4, 11.0 + 2 * step, 90.0) for step in range(6)
]


def build_models() -> list[Model]:
    """Build every model that the scenes use, each once."""
    models = [build_ground(quarter) for quarter in QUARTERS]
    models += [building.build_cottage(plan) for plan in building.COTTAGES]
    models += [building.build_windmill(), building.build_stall()]
    models += [build() for build in prop.PROPS]
    models += [
        nature.build_oak("oak", nature.LEAF, 201),
        nature.build_oak("maple", nature.AUTUMN, 211),
        nature.build_fir(),
        nature.build_rock(),
        nature.build_bush(),
    ]
    return models + [nature.build_plant(name) for name in ("tuft", "poppy", "daisy", "wheat")]


def place_all() -> tuple[list[Placed], list[Placed]]:
    """Return what belongs to the village, and the woods and meadows around it."""
    placed = [Placed(f"ground_{quarter}", (0, 0, 0)) for quarter in QUARTERS]
    placed += [_stand(name, x, z, _towards_middle(x, z)) for name, x, z in HOUSES]
    placed.append(_stand("windmill", 20, -18, _towards_middle(20, -18)))
    placed += [_stand(*thing) for thing in THINGS]
    fences = [_stand("fence", *fence) for fence in FENCES]
    taken = [(one.at[0], one.at[2], 5.0) for one in placed if one.model in _LARGE]
    taken += [(one.at[0], one.at[2], 1.2) for one in placed + fences if one.model not in _LARGE]
    chance = random.Random(2026)
    trees = _plant_trees(chance, taken)
    near = [one for one in trees if math.hypot(one.at[0], one.at[2]) < 15]
    far = [one for one in trees if one not in near]
    return placed + near, fences + far + _plant_flowers(chance, taken)


_LARGE = {"cottage", "inn", "farmhouse", "windmill"}


def _towards_middle(x: float, z: float) -> float:
    return round(math.degrees(math.atan2(-x, -z)))


def _stand(model: str, x: float, z: float, turn: float = 0, scale: float = 1) -> Placed:
    return Placed(model, (x, height_at(x, z), z), turn, scale)


def _is_free(x: float, z: float, taken: list[tuple[float, float, float]], room: float) -> bool:
    x0, z0, x1, z1 = FIELD
    in_field = x0 - 1 < x < x1 + 1 and z0 - 1 < z < z1 + 1
    path = float(away_from_paths(np.array([x]), np.array([z]))[0])
    apart = all(math.hypot(x - a, z - b) > reach + room for a, b, reach in taken)
    return apart and not in_field and path > 1.4 + room * 0.6


def _plant_trees(chance: random.Random, taken: list[tuple[float, float, float]]) -> list[Placed]:
    kinds = ["oak", "oak", "maple", "fir", "fir", "fir", "bush", "rock"]
    placed: list[Placed] = []
    for _ in range(4000):
        x, z = (round(chance.uniform(-HALF + 1.5, HALF - 1.5), 2) for _ in range(2))
        kind, turn = chance.choice(kinds), round(chance.uniform(0, 360))
        is_wood = math.hypot(x, z) > 17
        room = 1.6 if is_wood else 1.0
        kind = kind if is_wood else ("oak", "bush")[turn % 2]
        if math.hypot(x, z) < 11 or not _is_free(x, z, taken, room):
            continue
        taken.append((x, z, room))
        placed.append(_stand(kind, x, z, turn, round(chance.uniform(0.85, 1.25), 2)))
        if len(placed) == 44:
            break
    return placed


def _plant_flowers(chance: random.Random, taken: list[tuple[float, float, float]]) -> list[Placed]:
    x0, z0, *_ = FIELD
    placed = [
        _stand("wheat", x0 + 1.2 + 1.9 * column, z0 + 1.2 + 2.3 * row, 37 * (row + column), 1.2)
        for row in range(6)
        for column in range(6)
    ]
    while len(placed) < 36 + 60:
        x, z = (round(chance.uniform(-20, 20), 2) for _ in range(2))
        kind = chance.choice(("tuft", "tuft", "poppy", "daisy"))
        if math.hypot(x, z) > 6 and _is_free(x, z, taken, 0.3):
            placed.append(_stand(kind, x, z, round(chance.uniform(0, 360)), 0.8))
    return placed
