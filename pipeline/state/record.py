"""Records as bytes: one form to keep, which is quick, and one to digest, which is canonical.

Records hold plain values only. What comes from a target's code is made plain where it comes in.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping
from typing import Any

VERSION = 2  # without references: plain, and the same for every Python
SCALARS = frozenset({str, int, float, bool, type(None)})

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def plain(value: object) -> Any:
    """Give a value as plain types: numbers of numpy, say, as Python's own.

    marshal would take such a number for a row of bytes. What no plain value is like is a
    TypeError.
    """
    if type(value) in SCALARS:
        return value
    if isinstance(value, Mapping):
        return {_plain_key(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        rows = map(plain, value)
        return tuple(rows) if isinstance(value, tuple) else list(rows)
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return plain(value.item())
    raise TypeError(f"{type(value).__name__} is no plain value")


def _plain_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no text")
    return str(key)


def canonical(value: object) -> bytes:
    """Write a record so that equal records have equal bytes, in every process and version."""
    return _encode(value).encode()


def freeze(value: object) -> bytes:
    """Write a record of plain values, to be read again by `thaw` with the very same types."""
    return marshal.dumps(value, VERSION)  # type: ignore[arg-type] # it says so itself


def thaw(data: bytes) -> Any:
    """Read a record; the caller has made sure that the bytes are those that were written."""
    return marshal.loads(data)
