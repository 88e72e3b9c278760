"""Number literals in the generated Rust.

A float32 is written as Rust's own `{:?}` does: the shortest decimal that reads back as the same
value, without an exponent; of two equally near ones, the one further from zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

import numpy as np

# (value, characters): clippy's lint approx_constant reports a literal near one of these constants
# of the standard library from this many characters on.
NAMED = (
    *((value, 4) for value in (math.pi, math.tau)),
    *((value, 5) for value in (math.e, 1 / math.pi)),
    *(
        (value, 6)
        for value in (
            *(math.pi / part for part in (2, 3, 4, 6, 8)),
            *(2 / math.pi, 2 / math.sqrt(math.pi), 1 / math.sqrt(2), math.sqrt(2)),
            *(math.log(2), math.log(10), math.log10(2), math.log2(10)),
            *(math.log10(math.e), math.log2(math.e), (1 + math.sqrt(5)) / 2),
        )
    ),
)


# Boxes are written in several files, and each is checked for named constants first.
@lru_cache(4096)
def float_text(bits: int) -> str:
    """Return the literal of the float32 that has these bits."""
    value = np.array([bits], np.uint32).view(np.float32)[0]
    shortest = np.format_float_scientific(value, unique=True, trim="-")
    digits = sum(character.isdigit() for character in shortest.partition("e")[0])
    # numpy rounds ties to even, Rust rounds them up, so round the exact value again.
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(float(value)))
    text = f"{rounded:f}"
    whole, _, part = text.partition(".")
    return f"{whole}.{part.rstrip('0') or '0'}"


def vector_texts(values: Iterable[float]) -> list[str]:
    """Return the literals of float32 values."""
    array = np.array(list(values), np.float32)
    return [float_text(bits) for bits in array.view(np.uint32).tolist()]


def vector_text(values: Iterable[float]) -> str:
    """Return the literals of float32 values, separated by commas."""
    return ", ".join(vector_texts(values))


def looks_named(texts: Sequence[str]) -> bool:
    """Tell whether clippy would report one of the literals as an approximated constant."""
    return any(_is_named(text.lstrip("-")) for text in texts)


@lru_cache(maxsize=1 << 16)  # the corners of neighbouring boxes have the same coordinates
def _is_named(text: str) -> bool:
    # Clippy compares with the constant rounded to as many decimals.
    number, step = float(text), 10.0 ** -len(text.partition(".")[2])
    return any(len(text) >= least and abs(number - value) <= step for value, least in NAMED)


def kilobytes(size_bytes: int) -> str:
    """Return a size in units of 1024 bytes with one decimal."""
    return f"{size_bytes / 1024:.1f}"
