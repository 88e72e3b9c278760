"""Draw palettes and dithering side by side.

Run `python tools/palette_sheet.py docs/images/palettes.png`.
A row for a soft gradient and for parts of the sample's textures: the picture, then what the target
`splashpack` shows of it with 16 colours, with 16 colours dithered, and with 256.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from encoders.kit.image.palette.dither import diffuse_to_palette, weaken
from encoders.kit.image.palette.quantise import quantise_555
from encoders.kit.image.pixel import expand_bits

ROOT = Path(__file__).resolve().parent.parent
TEXTURES = ("building", "nature", "prop")
SIDE, ZOOM, MARGIN, CAPTION = 96, 2, 8, 14  # in pixels, as all sizes here
STRENGTH = 0.75
PAPER, INK = (250, 247, 240), (40, 34, 48)
Bytes = NDArray[np.uint8]


def open_picture(name: str) -> Bytes:
    """Return a part of a texture, opaque."""
    with Image.open(ROOT / f"assets/textures/{name}.png") as image:
        return np.array(image.convert("RGB").crop((0, 0, SIDE, SIDE)).convert("RGBA"))


def make_sky() -> Bytes:
    """Return a soft gradient, which shows bands where colours are few."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    glow = np.exp(-((x - 0.7) ** 2 + (y - 0.75) ** 2) * 9)
    layers = (60 + 60 * y + 135 * glow, 90 + 70 * y + 70 * glow, 190 - 60 * y - 20 * glow)
    alpha = np.full((SIDE, SIDE), 255)
    return np.clip(np.dstack([*layers, alpha]), 0, 255).astype(np.uint8)


def reduce(picture: Bytes, colors: int, strength: float = 0.0) -> Bytes:
    """Return a picture in few colours, as the target shows it."""
    found = quantise_555(picture, colors)
    palette = expand_bits(found.palette, 5)
    if not strength:
        return palette[found.indices]
    target = weaken(picture[..., :3], palette[found.indices], strength)
    return palette[diffuse_to_palette(target, palette)]


def main(path: str) -> None:
    """Draw the sheet."""
    pictures = {"sky": make_sky(), **{name: open_picture(name) for name in TEXTURES}}
    titles = ("the picture", "16 colours", "16, dithered", "256 colours")
    cell = SIDE * ZOOM + MARGIN
    size = (len(titles) * cell + MARGIN, len(pictures) * cell + MARGIN + CAPTION)
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    for column, title in enumerate(titles):
        draw.text((MARGIN + column * cell, 4), title, INK)
    for row, picture in enumerate(pictures.values()):
        shown = [picture[..., :3], reduce(picture, 16), reduce(picture, 16, STRENGTH)]
        for column, one in enumerate([*shown, reduce(picture, 256)]):
            large = Image.fromarray(one).resize((SIDE * ZOOM,) * 2, Image.Resampling.NEAREST)
            sheet.paste(large, (MARGIN + column * cell, MARGIN + CAPTION + row * cell))
    sheet.save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
