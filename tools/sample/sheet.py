"""Texture sheets: which surface lies where, in texels from the upper left corner.

Models ask for a surface by name; a sheet is all that shares one material.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sample import surface
from sample.colour import Picture, blend, tint
from sample.noise import grid, scatter
from sample.surface import Size

Rect = tuple[int, int, int, int]

# fmt: off
BUILDING: Mapping[str, Rect] = {
    "timbered": (0, 0, 128, 64),   "plaster": (128, 0, 192, 64),   "stone": (192, 0, 256, 64),
    "roof": (0, 64, 128, 128),     "slate": (128, 64, 192, 128),   "planks": (192, 64, 256, 128),
    "door": (0, 128, 64, 192),     "window": (64, 128, 128, 192),  "gable": (128, 128, 192, 192),
    "brick": (192, 128, 256, 192), "beam": (0, 192, 64, 256),      "thatch": (64, 192, 128, 256),
    "awning": (128, 192, 192, 256), "sail": (192, 192, 256, 256),
}
PROP: Mapping[str, Rect] = {
    "crate": (0, 0, 64, 64),    "planks": (64, 0, 128, 32),  "staves": (64, 32, 128, 64),
    "iron": (0, 64, 32, 96),    "rings": (32, 64, 64, 96),   "stone": (64, 64, 128, 96),
    "glow": (0, 96, 32, 128),   "water": (32, 96, 64, 128),  "shingle": (64, 96, 96, 128),
    "straw": (96, 96, 128, 128),
}
NATURE: Mapping[str, Rect] = {
    "leaf": (0, 0, 64, 64),    "fir": (64, 0, 128, 64),   "bark": (0, 64, 32, 128),
    "rock": (32, 64, 96, 128), "autumn": (96, 64, 128, 128),
}
FLORA: Mapping[str, Rect] = {
    "tuft": (0, 0, 32, 32), "poppy": (32, 0, 64, 32), "daisy": (0, 32, 32, 64),
    "wheat": (32, 32, 64, 64),
}
HERO: Mapping[str, Rect] = {
    "face": (0, 0, 64, 48),      "sleeve": (64, 32, 96, 64),
    "skin": (96, 32, 128, 64),   "tunic": (0, 48, 64, 96),    "hose": (64, 64, 96, 96),
    "boot": (96, 64, 128, 96),   "straw": (0, 96, 64, 128),   "scarf": (64, 96, 128, 128),
}
# fmt: on
SHEETS = {"building": BUILDING, "prop": PROP, "nature": NATURE, "flora": FLORA, "hero": HERO}
TIMBERS = [
    (0.0, 3, 128, 3), (0, 61, 128, 61), (0, 33, 128, 33), (3, 0, 3, 64), (125, 0, 125, 64),
    (44, 0, 44, 64), (84, 0, 84, 64), (6, 60, 40, 34), (122, 60, 88, 34),
]  # fmt: skip
GABLE_TIMBERS = [
    (0.0, 61, 64, 61), (32, 0, 32, 64), (10, 40, 54, 40), (14, 60, 31, 41), (50, 60, 33, 41),
]  # fmt: skip


def put(sheet: Picture, rect: Rect, picture: Picture) -> None:
    """Lay a surface where the sheet has it."""
    x0, y0, x1, y1 = rect
    sheet[y0:y1, x0:x1, :3] = picture[..., :3]


def paint_building() -> Picture:
    """Paint walls, roofs, doors and windows."""
    sheet = np.zeros((256, 256, 3), np.uint8)
    square = (64, 64)
    pictures = {
        "timbered": surface.timbered((128, 64), 1, TIMBERS),
        "plaster": surface.plaster(square, 2),
        "stone": surface.masonry(square, 3, "stone", 5, 3),
        "roof": surface.shingles((128, 64), 4, "roof", 6, 12),
        "slate": surface.shingles(square, 5, "slate", 6, 6),
        "planks": surface.planks(square, 6, "wood", 5),
        "door": paint_door(square),
        "window": paint_window(square),
        "gable": surface.timbered(square, 7, GABLE_TIMBERS),
        "brick": surface.masonry(square, 8, "brick", 8, 4),
        "beam": surface.planks(square, 9, "timber", 3),
        "thatch": surface.thatch(square, 10),
        "awning": paint_stripes(square, 8),
        "sail": paint_stripes(square, 64),
    }
    for name, picture in pictures.items():
        put(sheet, BUILDING[name], picture)
    return sheet


def paint_door(size: Size) -> Picture:
    """Paint a plank door with iron straps and a ring."""
    x, y = grid(*size)
    door = surface.planks(size, 21, "wood", 5)
    strap = (abs(abs(y - 32) - 19) < 3) & (x > 5) & (x < 46)
    iron = tint(0.55 - (abs(y - 32) - 19) * 0.12, "iron")
    ring = abs(np.sqrt((x - 51) ** 2 + (y - 34) ** 2) - 4) < 1.4
    door = blend(blend(door, iron, strap), tint(np.full(x.shape, 0.8), "gold"), ring)
    edge = np.minimum(np.minimum(x, 64 - x), y) < 4.5
    return blend(door, tint(0.5 + surface.frame(size, 2, 0.35), "timber"), edge)


def paint_window(size: Size) -> Picture:
    """Paint four panes with a warm light behind them, in a wooden cross."""
    x, y = grid(*size)
    warm = np.clip(1.05 - np.sqrt((x - 32) ** 2 + (y - 44) ** 2) / 44, 0.1, 1)
    glint = abs((x + y) % 32 - 16) < 3
    panes = tint(warm + glint * 0.18, "glow")
    bars = np.minimum(abs(x - 32), abs(y - 30)) < 2.5
    edge = np.minimum(np.minimum(x, 64 - x), np.minimum(y, 64 - y)) < 6
    light = 0.55 + surface.frame(size, 2, 0.35) + surface.rough(size, 22, 8, 0.3)
    return blend(panes, tint(light, "timber"), bars | edge)


def paint_stripes(size: Size, period: int) -> Picture:
    """Paint cloth, in stripes if the period is shorter than the cloth."""
    x, y = grid(*size)
    weave = 0.72 - y / size[1] * 0.3 + surface.rough(size, 23, 8, 0.25)
    red = (x // period) % 2 == 1
    hem = (y > size[1] - 4) * 0.3
    return blend(tint(weave - hem, "linen"), tint(weave - hem, "cloth"), red)


def paint_prop() -> Picture:
    """Paint what small things are made from."""
    sheet = np.zeros((128, 128, 3), np.uint8)
    wide, square = (64, 32), (32, 32)
    pictures = {
        "crate": paint_crate((64, 64)),
        "planks": surface.planks(wide, 31, "wood", 3, upright=False),
        "staves": surface.planks(wide, 32, "wood", 8),
        "iron": tint(0.5 + surface.rough(square, 33, 4, 0.5) + surface.frame(square, 2), "iron"),
        "rings": surface.rings(square, 34),
        "stone": surface.masonry(wide, 35, "stone", 3, 4),
        "glow": tint(surface.fall(square, 1.1, 0.35) + surface.frame(square, 2), "glow"),
        "water": tint(0.5 + surface.rough(square, 36, 4, 1.2), "water"),
        "shingle": surface.shingles(square, 37, "roof", 4, 4),
        "straw": surface.thatch(square, 38),
    }
    for name, picture in pictures.items():
        put(sheet, PROP[name], picture)
    return sheet


def paint_crate(size: Size) -> Picture:
    """Paint a side of a crate: boards, a frame and a brace."""
    x, y = grid(*size)
    boards = surface.planks(size, 39, "wood", 5)
    edge = np.minimum(np.minimum(x, 64 - x), np.minimum(y, 64 - y))
    brace = abs(x - y) < 7
    light = 0.66 + surface.rough(size, 40, 8, 0.4)
    light = np.where((edge < 1.5) | ((edge > 7) & (edge < 9)), light - 0.45, light)
    light = np.where(brace & (edge > 9) & (abs(x - y) > 5.2), light - 0.45, light)
    dim = blend(boards, tint(0.2 + surface.rough(size, 41, 8, 0.3), "wood"), abs(x - y - 5) < 5)
    return blend(dim, tint(light, "wood"), (edge < 9) | brace)


def paint_nature() -> Picture:
    """Paint leaves, needles, bark and rock."""
    sheet = np.zeros((128, 128, 3), np.uint8)
    pictures = {
        "leaf": surface.foliage((64, 64), 51, "leaf"),
        "fir": surface.foliage((64, 64), 52, "fir"),
        "bark": surface.planks((32, 64), 53, "bark", 4),
        "rock": tint(
            surface.fall((64, 64), 0.85, 0.2) + surface.rough((64, 64), 54, 5, 0.6), "stone"
        ),
        "autumn": surface.foliage((32, 64), 55, "autumn"),
    }
    for name, picture in pictures.items():
        put(sheet, NATURE[name], picture)
    return sheet


def paint_flora() -> Picture:
    """Paint plants on nothing: blades that end somewhere, flowers on some of them."""
    sheet = np.zeros((64, 64, 4), np.uint8)
    # Green under the transparent texels: filtering mixes their colour into the edges.
    sheet[..., :3] = (71, 121, 58)
    heads = {"tuft": "", "poppy": "rose", "daisy": "linen", "wheat": "thatch"}
    for number, (name, head) in enumerate(heads.items()):
        x0, y0, x1, y1 = FLORA[name]
        sheet[y0:y1, x0:x1] = paint_plant(number, head, "thatch" if name == "wheat" else "grass")
    return sheet


def paint_plant(seed: int, head: str, stem: str) -> Picture:
    """Paint one plant of 32 x 32 texels."""
    x, y = grid(32, 32)
    plant = np.zeros((32, 32, 4), np.uint8)
    plant[..., :3] = tint(np.full(x.shape, 0.4), stem)
    for blade in range(11):
        chance = scatter(np.arange(4), np.full(4, blade), seed + 60)
        rise = (31 - y) / 32
        middle = 6 + chance[0] * 20 + (chance[1] - 0.5) * 22 * rise * rise
        tall = 0.45 + chance[2] * 0.45
        mask = (abs(x - middle) < 1.9 * (1.1 - rise / tall)) & (rise < tall)
        _ink(plant, tint(0.15 + rise * 0.9 + chance[3] * 0.2, stem), mask)
        if head and blade % 3 == 0:
            top = 6 + chance[0] * 20 + (chance[1] - 0.5) * 22 * tall * tall
            away = np.sqrt((x - top) ** 2 + (31 - y - tall * 32) ** 2)
            _ink(plant, tint(1.0 - away / 5, head), away < 3.2)
            _ink(plant, tint(np.full(x.shape, 0.6), "gold"), (away < 1.2) & (head == "linen"))
    return plant


def _ink(picture: Picture, colours: Picture, mask: np.ndarray) -> None:
    picture[mask, :3] = colours[mask]
    picture[mask, 3] = 255
