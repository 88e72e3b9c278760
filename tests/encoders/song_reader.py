"""A second reader of NCXM and NCIT, written from the description of the bytes alone."""

from __future__ import annotations

import struct


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def get(self, form: str):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def bytes(self, count: int) -> bytes:
        self.at += count
        assert self.at <= len(self.data)
        return self.data[self.at - count : self.at]


def read_ncxm(data: bytes) -> dict:
    r = Reader(data)
    channels, patterns, instruments, length, restart, speed, bpm, flags, a, b = r.get("BHHHHHHBBB")
    assert (a, b) == (0, 0)
    song = {"channels": channels, "restart": restart, "speed": speed, "bpm": bpm, "flags": flags}
    song["orders"] = r.bytes(length)
    song["patterns"] = []
    for _ in range(patterns):
        rows, size = r.get("HH")
        end = r.at + size
        cells = []
        for _ in range(rows * channels):
            present = r.get("B")
            assert present & 0x80
            cells.append(tuple(r.get("B") if present & 1 << bit else 0 for bit in range(5)))
        assert r.at == end
        song["patterns"].append([cells[n : n + channels] for n in range(0, len(cells), channels)])
    song["instruments"] = [read_xm_instrument(r) for _ in range(instruments)]
    assert r.at == len(data)
    return song


def read_xm_instrument(r: Reader) -> dict:
    flags = r.get("B")
    found: dict = {"envelopes": [None, None]}
    for bit in range(2):
        if flags & 1 << bit:
            points, *numbers = r.get("5B")
            found["envelopes"][bit] = ([r.get("HH") for _ in range(points)], tuple(numbers))
    found["vibrato"] = r.get("4B")
    found["fadeout"] = r.get("H")
    found["sample"] = None
    if flags >> 2:
        start, length, fine, note, kind, zero = r.get("IIbbBB")
        assert zero == 0
        found["sample"] = (start, length, fine, note, kind)
    return found


def read_ncit(data: bytes) -> dict:
    r = Reader(data)
    channels, orders, instruments, samples, patterns = r.get("BHHHH")
    song: dict = {"channels": channels, "numbers": r.get("BBBBHB")}
    assert r.bytes(8) == bytes(8)
    song["orders"] = r.bytes(orders)
    song["pans"], song["volumes"] = r.bytes(channels), r.bytes(channels)
    song["instruments"] = [read_it_instrument(r) for _ in range(instruments)]
    song["samples"] = [read_it_sample(r) for _ in range(samples)]
    song["patterns"] = [read_it_pattern(r, channels) for _ in range(patterns)]
    assert r.at == len(data)
    return song


def read_it_instrument(r: Reader) -> dict:
    flags, actions, fadeout, volume = r.get("BBHB")
    found = {"actions": actions, "fadeout": fadeout, "volume": volume, "rest": r.get("bBBB")}
    found["pan"] = r.get("B") if flags & 16 else None
    found["filter"] = r.get("BB") if flags & 8 else None
    form = r.get("B")
    if form == 0:
        sample = r.get("B")
        table = [(note, sample) for note in range(120)]
    elif form == 1:
        offset, sample, count = r.get("bBB")
        table = [(note + offset, sample) for note in range(120)]
        for _ in range(count):
            place, note, other = r.get("BBB")
            table[place] = (note, other)
    else:
        assert form == 2
        table = [r.get("BB") for _ in range(120)]
    found["table"] = table
    found["envelopes"] = [None, None, None]
    for bit in range(3):
        if flags & 1 << bit:
            points, *numbers = r.get("6B")
            found["envelopes"][bit] = ([r.get("Hb") for _ in range(points)], tuple(numbers))
    return found


def read_it_sample(r: Reader) -> dict:
    flags, global_volume, volume, rate = r.get("BBBI")
    return {
        "volumes": (global_volume, volume),
        "rate": rate,
        "loop": r.get("II") if flags & 1 else None,
        "ping_pong": bool(flags & 2),
        "sustain": r.get("II") if flags & 4 else None,
        "sustain_ping_pong": bool(flags & 8),
        "pan": r.get("B") if flags & 16 else None,
        "vibrato": r.get("4B") if flags & 32 else None,
    }


def read_it_pattern(r: Reader, channels: int) -> list[dict]:
    rows, size = r.get("HH")
    end = r.at + size
    last = {channel: [0, 0, 0, (0, 0)] for channel in range(channels)}
    found = []
    for _ in range(rows):
        row: dict = {}
        while (marker := r.get("B")) != 0:
            channel, mask = marker - 0x80, r.get("B")
            cell: list = [None] * 4
            for bit in range(4):
                if mask & 1 << bit:
                    last[channel][bit] = r.get("BB") if bit == 3 else r.get("B")
                if mask & 0x11 << bit:
                    cell[bit] = last[channel][bit]
            row[channel] = tuple(cell)
        found.append(row)
    assert r.at == end
    return found
