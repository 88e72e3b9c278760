"""Writes XM and IT files for tests, from the formats' own descriptions."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np


@dataclass
class XmSampleData:
    """A sample: 8 or 16 bits, its loop in samples, its pitch."""

    values: np.ndarray
    loop: tuple[int, int, int] = (0, 0, 0)  # type, start, length
    finetune: int = 0
    relative_note: int = 0
    name: str = ""
    volume: int = 64
    flags: int = 0
    reserved: int = 0

    @property
    def is_wide(self) -> bool:
        return self.values.dtype == np.int16

    def data(self) -> bytes:
        kind = self.values.dtype.newbyteorder("<")
        steps = np.diff(self.values.astype(np.int64), prepend=0)
        return steps.astype(kind).tobytes()

    def header(self) -> bytes:
        width = 2 if self.is_wide else 1
        kind = self.loop[0] | (16 if self.is_wide else 0) | self.flags
        sizes = (self.values.size * width, self.loop[1] * width, self.loop[2] * width)
        pitch = struct.pack("<BbBBbB", self.volume, self.finetune, kind, 128, *(self.pitch()))
        return struct.pack("<3I", *sizes) + pitch + self.name.encode().ljust(22, b"\0")

    def pitch(self) -> tuple[int, int]:
        return self.relative_note, self.reserved


@dataclass
class XmInstrumentData:
    name: str = ""
    samples: list[XmSampleData] = field(default_factory=list)
    sample_of: bytes = bytes(96)
    volume_points: list[tuple[int, int]] = field(default_factory=list)
    panning_points: list[tuple[int, int]] = field(default_factory=list)
    volume_numbers: tuple[int, int, int, int] = (0, 0, 0, 0)  # sustain, loop start, end, flags
    panning_numbers: tuple[int, int, int, int] = (0, 0, 0, 0)
    vibrato: tuple[int, int, int, int] = (0, 0, 0, 0)
    fadeout: int = 0

    def write(self) -> bytes:
        start = self.name.encode()[:22].ljust(22, b"\0") + struct.pack("<BH", 0, len(self.samples))
        if not self.samples:
            return struct.pack("<I", 29) + start
        points = b"".join(
            struct.pack("<24H", *(sum(one, ()) + (0,) * (24 - 2 * len(one))))
            for one in (self.volume_points, self.panning_points)
        )
        volume, panning = self.volume_numbers, self.panning_numbers
        counts = bytes([len(self.volume_points), len(self.panning_points)])
        numbers = counts + bytes([*volume[:3], *panning[:3], volume[3], panning[3], *self.vibrato])
        rest = struct.pack("<I", 40) + self.sample_of + points + numbers
        body = start + rest + struct.pack("<H", self.fadeout) + bytes(22)
        headers = b"".join(one.header() for one in self.samples)
        data = b"".join(one.data() for one in self.samples)
        return struct.pack("<I", len(body) + 4) + body + headers + data


Cell = tuple[int, int, int, int, int]  # note, instrument, volume, effect, parameter


def xm_pattern(rows: list[list[Cell]], is_packed: bool = True) -> bytes:
    cells = b""
    for cell in (cell for row in rows for cell in row):
        mask = sum(1 << bit for bit, value in enumerate(cell) if value)
        packed = bytes([0x80 | mask, *(value for value in cell if value)])
        cells += packed if is_packed else bytes(cell)
    return struct.pack("<IBHH", 9, 0, len(rows), len(cells)) + cells


def write_xm(
    patterns: list[bytes],
    instruments: list[XmInstrumentData],
    channels: int = 1,
    orders: bytes = b"\0",
    flags: int = 1,
    title: str = "song",
) -> bytes:
    start = b"Extended Module: " + title.encode().ljust(20, b"\0") + b"\x1a" + b"tests".ljust(20)
    counts = (len(orders), 0, channels, len(patterns), len(instruments), flags, 6, 125)
    header = struct.pack("<HI8H", 0x0104, 276, *counts) + orders.ljust(256, b"\0")
    return start + header + b"".join([*patterns, *(one.write() for one in instruments)])


@dataclass
class ItSampleData:
    values: np.ndarray  # int8 or int16, (n,) or (2, n)
    name: str = ""
    rate: int = 22050
    loop: tuple[int, int] | None = None
    sustain: tuple[int, int] | None = None
    flags: int = 0
    coding: int = 1
    volume: int = 64
    global_volume: int = 64
    pan: int = 32
    vibrato: tuple[int, int, int, int] = (0, 0, 0, 0)
    stored: bytes | None = None  # data that is written as it is

    def data(self) -> bytes:
        if self.stored is not None:
            return self.stored
        return self.values.astype(self.values.dtype.newbyteorder("<")).tobytes()

    def header(self, pointer: int) -> bytes:
        frames = self.values.shape[-1]
        flags = self.flags | (1 if frames else 0) | (2 if self.values.itemsize == 2 else 0)
        flags |= 4 if self.values.ndim == 2 else 0
        flags |= (16 if self.loop else 0) | (32 if self.sustain else 0)
        start = b"IMPS" + bytes(13) + bytes([self.global_volume, flags, self.volume])
        start += self.name.encode()[:26].ljust(26, b"\0") + bytes([self.coding, self.pan])
        loops = (*(self.loop or (0, 0)), self.rate, *(self.sustain or (0, 0)), pointer)
        return start + struct.pack("<I6I", frames, *loops) + bytes(self.vibrato)


def it_envelope(points: list[tuple[int, int]], numbers: tuple[int, ...], flags: int) -> bytes:
    body = bytes([flags, len(points), *numbers])
    body += b"".join(struct.pack("<bH", value, tick) for tick, value in points)
    return body.ljust(82, b"\0")


@dataclass
class ItInstrumentData:
    name: str = ""
    table: list[tuple[int, int]] = field(default_factory=lambda: [(n, 1) for n in range(120)])
    actions: tuple[int, int, int] = (0, 0, 0)
    fadeout: int = 0
    pan: int = 0xA0
    volume: int = 128
    filters: tuple[int, int] = (0, 0)
    envelopes: tuple[bytes, bytes, bytes] = (bytes(82), bytes(82), bytes(82))

    def write(self) -> bytes:
        start = b"IMPI" + bytes(13) + bytes(self.actions) + struct.pack("<H", self.fadeout)
        start += struct.pack("<b5B", 0, 60, self.volume, self.pan, 0, 0) + bytes(4)
        start += self.name.encode()[:26].ljust(26, b"\0") + bytes([*self.filters, 0, 0, 0, 0])
        table = bytes(value for pair in self.table for value in pair)
        return start + table + b"".join(self.envelopes) + bytes(4)


ItCellData = tuple[int | None, int | None, int | None, tuple[int, int] | None]


def it_pattern(rows: list[dict[int, ItCellData]], first: int = 1) -> bytes:
    """A pattern without repeats; `first` is what channels are counted from."""
    data = b""
    for row in rows:
        for channel, cell in row.items():
            mask = sum(1 << bit for bit, value in enumerate(cell) if value is not None)
            data += bytes([(channel + first) | 0x80, mask])
            for value in cell:
                if value is not None:
                    data += bytes(value if isinstance(value, tuple) else [value])
        data += b"\0"
    return struct.pack("<HH4x", len(data), len(rows)) + data


def write_it(
    patterns: list[bytes],
    instruments: list[ItInstrumentData],
    samples: list[ItSampleData],
    channels: int = 1,
    orders: bytes = b"\0\xff",
    flags: int = 0x0D,
) -> bytes:
    counts = (len(orders), len(instruments), len(samples), len(patterns))
    numbers = struct.pack("<8H", *counts, 0x0214, 0x0200, flags, 0)
    header = b"IMPM" + b"song".ljust(26, b"\0") + bytes(2) + numbers
    header += bytes([128, 48, 6, 125, 128]) + bytes(11)
    header += (b"\x20" * channels).ljust(64, b"\xa0") + b"\x40" * 64 + orders
    offset = len(header) + 4 * (len(instruments) + len(samples) + len(patterns))
    parts = [one.write() for one in instruments]
    heads, bodies = 80 * len(samples), [one.data() for one in samples]
    at = offset + sum(map(len, parts)) + heads
    pointers = [at + sum(map(len, bodies[:n])) for n in range(len(bodies))]
    parts += [one.header(where) for one, where in zip(samples, pointers, strict=True)]
    everything = [*parts, *bodies, *patterns]
    starts = [offset + sum(map(len, everything[:n])) for n in range(len(everything))]
    used = [*starts[: len(parts)], *starts[len(parts) + len(bodies) :]]
    return header + struct.pack(f"<{len(used)}I", *used) + b"".join(everything)


def compress_it(values: list[int], bits: int, is_double: bool = False) -> bytes:
    """Compress samples the plainest way: each at the widest width, blocks of 0x8000 bytes."""
    each = 0x8000 // (bits // 8)
    made = b""
    for start in range(0, len(values), each):
        block = values[start : start + each]
        word, at, last, slope = 0, 0, 0, 0
        for value in block:
            step = value - last
            number = step - slope if is_double else step
            last, slope = value, step
            word |= (number & (1 << bits) - 1) << at
            at += bits + 1
        data = word.to_bytes(-(-at // 8), "little")
        made += struct.pack("<H", len(data)) + data
    return made
