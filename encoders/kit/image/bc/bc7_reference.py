"""The readable reference of the native BC7 kernel: the modes that are tried, and the best block.

A mode divides a block into subsets, each with a palette between two endpoints; in the split modes 4
and 5 one channel has a palette of its own. Modes and partitions are tried in a fixed order, and a
later one wins only where it is better.

Kernel and reference have to give the same bytes. Sums are of whole numbers that float32 holds
exactly, and all other float operations are done in one order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc7_fit import Fit, fit_palette
from encoders.kit.image.bc.bc7_palette import LowBit, Palette
from encoders.kit.image.bc.bc7_partition import ANCHOR, SUBSETS, covariance, estimate_partitions

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Field = tuple[Ints, int]

BLOCK_BYTES, TEXELS, ALPHA = 16, 16, 3
# Blocks encoded at a time, which bounds the memory.
CHUNK = 256
# More than any squared error.
FAR_AWAY = np.float32(1e9)
# A partition is left out where even this part of its estimated error is too much.
HOPE = np.float32(0.4)
# Nothing is left out for blocks of so few colours: palettes may meet them exactly in the end.
FEW = 4
# By number of subsets: modes are not tried where the squared error is no more than this. The
# endpoints of three subsets are too coarse to be better.
ENOUGH = {1: np.float32(0), 2: np.float32(0), 3: np.float32(32)}


class JointMode(NamedTuple):
    """A mode whose channels share one index, and how many of its partitions are tried."""

    mode: int
    subsets: int
    partition_bits: int
    tries: int
    channels: int
    palette: Palette


class SplitMode(NamedTuple):
    """A mode in which one channel has indices of its own; `swaps` is the selector of mode 4."""

    mode: int
    selector_bits: int
    swaps: int
    color: Palette
    alone: Palette


# fmt: off
OPAQUE_MODES = (  # colours only: alpha is 255 in all of them
    JointMode(6, 1, 0, 1, 3, Palette(7, LowBit.SET, 4)),
    JointMode(1, 2, 6, 4, 3, Palette(6, LowBit.SHARED, 3)),
    JointMode(3, 2, 6, 6, 3, Palette(7, LowBit.OWN, 2)),
    JointMode(0, 3, 4, 2, 3, Palette(4, LowBit.OWN, 3)),
    JointMode(2, 3, 6, 2, 3, Palette(5, LowBit.NONE, 2)),
)
ALPHA_MODES = (
    JointMode(6, 1, 0, 1, 4, Palette(7, LowBit.OWN, 4)),
    JointMode(7, 2, 6, 8, 4, Palette(5, LowBit.OWN, 2)),
)
SPLIT_MODES = (
    SplitMode(5, 0, 0, Palette(7, LowBit.NONE, 2), Palette(8, LowBit.NONE, 2)),
    SplitMode(4, 1, 0, Palette(5, LowBit.NONE, 2), Palette(6, LowBit.NONE, 3)),
    SplitMode(4, 1, 1, Palette(5, LowBit.NONE, 3), Palette(6, LowBit.NONE, 2)),
)
# fmt: on


class Best:
    """The best block so far for each of some texels (blocks, 16, 4)."""

    def __init__(self, color: Floats) -> None:
        self.color = color
        self.hope = np.where(has_few_colors(color), np.float32(0), HOPE)
        self.error = np.full(len(color), FAR_AWAY, np.float32)
        self.blocks = np.zeros((len(color), BLOCK_BYTES), np.uint8)

    def keep(self, rows: Ints, error: Floats, blocks: Bytes) -> None:
        """Keep the blocks of those rows that are better."""
        better = error < self.error[rows]
        self.error[rows[better]] = error[better]
        self.blocks[rows[better]] = blocks[better]


def has_few_colors(color: Floats) -> NDArray[np.bool_]:
    """Tell which blocks have no more than a few distinct texels."""
    ordered = np.sort(color @ np.array([1, 256, 65536, 2**24], np.float64), axis=1)
    few: NDArray[np.bool_] = (np.diff(ordered, axis=1) != 0).sum(1) < FEW
    return few


def encode_blocks(texels: Bytes, blocks: Bytes) -> None:
    """Encode blocks of 16 RGBA texels as BC7."""
    # The kernel refuses the same.
    if texels.shape[1:] != (4 * TEXELS,) or blocks.shape != (len(texels), BLOCK_BYTES):
        raise ValueError(f"texels: {texels.shape}, blocks: {blocks.shape}")
    for start in range(0, len(texels), CHUNK):
        color = texels[start : start + CHUNK].reshape(-1, TEXELS, 4).astype(np.float32)
        is_opaque = (color[..., ALPHA] == 255).all(1)
        for rows, encode in ((is_opaque, encode_opaque), (~is_opaque, encode_alpha)):
            if rows.any():
                blocks[start : start + CHUNK][rows] = encode(color[rows])


def encode_opaque(color: Floats) -> Bytes:
    """Encode blocks whose alpha is 255 everywhere."""
    best = Best(color)
    estimates = {count: estimate_partitions(color[..., :3], count) for count in (2, 3)}
    for mode in OPAQUE_MODES:
        try_joint(best, mode, estimates.get(mode.subsets))
    for rotation in (1, 2, 3):
        rows = np.flatnonzero(pair_residue(color, rotation) < best.error)
        try_split(best, rows, SPLIT_MODES[0], rotation)
    return best.blocks


def encode_alpha(color: Floats) -> Bytes:
    """Encode blocks with alpha."""
    best = Best(color)
    estimated = estimate_partitions(color, 2)
    for mode in ALPHA_MODES:
        try_joint(best, mode, estimated if mode.subsets == 2 else None)
    for rotation in range(4):
        for split in SPLIT_MODES:
            try_split(best, np.arange(len(color)), split, rotation)
    return best.blocks


def pair_residue(color: Floats, rotation: int) -> Floats:
    """Return the squared error of lines, unrounded, through the two colours not stored apart."""
    pair = color[..., [rotation % 3, (rotation + 1) % 3]]
    matrix = covariance(pair, np.ones(pair.shape[:2], np.float32))
    xx, xy, yy = matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 1, 1]
    apart = xx - yy
    root = np.sqrt(apart * apart + np.float32(4) * xy * xy)
    residue: Floats = (xx + yy - root) * np.float32(0.5 / TEXELS)
    return residue


def try_joint(best: Best, mode: JointMode, estimated: Floats | None) -> None:
    """Try the partitions with the least estimated errors, best first."""
    if estimated is None:
        estimated = np.zeros((len(best.color), 1), np.float32)
    partitions = estimated[:, : 1 << mode.partition_bits]
    order = np.argsort(partitions, axis=1, kind="stable")[:, : mode.tries]
    enough = best.error <= ENOUGH[mode.subsets]
    for partition in order.T:
        left = estimated[np.arange(len(partition)), partition]
        is_hopeful = (left * best.hope < best.error) & ~enough
        rows = np.flatnonzero(is_hopeful)
        try_partition(best, rows, mode, partition[rows])


def try_partition(best: Best, rows: Ints, mode: JointMode, partition: Ints) -> None:
    """Fit a palette to each subset of the rows' partitions."""
    if not len(rows):
        return
    color = best.color[rows][..., : mode.channels]
    if mode.subsets == 1:
        subset_of = np.zeros((len(rows), TEXELS), np.int64)
    else:
        subset_of = SUBSETS[mode.subsets][partition].astype(np.int64)
    fits, error = [], np.zeros(len(rows), np.float32)
    for subset in range(mode.subsets):
        limit = np.where(best.hope[rows] > 0, best.error[rows] - error, FAR_AWAY)
        fit = fit_palette(color, subset_of == subset, mode.palette, limit)
        error = error + fit.error
        anchor = ANCHOR[mode.subsets][partition, subset]
        fits.append(turn_line(fit, anchor, mode.palette.index_bits))
    index = sum(np.where(subset_of == s, fit.indices, 0) for s, fit in enumerate(fits))
    fields: list[Field] = [
        (np.full(len(rows), 1 << mode.mode), mode.mode + 1),
        (partition, mode.partition_bits),
        *level_fields(mode, fits),
    ]
    anchors = ANCHOR[mode.subsets][partition]
    bits = [field_bits(fields), index_bits(np.asarray(index), anchors, mode.palette.index_bits)]
    best.keep(rows, error, np.packbits(np.concatenate(bits, 1), axis=1, bitorder="little"))


def turn_line(fit: Fit, anchor: Ints, bits: int) -> Fit:
    """Swap the ends where the index of the anchor would need its highest bit."""
    top = (1 << bits) - 1
    turned = np.take_along_axis(fit.indices, anchor[:, None], 1) > top // 2
    level = np.where(turned[..., None], fit.level[:, ::-1], fit.level)
    return Fit(level, np.where(turned, top - fit.indices, fit.indices), fit.error)


def level_fields(mode: JointMode, fits: list[Fit]) -> list[Field]:
    """List the endpoints of all subsets by channel, then their low bits."""
    bits, low_bit = mode.palette.bits, mode.palette.low_bit
    has_low = int(low_bit is not LowBit.NONE)
    ends = [(fit, end) for fit in fits for end in (0, 1)]
    fields: list[Field] = [
        (fit.level[:, end, channel] >> has_low, bits)
        for channel in range(mode.channels)
        for fit, end in ends
    ]
    if low_bit is LowBit.SET:  # both ends of alpha
        fields.append((np.full(len(fits[0].level), (1 << 14) - 1), 14))
    if has_low:
        stored = ends[::2] if low_bit is LowBit.SHARED else ends
        fields += [(fit.level[:, end, 0] & 1, 1) for fit, end in stored]
    return fields


def field_bits(fields: list[Field]) -> Bytes:
    """Write fields one after the other, lowest bit first: (blocks, bits)."""
    parts = [value[:, None] >> np.arange(width) & 1 for value, width in fields]
    return np.concatenate(parts, axis=1).astype(np.uint8)


def index_bits(index: Ints, anchors: Ints, bits: int) -> Bytes:
    """Write indices, those of the anchors without their highest bit."""
    stored = (index[..., None] >> np.arange(bits) & 1).astype(np.uint8)
    kept = np.ones(stored.shape, bool)
    kept[np.arange(len(index))[:, None], anchors, bits - 1] = False
    return stored[kept].reshape(len(index), index.shape[1] * bits - anchors.shape[1])


def try_split(best: Best, rows: Ints, mode: SplitMode, rotation: int) -> None:
    """Try a split mode. Rotation r stores channel r - 1 apart, and alpha in its place."""
    if not len(rows):
        return
    apart = (rotation - 1) % 4
    color, alone = best.color[rows].copy(), best.color[rows][..., apart, None]
    color[..., apart] = color[..., ALPHA]
    every, first = np.ones(color.shape[:2], bool), np.zeros(len(rows), np.int64)
    limit = best.error[rows]
    one = fit_palette(color[..., :3], every, mode.color, limit)
    other = fit_palette(alone, every, mode.alone, limit - one.error)
    error = one.error + other.error
    one = turn_line(one, first, mode.color.index_bits)
    other = turn_line(other, first, mode.alone.index_bits)
    fields: list[Field] = [
        (np.full(len(rows), 1 << mode.mode), mode.mode + 1),
        (np.full(len(rows), rotation), 2),
        (np.full(len(rows), mode.swaps), mode.selector_bits),
        *((one.level[:, end, channel], mode.color.bits) for channel in range(3) for end in (0, 1)),
        *((other.level[:, end, 0], mode.alone.bits) for end in (0, 1)),
    ]
    indices = [
        index_bits(fit.indices, first[:, None], palette.index_bits)
        for fit, palette in ((one, mode.color), (other, mode.alone))
    ]
    # The selector says that the longer indices are those of the colours.
    bits = [field_bits(fields), *(reversed(indices) if mode.swaps else indices)]
    best.keep(rows, error, np.packbits(np.concatenate(bits, 1), axis=1, bitorder="little"))
