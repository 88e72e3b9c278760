"""Levels that suit chosen indices best, low bits included: part of the reference of the BC7 kernel.

With the indices fixed, channels depend on each other through the low bits alone: for each channel
all pairs of levels in a small window around both ends are judged, then the low bits are chosen for
all channels together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc7_palette import WEIGHTS, WHOLE, LowBit, Palette, expand

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

WINDOW = 6
# The low bits that both ends can have; None where any will do.
LOW_BITS: dict[LowBit, tuple[tuple[int, int] | None, ...]] = {
    LowBit.NONE: (None,),
    LowBit.OWN: ((0, 0), (1, 1), (0, 1), (1, 0)),
    LowBit.SHARED: ((0, 0), (1, 1)),
    LowBit.SET: ((1, 1),),
}


def polish_levels(
    color: Floats, live: Floats, palette: Palette, indices: Ints, ends: Floats
) -> Ints:
    """Return the levels (blocks, 2, C) near the ends with the least error for the indices."""
    start = window_start(ends, palette.level_bits)
    errors = judge_pairs(color, live, palette, indices, start)
    tried = [best_pairs(errors, low) for low in LOW_BITS[palette.low_bit]]
    totals = np.stack([least.sum(1) for least, _ in tried])
    chosen = totals.argmin(0)
    offsets = np.stack([offset for _, offset in tried])[chosen, np.arange(len(chosen))]
    level: Ints = start + np.moveaxis(offsets, 2, 1)
    return level


def window_start(ends: Floats, bits: int) -> Ints:
    """Return the windows' first levels, even: as many levels have a low bit of 1 as of 0."""
    scale = np.float32((1 << bits) - 1) / np.float32(255)
    half: Ints = (ends * scale * np.float32(0.5) + np.float32(0.5)).astype(np.int64)
    return np.clip(2 * half - 2, 0, (1 << bits) - WINDOW)


def judge_pairs(color: Floats, live: Floats, palette: Palette, indices: Ints, start: Ints) -> Ints:
    """Return the squared errors (blocks, C, WINDOW, WINDOW) of all pairs of levels."""
    levels = expand(start[..., None] + np.arange(WINDOW), palette.level_bits)
    first, second = levels[:, 0, :, :, None], levels[:, 1, :, None, :]
    whole = np.moveaxis(color, 2, 1).astype(np.int64)
    errors = np.zeros((*whole.shape[:2], WINDOW, WINDOW), np.int64)
    for texel in range(color.shape[1]):
        weight = WEIGHTS[palette.index_bits][indices[:, texel]][:, None, None, None]
        entry = ((WHOLE - weight) * first + weight * second + WHOLE // 2) // WHOLE
        off = whole[:, :, texel, None, None] - entry
        errors += off * off * live[:, texel, None, None, None].astype(np.int64)
    return errors


def best_pairs(errors: Ints, low: tuple[int, int] | None) -> tuple[Ints, Ints]:
    """Return the least errors (blocks, C), and the offsets (blocks, C, 2) of the first such."""
    first, second = (
        (slice(None), slice(None)) if low is None else (slice(bit, None, 2) for bit in low)
    )
    part = errors[:, :, first, second]
    at = part.reshape(*part.shape[:2], -1).argmin(2)
    offset = np.stack(np.divmod(at, part.shape[3]), -1)
    if low is not None:
        offset = 2 * offset + np.array(low)
    return part.min((2, 3)), offset
