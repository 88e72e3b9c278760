"""SPLASHPACK version 20: the scene from its own camera, and its VRAM."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image
from raster import Picture

from encoders.splashpack.v20.render import render_scene
from encoders.splashpack.v20.view import render_vram


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the view and VRAM."""
    files = {path.name: path.read_bytes() for path in build.iterdir()}
    scene = render_scene(files["scene_0.splashpack"], "scene_0.splashpack", files.get)
    vram = render_vram(files["scene_0.vram"], "scene_0.vram")
    return [
        ("splashpack 20: 320 x 240", _pixels(scene["scene.png"])),
        ("splashpack 20: VRAM", _pixels(vram["vram.png"])),
    ]


def _pixels(png: bytes) -> Picture:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
