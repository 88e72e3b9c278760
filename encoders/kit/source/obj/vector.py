"""Lines of numbers to float32: the `v`, `vt` and `vn` of an OBJ file.

The rule: each number is the float32 nearest to its decimal text, and a number that is none, or
not finite, is refused with its line. A regular block is decoded in bulk, any other word by word,
with the same result.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import msgspec
import numpy as np
import numpy.typing as npt

from encoders.kit.source.obj.block import Block, Integers
from encoders.kit.source.obj.wavefront import quote

FLOAT_CHARACTERS = b"0123456789.eE+-"
BLANK_TO_COMMA = bytes.maketrans(b" ", b",")

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]


def decode_vectors(block: Block, least: int, most: int) -> tuple[Floats, Integers]:
    """Decode lines of at least `least` numbers to (lines, most), and how many each line had.

    Numbers past `most` are ignored, missing ones are 0.
    """
    values, counts = decode_numbers(block)
    if (counts < least).any():
        row = int(np.argmax(counts < least))
        raise block.error(
            row,
            "too few numbers",
            {"statement": block.keyword.decode(), "found": counts[row], "needed": least},
        )
    return _round_to_float32(block, _table(values, counts, most)), counts


def decode_numbers(block: Block) -> tuple[Doubles, Integers]:
    """Decode all numbers of a block, and how many each line has."""
    with suppress(ValueError):
        return decode_bulk(block)
    with suppress(ValueError):
        return decode_bulk(block.tidy())
    return decode_careful(block)


def decode_bulk(block: Block) -> tuple[Doubles, Integers]:
    """Decode a regular block, or raise ValueError."""
    ends = np.flatnonzero(block.skeleton(FLOAT_CHARACTERS, b" ") == ord("\n"))
    counts = np.diff(ends, prepend=-1) - 1
    try:
        document = b"[" + block.words(BLANK_TO_COMMA)[1:] + b"]"
        numbers = msgspec.json.decode(document, type=list[float])
    except msgspec.MsgspecError:
        # JSON knows no .5 or +1; these take three times as long.
        numbers = list(map(float, block.words().split()))
    if len(numbers) != counts.sum() or not counts.all():
        raise ValueError("blanks without a number between them")
    return np.array(numbers, np.float64), counts


def decode_careful(block: Block) -> tuple[Doubles, Integers]:
    """Decode any block line by line, or refuse the first word that is no number."""
    rows = block.rows()
    values = [_decode_word(block, row, word) for row, words in enumerate(rows) for word in words]
    return np.array(values, np.float64), np.array([len(words) for words in rows], np.int64)


def _decode_word(block: Block, row: int, word: bytes) -> float:
    try:
        if b"_" in word:
            raise ValueError("an underscore between digits is Python's alone")
        return float(word)
    except ValueError:
        raise block.error(row, "not a number", {"found": quote(word)}) from None


def _table(values: Doubles, counts: Integers, width: int) -> Doubles:
    """Arrange the numbers in rows of one width."""
    starts = np.cumsum(counts) - counts
    table = np.zeros((len(counts), width), np.float64)
    for column in range(min(width, int(counts.max(initial=0)))):
        has_column = counts > column
        table[has_column, column] = values[starts[has_column] + column]
    return table


def _round_to_float32(block: Block, table: Doubles) -> Floats:
    """Round to float32 as if straight from the text, and refuse what is not finite there."""
    _settle_ties(block, table)
    with np.errstate(over="ignore"):
        rounded = table.astype(np.float32)
    if not np.isfinite(rounded).all():
        row, column = np.argwhere(~np.isfinite(rounded))[0].tolist()
        word = block.rows()[row][column]
        raise block.error(row, "not a finite number", {"found": quote(word)})
    return rounded


def _settle_ties(block: Block, table: Doubles) -> None:
    """Move numbers off the middle between two float32 where their text is off the middle.

    Text to double to float32 rounds twice; only a double in the very middle can then go wrong.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near = table.astype(np.float32)
        over = (table - near) * 2 + near
        is_middle = (over != near) & (over.astype(np.float32) == over) & np.isfinite(over)
    if not is_middle.any():
        return
    rows = block.rows()
    for row, column in np.argwhere(is_middle).tolist():
        middle = float(table[row, column])
        text, exact = Decimal(rows[row][column].decode("ascii")), Decimal(middle)
        if text != exact:
            table[row, column] = np.nextafter(middle, np.inf if text > exact else -np.inf)
