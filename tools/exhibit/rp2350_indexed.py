"""RP2350 with indexed textures: sheets and icons with the palettes that they share, and a mesh."""

from __future__ import annotations

from pathlib import Path

from raster import Picture, draw, on_checks

from encoders.kit.view.scene import ViewPicture
from encoders.rp2350.scene_view import view_rust
from exhibit.rp2350 import read_mesh


def read_picture(build: Path, name: str) -> Picture:
    """Return a texture, or a palette, as the graphics processor has it."""
    files = {path.name: path.read_bytes() for path in build.iterdir()}
    found = view_rust(files[f"{name}.rs"], f"{name}.rs", files.get)
    if not isinstance(found, ViewPicture):
        raise TypeError(f"{name} is no picture")
    return found.pixels


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return some textures, their palettes and the well."""
    sizes = {"ui_emblem": 160, "ui_coin": 160, "ui_palette": 128, "village_palette": 128}
    sizes |= {"textures_building": 256, "textures_flora": 256, "textures_hero": 256}
    pictures = [
        (f"indexed: {name}", on_checks(read_picture(build, name), size))
        for name, size in sizes.items()
    ]
    well = read_mesh(build, "props_well", read_picture(build, "textures_prop"))
    return [*pictures, ("indexed: props_well", draw(well, None, (240, 240)))]
