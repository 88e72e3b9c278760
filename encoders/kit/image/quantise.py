"""Reduce a picture to a palette of at most 256 colours out of the 32,768 of 5-5-5 words.

Colours are rounded to 5-5-5 levels first. Their histogram is split into boxes of little variance,
then the box centres are improved by k-means. Every sum is of integers that its type holds exactly,
so that the order of adding does not matter and the same picture gives the same palette everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

# Units per level in which k-means moves the centres.
FINE = 8
KMEANS_ROUNDS = 24
# Rounds of k-means with centres rounded to whole levels.
LEVEL_ROUNDS = 4


class Indexed(NamedTuple):
    """A palette of 5-5-5 levels, red first, and each texel's index.

    `has_hole` says that entry 0 is transparent.
    """

    palette: Bytes
    indices: Bytes
    has_hole: bool


def quantise_555(rgba: Bytes, colors: int, *, cutoff: int | None = None) -> Indexed:
    """Choose at most `colors` entries, and the nearest one for every texel.

    A picture with no more 5-5-5 colours than that is reproduced exactly. With a cutoff, texels
    whose alpha is below it get entry 0, which no other texel uses.
    """
    if not 2 <= colors <= 256 or rgba.size == 0:
        facts = {"colors": colors, "allowed": "2 to 256", "shape": rgba.shape}
        raise EncodeError("a palette of this size is not possible", facts)
    solid = np.ones(rgba.shape[:2], bool) if cutoff is None else rgba[..., 3] >= cutoff
    has_hole = not solid.all()
    levels = levels_555(rgba)
    used, weight, number = histogram(levels[solid])
    palette = choose_palette(used, weight, colors - has_hole)
    indices = np.zeros(solid.shape, np.uint8)
    if len(used):
        indices[solid] = (nearest(used, palette) + has_hole).astype(np.uint8)[number]
    if has_hole:
        palette = np.concatenate([np.zeros((1, 3), np.int64), palette])
    return Indexed(palette.astype(np.uint8), indices, has_hole)


def levels_555(rgba: Bytes) -> Bytes:
    """Round the colours of a picture to 5 bits per channel."""
    return ((rgba[..., :3].astype(np.uint16) * 31 + 127) // 255).astype(np.uint8)


def histogram(levels: Bytes) -> tuple[Ints, Ints, Ints]:
    """Return the colours in use, how often each is used, and the number of each texel's colour."""
    # Integers do not go through BLAS, so this product is exact.
    words = levels.astype(np.int64) @ np.array([1, 32, 1024])
    uses = np.bincount(words, minlength=1 << 15)
    words_in_use = np.flatnonzero(uses)
    number = np.zeros(1 << 15, np.int64)
    number[words_in_use] = np.arange(len(words_in_use))
    used = np.stack([words_in_use & 31, words_in_use >> 5 & 31, words_in_use >> 10], axis=1)
    return used, uses[words_in_use], number[words]


def nearest(colors: Ints, palette: Ints) -> Ints:
    """Return the nearest entry of each colour, the first one on a tie."""
    # All sums are integers below 2**24, even in fine units, so float32 is exact.
    ones = np.ones((len(colors), 1))
    # |c - p|^2 without |c|^2, which is the same for all entries.
    squares = np.sum(palette * palette, axis=1, keepdims=True)
    left = np.hstack([colors, ones]).astype(np.float32)
    right = np.hstack([-2 * palette, squares]).astype(np.float32)
    first: Ints = np.argmin(left @ right.T, axis=1)
    return first


def choose_palette(used: Ints, weight: Ints, count: int) -> Ints:
    """Choose at most `count` different colours for the colours in use, sorted by their words."""
    if len(used) <= count:
        return used
    centers = centroids(used, weight, split_boxes(used, weight, count), count)
    # Usually the centres stop moving long before.
    for _ in range(KMEANS_ROUNDS):
        moved = centroids(used, weight, nearest(used * FINE, centers), count)
        if np.array_equal(moved, centers):
            break
        centers = moved
    palette = round_to_levels(used, weight, (2 * centers + FINE) // (2 * FINE))
    # Sorted, so that the palette does not depend on the course of the search.
    return palette[np.argsort(palette @ np.array([1, 32, 1024]))]


def centroids(used: Ints, weight: Ints, label: Ints, count: int) -> Ints:
    """Return the mean colour of each label in fine units; an unused label takes a costly colour."""
    # bincount sums in float64, exact below 2^53 uses.
    uses = np.bincount(label, weight, count).astype(np.int64)
    sums = [np.bincount(label, weight * used[:, c], count).astype(np.int64) for c in range(3)]
    doubled = 2 * np.maximum(uses, 1)[:, None]
    # Rounded half up in integers.
    centers: Ints = (2 * FINE * np.stack(sums, axis=1) + uses[:, None]) // doubled
    empty = np.flatnonzero(uses == 0)
    if len(empty):
        costly = costliest(weight, FINE * used - centers[label], len(empty))
        centers[empty] = FINE * used[costly]
    return centers


def costliest(weight: Ints, off: Ints, count: int) -> Ints:
    """Return the colours with the largest weighted squared error, largest first."""
    cost = weight * np.sum(off * off, axis=1)
    return np.argsort(-cost, kind="stable")[:count]


def round_to_levels(used: Ints, weight: Ints, palette: Ints) -> Ints:
    """Continue k-means with entries that are whole levels, all different; return the best."""
    best, least = palette, None
    for _ in range(LEVEL_ROUNDS):
        palette = replace_duplicates(used, weight, palette)
        label = nearest(used, palette)
        off = used - palette[label]
        error = int(np.sum(weight * np.sum(off * off, axis=1)))
        if least is not None and error >= least:
            break
        best, least = palette, error
        centers = centroids(used, weight, label, len(palette))
        palette = (2 * centers + FINE) // (2 * FINE)
    return best


def replace_duplicates(used: Ints, weight: Ints, palette: Ints) -> Ints:
    """Replace duplicate entries by the colours with the largest error."""
    count = len(palette)
    palette = np.unique(palette, axis=0)
    while len(palette) < count:
        off = used - palette[nearest(used, palette)]
        added = used[costliest(weight, off, count - len(palette))]
        palette = np.unique(np.concatenate([palette, added]), axis=0)
    return palette


def split_boxes(used: Ints, weight: Ints, count: int) -> Ints:
    """Label the colours with up to `count` boxes, splitting those first that gain most."""
    label = np.zeros(len(used), np.int64)
    boxes = 1
    while boxes < count:
        gain, axis, level = best_cuts(used, weight, label, boxes)
        # Several boxes at a time, but never more than half of them: fewer passes, nearly the same
        # boxes.
        cut = np.argsort(-gain, kind="stable")[: min(count - boxes, (boxes + 1) // 2)]
        cut = cut[gain[cut] > 0]
        if not len(cut):
            break
        new_label = np.full(boxes, -1)
        new_label[cut] = boxes + np.arange(len(cut))
        above = used[np.arange(len(used)), axis[label]] > level[label]
        label = np.where(above & (new_label[label] >= 0), new_label[label], label)
        boxes += len(cut)
    return label


def best_cuts(
    used: Ints, weight: Ints, label: Ints, boxes: int
) -> tuple[NDArray[np.float64], Ints, Ints]:
    """Return for each box the cut that lowers its squared error most: gain, axis and level."""
    gains = np.stack([cut_gains(used, weight, label, boxes, axis) for axis in range(3)], axis=1)
    flat = gains.reshape(boxes, -1)
    best = np.argmax(flat, axis=1)
    return flat[np.arange(boxes), best], best // 31, best % 31


def cut_gains(used: Ints, weight: Ints, label: Ints, boxes: int, axis: int) -> NDArray[np.float64]:
    """Return by how much each of the 31 cuts along an axis lowers each box's squared error."""
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
    # A cut with nothing on one side is no cut.
    empty = (below[:, :-1] == 0) | (below[:, :-1] == total)
    return np.where(empty, 0.0, gain)
