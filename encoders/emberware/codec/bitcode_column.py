"""Columns of numbers in the wire format of the Rust crate bitcode 0.6, the console's serialiser.

The writer is canonical: a column can be packed in several ways, and it takes the one that the
crate's own encoder takes, so that equal values give equal bytes. The reader accepts every valid
packing and refuses values outside a group's range, set padding bits and unknown headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[Any]
Buffer = bytes | memoryview

# Values per byte, by the number of states that a value can have.
GROUPS = {2: 8, 3: 5, 4: 4, 6: 3, 16: 2}
# (largest value, states): the first row that fits decides the packing; 256 states are raw bytes.
STATES_BY_MAXIMUM = ((1, 2), (2, 3), (3, 4), (5, 6), (15, 16), (255, 256))
HEADER_BY_STATES = {256: 0, 16: 2, 6: 4, 4: 6, 3: 8, 2: 10}
STATES_BY_HEADER = {header: states for states, header in HEADER_BY_STATES.items()}
# A column is stored relative to its minimum only from this many values on.
OFFSET_COUNT = 6
# Columns of at most this many bytes are stored raw, without a header.
RAW_BYTES = 2
# bitcode looks at this many leading values; if they span the full width, it packs nothing.
SAMPLE = 16
# A length byte of 255 means that the full length is in the column of long lengths.
LONG = 255


@dataclass
class Cursor:
    """A read position in the file that the user knows as `name`."""

    data: memoryview
    name: str
    offset: int = 0

    def take(self, size: int) -> memoryview:
        """Return the next `size` bytes and advance."""
        if not 0 <= size <= len(self.data) - self.offset:
            raise self.fault("the file is too short", {"needed": size})
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def fault(self, problem: str, facts: dict[str, object] | None = None) -> EncodeError:
        """Return an error that names the file and the current offset."""
        return EncodeError(problem, {"file": self.name, "at byte": self.offset, **(facts or {})})

    def check_count(self, count: int) -> None:
        """Refuse a count that the rest of the file cannot hold at one bit per value."""
        if count > 8 * (len(self.data) - self.offset):
            raise self.fault("the file is too short", {"values": count})


def pack_states(values: Bytes, states: int) -> bytes:
    """Pack values below `states` as digits of a byte, the first value least significant."""
    if states not in GROUPS:
        return values.tobytes()
    group = GROUPS[states]
    padded = np.zeros(-(-len(values) // group) * group, np.uint8)
    padded[: len(values)] = values
    parts = padded.reshape(-1, group)
    packed = parts[:, 0].copy()
    for number in range(1, group):
        packed += parts[:, number] * np.uint8(states**number)
    return packed.tobytes()


def unpack_states(cursor: Cursor, count: int, states: int) -> Bytes:
    """Decode `count` values below `states`."""
    if states not in GROUPS:
        return np.frombuffer(cursor.take(count), np.uint8)
    group = GROUPS[states]
    packed = np.frombuffer(cursor.take(-(-count // group)), np.uint8)
    values = np.empty((len(packed), group), np.uint8)
    rest = packed
    for number in range(group):
        rest, values[:, number] = np.divmod(rest, np.uint8(states))
    flat = values.reshape(-1)
    # A rest is a byte beyond states**group; later values are padding of the last group.
    if rest.any() or flat[count:].any():
        raise cursor.fault("packed values hold more than can be", {"states": states})
    return flat[:count]


def _states_for(maximum: int) -> int:
    return next(states for most, states in STATES_BY_MAXIMUM if maximum <= most)


def pack_bytes(data: Buffer) -> list[Buffer]:
    """Encode a column of bytes."""
    if len(data) <= RAW_BYTES:
        return [data]
    values = np.frombuffer(data, np.uint8)
    low, high = int(values.min()), int(values.max())
    states, near = _states_for(high), _states_for(high - low)
    # Relative to the minimum only where that takes fewer bits: the crate's encoder chooses so.
    if near < states and len(values) >= OFFSET_COUNT:
        header = bytes((HEADER_BY_STATES[near] - 1, low))
        return [header, pack_states(values - np.uint8(low), near)]
    header = bytes((HEADER_BY_STATES[states],))
    return [header, data if states == 256 else pack_states(values, states)]


def pack_joined(parts: Sequence[Buffer]) -> list[Buffer]:
    """Encode the concatenated parts as one column; copy them only where they get packed."""
    ranges = [(one.min(), one.max()) for one in (np.frombuffer(p, np.uint8) for p in parts if p)]
    if len(ranges) > 0 and sum(map(len, parts)) > RAW_BYTES:
        low, high = min(int(one) for one, _ in ranges), max(int(one) for _, one in ranges)
        if _states_for(high - low) == 256:
            return [bytes((HEADER_BY_STATES[256],)), *parts]
    return pack_bytes(b"".join(parts))


def unpack_bytes(cursor: Cursor, count: int) -> Bytes:
    """Decode a column of `count` bytes."""
    cursor.check_count(count)
    if count <= RAW_BYTES:
        return np.frombuffer(cursor.take(count), np.uint8)
    header = cursor.take(1)[0]
    # An odd header is the even one above it with a minimum that the values are relative to.
    states = STATES_BY_HEADER.get(header + header % 2)
    if states is None or header == HEADER_BY_STATES[256] - 1:
        raise cursor.fault("unknown packing of bytes", {"header": header})
    low = cursor.take(1)[0] if header % 2 else 0
    values = unpack_states(cursor, count, states)
    return values + np.uint8(low) if low else values


def _width_for(value: int, width: int) -> int:
    """Return the smallest of 1, 2, 4 and `width` bytes that holds the value."""
    return next((w for w in (1, 2, 4) if w < width and value < 1 << (8 * w)), width)


def pack_integers(values: Integers) -> list[Buffer]:
    """Encode a column of integers of the array's width and sign."""
    width = values.dtype.itemsize
    stored = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    if not len(values):
        return []
    # A single 16-bit value is stored without a header.
    if len(values) == 1 and width == 2:
        return [stored.tobytes()]
    head = values[:SAMPLE]
    # The crate samples only the first values, so a wide start stores all values unpacked.
    if _width_for(int(head.max()) - int(head.min()), width) == width:
        return [b"\0", stored.tobytes()]
    low, high = int(values.min()), int(values.max())
    # Negative values are never narrowed without an offset: there is no sign extension.
    basic = width if low < 0 else _width_for(high, width)
    near = _width_for(high - low, width)
    if near < basic and len(values) >= OFFSET_COUNT:
        header = bytes((_integer_header(near, width) - 1,))
        offset = low.to_bytes(width, "little", signed=low < 0)
        narrow = (values - values.dtype.type(low)).astype(f"<u{near}")
        return [header, offset, *_payload(narrow)]
    header = bytes((_integer_header(basic, width),))
    return [header, *_payload(stored if basic == width else values.astype(f"<u{basic}"))]


def _integer_header(stored: int, width: int) -> int:
    """Return the header of a stored width: 0 full, 2 half, 4 a quarter, 6 an eighth."""
    return 2 * (width // stored).bit_length() - 2


def _payload(values: Integers) -> list[Buffer]:
    """Encode narrowed integers; single bytes are packed once more as a column of bytes."""
    return pack_bytes(values.tobytes()) if values.dtype.itemsize == 1 else [values.tobytes()]


def unpack_integers(cursor: Cursor, count: int, dtype: np.dtype[Any]) -> Integers:
    """Decode a column of `count` integers of this type."""
    width = dtype.itemsize
    cursor.check_count(count)
    if not count:
        return np.zeros(0, dtype)
    if count == 1 and width == 2:
        return np.frombuffer(cursor.take(2), dtype)
    header = cursor.take(1)[0]
    stored = width >> ((header + header % 2) // 2)
    if not stored or (header % 2 and stored == width):
        raise cursor.fault("unknown packing of integers", {"header": header})
    low = int.from_bytes(cursor.take(width), "little") if header % 2 else 0
    if stored == 1:
        values = unpack_bytes(cursor, count).astype(f"u{width}")
    else:
        values = np.frombuffer(cursor.take(count * stored), f"<u{stored}").astype(f"u{width}")
    # Unsigned arithmetic wraps around, which is right for negative minimums.
    moved: Integers = (values + values.dtype.type(low)).view(dtype)
    return moved


def pack_lengths(lengths: list[int]) -> list[Buffer]:
    """Encode lengths: a byte each, then a column of the full lengths from 255 on."""
    # A length of exactly 255 is a long one too.
    short = bytes(min(length, LONG) for length in lengths)
    long = [length for length in lengths if length >= LONG]
    return [*pack_bytes(short), *pack_integers(np.array(long, np.uint64))]


def unpack_lengths(cursor: Cursor, count: int) -> list[int]:
    """Decode a column of `count` lengths."""
    lengths: list[int] = unpack_bytes(cursor, count).tolist()
    long = [row for row, length in enumerate(lengths) if length == LONG]
    found = unpack_integers(cursor, len(long), np.dtype("<u8")).tolist()
    for row, length in zip(long, found, strict=True):
        if length < LONG:
            raise cursor.fault("a short length stands among the long ones", {"length": length})
        lengths[row] = length
    return lengths


def pack_floats(values: npt.NDArray[np.float32]) -> list[Buffer]:
    """Encode floats: the three mantissa bytes of all values, then the top bytes of all."""
    parts = np.ascontiguousarray(values, "<f4").reshape(-1, 1).view(np.uint8)
    return [parts[:, :3].tobytes(), parts[:, 3].tobytes()]


def unpack_floats(cursor: Cursor, count: int) -> npt.NDArray[np.float32]:
    """Decode a column of `count` floats."""
    # A damaged count must not allocate memory before `take` refuses it.
    parts = np.empty((count if 4 * count <= len(cursor.data) else 0, 4), np.uint8)
    low, top = cursor.take(3 * count), cursor.take(count)
    parts[:, :3] = np.frombuffer(low, np.uint8).reshape(-1, 3)
    parts[:, 3] = np.frombuffer(top, np.uint8)
    return parts.view("<f4")[:, 0].astype(np.float32)
