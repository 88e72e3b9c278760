"""Palettes of 16 and 256 colours beside Pillow's median cut with k-means and libimagequant.

Ten pictures of scikit-image and those of the sample, at most 256 x 256 texels. All palettes are
rounded to the console's 5-5-5, and each texel of a peer gets the entry that is nearest in red,
green and blue. Nearness is PSNR (dB, more is better) and the mean OKLab difference (x 100, less is
better), both against the picture's 8 bits. Times are CPU milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import imagequant
import numpy as np
import skimage
from numpy.typing import NDArray
from palette_published import published, shown_by_exporter
from PIL import Image

from encoders.kit.image.palette.quantise import distinct_colors, levels_555, quantise_555
from encoders.kit.image.pixel import expand_bits

ROOT = Path(__file__).parent.parent
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
SIDE = 256
PHOTOGRAPHS = (
    *("astronaut.png", "chelsea.png", "coffee.png", "color.png", "hubble_deep_field.jpg"),
    *("ihc.png", "logo.png", "motorcycle_left.png", "retina.jpg", "rocket.jpg"),
)
SAMPLE = ("building", "hero", "nature", "prop")
CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def pictures() -> dict[str, Bytes]:
    """Return the pictures as RGB, photographs first."""
    found = {}
    folder = Path(skimage.__file__).parent / "data"
    for path in [folder / name for name in PHOTOGRAPHS]:
        with Image.open(path) as image:
            side = min(image.size)
            left, top = (image.width - side) // 2, (image.height - side) // 2
            square = image.convert("RGB").crop((left, top, left + side, top + side))
            found[path.stem] = np.array(square.resize((SIDE, SIDE), Image.Resampling.LANCZOS))
    for name in SAMPLE:
        with Image.open(ROOT / f"assets/textures/{name}.png") as image:
            image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
            found[f"sample: {name}"] = np.array(image.convert("RGB"))
    return found


def oklab(rgb: Bytes) -> Floats:
    """Return OKLab values, by the published formulas."""
    share = rgb / 255
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    result: Floats = np.cbrt(light @ np.array(CONES).T) @ np.array(LAB).T
    return result


def nearness(picture: Bytes, shown: Bytes) -> tuple[float, float]:
    """Return PSNR and the mean OKLab difference times 100."""
    error = float(np.mean((picture.astype(np.float64) - shown) ** 2))
    off = oklab(picture) - oklab(shown)
    look = 100 * float(np.sqrt((off * off).sum(axis=-1)).mean())
    return 10 * float(np.log10(255**2 / max(error, 1e-9))), look


def opaque(picture: Bytes) -> Bytes:
    """Add an alpha of 255."""
    return np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])


def on_console(colors: Bytes) -> Bytes:
    """Return what the console shows of 8-bit colours."""
    return expand_bits(levels_555(colors), 5)


def nearest(picture: Bytes, palette: Bytes) -> Bytes:
    """Return the picture in the nearest colours of a palette."""
    entries = np.unique(on_console(palette), axis=0)
    used, number = distinct_colors(picture.reshape(-1, 3))
    right = entries.astype(np.float64)
    off = (right * right).sum(axis=1) - 2 * (used @ right.T)
    return entries[off.argmin(axis=1)][number].reshape(picture.shape)


def ours(picture: Bytes, colors: int) -> Bytes:
    """Return what the kit makes of a picture."""
    found = quantise_555(opaque(picture), colors)
    return expand_bits(found.palette[found.indices], 5)


def median_cut(picture: Bytes, colors: int) -> Bytes:
    """Return Pillow's palette."""
    method = Image.Quantize.MEDIANCUT
    found = Image.fromarray(picture).quantize(colors, method, kmeans=2, dither=Image.Dither.NONE)
    return np.array(found.getpalette(), np.uint8).reshape(-1, 3)[:colors]


def libimagequant(picture: Bytes, colors: int) -> Bytes:
    """Return libimagequant's palette."""
    height, width = picture.shape[:2]
    given = opaque(picture).tobytes()
    _, palette = imagequant.quantize_raw_rgba_bytes(given, width, height, 0.0, colors)
    return np.array(palette, np.uint8).reshape(-1, 4)[:, :3]


# By whether ours is first in dB and in look.
VERDICTS = {
    (True, True): "both",
    (True, False): "dB",
    (False, True): "look",
    (False, False): "neither",
}
PEERS = {"Pillow": median_cut, "libimagequant": libimagequant}


def timed(work: Callable[[Bytes, int], Bytes], picture: Bytes, colors: int) -> tuple[Bytes, float]:
    """Run something twice; return the result and the least CPU time in ms."""
    least = float("inf")
    for _ in range(2):
        start = time.process_time()
        found = work(picture, colors)
        least = min(least, time.process_time() - start)
    return found, 1000 * least


def rows() -> Iterator[tuple[str, ...]]:
    """Return the table: a row for each picture and number of colours."""
    names = [part for name in ("ours", *PEERS) for part in (f"{name} dB", "look", "ms")]
    yield ("picture", "colours", *names, "first in")
    wins = {16: [0, 0], 256: [0, 0]}
    for name, picture in pictures().items():
        for colors in (16, 256):
            shown, spent = timed(ours, picture, colors)
            found = [(*nearness(picture, shown), spent)]
            for peer in PEERS.values():
                palette, spent = timed(peer, picture, colors)
                found.append((*nearness(picture, nearest(picture, palette)), spent))
            decibels, look = zip(*[one[:2] for one in found], strict=True)
            is_first = (decibels[0] >= max(decibels), look[0] <= min(look))
            if not name.startswith("sample"):
                wins[colors] = [a + b for a, b in zip(wins[colors], is_first, strict=True)]
            cells = [f"{value:.2f}" for one in found for value in one]
            yield (name, str(colors), *cells, VERDICTS[is_first])
    for colors, (decibels, look) in wins.items():
        yield (f"first of ten photographs with {colors}: {decibels} in dB, {look} in look",)
    yield (
        "texture of splashedit-ng",
        "colours",
        "ours dB",
        "look",
        "published dB",
        "look",
        "first in",
    )
    for one in published():
        made = quantise_555(opaque(one.picture), one.colors)
        found = nearness(one.picture, shown_by_exporter(made.palette[made.indices]))
        # To the digits that are published: equal palettes are level.
        decibels, look = round(found[0], 2), round(found[1], 3)
        is_first = (decibels >= one.decibels, look <= one.look)
        pairs = ((decibels, look), (one.decibels, one.look))
        cells = [cell for pair in pairs for cell in (f"{pair[0]:.2f}", f"{pair[1]:.3f}")]
        yield (one.name, str(one.colors), *cells, VERDICTS[is_first])


if __name__ == "__main__":
    from quality import show

    show(rows())
