"""Palettes for dithering, chosen by what dithering makes of the picture with each.

The palette that is nearest texel by texel may span too little: colours outside of what it can mix
stay off, however they are dithered. All sums are of integers, so that all machines agree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.image.palette.dither import diffuse_to_palette
from encoders.kit.image.palette.quantise import Bytes, Indexed, quantise_choices
from encoders.kit.image.pixel import expand_bits

Mask = npt.NDArray[np.bool_]

# Texels a side whose mean is seen from afar.
WINDOW = 5


def quantise_for_dithering(
    rgba: Bytes, colors: int, strength: float, *, cutoff: int | None = None
) -> Indexed:
    """Choose entries as `quantise_555` does, those with the least error once they are dithered.

    Indices are those of the nearest entries; `dither_indexed` gives dithered ones.
    """
    choices = quantise_choices(rgba, colors, cutoff=cutoff)
    if len(choices) == 1:
        return choices[0]
    solid = np.ones(rgba.shape[:2], bool) if cutoff is None else rgba[..., 3] >= cutoff
    return min(choices, key=lambda one: dithered_error(rgba, one, solid, strength))


def dither_indexed(rgba: Bytes, indexed: Indexed, solid: Mask, strength: float) -> Bytes:
    """Return dithered indices; texels that are not solid keep entry 0."""
    if not strength or not solid.any():
        return indexed.indices
    # Dithering must never choose the hole for a texel that is shown.
    first = int(indexed.has_hole)
    palette = expand_bits(indexed.palette, 5)
    chosen = diffuse_to_palette(rgba[..., :3], palette[first:], solid, strength) + np.uint8(first)
    return np.where(solid, chosen, np.uint8(0))


def dithered_error(rgba: Bytes, indexed: Indexed, solid: Mask, strength: float) -> int:
    """Return the squared errors of local means, times those of single texels."""
    shown = expand_bits(indexed.palette[dither_indexed(rgba, indexed, solid, strength)], 5)
    off = (rgba[..., :3].astype(np.int64) - shown) * solid[..., None]
    local = window_sums(off)
    return int((local * local).sum()) * int((off * off).sum())


def window_sums(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the sums over all windows (rows, columns, channels) that lie inside."""
    for axis in (0, 1):
        side = min(WINDOW, values.shape[axis])
        sums = np.cumsum(values, axis=axis)
        ends = np.moveaxis(sums, axis, 0)
        inside = ends[side - 1 :].copy()
        inside[1:] -= ends[:-side]
        values = np.moveaxis(inside, 0, axis)
    return values
