"""Which normals each target gives an OBJ file that has none."""

from __future__ import annotations

import math

import pytest

from tests.fuzz.memory_build import build

ASSET = '[[asset]]\nsource = "assets/*"\n'
SCENE = '[[scene]]\nname = "s"\nsource = "assets/*"\n'
GAME = '[game]\nid = "g"\ntitle = "t"\nauthor = "a"\nversion = "1"\n'
MANIFESTS = {
    "emberware": GAME + ASSET + 'vertex_format = "POS_NORMAL"\n',
    "kac": ASSET,
    "rp2350": ASSET,
    "splashpack": SCENE,
    "untold": SCENE,
}


def column(sides: int, smoothing: str = "") -> bytes:
    """The sides of a column without normals."""
    turns = [2 * math.pi * number / sides for number in range(sides)]
    lines = [f"v {math.cos(turn)} {y} {math.sin(turn)}" for y in (0, 1) for turn in turns]
    for a in range(1, sides + 1):
        b = a % sides + 1
        lines.append(f"f {a} {a + sides} {b + sides} {b}")
    return "\n".join([smoothing, *lines]).encode()


def files(target: str, obj: bytes, shading: str = "") -> dict[str, bytes]:
    option = f'shading = "{shading}"\n' if shading else ""
    built = build(target, {"assets/a.obj": obj}, MANIFESTS[target] + option)
    assert built.files
    assert not built.errors
    return built.files


@pytest.mark.parametrize("target", ["emberware", "rp2350", "splashpack", "untold"])
def test_round_obj_without_normals_is_smooth_and_an_angular_one_flat(target):
    assert files(target, column(12)) == files(target, column(12), "angle")
    assert files(target, column(12)) != files(target, column(12), "flat")
    assert files(target, column(4)) == files(target, column(4), "flat")
    assert files(target, column(4)) != files(target, column(4), "smooth")


@pytest.mark.parametrize("target", sorted(MANIFESTS))
def test_obj_that_says_flat_is_flat(target):
    told = column(12, "s off")
    assert files(target, told) == files(target, told, "flat")


def test_kac_keeps_an_obj_without_groups_flat():
    assert files("kac", column(12)) == files("kac", column(12), "flat")
    assert files("kac", column(12), "angle") != files("kac", column(12), "flat")
