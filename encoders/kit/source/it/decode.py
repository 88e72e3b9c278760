"""IT files to modules.

Sizes and offsets that the file states must fit the bytes that are there. A module without
instruments plays its samples directly; it gets an instrument for each sample.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.kit.audio.resample import Samples
from encoders.kit.audio.sound import Sound
from encoders.kit.source.it.compression import decompress
from encoders.kit.source.it.header import CHANNELS, USES_INSTRUMENTS, ItHeader, decode_header
from encoders.kit.source.it.module import (
    NOTES,
    ItEnvelope,
    ItInstrument,
    ItModule,
    ItPattern,
    ItSample,
)
from encoders.kit.source.it.pattern import EMPTY_PATTERN, decode_patterns
from encoders.kit.source.shared.cursor import Cursor, decode_text
from encoders.kit.source.shared.order import fill_orders
from encoders.kit.warning import grouped

MOST_POINTS, ENVELOPE = 25, 82
SKIP, END = 254, 255
# Flags of a sample, and of how its data is stored.
HAS_DATA, IS_16_BIT, IS_STEREO, IS_COMPRESSED, LOOPS, SUSTAINS, PING_PONG, SUSTAIN_PING_PONG = (
    1 << bit for bit in range(8)
)
IS_SIGNED, IS_BIG_ENDIAN, IS_DELTA = 1, 2, 4
DEFAULT_RATE = 8363
# The highest rate that any sound here has; a higher one is damage.
MAX_RATE = 384_000
USED, UNUSED = 0x80, 0x80


def decode_it(data: bytes, name: str) -> ItModule:
    """Decode a module, or refuse one that is damaged."""
    header = decode_header(data, name)
    cursor = Cursor(data, name)
    warnings: list[str] = []
    orders, warning = fill_orders(header.orders, len(header.patterns), (SKIP, END))
    if warning:
        warnings.append(warning)
        header = replace(header, orders=orders, patterns=(*header.patterns, EMPTY_PATTERN))
    patterns = decode_patterns(cursor, header.patterns)
    samples = tuple(
        _sample(cursor.at(offset), f"sample {number + 1}", warnings)
        for number, offset in enumerate(header.samples)
    )
    if header.flags & USES_INSTRUMENTS:
        instruments = tuple(
            _instrument(cursor.at(offset), f"instrument {number + 1}")
            for number, offset in enumerate(header.instruments)
        )
    else:
        instruments = tuple(_plain_instrument(n, one) for n, one in enumerate(samples))
        header = replace(header, flags=header.flags | USES_INSTRUMENTS)
    channels = _count_channels(header, patterns)
    return ItModule(header, channels, patterns, instruments, samples, tuple(warnings))


def _count_channels(header: ItHeader, patterns: tuple[ItPattern, ...]) -> int:
    """Return how many channels are on, at least those that patterns use."""
    is_on = [pan < UNUSED for pan in header.pans]
    leading = is_on.index(False) if False in is_on else CHANNELS
    used = (channel for pattern in patterns for row in pattern.rows for channel in row)
    return max(1, leading, 1 + max(used, default=0))


def _instrument(cursor: Cursor, what: str) -> ItInstrument:
    magic, _, _, nna, dct, dca, fadeout = cursor.unpack("4s12s4BH", what)
    if magic != b"IMPI":
        raise cursor.fault("not an instrument", {"part": what, "found": magic.hex(" ")})
    separation, centre, volume, pan, random_volume, random_pan = cursor.unpack("b5B", what)
    _, title, cutoff, resonance, _ = cursor.unpack("4s26sBB4s", what)
    pairs = cursor.take(2 * NOTES, what)
    return ItInstrument(
        decode_text(title),
        (nna & 3, dct & 3, dca & 3),
        fadeout,
        (separation, centre),
        volume,
        # The high bit switches a default pan off, and filters on.
        pan if pan < UNUSED else None,
        (random_volume, random_pan),
        cutoff & 0x7F if cutoff & USED else None,
        resonance & 0x7F if resonance & USED else None,
        tuple(zip(pairs[::2], pairs[1::2], strict=True)),
        (_envelope(cursor, what), _envelope(cursor, what), _envelope(cursor, what)),
    )


def _envelope(cursor: Cursor, what: str) -> ItEnvelope | None:
    body = Cursor(cursor.take(ENVELOPE, what), cursor.name)
    flags, count, *ends = body.unpack("6B", what)
    if not flags & 1 or not count:
        return None
    body.check(count, 1, MOST_POINTS, f"points of an envelope of {what}")
    values = (body.unpack("bH", what) for _ in range(count))
    points = tuple((tick, value) for value, tick in values)
    return ItEnvelope(points, (ends[0], ends[1]), (ends[2], ends[3]), flags)


def _plain_instrument(number: int, sample: ItSample) -> ItInstrument:
    """Return an instrument that plays a sample as it is."""
    table = tuple((note, number + 1) for note in range(NOTES))
    none = (None, None, None)
    return ItInstrument(
        sample.name, (0, 0, 0), 0, (0, 60), 128, None, (0, 0), None, None, table, none
    )


def _sample(cursor: Cursor, what: str, warnings: list[str]) -> ItSample:
    magic, _, _, global_volume, flags, volume, title = cursor.unpack("4s12s4B26s", what)
    if magic != b"IMPS":
        raise cursor.fault("not a sample", {"part": what, "found": magic.hex(" ")})
    coding, pan, length = cursor.unpack("BBI", what)
    numbers = cursor.unpack("6I", what)
    rate, pointer = numbers[2] or DEFAULT_RATE, numbers[5]
    vibrato = cursor.unpack("4B", what)
    samples = None
    if flags & HAS_DATA and length:
        # Nothing reads the rate of a sample without data, which may be anything.
        cursor.check(rate, 1, MAX_RATE, f"rate of {what}")
        samples = _decode(cursor.at(pointer), length, flags, coding, what)
    frames = 0 if samples is None else len(samples)
    loops = [
        _loop(numbers[at], numbers[at + 1], frames, what, warnings) if flags & bit else None
        for bit, at in ((LOOPS, 0), (SUSTAINS, 3))
    ]
    return ItSample(
        decode_text(title),
        global_volume,
        volume,
        rate,
        loops[0],
        loops[1],
        bool(loops[0] and flags & PING_PONG),
        bool(loops[1] and flags & SUSTAIN_PING_PONG),
        pan & 0x7F if pan & USED else None,
        (vibrato[0], vibrato[1], vibrato[2], vibrato[3]),
        None if samples is None else Sound(rate, samples),
    )


def _loop(
    begin: int, end: int, frames: int, what: str, warnings: list[str]
) -> tuple[int, int] | None:
    """Return a loop that lies inside of a sample; one without data may have any."""
    if frames and end > frames:
        warnings.append(grouped("damage", f"{what}: its loop goes on behind its end; cut off"))
        end = frames
    return (begin, end) if begin < end else None


def _decode(cursor: Cursor, length: int, flags: int, coding: int, what: str) -> Samples:
    """Return the samples of one or two channels; the left channel is stored first."""
    width = 2 if flags & IS_16_BIT else 1
    channels = 2 if flags & IS_STEREO else 1
    if flags & IS_COMPRESSED:
        is_double = bool(coding & IS_DELTA)
        values = np.array(
            [decompress(cursor, length, width, is_double, what) for _ in range(channels)]
        )
    else:
        data = cursor.take(length * width * channels, what)
        form = f"{'>' if coding & IS_BIG_ENDIAN else '<'}i{width}"
        values = np.frombuffer(data, form).reshape(channels, length).astype(np.int64)
        if coding & IS_DELTA:
            values = np.cumsum(values, axis=1).astype(f"i{width}")
        elif not coding & IS_SIGNED:
            # Unsigned samples have silence in the middle of the range.
            half = 1 << 8 * width - 1
            values = values % (2 * half) - half
    return values.T / np.float64(1 << 8 * width - 1)
