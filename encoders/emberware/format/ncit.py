"""NCIT: an IT module without its samples, as a ROM of the newer console holds it.

Writer and reader. Neither magic nor version: a ROM says which of the two forms its music has. The
form can't tell note 0 and volume 0 from none, so both are left out.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U16
from encoders.kit.source.it.module import (
    NOTES,
    ItCell,
    ItEnvelope,
    ItInstrument,
    ItModule,
    ItPattern,
    ItSample,
)
from encoders.kit.source.shared.cursor import Cursor

PATTERN_LIMIT = 65535
MOST_CHANNELS, MOST_POINTS, MOST_ROWS = 64, 25, 200
# How many of the notes one rule has to cover before exceptions to it are listed.
MOSTLY = 90
UNIFORM, SPARSE, FULL = 0, 1, 2
MARK, IS_OFF, OPEN_FILTER = 0x80, 0x80, 127
ENVELOPES = ("volume", "pan", "pitch")
ORDER_END = 254

# fmt: off
NCIT_HEADER = Layout("NCIT header", 24,
    Row(0x00, "channels",      U8,  "1 to 64"),
    Row(0x01, "orders",        U16, "this many bytes of order follow the header"),
    Row(0x03, "instruments",   U16),
    Row(0x05, "samples",       U16),
    Row(0x07, "patterns",      U16),
    Row(0x09, "speed",         U8,  "ticks a row"),
    Row(0x0A, "tempo",         U8),
    Row(0x0B, "global_volume", U8),
    Row(0x0C, "mix_volume",    U8),
    Row(0x0D, "flags",         U16, "those of the IT file"),
    Row(0x0F, "separation",    U8),
    Row(0x10, "_reserved",     U8[8]),
)
# fmt: on


def pack_ncit(module: ItModule, name: str) -> bytes:
    """Encode a module."""
    header, channels = module.header, module.channels
    fields = ("speed", "tempo", "global_volume", "mix_volume", "flags", "separation")
    pans, volumes = header.pans[:channels], header.volumes[:channels]
    counts = {
        "channels": channels,
        "orders": len(header.orders),
        "instruments": len(module.instruments),
        "samples": len(module.samples),
        "patterns": len(module.patterns),
    }
    parts = [
        NCIT_HEADER.pack(counts | {key: getattr(header, key) for key in fields}),
        header.orders,
        bytes(pan & ~IS_OFF for pan in pans),
        # A channel that is switched off is kept, because others may come behind it.
        bytes(0 if pan & IS_OFF else volume for pan, volume in zip(pans, volumes, strict=True)),
        *map(_pack_instrument, module.instruments),
        *map(_pack_sample, module.samples),
    ]
    for number, pattern in enumerate(module.patterns):
        rows = b"".join(_pack_rows(pattern))
        if len(rows) > PATTERN_LIMIT:
            facts = {"file": name, "pattern": number, "bytes": len(rows), "allowed": PATTERN_LIMIT}
            raise EncodeError("a pattern is too large for the console", facts, "Cut it in two.")
        parts += [struct.pack("<HH", len(pattern.rows), len(rows)), rows]
    return b"".join(parts)


def _pack_instrument(one: ItInstrument) -> bytes:
    has_filter = one.cutoff is not None or one.resonance is not None
    flags = sum(1 << bit for bit, envelope in enumerate(one.envelopes) if envelope is not None)
    flags |= (8 if has_filter else 0) | (16 if one.pan is not None else 0)
    nna, dct, dca = one.actions
    parts = [
        struct.pack("<BBHB", flags, nna | dct << 2 | dca << 4, one.fadeout, one.global_volume),
        struct.pack("<bBBB", *one.separation, *one.random),
        bytes([one.pan] if one.pan is not None else []),
    ]
    if has_filter:
        cutoff = OPEN_FILTER if one.cutoff is None else one.cutoff
        parts.append(bytes([cutoff, one.resonance or 0]))
    envelopes = (_pack_envelope(envelope) for envelope in one.envelopes if envelope is not None)
    return b"".join([*parts, _pack_table(one.table), *envelopes])


def _pack_table(table: Sequence[tuple[int, int]]) -> bytes:
    """Encode the table from notes to samples in the smallest of its three forms."""
    rules = Counter((note - place, sample) for place, (note, sample) in enumerate(table))
    # The first of the most frequent, in the order of notes.
    (offset, sample), count = rules.most_common(1)[0]
    if count == NOTES and offset == 0:
        return bytes([UNIFORM, sample])
    if count > MOSTLY and -128 <= offset <= 127:
        others = [
            (place, note, other)
            for place, (note, other) in enumerate(table)
            if (note - place, other) != (offset, sample)
        ]
        start = struct.pack("<BbBB", SPARSE, offset, sample, len(others))
        return start + b"".join(map(bytes, others))
    return bytes([FULL, *(value for pair in table for value in pair)])


def _pack_envelope(envelope: ItEnvelope) -> bytes:
    start = bytes([len(envelope.points), *envelope.loop, *envelope.sustain, envelope.flags])
    return start + b"".join(struct.pack("<Hb", *point) for point in envelope.points)


def _pack_sample(one: ItSample) -> bytes:
    has_vibrato = any(one.vibrato)
    told = (
        one.loop is not None,
        one.is_ping_pong,
        one.sustain is not None,
        one.is_sustain_ping_pong,
        one.pan is not None,
        has_vibrato,
    )
    flags = sum(1 << bit for bit, is_set in enumerate(told) if is_set)
    parts = [struct.pack("<BBBI", flags, one.global_volume, one.volume, one.c5_speed)]
    parts += [struct.pack("<II", *loop) for loop in (one.loop, one.sustain) if loop is not None]
    parts.append(bytes([one.pan] if one.pan is not None else []))
    return b"".join([*parts, bytes(one.vibrato if has_vibrato else ())])


def _pack_rows(pattern: ItPattern) -> list[bytes]:
    last: dict[tuple[int, int], Any] = {}
    return [_pack_row(row, last) for row in pattern.rows]


def _pack_row(row: Mapping[int, ItCell], last: dict[tuple[int, int], Any]) -> bytes:
    """Encode the cells of a row; `last` has the values of each channel and column before it."""
    parts = []
    for channel, cell in sorted(row.items()):
        mask, values = 0, b""
        effect = cell.effect if cell.effect != (0, 0) else None
        for bit, value in enumerate((cell.note, cell.instrument, cell.volume, effect)):
            if not value:
                continue
            if last.get((channel, bit)) == value:
                mask |= 1 << bit + 4
                continue
            last[channel, bit] = value
            mask |= 1 << bit
            values += bytes(value if isinstance(value, tuple) else [value])
        if mask:
            parts.append(bytes([channel | MARK, mask]) + values)
    return b"".join([*parts, b"\0"])


def unpack_ncit(data: bytes, name: str) -> dict[str, Any]:
    """Decode a module down to its last byte: header, orders, channels, and all parts."""
    header = NCIT_HEADER.unpack_one(data, name=name)
    cursor = Cursor(data, name, NCIT_HEADER.size)
    channels = cursor.check(header["channels"], 1, MOST_CHANNELS, "channels")
    orders = cursor.take(header["orders"], "orders")
    pans, volumes = cursor.take(channels, "pans"), cursor.take(channels, "volumes")
    instruments = [_unpack_instrument(cursor) for _ in range(header["instruments"])]
    samples = [_unpack_sample(cursor) for _ in range(header["samples"])]
    patterns = [_unpack_pattern(cursor, channels) for _ in range(header["patterns"])]
    if cursor.offset != len(data):
        facts = {"bytes": len(data), "expected bytes": cursor.offset}
        raise cursor.fault("music has bytes behind its end", facts)
    for number, order in enumerate(orders):
        if order < ORDER_END:
            cursor.check(order, 0, max(0, len(patterns) - 1), f"order {number}")
    lists = {"instruments": instruments, "samples": samples, "patterns": patterns}
    return {**header, "orders": list(orders), "pans": list(pans), "volumes": list(volumes)} | lists


def _unpack_instrument(cursor: Cursor) -> dict[str, Any]:
    flags, actions, fadeout, volume = cursor.unpack("BBHB", "instrument")
    found: dict[str, Any] = {
        "actions": [actions & 3, actions >> 2 & 3, actions >> 4 & 3],
        "fadeout": fadeout,
        "global_volume": volume,
        "separation": list(cursor.unpack("bB", "instrument")),
        "random": list(cursor.unpack("BB", "instrument")),
        "pan": cursor.number("B", "pan") if flags & 16 else None,
        "filter": list(cursor.unpack("BB", "filter")) if flags & 8 else None,
        "table": _unpack_table(cursor),
    }
    for bit, key in enumerate(ENVELOPES):
        found[key] = _unpack_envelope(cursor) if flags >> bit & 1 else None
    return found


def _unpack_table(cursor: Cursor) -> list[list[int]]:
    kind = cursor.check(cursor.number("B", "table"), UNIFORM, FULL, "form of a table")
    if kind == FULL:
        return [list(cursor.unpack("BB", "table")) for _ in range(NOTES)]
    offset = cursor.number("b", "table") if kind == SPARSE else 0
    sample = cursor.number("B", "table")
    table = [[place + offset, sample] for place in range(NOTES)]
    for _ in range(cursor.number("B", "table") if kind == SPARSE else 0):
        place, note, other = cursor.unpack("BBB", "table")
        table[cursor.check(place, 0, NOTES - 1, "note of a table")] = [note, other]
    return table


def _unpack_envelope(cursor: Cursor) -> dict[str, Any]:
    count, *ends, flags = cursor.unpack("6B", "envelope")
    cursor.check(count, 1, MOST_POINTS, "points of an envelope")
    points = [list(cursor.unpack("Hb", "point")) for _ in range(count)]
    return {"points": points, "loop": ends[:2], "sustain": ends[2:], "flags": flags}


def _unpack_sample(cursor: Cursor) -> dict[str, Any]:
    flags, global_volume, volume, rate = cursor.unpack("BBBI", "sample")
    return {
        "flags": flags,
        "global_volume": global_volume,
        "volume": volume,
        "c5_speed": rate,
        "loop": list(cursor.unpack("II", "loop")) if flags & 1 else None,
        "sustain": list(cursor.unpack("II", "sustain loop")) if flags & 4 else None,
        "pan": cursor.number("B", "pan") if flags & 16 else None,
        "vibrato": list(cursor.unpack("4B", "vibrato")) if flags & 32 else None,
    }


def _unpack_pattern(cursor: Cursor, channels: int) -> list[dict[int, list[Any]]]:
    rows, size = cursor.unpack("HH", "pattern")
    cursor.check(rows, 1, MOST_ROWS, "rows")
    body = Cursor(cursor.take(size, "pattern"), cursor.name)
    last: dict[tuple[int, int], Any] = {}
    found = [_unpack_row(body, channels, last) for _ in range(rows)]
    if body.offset != size:
        raise cursor.fault("a pattern goes on behind its last row", {"bytes": size})
    return found


def _unpack_row(
    body: Cursor, channels: int, last: dict[tuple[int, int], Any]
) -> dict[int, list[Any]]:
    cells: dict[int, list[Any]] = {}
    while marker := body.number("B", "cell"):
        channel = body.check(marker & ~MARK, 0, channels - 1, "channel of a cell")
        mask, cell = body.number("B", "cell"), list[Any]([None] * 4)
        for bit in range(4):
            if mask >> bit & 1:
                value = list(body.unpack("BB", "cell")) if bit == 3 else body.number("B", "cell")
                last[channel, bit] = value
            if mask >> bit & 1 or mask >> bit + 4 & 1:
                cell[bit] = last.get((channel, bit))
        cells[channel] = cell
    return cells
