"""Draw palettes and dithering side by side.

Run `python tools/palette_sheet.py docs/images/palettes.png`.
A row for a soft gradient and for parts of the sample's textures: the picture, then what the target
`splashpack` shows of it with 16 colours, with 16 colours dithered, and with 256. With `--dithering`
it is dithering beside libimagequant's (from the dependency group `bench`): the picture, theirs at
full strength, and ours at the strength whose local error is theirs, or at full strength.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from encoders.kit.image.palette.dithered import dither_indexed, quantise_for_dithering
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
    if not strength:
        found = quantise_555(picture, colors)
        return expand_bits(found.palette[found.indices], 5)
    found = quantise_for_dithering(picture, colors, strength)
    solid = np.ones(picture.shape[:2], bool)
    return expand_bits(found.palette[dither_indexed(picture, found, solid, strength)], 5)


def show_palettes(picture: Bytes) -> dict[str, Bytes]:
    """Return the pictures of a row of the usual sheet, by title."""
    return {
        "the picture": picture[..., :3],
        "16 colours": reduce(picture, 16),
        "16, dithered": reduce(picture, 16, STRENGTH),
        "256 colours": reduce(picture, 256),
    }


def show_dithering(picture: Bytes) -> dict[str, Bytes]:
    """Return the pictures of a row of the sheet with libimagequant's dithering, by title."""
    sys.path.insert(0, str(ROOT / "bench"))
    from quality_dither import at_local_error, errors, pngquant

    colors = picture[..., :3]
    theirs = pngquant(colors, 1.0)
    strength, _ = at_local_error(colors, errors(colors, theirs)[0])
    return {
        "the picture": colors,
        "libimagequant, dithered": theirs,
        "ours, as near from afar": reduce(picture, 16, strength),
        "ours, full strength": reduce(picture, 16, 1.0),
    }


def main(path: str, show: Callable[[Bytes], dict[str, Bytes]]) -> None:
    """Draw the sheet."""
    pictures = [make_sky(), *map(open_picture, TEXTURES)]
    rows = [show(picture) for picture in pictures]
    cell = SIDE * ZOOM + MARGIN
    size = (len(rows[0]) * cell + MARGIN, len(rows) * cell + MARGIN + CAPTION)
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    for column, title in enumerate(rows[0]):
        draw.text((MARGIN + column * cell, 4), title, INK)
    for row, shown in enumerate(rows):
        for column, one in enumerate(shown.values()):
            large = Image.fromarray(one).resize((SIDE * ZOOM,) * 2, Image.Resampling.NEAREST)
            sheet.paste(large, (MARGIN + column * cell, MARGIN + CAPTION + row * cell))
    sheet.save(path, optimize=True)


if __name__ == "__main__":
    is_beside_peer = sys.argv[1] == "--dithering"
    main(sys.argv[-1], show_dithering if is_beside_peer else show_palettes)
