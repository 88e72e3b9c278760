"""Emberware for the newer console: the hero, a chest with its normal map, and sounds of music."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from raster import Picture

from encoders.emberware.scene_view import view_rom
from encoders.kit.view.draw import draw_view
from encoders.kit.view.request import ViewRequest

HERO = ("hero (textures)", "hero_walk (keyframes)")
CHEST = ("chest (meshes)", "chest_normal (textures)")
MUSIC = ("pluck (sounds)", "bass (sounds)")
SIZE = (300, 150)


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return textures, a clip, a mesh and the waves of the sounds."""
    titles = (*HERO, *CHEST, *MUSIC)
    named = zip(titles, _draw(build, titles, SIZE), strict=True)
    return [(f"nczx: {title}", picture) for title, picture in named]


def draw_chest(build: Path) -> Picture:
    """Return the chest in the colours of its texture."""
    return _draw(build, CHEST[:1], (144, 120))[0]


def _draw(build: Path, titles: Sequence[str], size: tuple[int, int]) -> list[Picture]:
    path = next(build.glob("*.nczx"))
    pack = dict(view_rom(path.read_bytes(), path.name, lambda _: None).cells)
    found = []
    for title in titles:
        view = pack[title]
        if view is None:
            raise TypeError(f"{title} is no picture")
        pixels = draw_view(view, ViewRequest(size=size)).astype(float)
        # What is not covered shows the sheet's paper.
        alpha = pixels[..., 3:] / 255
        found.append((pixels[..., :3] * alpha + 250 * (1 - alpha)).astype(np.uint8))
    return found
