"""SPLASHPACK: the scene as the console draws it, and its VRAM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from raster import Camera, Picture

from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.render import draw
from encoders.splashpack.view import ONE, place_vertices

# What the manifest gives as `scale` and `pivot`.
SCALE, PIVOT = 40, (0, 7, -24)
VIEWS = (Camera((-5, 6, 14), (0.5, 1.5, -4)), Camera((13, 16, 22), (1, 0, -1)))


def draw_scene(build: Path, camera: Camera) -> Picture:
    """Draw the village from a place of ours; the file's axes are (-x, -y, z) of the source."""
    path = build / "village.splashpack"
    pack = unpack_splashpack(path.read_bytes(), path.name)
    places = place_vertices(pack) * np.array([-1, -1, 1]) / ONE * SCALE + PIVOT
    seen = (places - np.array(camera.eye)) @ camera.axes().T * np.array([1, -1, -1])
    return draw(pack, np.rint(seen / SCALE * ONE).astype(np.int64))


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return two views and VRAM."""
    pictures = [("splashpack: 320 x 240", draw_scene(build, camera)) for camera in VIEWS]
    vram = np.asarray(Image.open(build / "village.vram.png").convert("RGB"))
    return [*pictures, ("splashpack: VRAM", vram)]
