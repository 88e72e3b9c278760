"""Dithering: show more colours than there are by mixing neighbours.

Error diffusion (Floyd and Steinberg's weights, every second row from right to left) to a fixed
palette or to channels of few bits, and ordered dithering with a 4x4 matrix. The one rule: errors
are whole sixteenths, never rounded on their way, so that the native kernel and the reference
give the same bytes. Texels outside the mask neither take nor give errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.native.kernel import choose

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]

# Which of sixteen levels a texel has to exceed to be rounded up, by its place in the picture.
BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.int32)


def diffuse_to_palette(colors: Bytes, palette: Bytes, mask: Mask | None = None) -> Bytes:
    """Choose palette entries for a picture (height, width, channels), spreading the errors.

    `palette` (entries, channels) is in the units of the picture. Texels where the mask is false
    have entry 0.
    """
    shape = colors.shape[:2]
    takes_part = np.ones(shape, bool) if mask is None else np.ascontiguousarray(mask, bool)
    refuse_misfits(colors, palette, takes_part)
    indices = np.zeros(shape, np.uint8)
    kernel = choose("dither", dither)
    colors, palette = np.ascontiguousarray(colors), np.ascontiguousarray(palette)
    kernel(colors, takes_part, palette, (shape[1], palette.shape[1]), indices)
    return indices


def refuse_misfits(colors: Bytes, palette: Bytes, mask: Mask) -> None:
    """Refuse a palette or a mask that does not suit the picture."""
    fits = colors.ndim == 3 and palette.ndim == 2 and palette.shape[1] == colors.shape[2]
    if not fits or mask.shape != colors.shape[:2] or colors.size == 0:
        facts = {"picture": colors.shape, "palette": palette.shape, "mask": mask.shape}
        raise EncodeError("picture, palette and mask do not fit together", facts)
    if not 1 <= len(palette) <= 256 or palette.shape[1] > 4:
        allowed = "1 to 256 entries of 1 to 4 channels"
        raise EncodeError(
            "no palette can have this size", {"palette": str(palette.shape), "allowed": allowed}
        )


def diffuse_to_levels(colors: Bytes, bits: Sequence[int], mask: Mask | None = None) -> Bytes:
    """Choose levels of so many bits (1 to 8) for each channel, spreading the errors."""
    planes = [
        diffuse_to_palette(colors[..., c : c + 1], widened_levels(count), mask)
        for c, count in enumerate(bits)
    ]
    return np.stack(planes, axis=2)


def widened_levels(bits: int) -> Bytes:
    """List what each level of so many bits shows as: its bits repeated to fill eight."""
    level = np.arange(1 << bits)
    shown = level << (8 - bits)
    for shift in range(8 - 2 * bits, -bits, -bits):
        shown |= level << shift if shift >= 0 else level >> -shift
    return shown.astype(np.uint8)[:, None]


def order_to_levels(colors: Bytes, bits: Sequence[int]) -> Bytes:
    """Choose levels of so many bits for each channel, rounded by a 4x4 pattern."""
    height, width = colors.shape[:2]
    pattern = np.tile(BAYER, (-(-height // 4), -(-width // 4)))[:height, :width, None]
    top = (1 << np.array(bits, np.int32)) - 1
    scaled = colors[..., : len(bits)].astype(np.int32) * top * 32
    return ((scaled + 255 * (2 * pattern + 1)) // (255 * 32)).astype(np.uint8)


def dither(
    colors: Bytes, mask: Mask, palette: Bytes, shape: tuple[int, int], indices: Bytes
) -> None:
    """Diffuse errors row by row, to and fro: the reference."""
    width, channels = shape
    rows = colors.reshape(-1, width, channels).astype(np.int32) * 16
    entries = palette.reshape(-1, channels).astype(np.int32)
    # Errors on their way to this row and the next, with a texel of margin at either side.
    here, below = np.zeros((2, width + 2, channels), np.int32)
    for y, row in enumerate(rows):
        step = 1 if y % 2 == 0 else -1
        for x in range(width)[::step]:
            if not mask[y, x]:
                indices[y, x] = 0
                continue
            value = np.clip((row[x] + here[x + 1] + 8) >> 4, 0, 255)
            off = entries - value
            chosen = int(np.argmin(np.add.reduce(off * off, axis=1)))
            indices[y, x] = chosen
            error = -off[chosen]
            here[x + 1 + step] += 7 * error
            below[x + 1 - step] += 3 * error
            below[x + 1] += 5 * error
            below[x + 1 + step] += error
        here, below = below, np.zeros_like(below)
