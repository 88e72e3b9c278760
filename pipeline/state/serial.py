"""Values as bytes: `freeze` for keeping, which is fast, and `canonical` for digests.

Only plain values are kept. What comes from a target's code is made plain where it enters.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping
from typing import Any

# Version 2 of marshal has no references between objects, so equal values give equal bytes.
MARSHAL_VERSION = 2
SCALARS = frozenset({str, int, float, bool, type(None)})

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def plain(value: object) -> Any:
    """Return a value made of Python's own types, or raise TypeError where that is impossible.

    marshal would write a numpy number as a row of bytes.
    """
    if type(value) in SCALARS:
        return value
    if isinstance(value, Mapping):
        return {_plain_key(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        rows = map(plain, value)
        return tuple(rows) if isinstance(value, tuple) else list(rows)
    # An instance of a subclass, such as numpy.float64, becomes one of the type that it extends.
    if isinstance(value, str):
        return str.__str__(value)  # not `str(value)`: a member of an Enum gives its name there
    for kind in (int, float):
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
    """Serialise so that equal values have equal bytes, in every process and Python version."""
    return _encode(value).encode()


def freeze(value: object) -> bytes:
    """Serialise plain values; `thaw` gives them back with the same types."""
    return marshal.dumps(value, MARSHAL_VERSION)  # type: ignore[arg-type] # it raises by itself


def thaw(data: bytes) -> Any:
    """Read what `freeze` wrote; the caller has verified a checksum of the bytes."""
    return marshal.loads(data)
