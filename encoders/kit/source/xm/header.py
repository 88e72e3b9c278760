"""The header of an XM file: counts, tempo and the order of patterns.

It needs the standard library only, because surveys use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.source.shared.cursor import Cursor, decode_text

MAGIC = b"Extended Module: "
VERSION = 0x0104
MOST_CHANNELS, MOST_PATTERNS, MOST_INSTRUMENTS, MOST_ORDERS = 32, 256, 128, 256
# Where the size of the header is stored; it counts from here.
SIZE_OFFSET = 60


@dataclass(frozen=True)
class XmHeader:
    """What the header says; `end` is where the patterns begin."""

    title: str
    restart: int
    channels: int
    patterns: int
    instruments: int
    is_linear: bool
    speed: int
    bpm: int
    orders: bytes
    end: int


def decode_header(data: bytes, name: str) -> XmHeader:
    """Decode the header, or refuse a file of another version or with counts that none can have."""
    cursor = Cursor(data, name)
    magic, title, _, _, version = cursor.unpack("17s20s1s20sH", "header")
    if magic != MAGIC:
        raise cursor.fault("not an XM file", {"found": magic[:8].hex(" ")})
    if version != VERSION:
        facts = {"version": f"{version >> 8}.{version & 255:02}", "allowed": "1.04"}
        raise cursor.fault("the XM has an old version", facts, "Save it anew with a later tracker.")
    size, length, restart, channels, patterns, instruments, flags, speed, bpm = cursor.unpack(
        "I8H", "header"
    )
    cursor.check(length, 1, MOST_ORDERS, "song length")
    return XmHeader(
        decode_text(title),
        restart if restart < length else 0,  # as trackers play it
        cursor.check(channels, 1, MOST_CHANNELS, "channels"),
        cursor.check(patterns, 0, MOST_PATTERNS, "patterns"),
        cursor.check(instruments, 0, MOST_INSTRUMENTS, "instruments"),
        bool(flags & 1),
        speed,
        bpm,
        cursor.take(length, "orders"),
        # A header that is too short for its own fields would make the orders patterns.
        SIZE_OFFSET + cursor.check(size, 20 + length, len(data), "size of the header"),
    )
