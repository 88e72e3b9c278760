"""A game with RP2350 assets in a temporary folder."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
from PIL import Image

from tests.pipeline.game import Game

MANIFEST = """\
target = "rp2350"

[[asset]]
source = "assets/**/*"

[[asset]]
source = "assets/textures/wood*"
format = "auto"
mipmaps = true
"""


def make_game(root: Path) -> Game:
    """Make a game with two textures and a mesh, and nothing of the toy target."""
    game = Game(root)
    game.remove("manifests/toy.toml")
    game.remove("encoders/toy.py")
    game.write("manifests/rp2350.toml", MANIFEST)
    game.write("assets/textures/player.png", png(player()))
    game.write("assets/textures/wood.png", png(wood()))
    game.write("assets/meshes/ball.obj", ball(12, 6))
    return game


def png(image) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()


def wood():
    y, x = np.mgrid[0:32, 0:64]
    return np.stack([x * 4, y * 8, (x + y) * 2, np.full_like(x, 255)], -1).astype(np.uint8)


def player():
    rng = np.random.default_rng(1)
    return rng.integers(0, 256, (8, 16, 4), np.uint8)


def ball(columns: int, rows: int) -> str:
    """A sphere: quads in rows from pole to pole, six decimals as exporters write them."""
    lines = []
    for j in range(rows + 1):
        for i in range(columns + 1):
            t, p = math.pi * j / rows, 2 * math.pi * i / columns
            x, y, z = math.sin(t) * math.cos(p), math.cos(t), math.sin(t) * math.sin(p)
            lines.append(f"v {x:.6f} {y:.6f} {z:.6f}\nvn {x:.6f} {y:.6f} {z:.6f}")
            lines.append(f"vt {i / columns:.6f} {j / rows:.6f}")
    for j in range(rows):
        for i in range(columns):
            a = j * (columns + 1) + i + 1
            halves = ((a, a + 1, a + columns + 2), (a, a + columns + 2, a + columns + 1))
            lines += ["f " + " ".join(f"{k}/{k}/{k}" for k in corners) for corners in halves]
    return "\n".join(lines) + "\n"
