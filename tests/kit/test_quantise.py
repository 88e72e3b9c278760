import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.image.palette import quantise
from encoders.kit.image.pixel import expand_bits
from tests.kit.picture import formula, gradient, opaque, photo, pixel_art, with_holes


def decibels(picture, levels):
    """Measure what the console shows of 5-5-5 levels against a picture of 8 bits."""
    off = picture[..., :3].astype(float) - expand_bits(levels.astype(np.uint8), 5)
    return 10 * np.log10(255**2 / np.mean(off**2))


def shown(result):
    return result.palette[result.indices]


def test_levels_are_rounded_not_truncated():
    grey = np.array([[[0] * 4, [4] * 4, [5] * 4, [251] * 4, [255] * 4]], np.uint8)
    assert quantise.levels_555(grey)[0, :, 0].tolist() == [0, 0, 1, 31, 31]


@pytest.mark.parametrize("colors", [24, 256])
def test_picture_with_few_colours_comes_back_exactly(colors):
    picture = pixel_art(64)
    result = quantise.quantise_555(picture, colors)
    assert np.array_equal(shown(result), quantise.levels_555(picture))


@given(arrays.arrays(np.uint8, (6, 7, 4)), st.sampled_from([2, 3, 16, 256]))
@settings(max_examples=60, deadline=None)
def test_holes_and_colours_never_share_an_entry(picture, colors):
    result = quantise.quantise_555(picture, colors, cutoff=100)
    hole = picture[..., 3] < 100
    assert result.has_hole == hole.any()
    assert len(result.palette) <= colors
    assert (result.indices[hole] == 0).all()
    if result.has_hole:
        assert (result.indices[~hole] != 0).all()


@given(arrays.arrays(np.uint8, (40, 3)), st.sampled_from([2, 3, 16]))
@settings(max_examples=60, deadline=None)
def test_every_texel_has_its_nearest_entry(colors, count):
    found = quantise.choose_palette(colors, count)
    entries = quantise.to_points(expand_bits(found.levels, 5), found.scale).astype(int)
    texels = quantise.to_points(colors, found.scale).astype(int)
    distance = ((texels[:, None] - entries) ** 2).sum(axis=2)
    assert np.array_equal(found.match(colors), distance.argmin(axis=1))


def test_entries_are_different_and_all_are_used():
    result = quantise.quantise_555(gradient(64), 256)
    assert len(np.unique(result.palette, axis=0)) == 256
    assert set(np.unique(result.indices)) == set(range(256))


def test_entries_are_in_the_order_of_their_words():
    palette = quantise.quantise_555(photo(64), 16).palette.astype(int)
    words = palette @ [1, 32, 1024]
    assert (np.diff(words) > 0).all()


def test_hole_has_an_entry_of_its_own():
    result = quantise.quantise_555(with_holes(photo(96)), 16, cutoff=128)
    assert result.has_hole
    assert result.palette[0].tolist() == [0, 0, 0]
    assert len(result.palette) == 16
    assert np.array_equal(result.indices == 0, with_holes(photo(96))[..., 3] < 128)


def test_without_a_cutoff_alpha_does_not_matter():
    picture, holed = photo(96), with_holes(photo(96))
    one, two = quantise.quantise_555(picture, 16), quantise.quantise_555(holed, 16)
    assert np.array_equal(one.palette, two.palette)
    assert not two.has_hole


def test_picture_of_holes_has_one_entry():
    result = quantise.quantise_555(np.zeros((4, 4, 4), np.uint8), 16, cutoff=1)
    assert result.palette.tolist() == [[0, 0, 0]]


def test_colour_used_by_many_texels_wins_an_entry():
    picture = opaque(np.zeros((64, 64, 3)))
    picture[:, :60, 0] = 200
    picture[:, 60:] = photo(64)[:, 60:]
    result = quantise.quantise_555(picture, 4)
    assert quantise.levels_555(picture)[0, 0].tolist() in result.palette.tolist()


@pytest.mark.parametrize("colors", [0, 1, 257])
def test_impossible_size_of_a_palette_is_refused(colors):
    with pytest.raises(EncodeError):
        quantise.quantise_555(photo(64), colors)


# The gradient's loss is nearly all in the step to 5-5-5, and looks count as well.
@pytest.mark.parametrize(("make", "gain"), [(photo, 1), (gradient, 0.8)])
def test_palette_is_better_than_median_cut(make, gain):
    picture = make(128)
    image = Image.fromarray(picture[..., :3])
    cut = image.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    theirs = quantise.levels_555(np.asarray(cut.convert("RGB")))
    ours = shown(quantise.quantise_555(picture, 256))
    assert decibels(picture, ours) >= decibels(picture, theirs) + gain


def plain_k_means(used, weight, centers, rounds):
    for _ in range(rounds):
        distance = ((used[:, None] - centers) ** 2).sum(axis=2)
        label = distance.argmin(axis=1)
        uses = np.bincount(label, weight, len(centers))
        sums = [np.bincount(label, weight * used[:, c], len(centers)) for c in range(3)]
        moved = np.stack(sums, axis=1) / np.maximum(uses, 1)[:, None]
        centers = np.where(uses[:, None] > 0, moved, centers)
    return np.rint(centers)


@pytest.mark.parametrize("colors", [16, 256])
def test_palette_is_as_good_as_that_of_long_k_means(colors):
    picture = gradient(64)
    levels = quantise.levels_555(picture)
    used, weight, place = quantise.histogram(levels.reshape(-1, 3))
    start = used[np.random.default_rng(5).choice(len(used), colors, replace=False)]
    theirs = plain_k_means(used.astype(float), weight, start.astype(float), 60)
    nearest = ((used[:, None] - theirs) ** 2).sum(axis=2).argmin(axis=1)
    theirs_shown = theirs[nearest][place].reshape(levels.shape)
    ours = shown(quantise.quantise_555(picture, colors))
    assert decibels(picture, ours) >= decibels(picture, theirs_shown) - 0.3


def test_palette_is_the_same_on_every_machine():
    result = quantise.quantise_555(formula(), 64, cutoff=128)
    digest = hashlib.sha256(result.palette.tobytes() + result.indices.tobytes()).hexdigest()
    assert digest[:16] == "8d48807a053c33c0"
