"""Palettes for dithering: chosen by the dithered picture."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.kit.image.palette import dithered
from encoders.kit.image.palette.quantise import quantise_555, quantise_choices
from tests.kit.picture import photo, with_holes


@pytest.mark.parametrize("strength", [0.0, 0.75])
def test_no_other_choice_has_less_error_once_it_is_dithered(strength):
    picture = photo(64)
    solid = np.ones((64, 64), bool)
    found = dithered.quantise_for_dithering(picture, 16, strength)
    choices = quantise_choices(picture, 16)
    errors = [dithered.dithered_error(picture, one, solid, strength) for one in choices]
    assert dithered.dithered_error(picture, found, solid, strength) == min(errors) < max(errors)


@pytest.mark.parametrize("shape", [(9, 7, 3), (3, 12, 1), (1, 1, 3)])
def test_window_sums_are_those_of_the_windows(shape):
    values = np.random.default_rng(3).integers(-255, 256, shape)
    height, width = (min(dithered.WINDOW, side) for side in shape[:2])
    windows = np.lib.stride_tricks.sliding_window_view(values, (height, width), axis=(0, 1))
    assert np.array_equal(dithered.window_sums(values), windows.sum(axis=(-2, -1)))


def test_a_picture_that_fits_the_palette_is_reproduced_for_dithering_too():
    picture = np.full((4, 4, 4), 255, np.uint8)
    picture[:2, :, :3] = 8
    found, plain = dithered.quantise_for_dithering(picture, 16, 1.0), quantise_555(picture, 16)
    assert np.array_equal(found.palette[found.indices], plain.palette[plain.indices])


def test_holes_stay_holes_when_a_palette_is_chosen_for_dithering():
    picture = with_holes(photo(64))
    solid = picture[..., 3] >= 128
    found = dithered.quantise_for_dithering(picture, 16, 0.75, cutoff=128)
    indices = dithered.dither_indexed(picture, found, solid, 0.75)
    assert np.array_equal(indices == 0, ~solid)
