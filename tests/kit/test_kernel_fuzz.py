"""Random calls of every native kernel: it refuses them, or does what its reference does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from encoders.kit.native import kernel
from tests.kit.kernel_call import CALLS, MAX_INT, Array, Call

pytestmark = pytest.mark.skipif(
    not kernel.has_native("bc1_encode"), reason="the extension is not built"
)

Random = np.random.Generator
ROUNDS = 150
TOO_LARGE = -1
WHOLE = [-(2**31), -1, 0, 1, 2, 3, 16, 17, 63, 64, 65, 256, 257, MAX_INT, 2**31, 2**64]
REAL = [np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 1.0, 2.0, 5e-324, 1e-200, 1e200, 1.7e308]


def spoil_items(random: Random, array: Array) -> Array:
    """Put hostile numbers into some places of an array."""
    spoilt = array.copy()
    hostile = REAL if array.dtype.kind == "f" else [n for n in WHOLE if abs(n) < 2**31]
    for _ in range(int(random.integers(1, 4))):
        if spoilt.size:
            at = int(random.integers(spoilt.size))
            value = np.array(hostile)[int(random.integers(len(hostile)))]
            with np.errstate(all="ignore"):
                spoilt.reshape(-1)[at] = value.astype(array.dtype)
    return spoilt


def spoil_length(random: Random, array: Array) -> Array:
    axis = int(random.integers(array.ndim))
    length = max(0, array.shape[axis] + int(random.integers(-2, 3)))
    return np.ascontiguousarray(
        np.resize(array, (*array.shape[:axis], length, *array.shape[axis + 1 :]))
    )


def spoil_type(random: Random, array: Array) -> Array:
    kinds = [np.int8, np.uint8, np.int16, np.int32, np.int64, np.float32, np.float64, np.bool_]
    kind: Any = kinds[int(random.integers(len(kinds)))]
    with np.errstate(all="ignore"):
        return array.astype(kind)


def shuffle_rows(random: Random, array: Array) -> Array:
    return np.ascontiguousarray(random.permutation(array))


def mix(random: Random, array: Array) -> Array:
    """Exchange items of an array, which keeps most of what it says in range."""
    mixed = array.copy()
    flat = mixed.reshape(-1)
    if flat.size:
        one, other = random.integers(flat.size, size=(2, int(random.integers(1, 6))))
        flat[one] = flat[other]
    return mixed


# Those that keep shapes come more often: the others are refused at once.
SPOILERS: list[Callable[[Random, Array], Array]] = [
    *(mix, mix, mix, spoil_items, spoil_items, shuffle_rows, shuffle_rows),
    *(spoil_length, spoil_type),
]


def spoil(random: Random, call: Call) -> None:
    """Change one or two arguments of a call; either truth value is a good one."""
    names = [name for name, value in call.arguments.items() if not isinstance(value, bool)]
    for _ in range(int(random.integers(0, 3))):
        name = names[int(random.integers(len(names)))]
        value = call.arguments[name]
        if isinstance(value, np.ndarray):
            spoiler = SPOILERS[int(random.integers(len(SPOILERS)))]
            call.arguments[name] = spoiler(random, value)
        elif isinstance(value, tuple):
            call.arguments[name] = tuple(int(one + random.integers(-1, 2)) for one in value)
        else:
            call.arguments[name] = WHOLE[int(random.integers(len(WHOLE)))]
    # The memory that a reference takes grows with this number.
    if call.arguments.get("vertex_count", 0) > 1000:
        call.arguments["vertex_count"] %= 1000


def equal(one: Array, other: Array) -> bool:
    """Compare by bytes, but for numbers that are none: their bits say nothing."""
    if one.dtype.kind != "f":
        return one.tobytes() == other.tobytes()
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_refuses_what_its_reference_would_not_do_alike(name):
    refused = 0
    for seed in range(ROUNDS):
        random = np.random.default_rng([seed, len(name)])
        call = CALLS[name](random)
        spoil(random, call)
        reference = call.copy()
        try:
            result = call.run()
        except ValueError:
            refused += 1
            assert all(equal(one, reference.arguments[n]) for n, one in call.arrays().items()), seed
            continue
        with np.errstate(all="ignore"):
            assert reference.run_reference() == result, seed
        if result == TOO_LARGE:  # what has been filled until then says nothing
            continue
        for one in call.outputs:
            assert equal(call.arguments[one], reference.arguments[one]), (seed, one)
    # Unless there are many of both, nothing is compared or nothing is hostile.
    assert ROUNDS // 10 < refused < ROUNDS - ROUNDS // 5
