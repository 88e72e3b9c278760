"""Reduce pictures to a palette of at most 256 colours out of the 32,768 of 5-5-5 words.

A palette is judged by two squared errors: of red, green and blue, and of OKLab, which says how
different colours look. The second is weighted so that both matter to the picture. Colours are
counted in small cells, the cells are divided into boxes of little variance, and k-means improves
the box centres; the words near the centres make the palette. Few colours are searched for with
several weights, and the best result is polished (`polish.py`).
Every sum is of integers that its type holds exactly, so that the order of adding does not matter
and the same picture gives the same palette everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.image.palette.color_search import (
    SQUARES,
    SUMS,
    WEIGHT,
    Floats,
    Points,
    find_nearest,
    search_centers,
    split_points,
)
from encoders.kit.image.palette.oklab import (
    MATRICES,
    UNIT,
    Table,
    light_table,
    root_table,
    to_oklab,
)
from encoders.kit.image.palette.polish import Entries, Polish, Words, by_axis
from encoders.kit.image.pixel import expand_bits
from encoders.kit.native.kernel import choose
from encoders.kit.native.row_number import number_rows

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

# Units of an 8-bit step in which centres move, and where a and b, which may be negative, begin.
FINE = 8
MIDDLE = 2048
# The weights of the OKLab error against that of red, green and blue: of the searches for few
# colours, whose results differ enough to choose from, and of that for many.
FEW_LOOKS, MANY_LOOK = (0.15, 0.6, 1.0), 0.65
# A search more for dithering, and for pictures of so few cells that it takes next to no time.
MORE_LOOKS, SMALL = (0.05, *FEW_LOOKS), 512
# The scale of OKLab while the right one is not known, and the largest: lightness stays in range.
FIRST_SCALE, MOST_SCALE = 2048, 3600
# Bits per channel of the cells that colours are counted in.
CELL_BITS = 6
# Up to this many colours the search has coarser cells, and its best result is polished.
FEW_COLORS, FEW_BITS, FEW_SETTLE = 32, 5, 6
# Rounds of polishing each result, and the best one.
TRIAL_ROUNDS, POLISH_ROUNDS = 1, 4
# The scale of OKLab at which texels get one of few colours, and at which results are polished.
MATCH_SCALE = 2750
# Rounds of k-means, and single leaps tried: of searches for few colours, of the last one, for many.
FEW, AGAIN, MANY = (14, 10), (14, 4), (5, 0)
WORDS = 1 << 15
# A word and those that are one level above in some channels.
_STEPS = np.stack(np.meshgrid(*[(0, 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
_LEVELS: Bytes = ((np.arange(256) * 31 + 127) // 255).astype(np.uint8)


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
    return _quantise(rgba, colors, cutoff, lambda *cells: [choose_palette(*cells)])[0]


def quantise_choices(rgba: Bytes, colors: int, *, cutoff: int | None = None) -> list[Indexed]:
    """Return what `quantise_555` chooses from and more: one result where it searches once."""
    return _quantise(rgba, colors, cutoff, palette_choices)


def _quantise(
    rgba: Bytes,
    colors: int,
    cutoff: int | None,
    choose_from: Callable[[Bytes, int, Ints], list[Palette]],
) -> list[Indexed]:
    if not 2 <= colors <= 256 or rgba.size == 0:
        facts = {"colors": colors, "allowed": "2 to 256", "shape": rgba.shape}
        raise EncodeError("a palette of this size is not possible", facts)
    solid = np.ones(rgba.shape[:2], bool) if cutoff is None else rgba[..., 3] >= cutoff
    texels, has_hole = solid_colors(rgba, solid), not solid.all()
    used, number = distinct_colors(texels)
    palettes = choose_from(used, colors - has_hole, np.bincount(number))
    return [SharedPalette(one, has_hole).lay_out(solid, used, number) for one in palettes]


class SharedPalette(NamedTuple):
    """A palette for several pictures; `has_hole` puts a transparent entry before its colours."""

    palette: Palette
    has_hole: bool

    def apply(self, rgba: Bytes, solid: NDArray[np.bool_]) -> Indexed:
        """Return a picture in the nearest colours; texels that are not solid get entry 0."""
        return self.lay_out(solid, *distinct_colors(solid_colors(rgba, solid)))

    def lay_out(self, solid: NDArray[np.bool_], used: Bytes, number: NDArray[np.int32]) -> Indexed:
        """Return the picture whose solid texels have these different colours, by number."""
        found = (self.palette.match(used) + np.uint8(self.has_hole)).take(number)
        if solid.all():
            indices = found.reshape(solid.shape)
        else:
            indices = np.zeros(solid.shape, np.uint8)
            indices[solid] = found
        levels = self.palette.levels
        return Indexed(expand_hole(levels) if self.has_hole else levels, indices, self.has_hole)


def solid_colors(rgba: Bytes, solid: NDArray[np.bool_]) -> Bytes:
    """Return red, green and blue of the solid texels (count, 3)."""
    rgb = rgba[..., :3]
    # A mask takes several times as long as a copy.
    return rgb.reshape(-1, 3) if solid.all() else rgb[solid]


def choose_shared(
    pictures: Sequence[tuple[Bytes, NDArray[np.bool_]]], colors: int
) -> SharedPalette:
    """Choose one palette for the solid texels of pictures, all texels weighted alike."""
    has_hole = not all(solid.all() for _, solid in pictures)
    texels = np.concatenate([solid_colors(rgba, solid) for rgba, solid in pictures])
    colors_used, number = distinct_colors(texels)
    found = choose_palette(colors_used, colors - has_hole, np.bincount(number))
    return SharedPalette(found, has_hole)


def expand_hole(levels: Bytes) -> Bytes:
    """Return a palette with an entry for holes before all others."""
    return np.concatenate([np.zeros((1, 3), np.uint8), levels])


def levels_555(rgba: Bytes) -> Bytes:
    """Round the colours of a picture to 5 bits per channel."""
    return _LEVELS.take(rgba[..., :3])


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
        points = to_points(rgb, self.scale)
        centers = to_points(expand_bits(self.levels, 5), self.scale)
        if not len(centers):
            return np.zeros(0, np.uint8)
        return find_nearest(points, centers).astype(np.uint8)


def distinct_colors(rgb: Bytes) -> tuple[Bytes, NDArray[np.int32]]:
    """Return the different colours of texels (count, 3), and the number of each texel's colour."""
    number, first = number_rows(np.ascontiguousarray(rgb))
    return rgb.take(first, axis=0), number


class Cells(NamedTuple):
    """The mean colour and the number of texels of each cell in use."""

    colors: Bytes
    weights: Points


def count_cells(rgb: Bytes, weights: NDArray[np.integer], bits: int) -> Cells:
    """Count weighted colours (count, 3) in cells of so many bits per channel."""
    shift = 8 - bits
    red, green, blue = (rgb[:, c].astype(np.int32) for c in range(3))
    key = (red >> shift << 2 * bits) + (green >> shift << bits) + (blue >> shift)
    in_use = np.zeros(1 << 3 * bits, bool)
    in_use[key] = True
    cells = np.flatnonzero(in_use)
    number, count = np.empty(1 << 3 * bits, np.int32), len(cells)
    number[cells] = np.arange(count, dtype=np.int32)
    place = number[key]
    # bincount sums in float64, exact below 2^53.
    sums = [np.bincount(place, weights * one, count) for one in (red, green, blue)]
    total = np.bincount(place, weights, count).astype(np.int64)[:, None]
    means = (2 * np.stack(sums, axis=1).astype(np.int64) + total) // (2 * total)
    return Cells(means.astype(np.uint8), total[:, 0].astype(np.int32))


def to_points(rgb: Bytes, scale: int) -> Points:
    """Return red, green, blue and OKLab at a scale, as the search compares them."""
    points = np.zeros((len(rgb), 6), np.int32)
    tables = (light_table(), MATRICES, root_table())
    choose("color_points", color_points)(np.ascontiguousarray(rgb), *tables, scale, points)
    return points


def color_points(
    rgb: Bytes, light: Table, matrices: Table, roots: Table, scale: int, points: Points
) -> None:
    """Fill `points`: the reference of the native kernel."""
    lab = to_oklab(rgb, light, matrices, roots)
    points[:, :3] = rgb * np.int32(FINE)
    points[:, 3:] = (2 * lab * scale + UNIT) // (2 * UNIT) + (0, MIDDLE, MIDDLE)


def choose_palette(rgb: Bytes, count: int, uses: NDArray[np.integer] | None = None) -> Palette:
    """Choose at most `count` different entries for colours (number, 3), sorted by their words.

    `uses` says how often each colour is there: once, if not given.
    """
    words = _words_in_use(rgb)
    if len(words) <= count:
        return Palette(levels_of(words), 0)
    cells = count_cells(rgb, np.ones(len(rgb), np.int64) if uses is None else uses, CELL_BITS)
    return (_choose_many if count > FEW_COLORS else _choose_few)(cells, count)


def palette_choices(rgb: Bytes, count: int, uses: Ints) -> list[Palette]:
    """Return the polished result of each search for few colours, or the only palette."""
    if count > FEW_COLORS or len(_words_in_use(rgb)) <= count:
        return [choose_palette(rgb, count, uses)]
    polish, searched = _search_looks(count_cells(rgb, uses, CELL_BITS), count, MORE_LOOKS)
    return [_polish_palette(polish, words, count) for words in searched]


def _words_in_use(rgb: Bytes) -> Ints:
    in_use = np.zeros(WORDS, bool)
    in_use[words_555(levels_555(rgb))] = True
    return np.flatnonzero(in_use)


def _choose_many(cells: Cells, count: int) -> Palette:
    """Search once, and settle on words."""
    boxes = split_points(to_points(cells.colors, FIRST_SCALE), cells.weights, count)
    scale = _balance(boxes.table, MANY_LOOK)
    points = to_points(cells.colors, scale)
    centers = search_centers(points, cells.weights, boxes.label, count, MANY)
    words = _fill_up(_nearest_words(centers, scale), points, cells.weights, (count, scale))
    # Entries are settled: texels may follow their numbers a little more than entries did.
    return Palette(levels_of(words), scale * 7 // 8)


def _choose_few(cells: Cells, count: int) -> Palette:
    """Search a few times, once more from the best result, and polish the best of all."""
    looks = FEW_LOOKS if len(cells.colors) > SMALL else MORE_LOOKS
    polish, searched = _search_looks(cells, count, looks)
    best = min((polish.run(words, TRIAL_ROUNDS) for words in searched), key=itemgetter(0))
    again = polish.run(_search_again(polish, best[1], count), TRIAL_ROUNDS)
    return _polish_palette(polish, min(best, again, key=itemgetter(0))[1], count)


def _search_again(polish: Polish, words: Entries, count: int) -> Entries:
    """Search by the lengths of differences: squares let areas of one colour have none of theirs."""
    points, weights = polish.points, polish.length_weights(words)
    boxes = split_points(points, weights, count)
    centers = search_centers(points, weights, boxes.label, count, AGAIN)
    found = _nearest_words(centers, MATCH_SCALE)
    return _fill_up(found, points, polish.weights, (count, MATCH_SCALE))


def _search_looks(
    cells: Cells, count: int, looks: tuple[float, ...]
) -> tuple[Polish, list[Entries]]:
    """Return the words of searches with several weights, and what polishes them."""
    coarse = count_cells(cells.colors, cells.weights, FEW_BITS)
    boxes = split_points(to_points(coarse.colors, FIRST_SCALE), coarse.weights, count)
    scales = sorted({_balance(boxes.table, look) for look in looks})
    found = [_search_few((cells, coarse), boxes.label, count, scale) for scale in scales]
    points = to_points(coarse.colors, MATCH_SCALE)
    return Polish(points, coarse.weights, _all_words()), found


def _polish_palette(polish: Polish, words: Entries, count: int) -> Palette:
    words = polish.run(words, POLISH_ROUNDS)[1]
    words = _fill_up(words, polish.points, polish.weights, (count, MATCH_SCALE))
    return Palette(levels_of(words), MATCH_SCALE)


def _search_few(cells: tuple[Cells, Cells], label: Points, count: int, scale: int) -> Entries:
    """Return the words of a search in coarse cells that settles in fine ones."""
    fine, coarse = (to_points(one.colors, scale) for one in cells)
    centers = search_centers(coarse, cells[1].weights, label, count, FEW)
    nearest = find_nearest(fine, centers)
    centers = search_centers(fine, cells[0].weights, nearest, count, (FEW_SETTLE, 0))
    return _fill_up(_nearest_words(centers, scale), fine, cells[0].weights, (count, scale))


@cache
def _all_words() -> Words:
    """Return all words as entries are polished to them."""
    points = _points_of(np.arange(WORDS), MATCH_SCALE)
    return Words(points, by_axis(points))


def _balance(table: Floats, wanted: float) -> int:
    """Return the scale at which the errors of boxes in both spaces are in the wanted relation."""
    squares = table[:, SUMS] ** 2 / np.maximum(table[:, [WEIGHT]], 1)
    # One number after the other: the order of adding must not depend on the machine.
    rgb, look = (sum(one.ravel().tolist()) for one in np.split(table[:, SQUARES] - squares, 2, 1))
    if look <= 0:
        return 0
    return min(MOST_SCALE, int(FIRST_SCALE * np.sqrt(wanted * rgb / look) + 0.5))


def _points_of(words: Ints, scale: int) -> Points:
    return to_points(expand_bits(levels_of(words), 5), scale)


def _nearest_words(centers: Points, scale: int) -> Ints:
    """Return the different words that are nearest to centres, sorted."""
    # The levels below and above in each channel.
    levels = 31 * centers[:, :3] // (255 * FINE)
    around = words_555(np.minimum(levels[:, None] + _STEPS, 31))
    off = _points_of(around.reshape(-1), scale).reshape(*around.shape, -1) - centers[:, None]
    # Below 2^27, as in the kernel.
    nearest = np.argmin((off * off).sum(axis=2), axis=1)
    return np.unique(around[np.arange(len(around)), nearest])


def _fill_up(words: Ints, points: Points, weights: Points, wanted: tuple[int, int]) -> Ints:
    """Add words of the colours with the largest error until there are as many as wanted."""
    count, scale = wanted
    while len(words) < count:
        entries = _points_of(words, scale)
        label = find_nearest(points, entries)
        off = (points - entries[label]).astype(np.int64)
        cost = weights * (off * off).sum(axis=1)
        costly = np.argsort(-cost, kind="stable")[: count - len(words)]
        more = np.setdiff1d(_nearest_words(points[costly], scale), words)
        if not len(more):
            break
        words = np.union1d(words, more)
    return words
