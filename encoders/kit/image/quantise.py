"""Reduce pictures to a palette of at most 256 colours out of the 32,768 of 5-5-5 words.

A palette is judged by two squared errors: of red, green and blue, and of OKLab, which says how
different colours look. The second is weighted so that both matter equally to the picture. Colours
are counted in small cells, their histogram is split into boxes of little variance, and k-means
improves the box centres; the words near each centre that fit its colours best make the palette.
Every sum is of integers that its type holds exactly, so that the order of adding does not matter
and the same picture gives the same palette everywhere.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.image.color_search import Points, improve_centers, run_round, search_centers
from encoders.kit.image.oklab import UNIT, to_oklab
from encoders.kit.image.pixel import expand_bits

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

# Units of an 8-bit step in which centres move, and where a and b, which may be negative, begin.
FINE = 8
MIDDLE = 2048
# The weight of the OKLab error against that of red, green and blue.
LOOK = 0.3
# Scales above make lightness larger than the search allows.
MOST_SCALE = 3600
# Bits per channel of the cells that colours are counted in.
CELL_BITS = 6
# Rounds of k-means: more for few colours, which are quick to search and need it.
MOST_ROUNDS, LEAST_ROUNDS = 16, 6
# Up to this many colours, leaps are tried one by one as well, in coarser cells for speed.
FEW_COLORS = 32
FEW_BITS, FEW_TRIES = 5, 16
# Rounds of k-means with centres that are words.
WORD_ROUNDS = 4
WORDS = 1 << 15
# A word and all that differ by one level in some channels.
_STEPS = np.stack(np.meshgrid(*[(-1, 0, 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


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
    shown = rgba[..., :3][solid]
    found = choose_palette(shown, colors - has_hole)
    indices = np.zeros(solid.shape, np.uint8)
    indices[solid] = found.match(shown) + np.uint8(has_hole)
    palette = expand_hole(found.levels) if has_hole else found.levels
    return Indexed(palette, indices, has_hole)


def expand_hole(levels: Bytes) -> Bytes:
    """Return a palette with an entry for holes before all others."""
    return np.concatenate([np.zeros((1, 3), np.uint8), levels])


def levels_555(rgba: Bytes) -> Bytes:
    """Round the colours of a picture to 5 bits per channel."""
    return ((rgba[..., :3].astype(np.uint16) * 31 + 127) // 255).astype(np.uint8)


def words_555(levels: NDArray[np.integer]) -> Ints:
    """Return the words of 5-5-5 levels, red in the lowest bits."""
    # Integers do not go through BLAS, so this product is exact.
    words: Ints = levels.astype(np.int64) @ np.array([1, 32, 1024])
    return words


def levels_of(words: Ints) -> Bytes:
    """Return the levels of 5-5-5 words."""
    return np.stack([words & 31, words >> 5 & 31, words >> 10], axis=-1).astype(np.uint8)


def histogram(levels: Bytes) -> tuple[Ints, Ints, Ints]:
    """Return the colours in use, how often each is used, and the number of each texel's colour."""
    words = words_555(levels)
    uses = np.bincount(words, minlength=WORDS)
    words_in_use = np.flatnonzero(uses)
    number = np.zeros(WORDS, np.int64)
    number[words_in_use] = np.arange(len(words_in_use))
    return levels_of(words_in_use).astype(np.int64), uses[words_in_use], number[words]


class Palette(NamedTuple):
    """A palette of 5-5-5 levels in the order of their words, and how it was judged."""

    levels: Bytes
    scale: int

    def match(self, rgb: Bytes) -> Bytes:
        """Return the nearest entry of each colour (count, 3); an equal one, if there is one."""
        if not len(rgb):
            return np.zeros(0, np.uint8)
        colors, number = distinct_colors(rgb)
        points = to_points(colors, self.scale)
        centers = to_points(expand_bits(self.levels, 5), self.scale)
        label, weights = np.zeros(len(points), np.int32), np.ones(len(points), np.int32)
        return run_round(points, weights, centers, label).label.astype(np.uint8)[number]


def distinct_colors(rgb: Bytes) -> tuple[Bytes, Ints]:
    """Return the different colours of texels (count, 3), and the number of each texel's colour."""
    wide = rgb.astype(np.int32)
    keys, number = np.unique(wide[:, 0] << 16 | wide[:, 1] << 8 | wide[:, 2], return_inverse=True)
    colors = np.stack([keys >> 16, keys >> 8 & 255, keys & 255], axis=1).astype(np.uint8)
    return colors, number.reshape(-1)


class Cells(NamedTuple):
    """The mean colour and the number of texels of each cell in use, and each texel's cell."""

    colors: Bytes
    weights: Points
    number: Ints


def count_cells(rgb: Bytes, bits: int) -> Cells:
    """Count colours (count, 3) in cells of so many bits per channel."""
    wide = rgb.astype(np.int64)
    key = (wide >> (8 - bits)) @ np.array([1 << 2 * bits, 1 << bits, 1])
    uses = np.bincount(key, minlength=1 << 3 * bits)
    in_use = np.flatnonzero(uses)
    number = np.zeros(1 << 3 * bits, np.int64)
    number[in_use] = np.arange(len(in_use))
    weights, place = uses[in_use], number[key]
    # bincount sums in float64, exact below 2^53.
    sums = [np.bincount(place, wide[:, c], len(in_use)).astype(np.int64) for c in range(3)]
    means = (2 * np.stack(sums, axis=1) + weights[:, None]) // (2 * weights[:, None])
    return Cells(means.astype(np.uint8), weights.astype(np.int32), place)


def to_points(rgb: Bytes, scale: int) -> Points:
    """Return red, green, blue and OKLab at a scale, as the search compares them."""
    return _join_points(rgb, to_oklab(rgb), scale)


def _join_points(rgb: Bytes, lab: Ints, scale: int) -> Points:
    look = (2 * lab * scale + UNIT) // (2 * UNIT) + np.array([0, MIDDLE, MIDDLE])
    return np.ascontiguousarray(np.concatenate([rgb * np.int64(FINE), look], axis=-1), np.int32)


def choose_palette(rgb: Bytes, count: int) -> Palette:
    """Choose at most `count` different entries for colours (texels, 3), sorted by their words."""
    levels = levels_555(rgb)
    used, _, _ = histogram(levels)
    if len(used) <= count:
        return Palette(used.astype(np.uint8), 0)
    cells = count_cells(rgb, CELL_BITS)
    used, _, number = histogram(levels_555(cells.colors))
    uses = np.bincount(number, cells.weights, len(used)).astype(np.int64)
    label = split_boxes(used, uses, count)[number]
    lab = to_oklab(cells.colors)
    scale = _balance(cells, lab, label)
    points = _join_points(cells.colors, lab, scale)
    rounds = max(LEAST_ROUNDS, MOST_ROUNDS - count // 4)
    centers = search_centers(points, cells.weights, label.astype(np.int32), count, rounds)
    if count <= FEW_COLORS:
        coarse = count_cells(rgb, FEW_BITS)
        some = to_points(coarse.colors, scale)
        centers = improve_centers(some, coarse.weights, centers, FEW_TRIES)
    words = _fit_words(points, cells.weights, centers, scale)
    return Palette(levels_of(words), scale)


def _balance(cells: Cells, lab: Ints, label: Ints) -> int:
    """Return the scale at which the errors of boxes in both spaces are in the wanted relation."""
    errors = [
        sum(_spread(values[:, axis], cells.weights, label) for axis in range(3))
        for values in (cells.colors.astype(np.int64) * FINE, lab)
    ]
    if not errors[1]:
        return 0
    return min(MOST_SCALE, int(UNIT * np.sqrt(LOOK * errors[0] / errors[1]) + 0.5))


def _spread(values: Ints, weights: Points, label: Ints) -> float:
    """Return the squared error of values against the means of their labels."""
    uses = np.maximum(np.bincount(label, weights), 1)
    sums = np.bincount(label, weights * values)
    squares = np.bincount(label, weights * values * values)
    # One box after the other: the order of adding must not depend on the machine.
    return float(sum((squares - sums * sums / uses).tolist()))


@cache
def _word_points() -> tuple[Bytes, Ints]:
    """Return the 8-bit colours of all words, and their OKLab values."""
    shown = expand_bits(levels_of(np.arange(WORDS)), 5)
    return shown, to_oklab(shown)


def _points_of(words: Ints, scale: int) -> Points:
    shown, lab = _word_points()
    return _join_points(shown[words], lab[words], scale)


def _fit_words(points: Points, weights: Points, centers: Points, scale: int) -> Ints:
    """Continue k-means with centres that are words, all different; return the best, sorted."""
    best, least = np.zeros(0, np.int64), float("inf")
    label = np.zeros(len(points), np.int32)
    for _ in range(WORD_ROUNDS):
        words = _nearest_words(centers, scale)
        words = _fill_up(words, points, weights, (len(centers), scale))
        entries = _points_of(words, scale)
        found = run_round(points, weights, entries, label)
        error = found.error(entries)
        if error >= least:
            break
        best, least = words, error
        centers, label = found.means(entries), found.label
    return best


def _nearest_words(centers: Points, scale: int) -> Ints:
    """Return the different words that are nearest to centres, sorted."""
    # The nearest levels in red, green and blue alone are at most one step away.
    levels = (2 * 31 * centers[:, :3].astype(np.int64) + 255 * FINE) // (2 * 255 * FINE)
    around = words_555(np.clip(levels[:, None] + _STEPS, 0, 31))
    off = _points_of(around.reshape(-1), scale).reshape(*around.shape, -1) - centers[:, None]
    nearest = np.argmin((off.astype(np.int64) ** 2).sum(axis=2), axis=1)
    return np.unique(around[np.arange(len(around)), nearest])


def _fill_up(words: Ints, points: Points, weights: Points, wanted: tuple[int, int]) -> Ints:
    """Add words of the colours with the largest error until there are as many as wanted."""
    count, scale = wanted
    while len(words) < count:
        entries = _points_of(words, scale)
        label = run_round(points, weights, entries, np.zeros(len(points), np.int32)).label
        off = (points - entries[label]).astype(np.int64)
        cost = weights * (off * off).sum(axis=1)
        costly = np.argsort(-cost, kind="stable")[: count - len(words)]
        more = np.setdiff1d(_nearest_words(points[costly], scale), words)
        if not len(more):
            break
        words = np.union1d(words, more)
    return words


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
