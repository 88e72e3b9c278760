"""NCXM: an XM module without its samples, as a ROM of the newer console holds it.

Writer and reader. Neither magic nor version: a ROM says which of the two forms its music has.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import I8, U8, U16, U32
from encoders.kit.source.shared.cursor import Cursor
from encoders.kit.source.xm.module import CELL_BYTES, XmEnvelope, XmInstrument, XmModule, XmSample

MOST_CHANNELS, MOST_POINTS, MOST_ROWS = 32, 12, 256
PACKED, HAS_VOLUME, HAS_PANNING, ONE_SAMPLE = 0x80, 1, 2, 1 << 2

# fmt: off
NCXM_HEADER = Layout("NCXM header", 16,
    Row(0x00, "channels",    U8,  "1 to 32"),
    Row(0x01, "patterns",    U16),
    Row(0x03, "instruments", U16),
    Row(0x05, "song_length", U16, "this many bytes of order follow the header"),
    Row(0x07, "restart",     U16),
    Row(0x09, "speed",       U16, "ticks a row"),
    Row(0x0B, "bpm",         U16),
    Row(0x0D, "flags",       U8,  "1 for linear periods"),
    Row(0x0E, "_reserved",   U8[2]),
)
NCXM_SAMPLE = Layout("NCXM sample", 12,
    Row(0x00, "loop_start",    U32, "in samples of the source"),
    Row(0x04, "loop_length",   U32),
    Row(0x08, "finetune",      I8),
    Row(0x09, "relative_note", I8),
    Row(0x0A, "loop_type",     U8,  "0 none, 1 forward, 2 ping-pong"),
    Row(0x0B, "_reserved",     U8),
)
# fmt: on


def pack_ncxm(module: XmModule, chosen: Sequence[XmSample | None]) -> bytes:
    """Encode a module; `chosen` has the one sample that each instrument plays."""
    header = module.header
    parts = [
        NCXM_HEADER.pack(
            {
                "channels": header.channels,
                "patterns": len(module.patterns),
                "instruments": len(module.instruments),
                "song_length": len(header.orders),
                "restart": header.restart,
                "speed": header.speed,
                "bpm": header.bpm,
                "flags": int(header.is_linear),
            }
        ),
        header.orders,
    ]
    for pattern in module.patterns:
        cells = b"".join(
            _pack_cell(pattern.cells[at : at + CELL_BYTES])
            for at in range(0, len(pattern.cells), CELL_BYTES)
        )
        # 256 rows of 32 cells have at most 49,152 bytes, so that the size always fits.
        parts += [struct.pack("<HH", pattern.rows, len(cells)), cells]
    pairs = zip(module.instruments, chosen, strict=True)
    return b"".join([*parts, *(_pack_instrument(one, sample) for one, sample in pairs)])


def _pack_cell(cell: bytes) -> bytes:
    """Encode a cell: a byte that says which fields are not 0, then those."""
    present = sum(1 << bit for bit, value in enumerate(cell) if value)
    return bytes([PACKED | present, *filter(None, cell)])


def _pack_instrument(instrument: XmInstrument, sample: XmSample | None) -> bytes:
    envelopes = (instrument.volume, instrument.panning)
    flags = sum(1 << bit for bit, one in enumerate(envelopes) if one is not None)
    flags |= ONE_SAMPLE if sample is not None else 0
    parts = [bytes([flags]), *(_pack_envelope(one) for one in envelopes if one is not None)]
    parts.append(struct.pack("<4BH", *instrument.vibrato, instrument.fadeout))
    if sample is not None:
        names = ("loop_start", "loop_length", "finetune", "relative_note", "loop_type")
        parts.append(NCXM_SAMPLE.pack({key: getattr(sample, key) for key in names}))
    return b"".join(parts)


def _pack_envelope(envelope: XmEnvelope) -> bytes:
    ends = (envelope.sustain, envelope.loop_start, envelope.loop_end, envelope.flags)
    points = b"".join(struct.pack("<HH", x, y) for x, y in envelope.points)
    return bytes([len(envelope.points), *ends]) + points


def unpack_ncxm(data: bytes, name: str) -> dict[str, Any]:
    """Decode a module down to its last byte: header, orders, patterns of cells, instruments."""
    header = NCXM_HEADER.unpack_one(data, name=name)
    cursor = Cursor(data, name, NCXM_HEADER.size)
    cursor.check(header["channels"], 1, MOST_CHANNELS, "channels")
    orders = cursor.take(header["song_length"], "orders")
    patterns = [_unpack_pattern(cursor, header["channels"]) for _ in range(header["patterns"])]
    instruments = [_unpack_instrument(cursor, name) for _ in range(header["instruments"])]
    if cursor.offset != len(data):
        facts = {"bytes": len(data), "expected bytes": cursor.offset}
        raise cursor.fault("music has bytes behind its end", facts)
    for number, order in enumerate(orders):
        cursor.check(order, 0, max(0, len(patterns) - 1), f"order {number}")
    return {**header, "orders": list(orders), "patterns": patterns, "instruments": instruments}


def _unpack_pattern(cursor: Cursor, channels: int) -> list[list[list[int]]]:
    rows, size = cursor.unpack("HH", "pattern")
    cursor.check(rows, 1, MOST_ROWS, "rows")
    body = Cursor(cursor.take(size, "pattern"), cursor.name)
    cells = [[_unpack_cell(body) for _ in range(channels)] for _ in range(rows)]
    if body.offset != size:
        raise cursor.fault("a pattern goes on behind its last row", {"bytes": size})
    return cells


def _unpack_cell(body: Cursor) -> list[int]:
    first = body.number("B", "cell")
    if not first & PACKED:
        return [first, *body.take(CELL_BYTES - 1, "cell")]
    return [body.number("B", "cell") if first >> bit & 1 else 0 for bit in range(CELL_BYTES)]


def _unpack_instrument(cursor: Cursor, name: str) -> dict[str, Any]:
    flags = cursor.number("B", "instrument")
    found: dict[str, Any] = {"samples": flags >> 2}
    for bit, key in ((HAS_VOLUME, "volume"), (HAS_PANNING, "panning")):
        if flags & bit:
            found[key] = _unpack_envelope(cursor)
    found["vibrato"] = list(cursor.unpack("4B", "vibrato"))
    found["fadeout"] = cursor.number("H", "fadeout")
    if found["samples"]:
        found["sample"] = NCXM_SAMPLE.unpack_one(cursor.data, cursor.offset, name)
        cursor.take(NCXM_SAMPLE.size, "sample")
    return found


def _unpack_envelope(cursor: Cursor) -> dict[str, Any]:
    count, sustain, start, end, flags = cursor.unpack("5B", "envelope")
    cursor.check(count, 1, MOST_POINTS, "points of an envelope")
    points = [list(cursor.unpack("HH", "point")) for _ in range(count)]
    return {"points": points, "sustain": sustain, "loop": [start, end], "flags": flags}
