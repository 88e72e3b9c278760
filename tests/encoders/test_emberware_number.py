"""Rotations, half floats and directions, bit for bit as the console's own functions make them."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from encoders.emberware.codec.octahedral import pack_directions, unpack_directions
from encoders.emberware.codec.quaternion import pack_quaternions, unpack_quaternions
from tests.encoders.emberware_reader import angle_between, read_quaternion

DATA = Path(__file__).parent / "data/emberware"
VECTORS = json.loads((DATA / "scalar_vectors.json").read_text())

# The table of the specification, and what the console makes of the same rotations.
SPECIFIED = {
    (0.0, 0.0, 0.0, 1.0): (0x80080003, 0x80200803),
    (1.0, 0.0, 0.0, 0.0): (0x80080000, 0x80200800),
    (0.0, 1.0, 0.0, 0.0): (0x80080001, 0x80200801),
    (0.0, 0.0, 1.0, 0.0): (0x80080002, 0x80200802),
    (0.5, 0.5, 0.5, 0.5): (0xB6DB6DB3, 0xDA769DA7),
    (0.707107, 0.0, 0.0, 0.707107): (0xBFF00003, 0xFFE00803),
    (-0.5, -0.5, -0.5, 0.5): (0x49249243, 0x2589625B),
}
HALVES = [
    (0.0, 0x0000),
    (-0.0, 0x8000),
    (1.0, 0x3C00),
    (-1.0, 0xBC00),
    (0.5, 0x3800),
    (2.0, 0x4000),
    (65504.0, 0x7BFF),
    (-65504.0, 0xFBFF),
    (0.00006103515625, 0x0400),
    (float("inf"), 0x7C00),
    (float("-inf"), 0xFC00),
]


def pack(*rotation: float) -> int:
    return int(pack_quaternions(np.array(rotation, np.float32)))


def test_every_rotation_packs_to_the_words_of_the_console() -> None:
    rotations = np.array([one["q"] for one in VECTORS["quat"]], np.float32)
    words = [int(one["packed"], 16) for one in VECTORS["quat"]]
    assert pack_quaternions(rotations).tolist() == words


def test_every_word_unpacks_to_the_bits_of_the_console() -> None:
    words = np.array([int(one["packed"], 16) for one in VECTORS["quat"]], np.uint32)
    decoded = np.array([one["decoded"] for one in VECTORS["quat"]], np.float32)
    assert unpack_quaternions(words).tobytes() == decoded.tobytes()


def test_half_floats_are_those_of_the_console() -> None:
    values = np.array([float(one["f32"]) for one in VECTORS["f16"]], np.float32)
    with np.errstate(over="ignore"):
        bits = values.astype(np.float16).view(np.uint16).tolist()
    assert bits == [int(one["bits"], 16) for one in VECTORS["f16"]]


@pytest.mark.parametrize(("value", "bits"), HALVES)
def test_half_floats_are_those_of_the_specification(value: float, bits: int) -> None:
    assert np.float32(value).astype(np.float16).view(np.uint16) == bits


def test_every_direction_packs_to_the_words_of_the_console() -> None:
    vectors = np.array([one["n"] for one in VECTORS["octahedral"]], np.float32)
    words = [int(one["packed"], 16) for one in VECTORS["octahedral"]]
    assert pack_directions(vectors).tolist() == words


@pytest.mark.parametrize(
    ("vector", "word"),
    [
        ((0, 0, 1), 0x00000000),
        ((0, 0, -1), 0x7FFF7FFF),
        ((1, 0, 0), 0x00007FFF),
        ((-1, 0, 0), 0x00008001),
        ((0, 1, 0), 0x7FFF0000),
        ((0, -1, 0), 0x80010000),
        ((0.6, 0.8, 0), 0x492336DA),
        ((0, 0, 0), 0x00000000),
    ],
)
def test_directions_of_the_axes_are_known_words(vector: tuple[float, ...], word: int) -> None:
    assert pack_directions(np.array([vector], np.float32)).tolist() == [word]


@pytest.mark.parametrize(("rotation", "words"), SPECIFIED.items())
def test_rotations_of_the_specification_pack_to_corrected_words(rotation, words) -> None:
    assert pack(*rotation) == words[1]


@pytest.mark.parametrize(("rotation", "words"), SPECIFIED.items())
def test_words_in_the_specifications_table_decode_to_other_rotations(rotation, words) -> None:
    """Decoded by the specification's own algorithm, its words are 80 degrees off and more."""
    assert angle_between(read_quaternion(words[0]), rotation) > 80
    assert angle_between(read_quaternion(words[1]), rotation) < 0.25


def test_the_specifications_two_algorithms_disagree_where_the_console_tells_them_apart() -> None:
    scale = 511 / 0.7071067811865476
    biased = [round(abs(part) * scale) * (-1 if part < 0 else 1) + 512 for part in (-0.5,) * 3]
    word = biased[0] << 22 | biased[1] << 12 | biased[2] << 2 | 3
    assert word == 0x25C9725F
    assert pack(-0.5, -0.5, -0.5, 0.5) == 0x2589625B


def test_bytes_of_the_identity_differ_from_the_specifications_example() -> None:
    assert struct.pack("<I", pack(0, 0, 0, 1)).hex(" ") == "03 08 20 80"
    # What the specification prints decodes to w = 0.468, though it asserts w within 0.002 of 1.
    assert read_quaternion(int.from_bytes(bytes.fromhex("03000880"), "little"))[3] < 0.5


@pytest.mark.parametrize(
    ("rotation", "dropped"),
    [((0.5, 0.5, 0.5, 0.5), 3), ((0.6, 0.6, 0.3, 0.2), 1), ((0.5, 0.2, 0.5, 0.1), 2)],
)
def test_of_equal_components_the_later_is_dropped(rotation, dropped: int) -> None:
    assert pack(*rotation) & 3 == dropped


unit = st.tuples(*[st.floats(-1, 1, width=32)] * 4).filter(lambda q: sum(x * x for x in q) > 1e-3)


# Half a step in each of three components, and the dropped one off by their sum when all are equal.
WORST_DEGREES = 2 * math.degrees(math.sqrt(12) * math.sqrt(2) / 1023 / 2)


@given(unit)
@example((0.4005841314792633, 0.4005841314792633, 0.4005841314792633, 0.4299713373184204))
def test_a_rotation_comes_back_as_near_as_ten_bits_allow(parts) -> None:
    rotation = np.array(parts, np.float64)
    rotation /= np.sqrt((rotation * rotation).sum())
    word = pack(*rotation)
    assert angle_between(read_quaternion(word), rotation) < WORST_DEGREES + 0.005 < 0.28
    assert unpack_quaternions(np.array(word, np.uint32)) == pytest.approx(
        read_quaternion(word), abs=1e-3
    )


@given(unit)
def test_a_rotation_and_its_negative_pack_alike(parts) -> None:
    largest = max(map(abs, parts))
    if sum(abs(part) == largest for part in parts) == 1:
        assert pack(*parts) == pack(*(-part for part in parts))


@given(st.tuples(*[st.floats(-1, 1, width=32)] * 3).filter(lambda v: sum(x * x for x in v) > 1e-3))
def test_a_direction_comes_back_within_a_hundredth_of_a_degree(parts) -> None:
    vector = np.array([parts], np.float32)
    unit_vector = vector / np.sqrt((vector * vector).sum())
    back = unpack_directions(pack_directions(vector))
    assert np.abs(back - unit_vector).max() < 2e-4


@pytest.mark.parametrize("length", [1e20, 1e38, 3e38])
def test_normal_too_long_to_be_squared_keeps_its_direction(length: float) -> None:
    short = np.array([[0, 0.6, -0.8], [1, 0, 0], [0, 0, 1]], np.float32)
    expected = unpack_directions(pack_directions(short))
    found = unpack_directions(pack_directions(short * np.float32(length)))
    assert found == pytest.approx(expected, abs=1e-3)
