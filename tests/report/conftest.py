"""A small game with something to see for every target, built once for all tests."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.report.page.picture import encode_wav
from tests.pipeline.game import Game

BOX = """mtllib box.mtl
v -1 0 -1
v 1 0 -1
v 1 0 1
v -1 0 1
v 0 2 0
vt 0 0
vt 1 0
vt 0.5 1
usemtl wood
f 1/1 4/2 5/3
f 4/1 3/2 5/3
f 3/1 2/2 5/3
f 2/1 1/2 5/3
"""
MANIFESTS = {
    "kac": 'target = "kac"\n[[asset]]\nsource = "assets/*.obj"\n',
    "rp2350": 'target = "rp2350"\n[[asset]]\nsource = "assets/*.png"\n',
    "emberware": (
        'target = "emberware"\n[game]\nid = "game"\ntitle = "A game"\nauthor = "us"\n'
        'version = "1"\n[[asset]]\nsource = ["assets/*.wav", "assets/wood.png"]\n'
    ),
    "splashpack": (
        'target = "splashpack"\n[[scene]]\nname = "yard"\nsource = "assets/box.obj"\nscale = 10\n'
    ),
    "untold": (
        'target = "untold"\n[[scene]]\nname = "yard"\nsource = "assets/box.obj"\n'
        "tile_size = [1, 100, 1]\n"
    ),
}
HERO = Path(__file__).parents[2] / "assets/characters/hero.glb"
CLIP = '[[asset]]\nsource = "assets/hero.glb"\nkinds = ["mesh", "skeleton", "animation"]\n'


def make_game(root: Path) -> Game:
    game = Game(root)
    game.remove("manifests/toy.toml")
    game.remove("encoders")
    for name, text in MANIFESTS.items():
        game.write(f"manifests/{name}.toml", text)
    game.write("assets/box.obj", BOX)
    game.write("assets/box.mtl", "newmtl wood\nmap_Kd wood.png\n")
    paint(game, "assets/wood.png", (160, 110, 60))
    paint(game, "assets/leaf.png", (40, 140, 50))
    wave = (np.sin(np.arange(2000) / 9) * 20000).astype(np.int16)
    game.write("assets/tone.wav", encode_wav(wave, 22050))
    return game


def paint(game: Game, name: str, color: tuple[int, int, int]) -> None:
    game.path(name).parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 64), color).save(game.path(name))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Game:
    """A game that was built and has a report; tests leave it as it is."""
    game = make_game(tmp_path_factory.mktemp("report") / "village")
    # A rig with clips, which the games that a test builds for itself do without.
    game.write("assets/hero.glb", HERO.read_bytes())
    game.write("manifests/emberware.toml", f"{MANIFESTS['emberware']}{CLIP}")
    assert game.doit().code == 0
    assert game.doit("report").code == 0
    return game


def is_webp(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP" and struct.unpack("<I", data[4:8])[0] > 0


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return Game(tmp_path / "game")
