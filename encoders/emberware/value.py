"""The types of serialised values: each writes and reads one column of as many values as there are.

The serialiser works by columns: a list of records becomes a column for each field, a list of
lists a column of lengths and one column of all elements. A type here is data; `write` takes all
values of a column at once. Values are as JSON has them, but for bytes and arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from encoders.emberware.column import (
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

# No ROM has as many names or records; a damaged one may say so.
ROW_LIMIT = 1 << 18


class Type(Protocol):
    """How values of one type stand in the file."""

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Return the column of the values, in parts."""
        ...

    def read(self, cursor: Cursor, count: int) -> Sequence[Any]:
        """Read a column of `count` values."""
        ...


@dataclass(frozen=True)
class Byte:
    """u8."""

    def write(self, values: Sequence[int]) -> list[Buffer]:
        """Return a column of bytes."""
        return pack_bytes(bytes(values))

    def read(self, cursor: Cursor, count: int) -> list[int]:
        """Read a column of bytes."""
        values: list[int] = unpack_bytes(cursor, count).tolist()
        return values


@dataclass(frozen=True)
class Whole:
    """An integer of several bytes, by its numpy code."""

    code: str

    def write(self, values: Sequence[int]) -> list[Buffer]:
        """Return a column of integers."""
        return pack_integers(np.array(values, self.code))

    def read(self, cursor: Cursor, count: int) -> list[int]:
        """Read a column of integers."""
        values: list[int] = unpack_integers(cursor, count, np.dtype(self.code)).tolist()
        return values


@dataclass(frozen=True)
class Single:
    """f32."""

    def write(self, values: Sequence[float]) -> list[Buffer]:
        """Return a column of floats."""
        return pack_floats(np.array(values, np.float32))

    def read(self, cursor: Cursor, count: int) -> list[float]:
        """Read a column of floats."""
        values: list[float] = unpack_floats(cursor, count).tolist()
        return values


@dataclass(frozen=True)
class Singles:
    """A fixed number of f32."""

    size: int

    def write(self, values: Sequence[Sequence[float]]) -> list[Buffer]:
        """Return a column of all the floats."""
        return pack_floats(np.array(values, np.float32).reshape(-1))

    def read(self, cursor: Cursor, count: int) -> list[list[float]]:
        """Read a column of arrays."""
        values: list[list[float]] = (
            unpack_floats(cursor, count * self.size).reshape(-1, self.size).tolist()
        )
        return values


@dataclass(frozen=True)
class Name:
    """A text in UTF-8."""

    def write(self, values: Sequence[str]) -> list[Buffer]:
        """Return a column of lengths, and all texts."""
        texts = [value.encode() for value in values]
        return [*pack_lengths([len(text) for text in texts]), b"".join(texts)]

    def read(self, cursor: Cursor, count: int) -> list[str]:
        """Read a column of texts."""
        texts = [bytes(cursor.take(length)) for length in unpack_lengths(cursor, count)]
        try:
            return [text.decode() for text in texts]
        except UnicodeDecodeError as error:
            raise cursor.fault("a text is not UTF-8", {"found": error.object[:40]}) from error


@dataclass(frozen=True)
class Blob:
    """A list of u8."""

    def write(self, values: Sequence[Buffer]) -> list[Buffer]:
        """Return a column of lengths, and all bytes as one column."""
        return [*pack_lengths([len(value) for value in values]), *pack_joined(values)]

    def read(self, cursor: Cursor, count: int) -> list[bytes]:
        """Read a column of byte strings."""
        lengths = unpack_lengths(cursor, count)
        joined = unpack_bytes(cursor, sum(lengths))
        ends = accumulate(lengths, initial=0)
        return [joined[start:end].tobytes() for start, end in pairwise(ends)]


@dataclass(frozen=True)
class Numbers:
    """A list of integers, by their numpy code, as an array."""

    code: str

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Return a column of lengths, and all integers as one column."""
        arrays = [np.asarray(value, self.code) for value in values]
        joined = np.concatenate(arrays) if arrays else np.zeros(0, self.code)
        return [*pack_lengths([len(array) for array in arrays]), *pack_integers(joined)]

    def read(self, cursor: Cursor, count: int) -> list[Any]:
        """Read a column of arrays."""
        lengths = unpack_lengths(cursor, count)
        joined = unpack_integers(cursor, sum(lengths), np.dtype(self.code))
        return np.split(joined, np.cumsum(lengths)[:-1]) if lengths else []


@dataclass(frozen=True)
class Maybe:
    """A value or None."""

    type: Type

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Return a column of flags, and one of the values that are there."""
        present = [value for value in values if value is not None]
        flags = np.array([value is not None for value in values], np.uint8)
        return [pack_states(flags, 2), *(self.type.write(present) if present else [])]

    def read(self, cursor: Cursor, count: int) -> list[Any]:
        """Read a column of values or Nones."""
        cursor.check_count(count)
        flags = unpack_states(cursor, count, 2).tolist()
        present = iter(self.type.read(cursor, sum(flags)) if any(flags) else ())
        return [next(present) if flag else None for flag in flags]


@dataclass(frozen=True)
class Variant:
    """One of a few named values, written as its number."""

    names: tuple[str, ...]

    def write(self, values: Sequence[int]) -> list[Buffer]:
        """Return a column of numbers."""
        return [pack_states(np.array(values, np.uint8), len(self.names))]

    def read(self, cursor: Cursor, count: int) -> list[int]:
        """Read a column of numbers."""
        cursor.check_count(count)
        values: list[int] = unpack_states(cursor, count, len(self.names)).tolist()
        return values


@dataclass(frozen=True)
class Record:
    """Fields by name, in the order of the file."""

    fields: tuple[tuple[str, Type], ...]

    def write(self, values: Sequence[Any]) -> list[Buffer]:
        """Return the columns of the fields, one after another."""
        parts: list[Buffer] = []
        for name, kind in self.fields:
            parts += kind.write([value[name] for value in values])
        return parts

    def read(self, cursor: Cursor, count: int) -> list[dict[str, Any]]:
        """Read a column of records."""
        columns = [kind.read(cursor, count) for _, kind in self.fields]
        names = [name for name, _ in self.fields]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Many:
    """A list of values that are not plain numbers."""

    type: Type

    def write(self, values: Sequence[Sequence[Any]]) -> list[Buffer]:
        """Return a column of lengths, and one of all elements."""
        elements = [element for value in values for element in value]
        lengths = pack_lengths([len(value) for value in values])
        return [*lengths, *(self.type.write(elements) if elements else [])]

    def read(self, cursor: Cursor, count: int) -> list[list[Any]]:
        """Read a column of lists."""
        lengths = unpack_lengths(cursor, count)
        total = sum(lengths)
        if total > ROW_LIMIT:
            raise cursor.fault("the file holds too many records", {"records": total})
        elements = iter(self.type.read(cursor, total) if total else ())
        return [[next(elements) for _ in range(length)] for length in lengths]
