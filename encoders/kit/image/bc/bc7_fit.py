"""The palette of a BC7 subset: part of the reference of the native BC7 kernel.

Endpoints begin on the principal axis of the colours. Then the nearest index of every texel and the
least-squares endpoints for these indices are found in turn; the best palette is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc7_palette import WEIGHTS, WHOLE, LowBit, Palette, expand
from encoders.kit.image.bc.bc7_partition import covariance, dot, principal_axis
from encoders.kit.image.bc.bc7_polish import polish_levels

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]

ROUNDS = 2
# A palette is not refitted where even this part of its error is too much.
REFIT_HOPE = np.float32(0.5)
# Ends that lie in the middle between two levels are rounded away from each other, so that the
# outermost texels stay between them.
ROUND_LOWER, ROUND_UPPER = np.float32(0.48), np.float32(0.5)
# Levels are polished where the error a texel is no more than the first, unless even the given part
# of it is too much.
POLISH, POLISH_HOPE = np.float32(3), np.float32(0.8)


class Fit(NamedTuple):
    """Levels (blocks, 2, C) with their low bits, an index for each texel, the squared error."""

    level: Ints
    indices: Ints
    error: Floats


def fit_palette(color: Floats, member: Truths, palette: Palette, limit: Floats) -> Fit:
    """Fit a palette to the members among texels (blocks, 16, C); other texels have index 0.

    An error of `limit` or more is of no use, so palettes that are far from it are not refitted.
    """
    live = member.astype(np.float32)
    fit = best = choose_indices(color, live, palette, round_line(first_line(color, live), palette))
    has_hope = best.error * REFIT_HOPE < limit
    for _ in range(ROUNDS):
        ends = refit(color, live, palette, fit)
        fit = choose_indices(color, live, palette, round_line(ends, palette))
        best = better_of(best, fit, has_hope)
    is_fine = best.error <= POLISH * live.sum(1)
    return polish(
        color, live, palette, best, is_fine & has_hope & (best.error * POLISH_HOPE < limit)
    )


def better_of(best: Fit, other: Fit, rows: Truths) -> Fit:
    """Take the other fit in those of the rows where it is better."""
    better = (other.error < best.error) & rows
    return Fit(
        np.where(better[:, None, None], other.level, best.level),
        np.where(better[:, None], other.indices, best.indices),
        np.where(better, other.error, best.error),
    )


def polish(color: Floats, live: Floats, palette: Palette, best: Fit, rows: Truths) -> Fit:
    """Look for better levels with the indices as they are, and with all of them moved inwards.

    Between entries that are not the ends, more values can be had than levels have. Palettes of
    more than four entries gain nothing from it.
    """
    for inwards in (False, True)[: 2 if palette.index_bits == 2 else 1]:
        indices = np.where(best.indices < 2, 1, 2) if inwards else best.indices
        ends = refit(color, live, palette, best._replace(indices=indices))
        level = polish_levels(color, live, palette, indices, ends)
        best = better_of(best, choose_indices(color, live, palette, level), rows)
    return best


def first_line(color: Floats, live: Floats) -> Floats:
    """Return ends (blocks, 2, C) on the principal axis, at the outermost members along it."""
    axis = principal_axis(covariance(color, live))
    mean = np.einsum("nt,ntc->nc", live, color) / live.sum(1)[:, None]
    along = dot(np.broadcast_to(axis[:, None], color.shape), color)
    low = np.where(live > 0, along, np.float32(np.inf)).min(1)
    high = np.where(live > 0, along, np.float32(-np.inf)).max(1)
    middle, square = dot(axis, mean), np.maximum(dot(axis, axis), np.float32(1))
    ends = [mean + axis * ((end - middle) / square)[:, None] for end in (low, high)]
    clipped: Floats = np.clip(np.stack(ends, 1), np.float32(0), np.float32(255))
    return clipped


def round_line(ends: Floats, palette: Palette) -> Ints:
    """Round ends to levels; where the low bit is free, take the one that is nearer."""
    scale = np.float32((1 << palette.level_bits) - 1) / np.float32(255)
    if palette.low_bit is LowBit.NONE:
        return (ends * scale + np.float32(0.5)).astype(np.int64)
    half = np.where(ends < ends[:, ::-1], ROUND_LOWER, ROUND_UPPER)
    levels, errors = [], []
    for low in (0, 1):
        high = ((ends * scale - np.float32(low)) * np.float32(0.5) + half).astype(int)
        level = 2 * np.minimum(high, (1 << palette.bits) - 1) + low
        off = expand(level, palette.level_bits).astype(np.float32) - ends
        levels.append(level)
        errors.append(dot(off, off))
    if palette.low_bit is LowBit.SHARED:
        errors = [(error[:, 0] + error[:, 1])[:, None] for error in errors]
    is_set = (errors[1] < errors[0]) | (palette.low_bit is LowBit.SET)
    rounded: Ints = np.where(is_set[..., None], levels[1], levels[0])
    return rounded


def choose_indices(color: Floats, live: Floats, palette: Palette, level: Ints) -> Fit:
    """Choose the nearest entry for every texel, the first of equal ones."""
    a, b = np.moveaxis(expand(level, palette.level_bits), 1, 0)[:, :, None]
    weight = WEIGHTS[palette.index_bits][:, None]
    entries = ((WHOLE - weight) * a + weight * b + WHOLE // 2) // WHOLE
    off = color[:, :, None] - entries[:, None].astype(np.float32)
    distance = (off * off).sum(-1)
    error = (distance.min(-1) * live).sum(1)
    return Fit(level, distance.argmin(-1), error)


def refit(color: Floats, live: Floats, palette: Palette, fit: Fit) -> Floats:
    """Return the ends with the least squared error for the chosen indices."""
    share = WEIGHTS[palette.index_bits][fit.indices].astype(np.float64) * live
    once, bb = share.sum(1), (share * share).sum(1)
    ab = WHOLE * once - bb
    aa = WHOLE * (WHOLE * live.sum(1, dtype=np.float64)) - 2 * (WHOLE * once) + bb
    determinant = aa * bb - ab * ab
    scale = (WHOLE / np.maximum(determinant, 1))[:, None]
    sums: Doubles = np.einsum("nt,ntc->nc", live, color).astype(np.float64)
    b_color = np.einsum("nt,ntc->nc", share, color.astype(np.float64))
    a_color = WHOLE * sums - b_color
    aa, ab, bb = aa[:, None], ab[:, None], bb[:, None]
    a = ((bb * a_color - ab * b_color) * scale).astype(np.float32)
    b = ((aa * b_color - ab * a_color) * scale).astype(np.float32)
    clipped: Floats = np.clip(np.stack([a, b], 1), np.float32(0), np.float32(255))
    # 0 where all indices are equal: then both ends are the mean.
    mean = sums.astype(np.float32) / live.sum(1)[:, None]
    return np.where(determinant[:, None, None] < 1, mean[:, None], clipped)
