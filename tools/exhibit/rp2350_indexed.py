"""RP2350 with indexed textures: sheets and icons with the palettes that they share, and a mesh."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image
from raster import Picture, draw, look_around, on_checks

from encoders.rp2350.view import render_texture
from exhibit.rp2350 import read_soup


def read_picture(build: Path, name: str) -> Picture:
    """Return a texture, or a palette, as the graphics processor has it."""
    files = {path.name: path.read_bytes() for path in build.iterdir()}
    png = render_texture(files[f"{name}.rs"], f"{name}.rs", files.get)["texture.png"]
    return np.asarray(Image.open(io.BytesIO(png)))


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return some textures, their palettes and the well."""
    sizes = {"ui_emblem": 160, "ui_coin": 160, "ui_palette": 128, "village_palette": 128}
    sizes |= {"textures_building": 256, "textures_flora": 256, "textures_hero": 256}
    pictures = [
        (f"indexed: {name}", on_checks(read_picture(build, name), size))
        for name, size in sizes.items()
    ]
    soup = read_soup(build, "props_well", read_picture(build, "textures_prop"))
    return [*pictures, ("indexed: props_well", draw(soup, look_around(soup), (240, 240)))]
