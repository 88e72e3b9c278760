"""Records as bytes: one form to keep, which is quick, and one to digest, which is canonical."""

from __future__ import annotations

import json
import marshal
from typing import Any

VERSION = 2  # without references: plain, and the same for every Python

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def canonical(value: object) -> bytes:
    """Write a record so that equal records have equal bytes, in every process and version."""
    return _encode(value).encode()


def freeze(value: object) -> bytes:
    """Write a record to be read again by `thaw`, which gives the very same types back.

    What is like a plain type without being one (a float of numpy's, say) becomes plain.
    """
    try:
        return marshal.dumps(value, VERSION)  # type: ignore[arg-type] # it says so itself
    except ValueError:
        return marshal.dumps(json.loads(_encode(value)), VERSION)


def thaw(data: bytes) -> Any:
    """Read a record; the caller has made sure that the bytes are those that were written."""
    return marshal.loads(data)
