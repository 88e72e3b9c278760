"""Generated pictures that the tests of pixels share: no files, the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


def opaque(color: NDArray[np.float64]) -> Bytes:
    """Round colours to an opaque RGBA picture."""
    rounded = np.clip(np.floor(color + 0.5), 0, 255).astype(np.uint8)
    return np.dstack([rounded, np.full(color.shape[:2], 255, np.uint8)])


def photo(size: int = 128, seed: int = 1) -> Bytes:
    """Smooth shapes of several sizes, with grain: what a photograph is to an encoder."""
    random = np.random.default_rng(seed)
    color = np.full((size, size, 3), 128.0)
    cell = size // 4
    while cell >= 1:
        coarse = random.standard_normal((size // cell, size // cell, 3))
        shared = random.standard_normal((size // cell, size // cell, 1))
        grown = (0.4 * coarse + shared).repeat(cell, 0).repeat(cell, 1)
        color += grown * 3.0 * np.sqrt(cell)
        cell //= 2
    return opaque(color)


def gradient(size: int = 128) -> Bytes:
    """Slow ramps in every channel, where rounding is all the error there is."""
    y, x = np.mgrid[0:size, 0:size] / size
    return opaque(np.stack([255 * x, 255 * y, 127 + 120 * np.sin(5 * (x + y))], axis=-1))


def pixel_art(size: int = 128, colors: int = 24, seed: int = 3) -> Bytes:
    """Flat shapes from a small palette, drawn with 2x2 pixels and repeated as tiles."""
    random = np.random.default_rng(seed)
    palette = random.integers(0, 256, (colors, 3)).astype(np.float64)
    tile = random.integers(0, colors, (size // 8, size // 8)).repeat(2, 0).repeat(2, 1)
    return opaque(palette[np.tile(tile, (4, 4))])


def formula(size: int = 64) -> Bytes:
    """Ramps, folds and holes in whole numbers: the same to the bit wherever it is made."""
    y, x = np.mgrid[0:size, 0:size].astype(np.int64)
    fold = np.abs(x * x + 3 * x * y - 2 * y * y) // 11
    channels = [
        3 * x + fold % 23,
        2 * y + fold % 61,
        (x * y // 7 + fold) % 256,
        255 * (fold % 9 > 0),
    ]
    return (np.stack(channels, axis=-1) % 256).astype(np.uint8)


def with_holes(picture: Bytes) -> Bytes:
    """Give a picture an alpha of soft discs, some blocks wholly transparent."""
    size = len(picture)
    y, x = np.mgrid[0:size, 0:size]
    near = np.hypot(x % 48 - 24, y % 48 - 24)
    holed = picture.copy()
    holed[..., 3] = np.clip(255 - (near - 10) * 20, 0, 255).astype(np.uint8)
    return holed


def decibels(one: NDArray[np.generic], two: NDArray[np.generic]) -> float:
    """Peak signal-to-noise ratio of two 8-bit pictures' colours."""
    difference = one[..., :3].astype(np.float64) - two[..., :3].astype(np.float64)
    return float(10 * np.log10(255**2 / max(float(np.mean(difference**2)), 1e-9)))
