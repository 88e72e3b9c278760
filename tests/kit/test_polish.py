"""Polishing: words of a small palette move to where colours are nearer and look nearer."""

from __future__ import annotations

import numpy as np

from encoders.kit.image.palette import quantise
from encoders.kit.image.palette.polish import Polish, Words, by_axis
from encoders.kit.image.pixel import expand_bits
from tests.kit.picture import photo

SCALE = quantise.MATCH_SCALE


def points(rgb):
    return quantise.to_points(rgb, SCALE)


def polish(rgb, weights):
    every = points(expand_bits(quantise.levels_of(np.arange(quantise.WORDS)), 5))
    return Polish(points(rgb), np.asarray(weights, np.int32), Words(every, by_axis(every)))


def test_a_large_area_gets_its_exact_colour():
    """The mean with its neighbours is a level off, and that is what squares alone would choose."""
    area, near = expand_bits(np.array([[20, 9, 4], [21, 9, 4]], np.uint8), 5)
    beside = area + np.array([12, 0, 0], np.uint8)
    start = quantise.words_555(quantise.levels_555(near[None]))
    _, words = polish(np.stack([area, beside]), [65, 35]).run(start, 4)
    assert quantise.levels_of(words).tolist() == [[20, 9, 4]]


def test_no_round_makes_the_error_larger():
    cells = quantise.count_cells(photo(64)[..., :3].reshape(-1, 3), np.ones(64 * 64, int), 5)
    work = polish(cells.colors, cells.weights)
    start = np.unique(np.arange(16) * 2113 % quantise.WORDS)
    errors = [work.run(start, rounds)[0] for rounds in range(1, 6)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 2


def test_colours_that_all_have_an_entry_stay():
    words = np.array([5, 700, 31000])
    exact = expand_bits(quantise.levels_of(words), 5)
    error, found = polish(exact, [1, 1, 1]).run(words, 4)
    assert error == 0
    assert found.tolist() == words.tolist()
