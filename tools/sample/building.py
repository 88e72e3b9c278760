"""Houses, a windmill, a market stall. Fronts look along +z; everything stands on y = 0."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sample.block import box
from sample.shape import Model, lathe

BUILDING = "building"
PLANKS, BEAM, STONE, BRICK = ((BUILDING, name) for name in ("planks", "beam", "stone", "brick"))
SIDE_FACES = ("right", "left", "front", "back")


@dataclass(frozen=True)
class Cottage:
    """What makes one cottage differ from the next."""

    name: str
    width: float
    depth: float
    height: float
    rise: float
    roof: str
    wall: str
    chimney: float


COTTAGES = (
    Cottage("cottage", 6.0, 5.0, 2.8, 2.6, "roof", "timbered", 1.4),
    Cottage("farmhouse", 8.0, 5.4, 2.7, 3.0, "thatch", "plaster", -2.4),
    Cottage("inn", 7.0, 6.0, 4.6, 3.0, "slate", "timbered", 2.2),
)


def build_cottage(plan: Cottage) -> Model:
    """Build a house with a plinth, a gabled roof, a door, windows and a chimney."""
    model = Model(plan.name)
    x, z, top = plan.width / 2, plan.depth / 2, plan.height
    faces = dict.fromkeys(SIDE_FACES, STONE)
    box(model, (-x - 0.12, -0.4, -z - 0.12), (x + 0.12, 0.45, z + 0.12), faces | {"top": STONE})
    corners = [(-x, z), (x, z), (x, -z), (-x, -z)]
    for (x0, z0), (x1, z1) in zip(corners, corners[1:] + corners[:1], strict=True):
        model.quad(
            [(x0, 0.45, z0), (x1, 0.45, z1), (x1, top, z1), (x0, top, z0)], BUILDING, plan.wall
        )
    _add_gables(model, plan)
    _add_roof(model, plan)
    _add_door(model, -x * 0.35, z)
    for level in range(2 if plan.height > 4 else 1):
        base = 1.05 + 2.05 * level
        for at in (x * 0.42, *((-x * 0.42,) if level else ())):
            _add_window(model, (at, base, z), 0)
        _add_window(model, (0, base, x), 90)
        _add_window(model, (z * 0.1, base, x), -90)
        _add_window(model, (0, base, z), 180)
    _add_chimney(model, plan)
    return model


def _add_gables(model: Model, plan: Cottage) -> None:
    x, z, top = plan.width / 2, plan.depth / 2, plan.height
    u0, v0, u1, v1 = (128.6 / 256, 128.6 / 256, 191.4 / 256, 191.4 / 256)
    uvs = [(u0, v1), (u1, v1), ((u0 + u1) / 2, v0)]
    for sign in (1, -1):
        points = [
            (sign * x, top, sign * z),
            (sign * x, top, -sign * z),
            (sign * x, top + plan.rise, 0),
        ]
        model.add(points, uvs, BUILDING)


def _add_roof(model: Model, plan: Cottage) -> None:
    """Lay two slabs that reach beyond the walls, and a ridge over them."""
    x, z = plan.width / 2 + 0.45, plan.depth / 2
    slope = plan.rise / z
    eave, low = z + 0.5, plan.height - 0.5 * slope
    high, thick = plan.height + plan.rise + 0.02, 0.2
    for turn in (0, 180):
        slab = Model("slab")
        a, b, c, d = (-x, low, eave), (x, low, eave), (x, high, 0), (-x, high, 0)
        lift = [(p[0], p[1] + thick, p[2]) for p in (a, b, c, d)]
        slab.quad(lift, BUILDING, plan.roof)
        slab.quad([a, b, lift[1], lift[0]], BUILDING, "beam")
        slab.quad([b, c, lift[2], lift[1]], BUILDING, "beam")
        slab.quad([d, a, lift[0], lift[3]], BUILDING, "beam")
        slab.quad([d, c, b, a], BUILDING, "planks")
        model.join(slab, turn=turn)
    top = high + thick
    box(model, (-x - 0.08, top - 0.12, -0.16), (x + 0.08, top + 0.14, 0.16), BEAM)


def _add_door(model: Model, x: float, z: float) -> None:
    faces = {"right": BEAM, "left": BEAM, "top": BEAM, "front": (BUILDING, "door")}
    box(model, (x - 0.62, 0.2, z - 0.1), (x + 0.62, 2.25, z + 0.12), faces)
    step = dict.fromkeys((*SIDE_FACES[:3], "top"), STONE)
    box(model, (x - 0.8, -0.3, z), (x + 0.8, 0.2, z + 0.75), step)
    for side in (-0.75, 0.75):
        box(model, (x + side - 0.08, 2.1, z), (x + side + 0.08, 2.35, z + 0.7), BEAM)
    hood = [(x - 1, 2.3, z + 0.85), (x + 1, 2.3, z + 0.85), (x + 1, 2.75, z), (x - 1, 2.75, z)]
    model.quad(hood, BUILDING, "slate")
    model.quad([hood[3], hood[2], hood[1], hood[0]], BUILDING, "planks")


def _add_window(model: Model, at: tuple[float, float, float], turn: float) -> None:
    x, y, z = at
    window = Model("window")
    faces = {"right": BEAM, "left": BEAM, "top": BEAM, "front": (BUILDING, "window")}
    box(window, (x - 0.5, y, z - 0.05), (x + 0.5, y + 1.0, z + 0.08), faces)
    sill = dict.fromkeys(("right", "left", "front", "top"), PLANKS)
    box(window, (x - 0.6, y - 0.12, z - 0.05), (x + 0.6, y, z + 0.2), sill)
    model.join(window, turn=turn)


def _add_chimney(model: Model, plan: Cottage) -> None:
    x, z = plan.chimney, -plan.depth * 0.22
    base, top = plan.height + plan.rise * 0.3, plan.height + plan.rise + 0.9
    box(model, (x - 0.4, base, z - 0.4), (x + 0.4, top, z + 0.4), dict.fromkeys(SIDE_FACES, BRICK))
    cap = dict.fromkeys((*SIDE_FACES, "top", "bottom"), STONE)
    box(model, (x - 0.52, top, z - 0.52), (x + 0.52, top + 0.25, z + 0.52), cap)


def build_windmill() -> Model:
    """Build a tapering tower with a cap and four sails."""
    model = Model("windmill")
    lathe(model, [(2.5, 1.6), (2.75, -0.5)], STONE, 8, 4)
    lathe(model, [(1.75, 7.2), (2.4, 1.6)], (BUILDING, "plaster"), 8, 4)
    lathe(model, [(2.15, 6.95), (1.75, 7.2)], PLANKS, 8, 4)
    lathe(model, [(0, 9.6), (1.3, 8.2), (2.15, 6.95)], (BUILDING, "roof"), 8, 4)
    _add_door(model, 0, 2.3)
    _add_window(model, (0, 4.2, 1.95), 90)
    _add_window(model, (0, 4.2, 1.95), -90)
    box(model, (-0.22, 7.35, 1.2), (0.22, 7.8, 2.75), BEAM)
    for quarter in range(4):
        model.polygons += _sail(quarter * 90 + 20).polygons
    return model


def _sail(degrees: float) -> Model:
    """Build a sail: an arm, and cloth with two sides."""
    sail = Model("sail")
    box(sail, (-0.09, 0.1, 2.5), (0.09, 4.3, 2.66), dict.fromkeys(SIDE_FACES, BEAM))
    cloth = [(0.09, 0.9, 2.56), (1.3, 0.9, 2.62), (1.3, 4.2, 2.62), (0.09, 4.2, 2.56)]
    sail.quad(cloth, BUILDING, "sail")
    sail.quad([cloth[1], cloth[0], cloth[3], cloth[2]], BUILDING, "sail")
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    for one in sail.polygons:
        for rows, middle in ((one.points, 7.57), (one.normals, 0.0)):
            x, y = rows[:, 0].copy(), rows[:, 1].copy()
            rows[:, 0], rows[:, 1] = x * c - y * s, middle + x * s + y * c
    return sail


def build_stall() -> Model:
    """Build a market stall with a striped awning."""
    model = Model("stall")
    for x, z, top in ((-1.4, 0.9, 2.1), (1.4, 0.9, 2.1), (-1.4, -0.9, 2.7), (1.4, -0.9, 2.7)):
        sides = dict.fromkeys(SIDE_FACES, BEAM)
        box(model, (x - 0.08, -0.3, z - 0.08), (x + 0.08, top, z + 0.08), sides)
    cloth = [(-1.7, 2.0, 1.25), (1.7, 2.0, 1.25), (1.7, 2.85, -1.1), (-1.7, 2.85, -1.1)]
    model.quad(cloth, BUILDING, "awning")
    model.quad([cloth[3], cloth[2], cloth[1], cloth[0]], BUILDING, "awning")
    hem = [(-1.7, 1.72, 1.27), (1.7, 1.72, 1.27), cloth[1], cloth[0]]
    model.quad(hem, BUILDING, "awning")
    box(model, (-1.5, 0.75, 0.3), (1.5, 0.9, 1.15), PLANKS)
    box(model, (-1.4, -0.2, 0.4), (1.4, 0.75, 1.05), dict.fromkeys(SIDE_FACES, PLANKS))
    return model
