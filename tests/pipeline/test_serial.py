"""Values of a target's code become plain ones, without a change of what they are."""

from __future__ import annotations

import enum
import math

import numpy as np

from pipeline.size import format_bytes
from pipeline.state.serial import plain


class Word(str, enum.Enum):  # noqa: UP042 - a StrEnum gives its value by itself
    A = "alpha"


class Number(enum.IntEnum):
    ONE = 1


def test_a_member_of_an_enum_is_its_value() -> None:
    found = plain([Word.A, Number.ONE])
    assert found == ["alpha", 1]
    assert [type(one) for one in found] == [str, int]


def test_a_number_of_numpy_is_pythons_with_its_sign() -> None:
    found = plain((np.float64(-0.0), np.int16(3)))
    assert math.copysign(1, found[0]) == -1
    assert [type(one) for one in found] == [float, int]


def test_a_size_is_shown_with_less_than_four_digits_before_the_point() -> None:
    shown = {999: "999 B", 1000: "1.0 kB", 999_940: "999.9 kB", 999_960: "1.0 MB"}
    shown |= {999_960_000: "1.0 GB", 5_000_000_000_000: "5000.0 GB"}
    assert {size: format_bytes(size) for size in shown} == shown
