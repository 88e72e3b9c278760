"""The header of an IT file: counts, tempo, channels, the order of patterns and where parts lie.

It needs the standard library only, because surveys use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.source.shared.cursor import Cursor, decode_text

MAGIC = b"IMPM"
# Instruments have another form before this version.
OLDEST = 0x0200
MOST_ORDERS, MOST_INSTRUMENTS, MOST_SAMPLES, MOST_PATTERNS, CHANNELS = 256, 99, 99, 256, 64
USES_INSTRUMENTS = 0x04


@dataclass(frozen=True)
class ItHeader:
    """What the header says; offsets are from the beginning of the file."""

    title: str
    flags: int
    global_volume: int
    mix_volume: int
    speed: int
    tempo: int
    separation: int
    pans: bytes
    volumes: bytes
    orders: bytes
    instruments: tuple[int, ...]
    samples: tuple[int, ...]
    patterns: tuple[int, ...]


def decode_header(data: bytes, name: str) -> ItHeader:
    """Decode the header, or refuse a file of an old version or with counts that none can have."""
    cursor = Cursor(data, name)
    magic, title, _ = cursor.unpack("4s26sH", "header")
    if magic != MAGIC:
        raise cursor.fault("not an IT file", {"found": magic.hex(" ")})
    orders, instruments, samples, patterns, _, compatible, flags, _ = cursor.unpack("8H", "header")
    if compatible < OLDEST:
        facts = {"version": f"{compatible >> 8:x}.{compatible & 255:02x}", "allowed": "2.00"}
        raise cursor.fault("the IT has an old version", facts, "Save it anew with a later tracker.")
    global_volume, mix_volume, speed, tempo, separation = cursor.unpack("5B", "header")
    cursor.take(11, "header")
    pans, volumes = cursor.take(CHANNELS, "pans"), cursor.take(CHANNELS, "volumes")
    cursor.check(orders, 1, MOST_ORDERS, "orders")
    cursor.check(instruments, 0, MOST_INSTRUMENTS, "instruments")
    cursor.check(samples, 0, MOST_SAMPLES, "samples")
    cursor.check(patterns, 0, MOST_PATTERNS, "patterns")
    return ItHeader(
        decode_text(title),
        flags,
        global_volume,
        mix_volume,
        speed,
        tempo,
        separation,
        pans,
        volumes,
        cursor.take(orders, "orders"),
        cursor.unpack(f"{instruments}I", "offsets of instruments"),
        cursor.unpack(f"{samples}I", "offsets of samples"),
        cursor.unpack(f"{patterns}I", "offsets of patterns"),
    )
