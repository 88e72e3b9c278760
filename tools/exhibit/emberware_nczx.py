"""Emberware for the newer console: the hero out of its ROM, and the sounds of its music."""

from __future__ import annotations

from pathlib import Path

from raster import Picture

from encoders.emberware.scene_view import view_rom
from encoders.kit.view.draw import draw_view
from encoders.kit.view.request import ViewRequest

CELLS = ("hero (textures)", "hero_walk (keyframes)", "pluck (sounds)", "bass (sounds)")
SIZE = (300, 150)


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return a texture, a clip and the waves of the sounds."""
    path = next(build.glob("*.nczx"))
    pack = dict(view_rom(path.read_bytes(), path.name, lambda _: None).cells)
    found = []
    for title in CELLS:
        view = pack[title]
        if view is None:
            raise TypeError(f"{title} is no picture")
        pixels = draw_view(view, ViewRequest(size=SIZE))[..., :3]
        found.append((f"emberware nczx: {title}", pixels))
    return found
