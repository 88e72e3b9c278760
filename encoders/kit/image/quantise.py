"""Palettes of at most 256 colours, chosen and judged among the 32,768 that the console shows.

Colours are 5-5-5 levels from the start: a histogram of them, cut into boxes of little variance,
then k-means on the colours weighted by their use. The one rule: every sum is a sum of whole
numbers that its type holds exactly, whatever the order of its terms, so that the same picture
gives the same palette on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

FINE = 8  # centres move in eighths of a level while they settle
SETTLING_ROUNDS = 24
LATTICE_ROUNDS = 4


class Indexed(NamedTuple):
    """A palette of 5-5-5 levels, red first, and each texel's entry; entry 0 may be a hole."""

    palette: Bytes
    indices: Bytes
    has_hole: bool


def quantise_555(rgba: Bytes, colors: int, *, cutoff: int | None = None) -> Indexed:
    """Choose at most `colors` entries and the nearest one for every texel.

    A picture that shows no more colours than that comes back exactly. With a cutoff, texels
    whose alpha is below it (if there are any) have entry 0, which no other texel uses.
    """
    if not 2 <= colors <= 256 or rgba.size == 0:
        facts = {"colors": colors, "allowed": "2 to 256", "shape": rgba.shape}
        raise EncodeError("a palette of this size is not possible", facts)
    solid = np.ones(rgba.shape[:2], bool) if cutoff is None else rgba[..., 3] >= cutoff
    has_hole = not solid.all()
    levels = levels_555(rgba)
    used, weight, place = histogram(levels[solid])
    palette = choose_palette(used, weight, colors - has_hole)
    indices = np.zeros(solid.shape, np.uint8)
    if len(used):
        indices[solid] = (nearest(used, palette) + has_hole).astype(np.uint8)[place]
    if has_hole:
        palette = np.concatenate([np.zeros((1, 3), np.int64), palette])
    return Indexed(palette.astype(np.uint8), indices, has_hole)


def levels_555(rgba: Bytes) -> Bytes:
    """Round the colours of a picture to 5 bits a channel."""
    return ((rgba[..., :3].astype(np.uint16) * 31 + 127) // 255).astype(np.uint8)


def histogram(levels: Bytes) -> tuple[Ints, Ints, Ints]:
    """List the colours in use, how often each is used, and each texel's place in the list."""
    words = levels.astype(np.int64) @ np.array([1, 32, 1024])
    uses = np.bincount(words, minlength=1 << 15)
    words_in_use = np.flatnonzero(uses)
    place = np.zeros(1 << 15, np.int64)
    place[words_in_use] = np.arange(len(words_in_use))
    used = np.stack([words_in_use & 31, words_in_use >> 5 & 31, words_in_use >> 10], axis=1)
    return used, uses[words_in_use], place[words]


def nearest(colors: Ints, palette: Ints) -> Ints:
    """Give each colour's nearest entry, the first of several that are equally near."""
    # Whole numbers below 2**24 even in fine units, so the product is exact in float32.
    ones = np.ones((len(colors), 1))
    squares = np.sum(palette * palette, axis=1, keepdims=True)
    left = np.hstack([colors, ones]).astype(np.float32)
    right = np.hstack([-2 * palette, squares]).astype(np.float32)
    first: Ints = np.argmin(left @ right.T, axis=1)
    return first


def choose_palette(used: Ints, weight: Ints, count: int) -> Ints:
    """Choose at most `count` different colours for the colours in use, in order of their words."""
    if len(used) <= count:
        return used
    centers = centroids(used, weight, cut_boxes(used, weight, count), count)
    for _ in range(SETTLING_ROUNDS):
        moved = centroids(used, weight, nearest(used * FINE, centers), count)
        if np.array_equal(moved, centers):
            break
        centers = moved
    palette = settle_on_lattice(used, weight, (2 * centers + FINE) // (2 * FINE))
    return palette[np.argsort(palette @ np.array([1, 32, 1024]))]


def centroids(used: Ints, weight: Ints, label: Ints, count: int) -> Ints:
    """Give the mean colour of each label in fine units; a label without use takes a far colour."""
    uses = np.bincount(label, weight, count).astype(np.int64)
    sums = [np.bincount(label, weight * used[:, c], count).astype(np.int64) for c in range(3)]
    doubled = 2 * np.maximum(uses, 1)[:, None]
    centers: Ints = (2 * FINE * np.stack(sums, axis=1) + uses[:, None]) // doubled
    empty = np.flatnonzero(uses == 0)
    if len(empty):
        far = worst(weight, FINE * used - centers[label], len(empty))
        centers[empty] = FINE * used[far]
    return centers


def worst(weight: Ints, off: Ints, count: int) -> Ints:
    """List the colours that cost most where they are, the costliest first."""
    cost = weight * np.sum(off * off, axis=1)
    return np.argsort(-cost, kind="stable")[:count]


def settle_on_lattice(used: Ints, weight: Ints, palette: Ints) -> Ints:
    """Make the entries whole levels, all different, and keep the best palette met."""
    best, least = palette, None
    for _ in range(LATTICE_ROUNDS):
        palette = fill_up(used, weight, palette)
        label = nearest(used, palette)
        off = used - palette[label]
        error = int(np.sum(weight * np.sum(off * off, axis=1)))
        if least is not None and error >= least:
            break
        best, least = palette, error
        centers = centroids(used, weight, label, len(palette))
        palette = (2 * centers + FINE) // (2 * FINE)
    return best


def fill_up(used: Ints, weight: Ints, palette: Ints) -> Ints:
    """Replace entries that are there twice by the colours that are served worst."""
    count = len(palette)
    palette = np.unique(palette, axis=0)
    while len(palette) < count:
        off = used - palette[nearest(used, palette)]
        added = used[worst(weight, off, count - len(palette))]
        palette = np.unique(np.concatenate([palette, added]), axis=0)
    return palette


def cut_boxes(used: Ints, weight: Ints, count: int) -> Ints:
    """Label the colours with `count` boxes, always cutting those that gain most from it."""
    label = np.zeros(len(used), np.int64)
    boxes = 1
    while boxes < count:
        gain, axis, level = best_cuts(used, weight, label, boxes)
        cut = np.argsort(-gain, kind="stable")[: min(count - boxes, (boxes + 1) // 2)]
        cut = cut[gain[cut] > 0]
        if not len(cut):
            break
        fresh = np.full(boxes, -1)
        fresh[cut] = boxes + np.arange(len(cut))
        above = used[np.arange(len(used)), axis[label]] > level[label]
        label = np.where(above & (fresh[label] >= 0), fresh[label], label)
        boxes += len(cut)
    return label


def best_cuts(
    used: Ints, weight: Ints, label: Ints, boxes: int
) -> tuple[NDArray[np.float64], Ints, Ints]:
    """Find for each box the axis and level whose cut lowers its squared error most."""
    gains = np.stack([cut_gains(used, weight, label, boxes, axis) for axis in range(3)], axis=1)
    flat = gains.reshape(boxes, -1)
    best = np.argmax(flat, axis=1)
    return flat[np.arange(boxes), best], best // 31, best % 31


def cut_gains(used: Ints, weight: Ints, label: Ints, boxes: int, axis: int) -> NDArray[np.float64]:
    """Tell how much each of the 31 cuts along an axis lowers the squared error of each box."""
    slot = label * 32 + used[:, axis]
    counts = np.bincount(slot, weight, boxes * 32).reshape(boxes, 32)
    below = np.cumsum(counts, axis=1)
    total = below[:, -1:]
    gain = np.zeros((boxes, 31))
    for c in range(3):
        sums = np.cumsum(np.bincount(slot, weight * used[:, c], boxes * 32).reshape(boxes, 32), 1)
        low, high = sums[:, :-1], sums[:, -1:] - sums[:, :-1]
        part = low * low / np.maximum(below[:, :-1], 1)
        part += high * high / np.maximum(total - below[:, :-1], 1)
        gain += part - sums[:, -1:] * sums[:, -1:] / total
    empty = (below[:, :-1] == 0) | (below[:, :-1] == total)
    return np.where(empty, 0.0, gain)
