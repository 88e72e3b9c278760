"""Binary layouts as tables: one declaration gives writer, reader, checks and documentation.

A Layout states offsets and sizes as the specification does. Both are recomputed when the module is
imported, so that a wrong table cannot be used. `unpack` accepts exactly what `pack` can write:
constants, padding and ranges are checked in both directions.

A value that does not fit its field is an EncodeError that names table, field, row, value and range.
A mistake of the caller (a shape, floats for integers) is a LayoutError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.layout.type import AnyArray, Bits, Const, LayoutError, RowType, Scalar


@dataclass(frozen=True)
class Column:
    """The values of one name: a scalar or array row, or one bit field of a word."""

    table: str
    name: str
    type: Scalar
    shift: int = 0
    bits: int = 0

    @cached_property
    def low(self) -> int | float:
        """The least value that fits."""
        # A bit field is narrower than the word that `type` describes.
        return 0 if self.bits else self.type.low

    @cached_property
    def high(self) -> int | float:
        """The greatest value that fits."""
        return self.mask if self.bits else self.type.high

    @cached_property
    def mask(self) -> int:
        """The mask of a bit field, before shifting."""
        return (1 << self.bits) - 1

    @property
    def is_padding(self) -> bool:
        """Whether the field is padding, which is always zero."""
        return self.name.startswith("_")

    def checked(self, value: object, count: int) -> AnyArray:
        """Return the values as an array, one row per record or one for all, if they all fit."""
        array = self._shaped(value, count)
        if self.type.is_float:
            return self._checked_floats(array)
        # Object arrays hold Python integers above 64 bits; these are compared exactly below.
        if array.dtype.kind not in "iubO":
            raise LayoutError(f"{self.table}: {self.name} takes integers, not {array.dtype}")
        # One pass for the usual case; the mask is only made for the error.
        if array.size and not (self.low <= array.min() and array.max() <= self.high):
            self._refuse(array, (array < self.low) | (array > self.high))
        return array

    def check_stored(self, array: AnyArray, facts: dict[str, object]) -> None:
        """Refuse stored floats that `checked` would refuse on writing."""
        if self.type.is_float and not self.type.allows_nonfinite:
            good = np.isfinite(array)
            if not good.all():
                self._refuse(array, ~good, facts)

    def _shaped(self, value: object, count: int) -> AnyArray:
        """Return the caller's value as an array of shape (count or 1, *shape)."""
        # numpy would read bytes as a string and drop trailing zeros.
        if isinstance(value, bytes) and self.type.code == "u1":
            value = np.frombuffer(value, np.uint8)
        array = np.asarray(value)
        shape = self.type.shape
        if array.shape == shape:
            # A leading axis of length 1: numpy repeats the value for every record.
            return array.reshape((1, *shape))
        if array.shape != (count, *shape):
            raise LayoutError(
                f"{self.table}: {self.name} has shape {array.shape}, not {(count, *shape)}"
            )
        return array

    def _checked_floats(self, array: AnyArray) -> AnyArray:
        if array.dtype.kind not in "fiub":
            raise LayoutError(f"{self.table}: {self.name} takes numbers, not {array.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            # Rounding can overflow to infinity, so the stored value is what is checked.
            stored = array.astype(self.type.dtype)
        bad = ~np.isfinite(stored)
        if self.type.allows_nonfinite:
            # Infinity may be stored, but not a finite number that overflows to it.
            bad &= np.isfinite(array)
        if bad.any():
            self._refuse(array, bad)
        return stored

    def _refuse(
        self, array: AnyArray, bad: AnyArray, facts: dict[str, object] | None = None
    ) -> None:
        # The first index is the record, the others lie within an array field.
        where = tuple(int(index) for index in np.argwhere(bad)[0])
        value = array[where]
        raise EncodeError(
            "a value does not fit its field",
            {
                **(facts or {}),
                "table": self.table,
                "field": self.name + "".join(f"[{index}]" for index in where[1:]),
                "row": where[0],
                "value": value,
                "allowed": f"{self.low} to {self.high}" + (", finite" * self.type.is_float),
            },
        )


@dataclass(frozen=True)
class Row:
    """One row of a specification's table; a name that begins with an underscore is padding."""

    offset: int
    name: str
    type: RowType
    note: str = ""


class Layout:
    """A record of fixed size; columns are packed from and unpacked to arrays, a row per record."""

    def __init__(self, title: str, size: int, *rows: Row) -> None:
        self.title = title
        self.size = size
        self.rows = rows
        self._check_table()
        every = [column for row in rows for column in _columns_of(title, row)]
        self.columns = {column.name: column for column in every if not column.is_padding}
        names = [column.name for column in every if not column.is_padding]
        # Constants have no column, but errors and documentation name them too.
        names += [row.name for row in rows if isinstance(row.type, Const)]
        if len(set(names)) != len(names):
            raise LayoutError(f"{title}: a name occurs twice in {names}")
        self._dtype = np.dtype(
            {
                "names": [_field(row) for row in rows],
                "formats": [(_storage(row).code, _storage(row).shape) for row in rows],
                "offsets": [row.offset for row in rows],
                "itemsize": size,
            }
        )
        self.fixed_value, self.fixed_mask = self._fixed_bits()

    def pack(self, columns: Mapping[str, object], count: int = 1) -> bytes:
        """Encode `count` records; each column has an element per record, or one for all."""
        self._check_names(columns)
        # Zeros, because padding is not written.
        records = np.zeros(count, self._dtype)
        checked = {name: self.columns[name].checked(columns[name], count) for name in columns}
        for row in self.rows:
            self._fill(records[_field(row)], row, checked)
        return records.tobytes()

    def pack_rows(self, rows: Sequence[Mapping[str, object]]) -> bytes:
        """Encode a record for each row; all rows have the same names."""
        if not rows:
            return b""
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return self.pack(columns, len(rows))

    def unpack(
        self, data: bytes, count: int, offset: int = 0, name: str = ""
    ) -> dict[str, AnyArray]:
        """Decode the columns of `count` records at `offset`; errors call the data `name`.

        Bytes behind the last record are ignored. The arrays are copies: contiguous, writable and
        in the machine's byte order.
        """
        facts: dict[str, object] = {"file": name, "table": self.title}
        # Before numpy sees them: a damaged count must be an error of the file, not of ours.
        if count < 0 or offset < 0 or len(data) - offset < count * self.size:
            end = f"{offset} + {count} x {self.size}"
            raise EncodeError("the file is too short", {**facts, "bytes": len(data), "needed": end})
        records = np.frombuffer(data, self._dtype, count, offset)
        self._check_fixed(data, count, offset, facts)
        columns: dict[str, AnyArray] = {}
        for row in self.rows:
            if not isinstance(row.type, Const):
                columns.update(self._read(records[_field(row)], row))
        for key, column in self.columns.items():
            column.check_stored(columns[key], facts)
        return columns

    def unpack_one(self, data: bytes, offset: int = 0, name: str = "") -> dict[str, Any]:
        """Decode the record at `offset`, scalars as Python numbers and arrays as arrays."""
        columns = self.unpack(data, 1, offset, name)
        return {
            key: value[0] if self.columns[key].type.shape else value[0].item()
            for key, value in columns.items()
        }

    def table(self) -> str:
        """Return the layout as a Markdown table, with a row for each bit field."""
        lines = [f"**{self.title}**, {self.size} bytes", ""]
        lines += ["| offset | name | type | note |", "| --- | --- | --- | --- |"]
        for row in self.rows:
            note = f"{row.note} " if row.note else ""
            lines.append(f"| 0x{row.offset:02X} | {row.name} | {row.type.text} | {note}|")
            if isinstance(row.type, Bits):
                lines += [
                    f"| {_span(column)} | {column.name} | {_width(column)} | |"
                    for column in _columns_of(self.title, row)
                ]
        return "\n".join(lines) + "\n"

    def _check_table(self) -> None:
        """Refuse a table whose offsets or size do not follow from its rows."""
        offset = 0
        for row in self.rows:
            if row.offset != offset:
                raise LayoutError(
                    f"{self.title}: {row.name} stands at {row.offset:#x}, not {offset:#x}"
                )
            # `_check_fixed` covers a padding row as a whole, so parts of it would have no meaning.
            if row.name.startswith("_") and not isinstance(row.type, Scalar):
                raise LayoutError(f"{self.title}: {row.name} is padding, so it has no parts")
            offset += row.type.size
        if offset != self.size:
            raise LayoutError(f"{self.title}: rows make {offset} bytes, not {self.size}")

    def _check_names(self, columns: Mapping[str, object]) -> None:
        missing = sorted(self.columns.keys() - columns.keys())
        unknown = sorted(columns.keys() - self.columns.keys())
        if missing or unknown:
            raise LayoutError(f"{self.title}: missing columns {missing}, unknown {unknown}")

    def _fill(self, target: AnyArray, row: Row, checked: Mapping[str, AnyArray]) -> None:
        """Store one row of all records."""
        if isinstance(row.type, Const):
            target[...] = _constant(row.type)
        elif isinstance(row.type, Scalar):
            if row.name in checked:
                target[...] = checked[row.name]
        else:
            for column in _columns_of(self.title, row):
                if not column.is_padding:
                    # To the word first: a narrower input would lose bits in the shift.
                    values = checked[column.name].astype(row.type.word.dtype)
                    target[...] |= values << column.shift

    def _read(self, stored: AnyArray, row: Row) -> dict[str, AnyArray]:
        """Return the columns of one row, of all records."""
        # A copy of its own: a view would keep the whole file in memory and be read-only.
        native = np.array(stored, stored.dtype.newbyteorder("="), order="C")
        if isinstance(row.type, Bits):
            return {
                column.name: (native >> column.shift) & column.mask
                for column in _columns_of(self.title, row)
                if not column.is_padding
            }
        return {} if row.name.startswith("_") else {row.name: native}

    def _fixed_bits(self) -> tuple[bytes, bytes]:
        """Return the constant bits of a record, and a mask of them."""
        value, mask = np.zeros(1, self._dtype), np.zeros(1, self._dtype)
        for row in self.rows:
            field = _field(row)
            if isinstance(row.type, Const):
                value[field] = _constant(row.type)
            for column in _columns_of(self.title, row):
                if column.bits and column.is_padding:
                    mask[field] |= column.mask << column.shift
        # Whole bytes for constants and padding rows; the loop above marked single bits only.
        masked = bytearray(mask.tobytes())
        for row in self.rows:
            if isinstance(row.type, Const) or row.name.startswith("_"):
                masked[row.offset : row.offset + row.type.size] = b"\xff" * row.type.size
        return value.tobytes(), bytes(masked)

    def _check_fixed(self, data: bytes, count: int, offset: int, facts: dict[str, object]) -> None:
        """Refuse records whose constants or padding differ from what `pack` writes."""
        if not any(self.fixed_mask):
            return
        # Byte by byte, because constants and padding may lie in any part of a word.
        records = np.frombuffer(data, np.uint8, count * self.size, offset)
        mask = np.frombuffer(self.fixed_mask, np.uint8)
        value = np.frombuffer(self.fixed_value, np.uint8)
        wrong = (records.reshape(count, self.size) & mask) != value
        if wrong.any():
            record, byte = (int(index) for index in np.argwhere(wrong)[0])
            # The row in which the byte lies is the last one that starts at or before it.
            row = next(row for row in reversed(self.rows) if row.offset <= byte)
            start = offset + record * self.size + row.offset
            found = data[start : start + row.type.size].hex(" ")
            raise EncodeError(
                "a constant or padding field holds something else",
                {**facts, "field": row.name, "row": record, "offset": start, "found": found}
                | {"allowed": row.type.text if isinstance(row.type, Const) else "zero padding"},
            )


def _columns_of(table: str, row: Row) -> list[Column]:
    """Return the columns of a row: none for a constant, one for a scalar or for each bit field."""
    if isinstance(row.type, Const):
        return []
    if isinstance(row.type, Scalar):
        return [Column(table, row.name, row.type)]
    columns, shift = [], 0
    for name, bits in row.type.fields:
        columns.append(Column(table, name, row.type.word, shift, bits))
        shift += bits
    return columns


def _field(row: Row) -> str:
    """Return the numpy field name of a row; with the offset, since paddings can share a name."""
    return f"{row.offset:#x} {row.name}"


def _storage(row: Row) -> Scalar:
    if isinstance(row.type, Bits):
        return row.type.word
    return row.type.type if isinstance(row.type, Const) else row.type


def _constant(kind: Const) -> AnyArray:
    if isinstance(kind.value, bytes):
        return np.frombuffer(kind.value, np.uint8)
    return np.asarray(kind.value, kind.type.dtype)


def _span(column: Column) -> str:
    last = column.shift + column.bits - 1
    return f"bit {last}" if column.bits == 1 else f"bits {column.shift}-{last}"


def _width(column: Column) -> str:
    return "1 bit" if column.bits == 1 else f"{column.bits} bits"
