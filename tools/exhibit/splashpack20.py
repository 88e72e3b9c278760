"""SPLASHPACK version 20: the scene from its own camera, and its VRAM."""

from __future__ import annotations

from pathlib import Path

from raster import Picture

from encoders.kit.view.camera import START
from encoders.kit.view.draw import draw_view
from encoders.kit.view.request import ViewRequest
from encoders.splashpack.scene_view import view_scene20, view_vram


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the view and VRAM."""
    files = {path.name: path.read_bytes() for path in build.iterdir()}
    scene = view_scene20(files["scene_0.splashpack"], "scene_0.splashpack", files.get)
    vram = view_vram(files["scene_0.vram"], "scene_0.vram", files.get)
    return [
        ("splashpack 20: 320 x 240", draw_view(scene, ViewRequest(camera=START))),
        ("splashpack 20: VRAM", vram.pixels[..., :3]),
    ]
