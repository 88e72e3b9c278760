"""What VRAM holds when a file is loaded, as words and as a PNG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from encoders.kit.image.pixel import ABGR1555, decode_words
from encoders.kit.image.png_writer import encode_png
from encoders.splashpack.format import (
    VRAM_HEIGHT,
    VRAM_WIDTH,
    Area,
    Atlas,
    Clut,
    Words,
)

# The colours of unused words, and of areas that are not for textures.
FREE = (24, 24, 24)
TAKEN = (0, 0, 96)


class VramContent(Protocol):
    """What is uploaded to VRAM."""

    @property
    def atlases(self) -> Sequence[Atlas]:
        """The words of textures."""
        ...

    @property
    def cluts(self) -> Sequence[Clut]:
        """The palettes."""
        ...


def build_vram(pack: VramContent) -> Words:
    """Return the words of VRAM, of the shape (512, 1024); words that are not uploaded are 0."""
    vram = np.zeros((VRAM_HEIGHT, VRAM_WIDTH), np.uint16)
    for atlas in pack.atlases:
        left, top, right, bottom = atlas.area
        vram[top:bottom, left:right] = atlas.words
    for clut in pack.cluts:
        left, top, right, _ = clut.area
        vram[top, left:right] = clut.words
    return vram


def upload_areas(pack: VramContent) -> list[Area]:
    """Return the rectangles that are uploaded."""
    return [*(atlas.area for atlas in pack.atlases), *(clut.area for clut in pack.cluts)]


def draw_vram(pack: VramContent, taken: Iterable[Area]) -> bytes:
    """Draw VRAM as a PNG of 1024 x 512, a pixel for each word."""
    pixels = np.full((VRAM_HEIGHT, VRAM_WIDTH, 3), FREE, np.uint8)
    for left, top, right, bottom in taken:
        pixels[top:bottom, left:right] = TAKEN
    vram, shown = build_vram(pack), decode_words(np.arange(1 << 16, dtype=np.uint16), ABGR1555)
    for left, top, right, bottom in upload_areas(pack):
        pixels[top:bottom, left:right] = shown[vram[top:bottom, left:right], :3]
    return encode_png(pixels)
