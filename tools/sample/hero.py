"""The hero: a body of tubes hung on bones, its texture, and the file that holds both."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sample import surface
from sample.bone import BONES, CLIPS, ORDER, Channel
from sample.colour import Picture, blend, tint
from sample.gltf import Document
from sample.noise import grid
from sample.shape import Model, uv_rect
from sample.sheet import HERO, put

Ring = tuple[float, float, float, float, float, dict[str, float]]

# fmt: off
# Each part has a surface, a number of sides, and rings from the top down:
# x, y, z, half the width, half the depth, and the bones that it hangs on.
HEAD, CHEST, HIPS = {"head": 1.0}, {"chest": 1.0}, {"hips": 1.0}
ARM, HAND, LEG, SHIN, FOOT = (
    {f"{name}_l": 1.0} for name in ("arm", "hand", "leg", "shin", "foot")
)
MIDDLE: list[tuple[str, int, list[Ring]]] = [
    ("straw", 8, [
        (0, 1.93, -.02, .07, .07, HEAD), (0, 1.92, -.02, .15, .15, HEAD),
        (0, 1.79, -.01, .18, .18, HEAD), (0, 1.75, 0, .38, .38, HEAD),
    ]),
    ("straw", 8, [(0, 1.75, 0, .38, .38, HEAD), (0, 1.77, 0, .18, .18, HEAD)]),
    ("face", 8, [
        (0, 1.8, 0, .16, .16, HEAD), (0, 1.68, 0, .195, .19, HEAD),
        (0, 1.5, .005, .175, .18, HEAD), (0, 1.41, .02, .1, .11, HEAD),
    ]),
    ("scarf", 8, [
        (0, 1.47, .01, .1, .1, {"head": .5, "chest": .5}), (0, 1.42, .01, .16, .14, CHEST),
        (0, 1.34, 0, .19, .14, CHEST),
    ]),
    ("tunic", 8, [
        (0, 1.4, 0, .12, .09, CHEST), (0, 1.34, 0, .225, .13, CHEST),
        (0, 1.1, 0, .2, .13, {"chest": .7, "hips": .3}), (0, .95, 0, .18, .125, HIPS),
        (0, .7, 0, .25, .19, {"hips": .8, "leg_l": .1, "leg_r": .1}),
    ]),
]
# These are made again for the right side.
LEFT: list[tuple[str, int, list[Ring]]] = [
    ("sleeve", 6, [
        (.2, 1.37, 0, .03, .04, ARM), (.24, 1.34, 0, .075, .08, ARM),
        (.265, 1.1, 0, .065, .07, {"arm_l": .8, "hand_l": .2}),
        (.275, 1.0, 0, .062, .065, {"arm_l": .2, "hand_l": .8}), (.285, .9, 0, .07, .075, HAND),
    ]),
    ("skin", 6, [
        (.285, .92, 0, .05, .05, HAND), (.29, .82, .01, .055, .06, HAND),
        (.285, .74, .02, .03, .035, HAND),
    ]),
    ("hose", 6, [
        (.11, .84, 0, .1, .1, LEG), (.11, .52, 0, .08, .085, {"leg_l": .8, "shin_l": .2}),
        (.11, .42, 0, .078, .082, {"leg_l": .2, "shin_l": .8}), (.11, .26, 0, .07, .075, SHIN),
    ]),
    ("boot", 6, [
        (.11, .34, 0, .095, .1, SHIN), (.11, .14, -.01, .08, .09, {"shin_l": .6, "foot_l": .4}),
        (.11, .08, .05, .09, .15, FOOT), (.11, 0, .06, .095, .17, FOOT),
    ]),
]
# fmt: on


def build_hero() -> Model:
    """Build the body."""
    model = Model("hero")
    for skin, sides, rings in MIDDLE:
        add_tube(model, skin, sides, rings)
    for skin, sides, rings in LEFT:
        add_tube(model, skin, sides, rings)
        add_tube(model, skin, sides, [_other_side(ring) for ring in rings])
    return model


def _other_side(ring: Ring) -> Ring:
    x, *rest, bones = ring
    swapped = {f"{name[:-1]}r" if name.endswith("_l") else name: one for name, one in bones.items()}
    return (-x, *rest, swapped)  # type: ignore[return-value]


def add_tube(model: Model, skin: str, sides: int, rings: Sequence[Ring]) -> None:
    """Add rings from the top down, joined and closed at both ends; u = 0.5 looks along +z."""
    u0, v0, u1, v1 = uv_rect("hero", skin)
    heights = [math.hypot(b[1] - a[1], b[3] - a[3]) for a, b in itertools.pairwise(rings)]
    levels = [
        v0 + (v1 - v0) * at / sum(heights) for at in itertools.accumulate(heights, initial=0.0)
    ]
    for (upper, top), (lower, bottom) in itertools.pairwise(zip(rings, levels, strict=True)):
        tilt = math.atan2(lower[3] - upper[3], upper[1] - lower[1])
        for side in range(sides):
            left, right = (side / sides - 0.5, (side + 1) / sides - 0.5)
            spots = [
                (lower, left, bottom),
                (lower, right, bottom),
                (upper, right, top),
                (upper, left, top),
            ]
            points = [_on_ring(ring, turn) for ring, turn, _ in spots]
            uvs = [(u0 + (u1 - u0) * (turn + 0.5), v) for _, turn, v in spots]
            normals = [_outward(turn, tilt) for _, turn, _ in spots]
            model.add(points, uvs, "hero", normals)
            model.polygons[-1].joints = [_weights(ring) for ring, *_ in spots]
    for ring, level, order in ((rings[0], levels[0], 1), (rings[-1], levels[-1], -1)):
        turns = [side / sides - 0.5 for side in range(sides)][::order]
        uvs = [(u0 + (u1 - u0) * (turn + 0.5), level) for turn in turns]
        model.add([_on_ring(ring, turn) for turn in turns], uvs, "hero")
        model.polygons[-1].joints = [_weights(ring)] * sides


def _on_ring(ring: Ring, turn: float) -> tuple[float, float, float]:
    """Return a point of a ring whose corners are a little squarer than a circle's."""
    x, y, z, width, depth, _ = ring
    s, c = math.sin(2 * math.pi * turn), math.cos(2 * math.pi * turn)
    square = [math.copysign(abs(one) ** 0.85, one) for one in (s, c)]
    return (x + width * square[0], y, z + depth * square[1])


def _outward(turn: float, tilt: float) -> tuple[float, float, float]:
    s, c = math.sin(2 * math.pi * turn), math.cos(2 * math.pi * turn)
    return (s * math.cos(tilt), math.sin(tilt), c * math.cos(tilt))


def _weights(ring: Ring) -> dict[int, float]:
    return {ORDER.index(name): weight for name, weight in ring[5].items()}


def paint_hero() -> Picture:
    """Paint the hero's clothes and face."""
    sheet = np.zeros((128, 128, 3), np.uint8)
    small, wide = (32, 32), (64, 32)
    cloth = surface.fall(small, 0.85, 0.3) + surface.rough(small, 301, 4, 0.4)
    pictures = {
        "face": paint_face((64, 48)),
        "sleeve": blend(tint(cloth, "linen"), tint(cloth, "leather"), grid(*small)[1] > 26),
        "skin": tint(surface.fall(small, 0.8, 0.5), "skin"),
        "tunic": paint_tunic((64, 48)),
        "hose": tint(cloth, "hose"),
        "boot": paint_boot(small),
        "straw": surface.thatch(wide, 303),
        "scarf": tint(surface.fall(wide, 0.9, 0.2) + surface.rough(wide, 304, 8, 0.5), "cloth"),
    }
    for name, picture in pictures.items():
        put(sheet, HERO[name], picture)
    return sheet


def paint_face(size: surface.Size) -> Picture:
    """Paint a head all around: the face in the middle, hair at the sides and behind."""
    x, y = grid(*size)
    aside = abs(x - 32)
    face = tint(0.82 - y / 150 - aside / 90, "skin")
    cheeks = np.sqrt((aside - 8) ** 2 + (y - 29) ** 2) < 2.6
    face = blend(face, tint(np.full(x.shape, 0.7), "rose"), cheeks)
    eyes = (abs(aside - 6) < 1.6) & (abs(y - 23) < 3)
    face = blend(face, tint(np.full(x.shape, 0.2), "ink"), eyes)
    glint = (abs(x - 32 - np.sign(x - 32) * 6 + 0.5) < 0.6) & (abs(y - 21.5) < 0.6)
    face = blend(face, tint(np.full(x.shape, 1.0), "linen"), glint)
    mouth = (aside < 4) & (abs(y - 33 + aside * 0.3) < 0.8)
    face = blend(face, tint(np.full(x.shape, 0.1), "skin", 0), mouth)
    brows = (abs(aside - 6) < 2.8) & (abs(y - 17.5) < 0.9)
    hair = (aside > 14 + np.clip(30 - y, 0, 30) * 0.06) & (y < 42) | (y < 13) | brows
    return blend(face, surface.thatch(size, 305, "hair"), hair)


def paint_tunic(size: surface.Size) -> Picture:
    """Paint a tunic with laces, a belt with a buckle, and a hem."""
    x, y = grid(*size)
    tunic = tint(0.8 - y / 90 + surface.rough(size, 306, 6, 0.5), "tunic")
    laces = (abs(x - 32) < 3) & (y > 8) & (y < 22) & (abs((y - x) % 5 - 2) < 1)
    tunic = blend(tunic, tint(np.full(x.shape, 0.9), "linen"), laces)
    belt = abs(y - 29) < 2.6
    tunic = blend(tunic, tint(0.6 - (y - 29) * 0.15, "leather"), belt)
    buckle = belt & (abs(x - 32) < 3.4) & ((abs(x - 32) > 1.6) | (abs(y - 29) > 1.4))
    tunic = blend(tunic, tint(np.full(x.shape, 0.8), "gold"), buckle)
    return blend(tunic, tint(0.7 - (y - 45) * 0.1, "gold"), abs(y - 45) < 1.2)


def paint_boot(size: surface.Size) -> Picture:
    """Paint a boot with a turned-down top and a sole."""
    _, y = grid(*size)
    boot = tint(0.75 - y / 60 + surface.rough(size, 307, 4, 0.4), "leather")
    boot = blend(boot, tint(0.9 - y / 12, "leather"), y < 6)
    return blend(boot, tint(np.full(y.shape, 0.1), "leather", 0), y > 28)


def write_hero() -> bytes:
    """Return the body, the skeleton and the clips as a GLB file."""
    document = Document(["hero"], "../textures/")
    places = {name: np.array(at) for name, (_, at) in BONES.items()}
    for name, (parent, _) in BONES.items():
        offset = places[name] - (places[parent] if parent else 0)
        children = [ORDER.index(one) for one, (up, _) in BONES.items() if up == name]
        more = {"children": children} if children else {}
        document.node(name=name, translation=offset.round(4).tolist(), **more)
    binds = np.tile(np.eye(4), (len(ORDER), 1, 1))
    binds[:, 3, :3] = -np.array([places[name] for name in ORDER])
    skin = {
        "name": "hero",
        "joints": list(range(len(ORDER))),
        "inverseBindMatrices": document.accessor(binds),
    }
    body = document.node(name="hero", mesh=document.mesh(build_hero()), skin=0)
    document.root["scenes"][0]["nodes"] = [0, body]
    clips = [_write_clip(document, name, make()) for name, make in CLIPS.items()]
    document.root |= {"skins": [skin], "animations": clips}
    return document.glb()


def _write_clip(document: Document, name: str, channels: Sequence[Channel]) -> dict[str, object]:
    samplers, targets = [], []
    for number, channel in enumerate(channels):
        samplers.append(
            {
                "input": document.accessor(np.array(channel.times), limits=True),
                "output": document.accessor(np.array(channel.values)),
                "interpolation": channel.interpolation,
            }
        )
        target = {"node": ORDER.index(channel.bone), "path": channel.path}
        targets.append({"sampler": number, "target": target})
    return {"name": name, "samplers": samplers, "channels": targets}
