"""Dithering with 16 colours beside libimagequant's, which is pngquant's.

At each strength, and at the one at which our local error is the peer's at its full strength: what
counts is who is noisier then. The local error is the RMS difference of means over 5 x 5 texels,
which the eye sees from afar; the noise is the RMS difference of single texels. Both are of 255, and
less is better. Each method has the palette that it chose, rounded to 5-5-5.
"""

from __future__ import annotations

from collections.abc import Iterator

import imagequant
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from quality_palette import Bytes, on_console, opaque, pictures

from encoders.kit.image.palette.dithered import dither_indexed, quantise_for_dithering
from encoders.kit.image.pixel import expand_bits

COLORS = 16
WINDOW = 5
STRENGTHS = (0.5, 0.75, 1.0)
# Halvings of the range in which the equal strength is looked for.
HALVINGS = 7


def ours(picture: Bytes, strength: float) -> Bytes:
    """Dither as the target splashpack does."""
    rgba, solid = opaque(picture), np.ones(picture.shape[:2], bool)
    found = quantise_for_dithering(rgba, COLORS, strength)
    return expand_bits(found.palette[dither_indexed(rgba, found, solid, strength)], 5)


def pngquant(picture: Bytes, strength: float) -> Bytes:
    """Dither as libimagequant does."""
    height, width = picture.shape[:2]
    given = opaque(picture).tobytes()
    raw, palette = imagequant.quantize_raw_rgba_bytes(given, width, height, strength, COLORS)
    entries = np.array(palette, np.uint8).reshape(-1, 4)[:, :3]
    return on_console(entries[np.frombuffer(raw, np.uint8).reshape(height, width)])


def errors(picture: Bytes, shown: Bytes) -> tuple[float, float]:
    """Return the local error and the noise."""
    off = picture.astype(np.float64) - shown
    local = sliding_window_view(off, (WINDOW, WINDOW), axis=(0, 1)).mean(axis=(-2, -1))
    return float(np.sqrt((local**2).mean())), float(np.sqrt((off**2).mean()))


def rows() -> Iterator[tuple[str, ...]]:
    """Return the table: local error and noise of both at three strengths."""
    names = [f"{name} {one}" for one in STRENGTHS for name in ("ours", "pngquant")]
    yield ("picture: local error / noise", *names, "noise at the peer's local error", "gain")
    for name, picture in pictures().items():
        found = [errors(picture, way(picture, s)) for s in STRENGTHS for way in (ours, pngquant)]
        peers = found[1::2]
        local, noise = peers[-1]
        strength, own = at_local_error(picture, local)
        cells = [f"{local:.2f} / {noise:.2f}" for local, noise in found]
        yield (name, *cells, f"{own:.2f} (at {strength:.2f})", f"{noise - own:+.2f}")


def at_local_error(picture: Bytes, wanted: float) -> tuple[float, float]:
    """Return the least strength whose local error is no larger than wanted, and the noise."""
    low, high = 0.0, STRENGTHS[-1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_enough = errors(picture, ours(picture, middle))[0] <= wanted
        low, high = (low, middle) if is_enough else (middle, high)
    return high, errors(picture, ours(picture, high))[1]


if __name__ == "__main__":
    from quality import show

    show(rows())
