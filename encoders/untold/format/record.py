"""Records of a file as they are read: the rows of a table, and the strings that they refer to."""

from __future__ import annotations

from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout
from encoders.untold.format.chunk import Chunk
from encoders.untold.format.chunk_reader import chunk_data
from encoders.untold.format.layout import CHUNKS
from encoders.untold.format.string_table import string_at

Row = dict[str, Any]


class RecordTable:
    """The payload of a chunk and the number of records that it should hold."""

    def __init__(self, chunk: Chunk, name: str) -> None:
        self.data = chunk_data(chunk, name)
        self.chunk, self.name = chunk, name

    def columns(self, layout: Layout) -> dict[str, Any]:
        """Return the fields of all records as arrays; the records must fill the chunk exactly."""
        count = self.chunk.element_count
        if len(self.data) != count * layout.size:
            facts = {"file": self.name, "chunk": CHUNKS[self.chunk.chunk_type]}
            sizes = {"bytes": len(self.data), "needed": f"{count} x {layout.size}"}
            raise EncodeError("a table does not hold the records that it says", {**facts, **sizes})
        return layout.unpack(self.data, count, 0, self.name)

    def rows(self, layout: Layout) -> list[Row]:
        """Return the records as mappings."""
        columns = self.columns(layout)
        return [
            {key: _plain(values[row]) for key, values in columns.items()}
            for row in range(self.chunk.element_count)
        ]


class Tables:
    """All chunks of a file by their type; one that is absent is empty."""

    def __init__(self, chunks: dict[int, Chunk], name: str) -> None:
        self._tables = {key: RecordTable(one, name) for key, one in chunks.items()}
        self.name = name

    def __getitem__(self, chunk_type: int) -> RecordTable:
        """Return a chunk as a table."""
        return self._tables.get(chunk_type) or RecordTable(Chunk(chunk_type, b"", 0), self.name)


# Records are handed on as Python numbers; only vectors stay arrays.
def _plain(value: Any) -> Any:
    return value if getattr(value, "ndim", 0) else value.item()


class Strings:
    """The string table, for looking up the names of records."""

    def __init__(self, data: bytes, name: str) -> None:
        if data and not data.endswith(b"\0"):
            raise EncodeError("the string table has no end", {"file": name})
        self.data, self.name = data, name

    def at(self, row: Row, field: str) -> str | None:
        """Return the string that a field of a record refers to."""
        return string_at(self.data, row[field], self.name, field)
