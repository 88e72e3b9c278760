"""A cursor over the bytes of a source file: every read is checked, and names what was cut short.

It needs the standard library only, because surveys use it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from encoders.kit.error import EncodeError


class Cursor:
    """Reads a file from an offset on; errors name the file and the part that was being read."""

    def __init__(self, data: bytes, name: str, offset: int = 0) -> None:
        self.data, self.name, self.offset = data, name, offset

    def at(self, offset: int) -> Cursor:
        """Return another cursor over the same file."""
        return Cursor(self.data, self.name, offset)

    def take(self, count: int, what: str) -> bytes:
        """Return the next `count` bytes."""
        found = self.data[self.offset : self.offset + count]
        if count < 0 or self.offset < 0 or len(found) < count:
            facts = {"part": what, "offset": self.offset, "needed": count, "bytes": len(self.data)}
            raise self.fault("the file ends too early", facts, "The file was cut short or damaged.")
        self.offset += count
        return found

    def unpack(self, form: str, what: str) -> tuple[Any, ...]:
        """Return the next values, of a form of the struct module, little-endian."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}"), what))

    def number(self, form: str, what: str) -> int:
        """Return the next value."""
        return int(self.unpack(form, what)[0])

    def check(self, value: int, low: int, high: int, what: str) -> int:
        """Return a value that lies in a range, or refuse the file."""
        if not low <= value <= high:
            facts = {"part": what, "value": value, "allowed": f"{low} to {high}"}
            raise self.fault("a number is out of range", facts)
        return value

    def fault(self, problem: str, facts: Mapping[str, object], hint: str = "") -> EncodeError:
        """Return an error about this file."""
        return EncodeError(problem, {"file": self.name, **facts}, hint)


def decode_text(data: bytes) -> str:
    """Return a name of fixed width: up to the first NUL, without spaces around it."""
    return data.split(b"\0", 1)[0].decode("utf-8", "replace").strip()
