"""VRAM as a file leaves it, in words and as a picture."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from encoders.kit.image.pixel import ABGR1555, decode_words
from encoders.kit.image.png_writer import encode_png
from encoders.splashpack.format import (
    PAGE_HEIGHT,
    VRAM_HEIGHT,
    VRAM_WIDTH,
    Splashpack,
    Words,
)

# What is nobody's, and what is not for textures.
FREE = (24, 24, 24)
TAKEN = (0, 0, 96)

Area = tuple[int, int, int, int]


def build_vram(pack: Splashpack) -> Words:
    """Give what VRAM holds when the file is loaded (512, 1024); what is not uploaded is 0."""
    vram = np.zeros((VRAM_HEIGHT, VRAM_WIDTH), np.uint16)
    for atlas in pack.atlases:
        vram[atlas.y : atlas.y + PAGE_HEIGHT, atlas.x : atlas.x + atlas.width] = atlas.words
    for clut in pack.cluts:
        left, top, right, _ = clut.area
        vram[top, left:right] = clut.words
    return vram


def areas_of(pack: Splashpack) -> list[Area]:
    """List the rectangles that are uploaded."""
    return [*(atlas.area for atlas in pack.atlases), *(clut.area for clut in pack.cluts)]


def draw_vram(pack: Splashpack, taken: Iterable[Area]) -> bytes:
    """Draw VRAM as a PNG of 1024 x 512: a word a pixel, and flat colours where no upload goes."""
    picture = np.full((VRAM_HEIGHT, VRAM_WIDTH, 3), FREE, np.uint8)
    for left, top, right, bottom in taken:
        picture[top:bottom, left:right] = TAKEN
    vram, shown = build_vram(pack), decode_words(np.arange(1 << 16, dtype=np.uint16), ABGR1555)
    for left, top, right, bottom in areas_of(pack):
        picture[top:bottom, left:right] = shown[vram[top:bottom, left:right], :3]
    return encode_png(picture)
