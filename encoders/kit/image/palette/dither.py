"""Dithering by Floyd-Steinberg error diffusion, of all errors or of a share of them.

Error diffusion runs alternately from left to right and from right to left, to a fixed palette or
to channels of few bits. Where only a share is passed on, an error fades within some texels: areas
near an entry stay calm, while the means of small areas are nearly as true. Errors are integers and
never rounded while they are passed on, so that the native kernel and the reference give the same
bytes. Texels outside the mask neither receive nor pass on errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.native.kernel import choose

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]
# Errors are counted in sixteenths, and strengths in whole 256ths, so that all machines agree.
SIXTEENTHS, WHOLE = 16, 256


def diffuse_to_palette(
    colors: Bytes, palette: Bytes, mask: Mask | None = None, strength: float = 1.0
) -> Bytes:
    """Return a palette index for each texel of a picture (height, width, channels).

    `palette` (entries, channels) is in the units of the picture. Texels where the mask is false
    get index 0. Each texel takes the share `strength` of the errors around it.
    """
    shape = colors.shape[:2]
    takes_part = np.ones(shape, bool) if mask is None else np.ascontiguousarray(mask, bool)
    check_shapes(colors, palette, takes_part)
    indices = np.zeros(shape, np.uint8)
    kernel = choose("dither", dither)
    colors, palette = np.ascontiguousarray(colors), np.ascontiguousarray(palette)
    share = round(strength * WHOLE)
    kernel(colors, takes_part, palette, (shape[1], palette.shape[1], share), indices)
    return indices


def check_shapes(colors: Bytes, palette: Bytes, mask: Mask) -> None:
    """Refuse a palette or a mask whose shape does not match the picture."""
    fits = colors.ndim == 3 and palette.ndim == 2 and palette.shape[1] == colors.shape[2]
    if not fits or mask.shape != colors.shape[:2] or colors.size == 0:
        facts = {"picture": colors.shape, "palette": palette.shape, "mask": mask.shape}
        raise EncodeError("picture, palette and mask do not fit together", facts)
    if not 1 <= len(palette) <= 256 or palette.shape[1] > 4:
        allowed = "1 to 256 entries of 1 to 4 channels"
        raise EncodeError(
            "no palette can have this size", {"palette": str(palette.shape), "allowed": allowed}
        )


def diffuse_to_levels(
    colors: Bytes, bits: Sequence[int], mask: Mask | None = None, strength: float = 1.0
) -> Bytes:
    """Return levels of `bits` (1 to 8) for each channel, by error diffusion."""
    planes = [
        # Each channel by itself: its levels are a palette of one channel.
        diffuse_to_palette(colors[..., c : c + 1], expand_levels(count), mask, strength)
        for c, count in enumerate(bits)
    ]
    return np.stack(planes, axis=2)


def expand_levels(bits: int) -> Bytes:
    """Return the 8-bit value of each level of `bits`: its bits repeated to fill eight."""
    level = np.arange(1 << bits)
    shown = level << (8 - bits)
    # Copies of the bits further and further down, until eight are filled.
    for shift in range(8 - 2 * bits, -bits, -bits):
        shown |= level << shift if shift >= 0 else level >> -shift
    return shown.astype(np.uint8)[:, None]


def dither(
    colors: Bytes, mask: Mask, palette: Bytes, shape: tuple[int, int, int], indices: Bytes
) -> None:
    """Fill `indices` by error diffusion: the reference of the native kernel."""
    width, channels, share = shape
    unit = SIXTEENTHS * WHOLE
    rows = colors.reshape(-1, width, channels).astype(np.int32) * unit
    entries = palette.reshape(-1, channels).astype(np.int32)
    # Errors passed to this row and to the next, with a margin of one texel on either side.
    here, below = np.zeros((2, width + 2, channels), np.int32)
    for y, row in enumerate(rows):
        step = 1 if y % 2 == 0 else -1
        for x in range(width)[::step]:
            if not mask[y, x]:
                indices[y, x] = 0
                continue
            # Clamping bounds the errors: without it they grow where no entry is near.
            value = np.clip((row[x] + share * here[x + 1] + unit // 2) // unit, 0, 255)
            off = entries - value
            # The first of equally near entries, as in the kernel.
            chosen = int(np.argmin(np.add.reduce(off * off, axis=1)))
            indices[y, x] = chosen
            error = -off[chosen]
            here[x + 1 + step] += 7 * error
            below[x + 1 - step] += 3 * error
            below[x + 1] += 5 * error
            below[x + 1 + step] += error
        here, below = below, np.zeros_like(below)
