from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.image.block import from_blocks, to_blocks
from encoders.kit.image.palette.indexed import pack_indices, unpack_indices
from encoders.kit.image.pixel import (
    ABGR1555,
    RGBA4444,
    PixelWord,
    decode_playstation,
    decode_words,
    encode_words,
    expand_bits,
    round_bits,
    round_share,
    truncate_bits,
)

GOLDEN = json.loads((Path(__file__).parent / "data" / "png_golden.json").read_text())["png"]
# Orders that no target writes: every channel at every place, and none at all.
ABGR4444 = PixelWord("ABGR4444", ((0, 4), (4, 4), (8, 4), (12, 4)))
ARGB1555 = PixelWord("ARGB1555", ((10, 5), (5, 5), (0, 5), (15, 1)))
RGBA5551 = PixelWord("RGBA5551", ((11, 5), (6, 5), (1, 5), (0, 1)))
RGB565 = PixelWord("RGB565", ((11, 5), (5, 6), (0, 5), (0, 0)))
WORDS = [RGBA4444, ABGR4444, ABGR1555, ARGB1555, RGBA5551, RGB565]
EVERY_BYTE = np.arange(256, dtype=np.uint8)
RED, GREEN, BLUE = [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]
HOLE = [0, 0, 0, 0]


def rgba(*pixels: list[int]) -> np.ndarray:
    return np.array(pixels, np.uint8)


def words_of(pixels, word, rounding=round_bits) -> list[int]:
    return encode_words(rgba(*pixels), word, rounding).tolist()


def test_five_bit_rounding_meets_its_test_points() -> None:
    points = {0: 0, 4: 0, 5: 1, 127: 15, 128: 16, 250: 30, 251: 31, 255: 31}
    assert round_bits(np.array([*points], np.uint8), 5).tolist() == [*points.values()]


def test_four_bit_rounding_meets_its_test_points() -> None:
    points = {8: 0, 9: 1, 127: 7, 128: 8, 246: 14, 247: 15, 255: 15}
    assert round_bits(np.array([*points], np.uint8), 4).tolist() == [*points.values()]


def test_material_factors_meet_their_test_points() -> None:
    points = {0.5: 8, 0.64: 10, 0.8: 12, 1.0: 15, 0.0: 0, 1.5: 15, -1.0: 0}
    assert round_share(np.array([*points]), 4).tolist() == [*points.values()]


@pytest.mark.parametrize("bits", [1, 4, 5, 6, 8])
def test_rounding_is_to_the_nearest_share_of_the_range(bits: int) -> None:
    top = (1 << bits) - 1
    exact = EVERY_BYTE.astype(float) * top / 255
    assert np.abs(round_bits(EVERY_BYTE, bits) - exact).max() <= 0.5


def test_truncation_drops_the_low_nibble() -> None:
    assert (truncate_bits(EVERY_BYTE, 4) == EVERY_BYTE // 16).all()
    assert truncate_bits(np.array([0x0F, 0x10, 0xFF], np.uint8), 4).tolist() == [0, 1, 15]


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, 7, 8])
def test_expanded_codes_keep_black_white_and_come_back(bits: int) -> None:
    codes = np.arange(1 << bits, dtype=np.uint8)
    wide = expand_bits(codes, bits)
    assert (wide[0], wide[-1]) == (0, 255)
    assert (truncate_bits(wide, bits) == codes).all()
    assert (round_bits(wide, bits) == codes).all()


def test_four_and_five_bits_expand_as_the_hardware_does() -> None:
    assert (expand_bits(np.arange(16, dtype=np.uint8), 4) == np.arange(16) * 17).all()
    assert expand_bits(np.array([1, 16, 30], np.uint8), 5).tolist() == [8, 132, 247]


def test_kac_texels_have_the_bytes_of_the_worked_example() -> None:
    level = encode_words(rgba(RED, GREEN, BLUE, HOLE), ABGR1555, round_bits)
    assert level.astype("<u2").tobytes() == bytes.fromhex("1f80 e083 00fc 0000")
    assert words_of([[66, 74, 82, 255]], ABGR1555) == [0xA928]  # codes 8, 9, 10, 1


def test_kac_colour_has_the_bytes_of_the_worked_example() -> None:
    colour = encode_words(rgba([17, 34, 51, 255]), ABGR4444, round_bits)
    assert colour.astype("<u2").tobytes() == bytes.fromhex("21f3")


def test_other_bit_orders_are_where_their_names_say() -> None:
    pixels = [RED, GREEN, BLUE, [0, 0, 0, 255]]
    assert words_of(pixels, ARGB1555) == [0xFC00, 0x83E0, 0x801F, 0x8000]
    assert words_of(pixels, RGBA5551) == [0xF801, 0x07C1, 0x003F, 0x0001]
    assert words_of(pixels, RGB565) == [0xF800, 0x07E0, 0x001F, 0x0000]
    assert words_of(pixels, RGBA4444) == [0xF00F, 0x0F0F, 0x00FF, 0x000F]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["file"])
def test_rgba4444_blocks_equal_the_golden_blocks(case: dict) -> None:
    shape = (case["height"], case["width"], 4)
    image = np.frombuffer(bytes.fromhex(case["rgba8_hex"]), np.uint8).reshape(shape)
    words = to_blocks(encode_words(image, RGBA4444, truncate_bits))
    assert words.astype("<u2").tobytes().hex() == case["rgba4444_block_hex"]


def test_one_bit_alpha_follows_the_threshold() -> None:
    pixels = rgba([0, 0, 0, 127], [0, 0, 0, 128])
    assert encode_words(pixels, ABGR1555, round_bits).tolist() == [0, 0x8000]
    assert encode_words(pixels, ABGR1555, round_bits, 1).tolist() == [0x8000, 0x8000]


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_every_word_survives_decoding_and_encoding(word) -> None:
    words = np.arange(65536, dtype=np.uint16)
    image = decode_words(words, word)
    np.testing.assert_array_equal(encode_words(image, word, round_bits), words)


def test_playstation_black_is_no_hole() -> None:
    words = np.array([0x8000, 0x0000, 0x001F, 0x7C00], np.uint16)
    black, hole = [0, 0, 0, 255], [0, 0, 0, 0]
    assert decode_playstation(words).tolist() == rgba(black, hole, RED, BLUE).tolist()


def test_leftmost_index_lies_in_the_lowest_bits() -> None:
    indices = np.array([[1, 2, 3, 4, 5]], np.uint8)
    assert pack_indices(indices, 4).tolist() == [[0x4321, 0x5555]]
    assert pack_indices(indices, 8).tolist() == [[0x0201, 0x0403, 0x0505]]


@given(st.integers(0, 5), st.integers(1, 19), st.sampled_from([4, 8]), st.integers(0, 2**32))
def test_unpacked_indices_are_the_packed_ones(height, width, bits, seed) -> None:
    indices = np.random.default_rng(seed).integers(0, 1 << bits, (height, width), np.uint8)
    np.testing.assert_array_equal(unpack_indices(pack_indices(indices, bits), bits, width), indices)


def test_index_too_large_for_its_bits_is_refused() -> None:
    with pytest.raises(EncodeError, match="does not fit"):
        pack_indices(np.array([[16]], np.uint8), 4)


@given(st.integers(1, 13), st.integers(1, 13), st.sampled_from([(), (4,)]))
def test_pictures_come_back_from_blocks(height: int, width: int, rest: tuple) -> None:
    image = np.arange(height * width * 4).reshape(height, width, 4)[..., : rest[0] if rest else 1]
    image = image if rest else image[..., 0]
    blocks = to_blocks(image)
    assert blocks.shape == (-(-height // 4) * -(-width // 4), 4, 4, *rest)
    np.testing.assert_array_equal(from_blocks(blocks, width, height), image)
    # The texel address of the specification: block (y/4, x/4), then texel (y%4, x%4).
    columns = -(-width // 4)
    y, x = height - 1, width - 1
    np.testing.assert_array_equal(blocks[(y // 4) * columns + x // 4, y % 4, x % 4], image[y, x])


def test_small_pictures_repeat_their_edge_in_the_block() -> None:
    blocks = to_blocks(np.array([[1, 2], [3, 4]]))
    assert blocks[0].tolist() == [[1, 2, 2, 2], [3, 4, 4, 4], [3, 4, 4, 4], [3, 4, 4, 4]]
