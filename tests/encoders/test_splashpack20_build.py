"""Scenes of version 20 from a game's repository, through doit, as a user has them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.audio.wav_writer import encode_wav
from encoders.kit.error import EncodeError
from encoders.kit.source.registry import load
from pipeline.plan.target import load_target
from tests.encoders.splashpack20_reader import read20, read_spu20, read_vram20
from tests.encoders.splashpack_scene import SQUARE, noise, png
from tests.fuzz.damage import damage
from tests.fuzz.fuzz_targets import arguments_of
from tests.fuzz.memory_build import build
from tests.fuzz.seeds import make_projects
from tests.pipeline.game import Game

MANIFEST = """target = "splashpack"
version = 20

[[scene]]
name = "hall"
source = "assets/wall.obj"
files = "scene_0"

[[sound]]
source = "assets/bell.wav"

[[sound]]
source = "assets/bell.wav"
id = "hum"
loop = true
rate = 8000
"""


def bell(period: float = 9) -> bytes:
    wave = 9000 * np.sin(np.arange(3000) * 2 * np.pi / period)
    return encode_wav(np.rint(wave).astype(np.int16), 11025)


@pytest.fixture
def game(tmp_path: Path) -> Game:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.write("manifests/psx.toml", MANIFEST)
    game.write("assets/wall.obj", SQUARE.replace("a.mtl", "wall.mtl"))
    game.write("assets/wall.mtl", "newmtl m\nmap_Kd brick.png\n")
    game.write("assets/brick.png", png(noise(16, 16) // 64 * 64))
    game.write("assets/bell.wav", bell())
    return game


def test_a_scene_becomes_the_three_files_that_the_runtime_opens(game):
    ran = game.doit()
    assert ran.code == 0, ran.out
    assert sorted(game.outputs()) == [
        f"build/psx/scene_0.{suffix}" for suffix in ("splashpack", "spu", "vram")
    ]
    pack = read20(game.read("build/psx/scene_0.splashpack"))
    assert [one["name"] for one in pack["objects"]] == ["wall"]
    assert [one[0] for one in pack["sounds"]] == ["bell", "hum"]
    assert len(read_vram20(game.read("build/psx/scene_0.vram"))["atlases"]) == 1
    assert [one[:2] for one in read_spu20(game.read("build/psx/scene_0.spu"))] == [
        (11025, 0),
        (round(11025 * 2184 / 3000), 1),
    ]
    for name in ("VRAM", "RAM", "SPU", "primitives"):
        assert f"\n  {name} " in ran.out
    assert game.doit().built == []


def test_an_edited_sound_builds_itself_and_the_scene(game):
    game.doit()
    game.write("assets/bell.wav", bell(11))
    expected = ["psx:hall", "psx:hall/sound/bell", "psx:hall/sound/hum"]
    assert game.doit().built == expected
    game.remove("assets/bell.wav")
    ran = game.doit()
    assert ran.code == 3
    assert 'sound[1].source  found "assets/bell.wav"; there is no such file (line' in ran.err
    game.write("assets/bell.wav", bell(11))
    assert game.doit().code == 0


def test_the_version_changes_the_link_and_neither_texture_nor_layout(game):
    game.write("manifests/psx.toml", MANIFEST.partition("[[sound]]")[0])
    game.doit()
    game.write("manifests/psx.toml", MANIFEST.partition("[[sound]]")[0].replace("version = 20", ""))
    assert game.doit().built == ["psx:hall", "psx:hall/mesh/wall"]
    names = ("scene_0.splashpack", "scene_0.vram.png")
    assert sorted(game.outputs()) == [f"build/psx/{name}" for name in names]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 20", "version = 2", "1, 20"),
        ("version = 20", "", "these keys need version 20"),
        ('id = "hum"', 'id = "bell"', "given twice"),
        ("rate = 8000", "rate = 80", "a whole number from 1000 to 48000"),
        ('"assets/bell.wav"', '"assets/*.wav"', "the path of one file"),
        ('"assets/bell.wav"', '"../bell.wav"', "the path of one file"),
        ('files = "scene_0"', "fog = 11", "a whole number from 0 to 10"),
        ('files = "scene_0"', 'files = "a/b"', "a name without /"),
        ('files = "scene_0"', "clear_color = [1, 2]", "a list of 3"),
    ],
)
def test_a_wrong_manifest_is_an_error_before_anything_runs(game, old, new, message):
    game.write("manifests/psx.toml", MANIFEST.replace(old, new))
    ran = game.doit()
    assert ran.code == 3
    assert message in ran.out + ran.err


@pytest.mark.parametrize(
    "lines", ["[camera]\nwalk = true\n", "[camera]\nposition = [1, 2, 3]\n", "collider = true\n"]
)
def test_keys_of_version_20_are_refused_in_version_1(game, lines):
    scene = MANIFEST.partition("[[sound]]")[0]
    game.write("manifests/psx.toml", scene.replace("version = 20", "version = 1") + lines)
    ran = game.doit()
    assert ran.code == 3
    assert "these keys need version 20" in ran.out + ran.err


def test_inspection_reads_and_draws_all_three(game):
    game.doit()
    for suffix in ("splashpack", "vram", "spu"):
        path = f"build/psx/scene_0.{suffix}"
        ran = game.doit("inspect", path, "--json")
        assert ran.code == 0, ran.out + ran.err
        assert json.loads(ran.out)["warnings"] == []
    for suffix in ("splashpack", "vram"):
        shot = str(game.path(f"{suffix}.png"))
        assert game.doit("inspect", f"build/psx/scene_0.{suffix}", "--render", shot).code == 0
    game.doit("inspect", "build/psx/scene_0.spu", "--extract", str(game.path("wavs")))
    assert game.read("wavs/clip_0.wav").startswith(b"RIFF")
    game.write("build/psx/scene_0.vram", b"VR\0\0\0\0\0\0")
    ran = game.doit("inspect", "build/psx/scene_0.splashpack")
    assert ran.code == 1
    assert "the uploads of this file are not those of the scene" in ran.err


def test_other_process_and_hash_seed_give_the_same_bytes(game):
    game.doit()
    first = game.outputs()
    game.remove("build")
    game.remove("cache")
    pure = {"PYTHONHASHSEED": "7", "CARTWRIGHT_PURE": "1"}
    assert game.process(**pure).code == 0
    assert game.outputs() == first


FUZZED = """version = 20
[[scene]]
name = "scene"
source = "assets/*"
collider = true
fog = 2
[[texture]]
match = "*"
bpp = "auto"
[[sound]]
source = "assets/a.wav"
"""


@pytest.mark.parametrize("name", ["a.obj", "chain.glb", "textured.gltf"])
def test_whatever_is_built_is_read_and_damage_is_shown_or_refused(name):
    files = {**make_projects()[name][0], "assets/a.wav": bell()}
    built = build("splashpack", files, FUZZED)
    assert built.errors == []
    assert sorted(built.files) == ["scene.splashpack", "scene.spu", "scene.vram"]
    readers = [one for one in load_target("splashpack").readers if one.magic != b"SP\1\0"]
    chance = random.Random(name)
    for reader in readers:
        path = f"scene{reader.suffix}"
        for function in (reader.decode, *reader.exports.values()):
            load(function)(*arguments_of(reader, built.files[path], path, built.files))
            for _ in range(8):
                beside = chance.choice(sorted(built.files))
                spoilt = damage(built.files[beside], beside, [bytes(9)], chance)
                project = {**built.files, beside: spoilt}
                try:
                    load(function)(*arguments_of(reader, project[path], path, project))
                except EncodeError:
                    continue
