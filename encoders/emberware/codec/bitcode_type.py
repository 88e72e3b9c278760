"""The types of bitcode 0.6, as data: each encodes and decodes a column of values of its type.

bitcode stores columns, not records: a list of records becomes one column for each field, a list of
lists becomes a column of lengths and one column of all elements. Values are those of JSON, plus
bytes and numpy arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from encoders.emberware.codec.bitcode_column import (
    Buffer,
    Cursor,
    pack_bytes,
    pack_floats,
    pack_integers,
    pack_joined,
    pack_lengths,
    pack_states,
    unpack_bytes,
    unpack_floats,
    unpack_integers,
    unpack_lengths,
    unpack_states,
)

# More names or records than any ROM has; a damaged count above it must not fill the memory.
ROW_LIMIT = 1 << 18


class Type(Protocol):
    """A type that can encode and decode a column of its values."""

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Encode a column, as buffers to be joined."""
        ...

    def read(self, cursor: Cursor, count: int) -> Sequence[Any]:
        """Decode a column of `count` values."""
        ...


@dataclass(frozen=True)
class Byte:
    """An unsigned byte, u8."""

    def write(self, values: Sequence[int]) -> list[Buffer]:
        """Encode bytes."""
        return pack_bytes(bytes(values))

    def read(self, cursor: Cursor, count: int) -> list[int]:
        """Decode bytes."""
        values: list[int] = unpack_bytes(cursor, count).tolist()
        return values


@dataclass(frozen=True)
class Integer:
    """An integer of two or more bytes, given by its numpy code."""

    code: str

    def write(self, values: Sequence[int]) -> list[Buffer]:
        """Encode integers."""
        return pack_integers(np.array(values, self.code))

    def read(self, cursor: Cursor, count: int) -> list[int]:
        """Decode integers."""
        values: list[int] = unpack_integers(cursor, count, np.dtype(self.code)).tolist()
        return values


@dataclass(frozen=True)
class Float:
    """A single-precision number, f32."""

    def write(self, values: Sequence[float]) -> list[Buffer]:
        """Encode floats."""
        return pack_floats(np.array(values, np.float32))

    def read(self, cursor: Cursor, count: int) -> list[float]:
        """Decode floats."""
        values: list[float] = unpack_floats(cursor, count).tolist()
        return values


@dataclass(frozen=True)
class FloatArray:
    """An array of `size` f32."""

    size: int

    def write(self, values: Sequence[Sequence[float]]) -> list[Buffer]:
        """Encode the floats of all arrays as one column."""
        return pack_floats(np.array(values, np.float32).reshape(-1))

    def read(self, cursor: Cursor, count: int) -> list[list[float]]:
        """Decode a column of arrays."""
        values = unpack_floats(cursor, count * self.size).reshape(-1, self.size)
        arrays: list[list[float]] = values.tolist()
        return arrays


@dataclass(frozen=True)
class String:
    """A UTF-8 string."""

    def write(self, values: Sequence[str]) -> list[Buffer]:
        """Encode the lengths, then all texts without packing."""
        texts = [value.encode() for value in values]
        return [*pack_lengths([len(text) for text in texts]), b"".join(texts)]

    def read(self, cursor: Cursor, count: int) -> list[str]:
        """Decode a column of texts."""
        texts = [bytes(cursor.take(length)) for length in unpack_lengths(cursor, count)]
        try:
            return [text.decode() for text in texts]
        except UnicodeDecodeError as error:
            raise cursor.fault("a text is not UTF-8", {"found": error.object[:40]}) from error


@dataclass(frozen=True)
class ByteString:
    """A list of u8, as `bytes`."""

    def write(self, values: Sequence[Buffer]) -> list[Buffer]:
        """Encode the lengths, then all bytes as one column."""
        return [*pack_lengths([len(value) for value in values]), *pack_joined(values)]

    def read(self, cursor: Cursor, count: int) -> list[bytes]:
        """Decode a column of byte strings."""
        lengths = unpack_lengths(cursor, count)
        joined = unpack_bytes(cursor, sum(lengths))
        # One column holds the bytes of all values, so they are split by their lengths.
        ends = accumulate(lengths, initial=0)
        return [joined[start:end].tobytes() for start, end in pairwise(ends)]


@dataclass(frozen=True)
class IntegerList:
    """A list of integers given by their numpy code, as an array."""

    code: str

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Encode the lengths, then all integers as one column."""
        arrays = [np.asarray(value, self.code) for value in values]
        joined = np.concatenate(arrays) if arrays else np.zeros(0, self.code)
        return [*pack_lengths([len(array) for array in arrays]), *pack_integers(joined)]

    def read(self, cursor: Cursor, count: int) -> list[Any]:
        """Decode a column of arrays."""
        lengths = unpack_lengths(cursor, count)
        joined = unpack_integers(cursor, sum(lengths), np.dtype(self.code))
        return np.split(joined, np.cumsum(lengths)[:-1]) if lengths else []


@dataclass(frozen=True)
class Optional:
    """A value or None."""

    type: Type

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Encode a bit for each value, then the values that are not None."""
        # Only present values take space; the flags say which rows they belong to.
        present = [value for value in values if value is not None]
        flags = np.array([value is not None for value in values], np.uint8)
        return [pack_states(flags, 2), *(self.type.write(present) if present else [])]

    def read(self, cursor: Cursor, count: int) -> list[Any]:
        """Decode a column of values or Nones."""
        cursor.check_count(count)
        flags = unpack_states(cursor, count, 2).tolist()
        present = iter(self.type.read(cursor, sum(flags)) if any(flags) else ())
        return [next(present) if flag else None for flag in flags]


@dataclass(frozen=True)
class Enumeration:
    """One of a few named values, stored as its number."""

    names: tuple[str, ...]

    def write(self, values: Sequence[int]) -> list[Buffer]:
        """Encode the numbers in as few bits as the names need."""
        return [pack_states(np.array(values, np.uint8), len(self.names))]

    def read(self, cursor: Cursor, count: int) -> list[int]:
        """Decode a column of numbers."""
        cursor.check_count(count)
        values: list[int] = unpack_states(cursor, count, len(self.names)).tolist()
        return values


@dataclass(frozen=True)
class Record:
    """Named fields, in wire order."""

    fields: tuple[tuple[str, Type], ...]

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Encode one column for each field."""
        parts: list[Buffer] = []
        for name, kind in self.fields:
            parts += kind.write([value[name] for value in values])
        return parts

    def read(self, cursor: Cursor, count: int) -> list[dict[str, Any]]:
        """Decode a column of records."""
        # Column by column, in wire order; rows are put together afterwards.
        columns = [kind.read(cursor, count) for _, kind in self.fields]
        names = [name for name, _ in self.fields]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class List:
    """A list of values of any type but integers."""

    type: Type

    def write(self, values: Sequence[Sequence[Any]]) -> list[Buffer]:
        """Encode the lengths, then all elements as one column."""
        elements = [element for value in values for element in value]
        lengths = pack_lengths([len(value) for value in values])
        return [*lengths, *(self.type.write(elements) if elements else [])]

    def read(self, cursor: Cursor, count: int) -> list[list[Any]]:
        """Decode a column of lists."""
        lengths = unpack_lengths(cursor, count)
        total = sum(lengths)
        if total > ROW_LIMIT:
            # Lengths are packed, so a small damaged file can claim very many records.
            raise cursor.fault("the file holds too many records", {"records": total})
        elements = iter(self.type.read(cursor, total) if total else ())
        return [[next(elements) for _ in range(length)] for length in lengths]
