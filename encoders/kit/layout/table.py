"""Binary layouts as tables: one declaration gives writer, reader, checks and documentation.

A Layout states offsets and its size the way the specification does, and both are recomputed
when the table is made, so a wrong table cannot be imported. The one rule: `unpack` accepts
exactly what `pack` can write - constants, padding and ranges are checked in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.layout.column import Column
from encoders.kit.layout.type import AnyArray, Bits, Const, LayoutError, RowType, Scalar


@dataclass(frozen=True)
class Row:
    """One row of a specification's table. A name with an underscore in front is padding."""

    offset: int
    name: str
    type: RowType
    note: str = ""


class Layout:
    """A record of fixed size. Columns go in and come out as arrays, one element per record."""

    def __init__(self, title: str, size: int, *rows: Row) -> None:
        self.title = title
        self.size = size
        self.rows = rows
        self._check_table()
        every = [column for row in rows for column in _columns_of(title, row)]
        self.columns = {column.name: column for column in every if not column.is_padding}
        names = [column.name for column in every if not column.is_padding]
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
        """Return `count` records; each column holds an element per record, or one for all."""
        self._check_names(columns)
        records = np.zeros(count, self._dtype)
        checked = {name: self.columns[name].checked(columns[name], count) for name in columns}
        for row in self.rows:
            self._fill(records[_field(row)], row, checked)
        return records.tobytes()

    def unpack(
        self, data: bytes, count: int, offset: int = 0, name: str = ""
    ) -> dict[str, AnyArray]:
        """Return the columns of `count` records at `offset` of `data`, which the user calls `name`.

        Bytes behind the last record are not looked at. Arrays are the reader's own: contiguous,
        writable and in the machine's byte order.
        """
        facts: dict[str, object] = {"file": name, "table": self.title}
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
        """Return the values of the record at `offset`: Python numbers, and arrays for arrays."""
        columns = self.unpack(data, 1, offset, name)
        return {
            key: value[0] if self.columns[key].type.shape else value[0].item()
            for key, value in columns.items()
        }

    def table(self) -> str:
        """Return the layout as a Markdown table, bit fields as rows of their own."""
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
        """Refuse a table whose offsets or size are not the sum of its rows."""
        offset = 0
        for row in self.rows:
            if row.offset != offset:
                raise LayoutError(
                    f"{self.title}: {row.name} stands at {row.offset:#x}, not {offset:#x}"
                )
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
        """Write one row of all records."""
        if isinstance(row.type, Const):
            target[...] = _constant(row.type)
        elif isinstance(row.type, Scalar):
            if row.name in checked:
                target[...] = checked[row.name]
        else:
            for column in _columns_of(self.title, row):
                if not column.is_padding:
                    values = checked[column.name].astype(row.type.word.dtype)
                    target[...] |= values << column.shift

    def _read(self, stored: AnyArray, row: Row) -> dict[str, AnyArray]:
        """Return the columns of one row of all records."""
        native = np.array(stored, stored.dtype.newbyteorder("="), order="C")
        if isinstance(row.type, Bits):
            return {
                column.name: (native >> column.shift) & column.mask
                for column in _columns_of(self.title, row)
                if not column.is_padding
            }
        return {} if row.name.startswith("_") else {row.name: native}

    def _fixed_bits(self) -> tuple[bytes, bytes]:
        """Return the bytes of a record that are always the same, and a mask of those bits."""
        value, mask = np.zeros(1, self._dtype), np.zeros(1, self._dtype)
        for row in self.rows:
            field = _field(row)
            if isinstance(row.type, Const):
                value[field] = _constant(row.type)
            for column in _columns_of(self.title, row):
                if column.bits and column.is_padding:
                    mask[field] |= column.mask << column.shift
        masked = bytearray(mask.tobytes())
        for row in self.rows:
            if isinstance(row.type, Const) or row.name.startswith("_"):
                masked[row.offset : row.offset + row.type.size] = b"\xff" * row.type.size
        return value.tobytes(), bytes(masked)

    def _check_fixed(self, data: bytes, count: int, offset: int, facts: dict[str, object]) -> None:
        """Refuse records whose constants or padding differ from what `pack` writes."""
        if not any(self.fixed_mask):
            return
        records = np.frombuffer(data, np.uint8, count * self.size, offset)
        mask = np.frombuffer(self.fixed_mask, np.uint8)
        value = np.frombuffer(self.fixed_value, np.uint8)
        wrong = (records.reshape(count, self.size) & mask) != value
        if wrong.any():
            record, byte = (int(index) for index in np.argwhere(wrong)[0])
            row = next(row for row in reversed(self.rows) if row.offset <= byte)
            start = offset + record * self.size + row.offset
            found = data[start : start + row.type.size].hex(" ")
            raise EncodeError(
                "a constant or padding field holds something else",
                {**facts, "field": row.name, "row": record, "offset": start, "found": found}
                | {"allowed": row.type.text if isinstance(row.type, Const) else "zero padding"},
            )


def _columns_of(table: str, row: Row) -> list[Column]:
    """Return the columns of a row: none for a constant, one each for a scalar and a bit field."""
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
    """Name the numpy field of a row; the offset keeps two paddings of one name apart."""
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
