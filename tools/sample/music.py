"""The village's tune as an XM module: two plucked voices that loop, in 8-bit samples."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

ROWS, CHANNELS, BPM, SPEED = 32, 2, 112, 6
MIDDLE_C = 49  # the note at which a sample plays at its own rate
# Steps of a scale from middle C; None is a row without a note.
MELODY = (0, None, 4, 7, 9, None, 7, 4, 5, None, 9, 12, 11, None, 7, None)
BASS = (-12, None, None, None, -7, None, None, None)
# A string's length in samples is its period, and these give about middle C.
STRINGS = {"pluck": 32, "bass": 64}


def pluck(period: int, length: int) -> list[int]:
    """Return the samples of a plucked string: noise that goes round and is smoothed each time."""
    chance = random.Random(period)
    string = [chance.random() * 2 - 1 for _ in range(period)]
    made = []
    for number in range(length):
        at = number % period
        made.append(round(64 * string[at]))
        string[at] = (string[at] + string[(at + 1) % period]) / 2
    return made


def write_tune() -> bytes:
    """Return the module: one pattern, played twice."""
    title = b"Wheelwright's Green".ljust(20, b"\0")
    start = b"Extended Module: " + title + b"\x1a" + b"Cartwright".ljust(20)
    numbers = (2, 0, CHANNELS, 1, len(STRINGS), 1, SPEED, BPM)
    header = struct.pack("<HI8H", 0x0104, 276, *numbers) + bytes(256)
    instruments = (_instrument(name, period) for name, period in STRINGS.items())
    return b"".join([start, header, _pattern(), *instruments])


def _pattern() -> bytes:
    cells = b"".join(_cells())
    return struct.pack("<IBHH", 9, 0, ROWS, len(cells)) + cells


def _cells() -> Iterator[bytes]:
    """Yield a cell for each row and channel: note and instrument, or nothing."""
    for row in range(ROWS):
        for number, voice in enumerate((MELODY, BASS)):
            step = voice[row // 2 % len(voice)] if row % 2 == 0 else None
            note = b"" if step is None else bytes([MIDDLE_C + step, number + 1])
            yield bytes([0x83 if note else 0x80]) + note


def _instrument(name: str, period: int) -> bytes:
    values = pluck(period, 40 * period)
    label = name.encode().ljust(22, b"\0")
    # The last period goes round for ever; the fadeout ends it.
    loop = (len(values), len(values) - period, period)
    sample = struct.pack("<3IBbBBbB", *loop, 64, 0, 1, 128, 0, 0) + label
    steps = (one - before for one, before in zip(values, [0, *values[:-1]], strict=True))
    data = bytes(step & 255 for step in steps)
    body = label + struct.pack("<BHI", 0, 1, 40) + bytes(96) + bytes(96) + bytes(14)
    body += struct.pack("<H", 1024) + bytes(22)
    return struct.pack("<I", len(body) + 4) + body + sample + data
