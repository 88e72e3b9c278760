from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from encoders.kit.image import srgb
from encoders.kit.image.mip import (
    full_level_count,
    keep_coverage,
    level_size,
    mips_from_base,
    mips_from_previous,
    square_level_count,
)
from encoders.kit.image.resize import resize_colour, resize_linear, resize_normals
from encoders.kit.image.srgb import from_linear, to_linear

SIDES = st.integers(1, 11)


def noise(height: int, width: int, seed: int = 0, opaque: bool = False) -> np.ndarray:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 4), np.uint8)
    if opaque:
        image[..., 3] = 255
    return image


def half_up(value: Fraction) -> int:
    return int((2 * value.numerator + value.denominator) // (2 * value.denominator))


def weights(source: int, target: int, index: int) -> list[Fraction]:
    """How much of each source texel one target texel takes, from the definitions."""
    if target > source:
        centre = Fraction(2 * index + 1, 2) * source / target - Fraction(1, 2)
        out = [Fraction(0)] * source
        low = centre.numerator // centre.denominator
        for place, share in ((low, low + 1 - centre), (low + 1, centre - low)):
            out[min(max(place, 0), source - 1)] += share
        return out
    start, end = Fraction(index * source, target), Fraction((index + 1) * source, target)
    return [
        max(Fraction(0), min(end, Fraction(j + 1)) - max(start, Fraction(j))) for j in range(source)
    ]


def expected_texel(image: np.ndarray, width: int, height: int, x: int, y: int) -> list[int]:
    across = weights(image.shape[1], width, x)
    down = weights(image.shape[0], height, y)
    shares = [
        (v * u, image[j, i].tolist()) for j, v in enumerate(down) for i, u in enumerate(across)
    ]
    total = sum(share for share, _ in shares)
    cover = sum(share * pixel[3] for share, pixel in shares)
    if cover:
        rgb = [sum(s * p[3] * p[c] for s, p in shares) / cover for c in range(3)]
    else:
        rgb = [sum(s * p[c] for s, p in shares) / total for c in range(3)]
    return [half_up(value) for value in (*rgb, cover / total)]


@settings(max_examples=60)
@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 2**32), st.booleans())
def test_every_texel_is_the_exact_weighted_mean(h, w, height, width, seed, holes) -> None:
    image = noise(h, w, seed)
    if holes:
        image[: h // 2 + 1, :, 3] = 0
    found = resize_colour(image, width, height)
    assert found.shape == (height, width, 4)
    for y in {0, height // 2, height - 1}:
        for x in {0, width // 2, width - 1}:
            assert found[y, x].tolist() == expected_texel(image, width, height, x, y)


@given(st.lists(st.integers(0, 255), min_size=4, max_size=4))
def test_opaque_halving_is_the_sum_plus_two_shifted(codes: list[int]) -> None:
    image = np.full((2, 2, 4), 255, np.uint8)
    image[..., 0] = np.array(codes).reshape(2, 2)
    assert resize_colour(image, 1, 1)[0, 0, 0] == (sum(codes) + 2) >> 2


def test_invisible_texels_do_not_bleed_into_visible_ones() -> None:
    image = np.array([[[200, 0, 0, 255], [0, 255, 0, 0]]] * 2, np.uint8)
    assert resize_colour(image, 1, 1).tolist() == [[[200, 0, 0, 128]]]


def test_colour_of_a_wholly_transparent_block_is_the_plain_mean() -> None:
    image = np.array([[[200, 10, 0, 0], [100, 20, 0, 0]]] * 2, np.uint8)
    assert resize_colour(image, 1, 1).tolist() == [[[150, 15, 0, 0]]]


@pytest.mark.parametrize("size", [(8, 8), (16, 4), (12, 7), (5, 9)])
def test_pillows_box_agrees_within_one_code(size: tuple[int, int]) -> None:
    image = noise(37, 24, 3, opaque=True)
    theirs = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX)).astype(int)
    # Pillow counts a texel whole or not at all, so only whole factors can be compared.
    if 24 % size[0] == 0 and 37 % size[1] == 0:
        assert np.abs(resize_colour(image, *size) - theirs).max() <= 1
    exact = image[:36, :24]
    theirs = np.asarray(Image.fromarray(exact).resize((8, 12), Image.Resampling.BOX)).astype(int)
    assert np.abs(resize_colour(exact, 8, 12) - theirs).max() <= 1


def test_pillows_bilinear_enlargement_agrees_within_one_code() -> None:
    image = noise(5, 7, 4, opaque=True)
    theirs = np.asarray(Image.fromarray(image).resize((19, 16), Image.Resampling.BILINEAR))
    assert np.abs(resize_colour(image, 19, 16) - theirs.astype(int)).max() <= 1


@given(SIDES, SIDES, SIDES, SIDES, st.tuples(*[st.integers(0, 255)] * 4))
def test_one_colour_stays_that_colour_in_every_size(h, w, height, width, colour) -> None:
    image = np.full((h, w, 4), colour, np.uint8)
    for resize in (resize_colour, resize_linear):
        assert (resize(image, width, height) == np.array(colour, np.uint8)).all()


def test_a_large_picture_does_not_overflow_its_sums() -> None:
    image = np.full((1001, 1003, 4), 254, np.uint8)
    assert (resize_linear(image, 501, 500) == 254).all()


def test_checker_is_mid_grey_in_light_and_not_in_codes() -> None:
    image = np.full((2, 2, 4), 255, np.uint8)
    image[0, 0, :3] = image[1, 1, :3] = 0
    assert resize_colour(image, 1, 1).tolist() == [[[128, 128, 128, 255]]]
    assert resize_linear(image, 1, 1).tolist() == [[[188, 188, 188, 255]]]


def test_srgb_codes_survive_linear_light() -> None:
    codes = np.arange(256, dtype=np.uint8)
    assert (from_linear(to_linear(codes)) == codes).all()
    assert to_linear(np.array([0, 255], np.uint8)).tolist() == [0, 65535]


def test_linear_light_becomes_the_nearest_code() -> None:
    light = np.arange(65536)
    exact = np.array([srgb.srgb_of(value / 65535) * 255 for value in light])
    assert np.abs(from_linear(light) - exact).max() < 0.5 + 1e-4


def test_no_table_entry_hangs_on_the_last_bit_of_a_power() -> None:
    for step in range(1, 510):
        value = srgb.linear_of(step / 510) * srgb.LINEAR_WHITE
        tie = 0.5 if step % 2 == 0 else 0.0  # codes are rounded, steps between them are ceilings
        assert abs(value - tie - round(value - tie)) > 1e-6


def unit_normals(height: int, width: int) -> np.ndarray:
    vectors = np.random.default_rng(1).normal(size=(height, width, 3))
    vectors[..., 2] += 2
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    image = np.full((height, width, 4), 255, np.uint8)
    image[..., :3] = np.rint((vectors + 1) * 127.5)
    return image


@pytest.mark.parametrize("size", [(8, 8), (5, 3), (1, 1), (20, 30)])
def test_resized_normals_have_unit_length(size: tuple[int, int]) -> None:
    found = resize_normals(unit_normals(16, 16), *size)
    vectors = found[..., :3] / 127.5 - 1
    assert np.abs(np.linalg.norm(vectors, axis=2) - 1).max() < 0.01
    assert (found[..., 3] == 255).all()


def test_a_flat_normal_map_stays_flat_and_opposites_become_flat() -> None:
    flat = np.full((4, 4, 4), (128, 128, 255, 9), np.uint8)
    assert (resize_normals(flat, 2, 2) == (128, 128, 255, 9)).all()
    opposite = np.array([[[255, 0, 255, 255], [0, 255, 0, 255]]], np.uint8)
    assert resize_normals(opposite, 1, 1).tolist() == [[[128, 128, 255, 255]]]


def test_level_counts_are_those_of_the_specifications() -> None:
    assert full_level_count(256, 256) == 9
    assert full_level_count(1024, 8) == 11
    assert square_level_count(1024, 8) == 4
    assert square_level_count(256, 64) == 7
    assert [level_size(256, 64, i) for i in (0, 5, 7)] == [(256, 64), (8, 2), (2, 1)]


@given(st.integers(1, 40), st.integers(1, 40))
def test_levels_halve_down_to_one_texel(width: int, height: int) -> None:
    image = noise(height, width)
    levels = full_level_count(width, height)
    for chain in (mips_from_base, mips_from_previous):
        made = chain(image, levels, resize_colour)
        assert [level.shape[1::-1] for level in made] == [
            level_size(width, height, level) for level in range(levels)
        ]
        assert made[-1].shape == (1, 1, 4)
        assert made[0] is image


def test_levels_from_the_base_are_means_of_base_blocks() -> None:
    image = noise(16, 16, 7)
    chain = mips_from_base(image, 5, resize_colour)
    for level, made in enumerate(chain):
        side = 1 << level
        block = image[side : 2 * side, :side].reshape(-1, 4).astype(int)
        if level < 4:
            cover = int(block[:, 3].sum())
            colour = (2 * (block[:, :3] * block[:, 3:]).sum(0) + cover) // (2 * cover)
            assert made[1, 0, :3].tolist() == colour.tolist()


def test_levels_from_the_level_before_round_each_time() -> None:
    image = np.full((4, 4, 4), 255, np.uint8)
    image[..., 0] = np.array([[1, 0, 0, 0], [1, 0, 0, 0]] * 2)
    # 0.5 rounds up to 1 on the left, so the last level is 1; from the base it is 0.25.
    assert mips_from_previous(image, 3, resize_colour)[2][0, 0, 0] == 1
    assert mips_from_base(image, 3, resize_colour)[2][0, 0, 0] == 0


def coverage(level: np.ndarray, cutoff: int) -> float:
    return float((level[..., 3] >= cutoff).mean())


def test_thin_foliage_keeps_its_coverage() -> None:
    noisy = noise(64, 64, 2)
    noisy[..., 3] = np.where(noisy[..., 3] < 190, noisy[..., 3] // 4, 255)
    chain = mips_from_base(noisy, 5, resize_colour)
    wanted = coverage(noisy, 128)
    kept = keep_coverage(chain, 128)
    assert coverage(chain[3], 128) == 0
    for level in kept:
        assert abs(coverage(level, 128) - wanted) < 0.06
    assert (kept[2][..., :3] == chain[2][..., :3]).all()


@given(st.integers(0, 2**32), st.integers(1, 255))
def test_coverage_is_the_nearest_that_one_scale_can_reach(seed: int, cutoff: int) -> None:
    chain = mips_from_base(noise(8, 8, seed), 3, resize_colour)
    wanted = coverage(chain[0], cutoff)
    for before, after in zip(chain[1:], keep_coverage(chain, cutoff)[1:], strict=True):
        alphas = before[..., 3]
        reachable = [float((alphas >= least).mean()) for least in range(1, 257)]
        nearest = min(abs(share - wanted) for share in reachable)
        texel = 1 / alphas.size
        assert abs(coverage(after, cutoff) - wanted) <= nearest + texel


@given(st.integers(1, 255))
def test_an_opaque_chain_is_left_as_it_is(cutoff: int) -> None:
    chain = mips_from_base(noise(8, 8, 1, opaque=True), 4, resize_colour)
    for before, after in zip(chain, keep_coverage(chain, cutoff), strict=True):
        np.testing.assert_array_equal(before, after)
