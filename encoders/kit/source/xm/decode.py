"""XM files to modules.

Sizes that the file states must fit the bytes that are there. Loops count samples here, where the
file counts bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from encoders.kit.audio.resample import Samples
from encoders.kit.audio.sound import Sound
from encoders.kit.source.shared.cursor import Cursor, decode_text
from encoders.kit.source.shared.order import fill_orders
from encoders.kit.source.xm.header import decode_header
from encoders.kit.source.xm.module import (
    CELL_BYTES,
    FORWARD,
    NO_LOOP,
    NOTES,
    PING_PONG,
    XmEnvelope,
    XmInstrument,
    XmModule,
    XmPattern,
    XmSample,
)
from encoders.kit.warning import grouped

PATTERN_HEADER, MOST_ROWS, EMPTY_ROWS = 9, 256, 64
# An instrument without samples ends behind its name, its type and the count.
SHORT_INSTRUMENT, INSTRUMENT, SAMPLE = 29, 263, 40
MOST_SAMPLES, MOST_POINTS = 63, 12
PACKED = 0x80
LOOP_BITS, IS_16_BIT, IS_STEREO = 0x03, 0x10, 0x20
# The reserved byte of samples that ModPlug Tracker packed to four bits.
ADPCM = 0xAD
MIDDLE_C_RATE = 8363
MIN_RATE, MAX_RATE = 100, 96_000


def decode_xm(data: bytes, name: str) -> XmModule:
    """Decode a module, or refuse one that is damaged."""
    header = decode_header(data, name)
    cursor = Cursor(data, name, header.end)
    warnings: list[str] = []
    patterns = tuple(_pattern(cursor, header.channels, n) for n in range(header.patterns))
    orders, warning = fill_orders(header.orders, header.patterns)
    if warning:
        warnings.append(warning)
        patterns += (XmPattern(EMPTY_ROWS, bytes(EMPTY_ROWS * header.channels * CELL_BYTES)),)
        header = replace(header, orders=orders, patterns=len(patterns))
    instruments = tuple(_instrument(cursor, n, warnings) for n in range(header.instruments))
    return XmModule(header, patterns, instruments, tuple(warnings))


def _pattern(cursor: Cursor, channels: int, number: int) -> XmPattern:
    what = f"pattern {number}"
    start = cursor.offset
    size, packing, rows, packed = cursor.unpack("IBHH", what)
    cursor.check(packing, 0, 0, f"packing of {what}")
    cursor.check(rows, 1, MOST_ROWS, f"rows of {what}")
    cursor.check(size, PATTERN_HEADER, len(cursor.data), f"size of {what}")
    cursor.offset = start + size
    cells = rows * channels
    if not packed:
        return XmPattern(rows, bytes(cells * CELL_BYTES))
    body = Cursor(cursor.take(packed, what), cursor.name)
    return XmPattern(rows, b"".join(_cell(body, what) for _ in range(cells)))


def _cell(body: Cursor, what: str) -> bytes:
    first = body.number("B", what)
    # Without the high bit, the byte is the note itself, and the other four fields follow.
    if not first & PACKED:
        return bytes([first]) + body.take(CELL_BYTES - 1, what)
    fields = (body.number("B", what) if first >> bit & 1 else 0 for bit in range(CELL_BYTES))
    return bytes(fields)


def _instrument(cursor: Cursor, number: int, warnings: list[str]) -> XmInstrument:
    what = f"instrument {number + 1}"
    start = cursor.offset
    size, title, _, count = cursor.unpack("I22sBH", what)
    cursor.check(size, SHORT_INSTRUMENT, len(cursor.data), f"size of {what}")
    cursor.check(count, 0, MOST_SAMPLES, f"samples of {what}")
    cursor.offset = start
    # Trackers leave out the end of the header, which is zero then.
    body = Cursor(cursor.take(size, what).ljust(INSTRUMENT, b"\0"), cursor.name, SHORT_INSTRUMENT)
    if not count:
        return XmInstrument(decode_text(title), (), bytes(NOTES), None, None, (0, 0, 0, 0), 0)
    header_size = body.number("I", what)
    sample_of = body.take(NOTES, what)
    envelopes = _envelopes(body, what)
    vibrato, fadeout = body.unpack("4B", what), body.number("H", what)
    samples = _samples(cursor, count, header_size, what, warnings)
    vibrato_of = (vibrato[0], vibrato[1], vibrato[2], vibrato[3])
    return XmInstrument(decode_text(title), samples, sample_of, *envelopes, vibrato_of, fadeout)


def _envelopes(body: Cursor, what: str) -> tuple[XmEnvelope | None, XmEnvelope | None]:
    """Return the envelopes of volume and panning, None for one that is off or has no points."""
    points = [body.unpack("24H", what) for _ in range(2)]
    numbers = body.unpack("10B", what)
    found: list[XmEnvelope | None] = []
    for which, name in enumerate(("volume", "panning")):
        count, flags = numbers[which], numbers[8 + which]
        sustain, loop_start, loop_end = numbers[2 + 3 * which : 5 + 3 * which]
        if not count or not flags & 1:
            found.append(None)
            continue
        body.check(count, 1, MOST_POINTS, f"points of the {name} envelope of {what}")
        pairs = tuple(zip(points[which][::2], points[which][1::2], strict=True))[:count]
        found.append(XmEnvelope(pairs, sustain, loop_start, loop_end, flags & 7))
    return found[0], found[1]


@dataclass(frozen=True)
class _SampleHeader:
    """The header of a sample; its numbers count bytes."""

    size: int
    loop_start: int
    loop_length: int
    finetune: int
    kind: int
    relative_note: int
    name: str

    @property
    def frame_bytes(self) -> int:
        return (2 if self.kind & IS_16_BIT else 1) * (2 if self.kind & IS_STEREO else 1)


def _samples(
    cursor: Cursor, count: int, size: int, what: str, warnings: list[str]
) -> tuple[XmSample, ...]:
    """Decode the samples of an instrument: all headers come first, then all data."""
    headers = []
    for number in range(count):
        start, where = cursor.offset, f"sample {number + 1} of {what}"
        length, begin, loop, _, fine, kind, _, note, packing, title = cursor.unpack(
            "3IBbBBbB22s", where
        )
        # Some trackers state a size of 0 for the usual one.
        cursor.offset = start + max(size, SAMPLE)
        if packing == ADPCM and length:
            facts = {"part": where, "coding": "4-bit ADPCM"}
            hint = "Save the module without compressed samples."
            raise cursor.fault("the XM has a sample of a coding that is not supported", facts, hint)
        headers.append(_SampleHeader(length, begin, loop, fine, kind, note, decode_text(title)))
    return tuple(
        _sample(cursor, header, f"sample {number + 1} of {what}", warnings)
        for number, header in enumerate(headers)
    )


def _sample(cursor: Cursor, header: _SampleHeader, what: str, warnings: list[str]) -> XmSample:
    data = cursor.take(header.size, what)
    frames = header.size // header.frame_bytes
    start, length = (one // header.frame_bytes for one in (header.loop_start, header.loop_length))
    kind = min(header.kind & LOOP_BITS, PING_PONG)
    if kind and length and start + length > frames:
        warnings.append(grouped("damage", f"{what}: its loop goes on behind its end; cut off"))
        length = max(0, frames - start)
    if not kind or not length:
        start, length, kind = 0, 0, NO_LOOP
    sound = Sound(sample_rate(header.relative_note, header.finetune), _decode(data, header))
    assert kind in (NO_LOOP, FORWARD, PING_PONG)
    return XmSample(
        header.name,
        start,
        length,
        kind,
        header.finetune,
        header.relative_note,
        sound if frames else None,
    )


def _decode(data: bytes, header: _SampleHeader) -> Samples:
    """Return the samples, which are stored as differences that wrap around."""
    form = "<i2" if header.kind & IS_16_BIT else "i1"
    width = np.dtype(form).itemsize
    channels = header.frame_bytes // width
    usable = len(data) // header.frame_bytes * header.frame_bytes
    # Stereo samples have all of the left channel first.
    steps = np.frombuffer(data[:usable], form).reshape(channels, -1)
    values = np.cumsum(steps, axis=1, dtype=np.int64).astype(form)
    return values.T / np.float64(128 if width == 1 else 32768)


def sample_rate(relative_note: int, finetune: int) -> int:
    """Return the rate at which middle C plays a sample."""
    rate = MIDDLE_C_RATE * 2 ** ((relative_note + finetune / 128) / 12)
    return max(MIN_RATE, min(MAX_RATE, round(rate)))
