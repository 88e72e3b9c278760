"""Patterns of IT files.

A cell begins with a marker: the channel, counted from 1. Files of the console's own generator
count from 0; a marker of channel 0 can't occur in any other file, and tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from encoders.kit.source.it.header import CHANNELS
from encoders.kit.source.it.module import ItCell, ItPattern
from encoders.kit.source.shared.cursor import Cursor

MOST_ROWS, EMPTY_ROWS = 200, 64
# The offset of a pattern that is not stored.
EMPTY_PATTERN = 0
HAS_MASK, MARKER = 0x80, 0x7F
COLUMNS = ("note", "instrument", "volume", "effect")

# A marker without its high bit, and the cell's columns.
Cell = tuple[int, ItCell]


@dataclass
class _Channel:
    """What a channel keeps from one of its cells to the next."""

    mask: int = 0
    last: dict[str, Any] = field(
        default_factory=lambda: {"note": 0, "instrument": 0, "volume": 0, "effect": (0, 0)}
    )


def decode_patterns(cursor: Cursor, offsets: tuple[int, ...]) -> tuple[ItPattern, ...]:
    """Decode all patterns, with channels counted from 0."""
    found = [_cells(cursor.at(offset), number) for number, offset in enumerate(offsets)]
    counts_from_0 = any(not marker for rows in found for row in rows for marker, _ in row)
    first = 0 if counts_from_0 else 1
    return tuple(
        ItPattern(tuple({(mark - first) % CHANNELS: cell for mark, cell in row} for row in rows))
        for rows in found
    )


def _cells(cursor: Cursor, number: int) -> list[list[Cell]]:
    """Return the cells of each row of a pattern, with their markers."""
    if cursor.offset == EMPTY_PATTERN:
        return [[] for _ in range(EMPTY_ROWS)]
    what = f"pattern {number}"
    size, rows, _ = cursor.unpack("HHI", what)
    cursor.check(rows, 1, MOST_ROWS, f"rows of {what}")
    body = Cursor(cursor.take(size, what), cursor.name)
    channels: dict[int, _Channel] = {}
    return [list(_row(body, channels, what)) for _ in range(rows)]


def _row(body: Cursor, channels: dict[int, _Channel], what: str) -> list[Cell]:
    cells = []
    while marker := body.number("B", what):
        channel = channels.setdefault(marker & MARKER, _Channel())
        if marker & HAS_MASK:
            channel.mask = body.number("B", what)
        cells.append((marker & MARKER, _cell(body, channel, what)))
    return cells


def _cell(body: Cursor, channel: _Channel, what: str) -> ItCell:
    """Decode a cell: bits 0 to 3 of the mask for new values, 4 to 7 for those of last time."""
    values: dict[str, Any] = dict.fromkeys(COLUMNS)
    for bit, column in enumerate(COLUMNS):
        if channel.mask >> bit & 1:
            pair = column == "effect"
            channel.last[column] = body.unpack("BB", what) if pair else body.number("B", what)
            values[column] = channel.last[column]
        elif channel.mask >> bit + 4 & 1:
            values[column] = channel.last[column]
    return ItCell(**values)
