"""Textures: colours of 15 bits, palettes, holes, and what the second reader sees of them."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from encoders.kit.error import EncodeError
from tests.encoders.splashpack_reader import Console, rgb
from tests.encoders.splashpack_scene import noise, plain, png, scene, texture, warnings_of


def words(data: bytes) -> list[int]:
    return np.frombuffer(data, "<u2").tolist()


def shape(outputs: dict[str, bytes]) -> dict:
    return json.loads(outputs["size"])


def shown(found: dict, width: int, height: int) -> np.ndarray:
    """What the console shows of the texture of the first triangle, as RGB; holes are -1."""
    console = Console(found)
    triangle = found["objects"][0]["triangles"][0]
    us, vs = zip(*(uv for one in found["objects"][0]["triangles"] for uv in one["uv"]), strict=True)
    left, top = min(us), min(vs)
    assert (max(us) - left, max(vs) - top) == (width - 1, height - 1)
    texels = [
        [rgb(console.texel(triangle, left + x, top + y)) or (-1, -1, -1) for x in range(width)]
        for y in range(height)
    ]
    return np.array(texels)


@pytest.mark.parametrize("bpp", [4, 8, 16, "auto"])
def test_picture_of_few_colours_is_shown_exactly_and_upright(bpp):
    levels = noise(12, 9, 3) % 2 * 255
    assert np.array_equal(shown(scene(levels, bpp=bpp), 12, 9), levels)


@pytest.mark.parametrize("bpp", [4, 8, 16])
def test_picture_of_many_colours_is_near_to_its_source(bpp):
    y, x = np.mgrid[0:32, 0:32]
    picture = np.dstack([x * 8, y * 8, (x + y) * 4]).astype(np.uint8)
    difference = np.abs(shown(scene(picture, bpp=bpp), 32, 32) - picture.astype(int))
    assert difference.mean() < {4: 22, 8: 6, 16: 3}[bpp]


@pytest.mark.parametrize("width", range(1, 10))
@pytest.mark.parametrize("bpp", [4, 8])
def test_width_that_fills_no_word_keeps_its_last_texels(width, bpp):
    picture = np.zeros((2, width, 3), np.uint8)
    picture[:, -1] = 255
    found = shown(scene(picture, bpp=bpp), width, 2)
    assert (found[:, -1] == 255).all()


def test_opaque_black_is_no_hole():
    encoded = texture(plain(4, 4, (0, 0, 0)), bpp=8)
    assert words(encoded["palette"]) == [0x8000, 0]
    assert words(texture(plain(1, 1, (3, 3, 3)), bpp=16)["words"]) == [0x8000]


def test_texels_below_the_threshold_are_holes():
    picture = np.full((2, 2, 4), 255, np.uint8)
    picture[0, 0, 3], picture[0, 1, 3] = 127, 128
    for bpp in (4, 8, 16):
        found = shown(scene(picture, bpp=bpp), 2, 2)
        assert (found[0, 0] == -1).all()
        assert (found[0, 1] == 255).all()


def test_alpha_counts_for_nothing_where_the_material_is_opaque():
    picture = np.zeros((2, 2, 4), np.uint8)
    assert 0 not in words(texture(picture, bpp=16, threshold=0)["words"])


def test_picture_that_is_never_shown_is_one_hole():
    encoded = texture(plain(8, 8), threshold=256)
    assert (words(encoded["palette"]), set(words(encoded["words"]))) == ([0, 0], {0})


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 20), st.sampled_from([4, 8]), st.booleans())
def test_palettes_are_even_and_indices_stay_inside(colors, bpp, dither):
    table = noise(colors, 1, colors)[0]
    picture = table[np.random.default_rng(colors).integers(0, colors, (8, 8))]
    encoded = texture(picture, bpp=bpp, dither=dither)
    count = len(words(encoded["palette"]))
    assert count % 2 == 0
    assert 2 <= count <= 1 << bpp
    assert shape(encoded)["colors"] == count
    indices = np.frombuffer(encoded["words"], np.uint8)
    if bpp == 4:
        indices = np.concatenate([indices & 15, indices >> 4])
    assert indices.max() < count


def test_auto_takes_four_bits_where_nothing_is_lost():
    sixteen = np.arange(16).repeat(16).reshape(16, 16)[..., None].repeat(3, 2) * 16
    assert shape(texture(sixteen, bpp="auto"))["bits"] == 4
    seventeen = sixteen.copy()
    seventeen[0, 0] = (255, 0, 255)
    assert shape(texture(seventeen, bpp="auto"))["bits"] == 8


def test_colours_are_counted_after_their_reduction():
    picture = np.arange(64).reshape(8, 8)[..., None].repeat(3, 2)
    encoded = texture(picture, bpp=4)
    assert len(words(encoded["palette"])) == 10
    assert warnings_of(encoded) == []


def test_lost_colours_are_a_warning():
    assert warnings_of(texture(noise(32, 32), bpp=4)) == [
        "a.png: 1,010 colours were reduced to 16 [color]"
    ]


def test_dithering_mixes_what_the_palette_lacks():
    ramp = np.linspace(0, 255, 64).repeat(64).reshape(64, 64).T[..., None].repeat(3, 2)
    plainly = shown(scene(ramp.astype(np.uint8), bpp=4), 64, 64)
    mixed = shown(scene(ramp.astype(np.uint8), bpp=4, dither=True), 64, 64)
    blocks = [one.reshape(8, 8, 8, 8, 3).mean(axis=(1, 3)) for one in (plainly, mixed, ramp)]
    assert np.abs(blocks[1] - blocks[2]).mean() < np.abs(blocks[0] - blocks[2]).mean()


def test_dithering_is_weaker_with_less_strength():
    ramp = np.linspace(0, 255, 64).repeat(64).reshape(64, 64).T[..., None].repeat(3, 2)
    plainly, *dithered = (
        texture(ramp.astype(np.uint8), bpp=4, dither=one)["words"] for one in (False, 0, 0.5, 1)
    )
    changed = [sum(a != b for a, b in zip(plainly, one, strict=True)) for one in dithered]
    assert changed[0] == 0
    assert 0 < changed[1] < changed[2]


@pytest.mark.parametrize("bpp", [4, 8, "auto"])
def test_a_picture_whose_colours_fit_the_palette_is_never_dithered(bpp):
    # 15 colours that 5 bits do not hold exactly, so that there are errors to spread.
    picture = (noise(32, 32, 4, 1) % 15 * 17 + np.array([3, 1, 2])).astype(np.uint8)
    plainly, dithered = (texture(picture, bpp=bpp, dither=one) for one in (False, True))
    assert plainly == dithered


def test_a_picture_is_scaled_as_asked_without_a_warning():
    encoded = texture(plain(1024, 600), max_size=256)
    assert (shape(encoded)["width"], shape(encoded)["height"]) == (256, 150)
    encoded = texture(plain(300, 100), max_size=256, scale_to="power_of_two")
    assert (shape(encoded)["width"], shape(encoded)["height"]) == (256, 64)
    assert warnings_of(encoded) == []


def test_alpha_that_means_nothing_does_not_weight_scaled_colours():
    picture = np.zeros((8, 8, 4), np.uint8)
    picture[:, ::2] = (255, 255, 255, 0)
    picture[:, 1::2] = (255, 255, 255, 255)
    picture[..., 0] = picture[..., 3]
    opaque, cut = (texture(picture, max_size=1, bpp=16, threshold=one) for one in (0, 1))
    assert words(opaque["words"])[0] & 31 < 31
    assert words(cut["words"])[0] & 31 == 31


def test_dithered_holes_stay_holes():
    picture = noise(16, 16, 1, 4)
    picture[:4, :, 3], picture[4:, :, 3] = 0, 255
    for bpp in (4, 16):
        found = shown(scene(picture, bpp=bpp, dither=True), 16, 16)
        assert (found[:4] == -1).all()
        assert (found[4:] >= 0).all()


def test_texture_over_256_is_refused():
    with pytest.raises(EncodeError, match="larger than a texture page") as caught:
        texture(plain(257, 1))
    assert "`max_size = 256`" in caught.value.hint
    assert shape(texture(plain(256, 256)))["width"] == 256


def test_palette_is_a_decibel_better_than_median_cut():
    y, x = np.mgrid[0:64, 0:64]
    # Mostly dark with a bright spot: what counts is how often a colour is used.
    light = 255 * np.exp(-((x - 40) ** 2 + (y - 20) ** 2) / 300) + 30 * (1 + np.sin(x / 5))
    light = light + noise(64, 64, 9).mean(axis=2) / 8
    picture = np.dstack([light, light * 0.7 + y, light * 0.4 + x])
    picture = np.clip(picture, 0, 255).astype(np.uint8)
    stream = io.BytesIO(png(picture))
    for colors, bpp in ((16, 4), (256, 8)):
        cut = Image.open(stream).quantize(colors, Image.Quantize.MEDIANCUT, dither=0)
        ours = shown(scene(picture, bpp=bpp), 64, 64)
        assert psnr(ours, picture) > psnr(np.array(cut.convert("RGB")), picture) + 1


def psnr(found: np.ndarray, picture: np.ndarray) -> float:
    """In 5-5-5 space: both as the console can show them."""
    levels = [(one.astype(int) * 31 + 127) // 255 for one in (found, picture)]
    return 10 * np.log10(31**2 / ((levels[0] - levels[1]) ** 2).mean())
