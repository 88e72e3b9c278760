"""A receipt: the outputs of one run of an encoder, with its warnings and its report.

Small outputs are inside the receipt, so that a small node costs one file in the cache. Layout:

    SHA-256 of everything after it, as 64 hexadecimal digits
    length of the table in bytes, in decimal, and a newline
    table, as JSON: [[role, size, SHA-256, offset], ...], [warning, ...], [line of the report, ...]
    inline bytes

`offset` is where an output begins among the inline bytes, or null for one that is an object of the
cache. Readers go by the table alone and never by INLINE_BYTES: the version that wrote a receipt
may have had another limit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.output import Output

INLINE_BYTES = 1 << 14
DIGITS = 64
SHA = re.compile(r"[0-9a-f]{64}")
_encode = json.JSONEncoder(separators=(",", ":")).encode
_quote = json.encoder.encode_basestring_ascii


class Receipt(NamedTuple):
    """All outputs of one run of an encoder; `inline` has the bytes of the small ones by role."""

    made: tuple[Output, ...]
    warnings: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    inline: Mapping[str, bytes] = {}


def is_small(size: int) -> bool:
    """Tell whether a new receipt holds an output of this size itself."""
    return size <= INLINE_BYTES


def pack_receipt(receipt: Receipt) -> bytes:
    """Serialise a receipt with the bytes of its inline outputs."""
    rows: list[str] = []
    parts: list[bytes] = [b""]  # its place is that of the head
    end = 0
    for role, size, sha, _ in receipt.made:
        data = receipt.inline.get(role)
        offset: int | str = "null" if data is None else end
        rows.append(f'[{_quote(role)},{size},"{sha}",{offset}]')
        if data is not None:
            parts.append(data)
            end += len(data)
    said = _encode([receipt.warnings, receipt.report])[1:-1] if _says(receipt) else "[],[]"
    text = f"[[{','.join(rows)}],{said}]".encode()
    parts[0] = b"%d\n%b" % (len(text), text)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([digest.hexdigest().encode(), *parts])


def _says(receipt: Receipt) -> bool:
    return bool(receipt.warnings or receipt.report)


def unpack_receipt(data: bytes) -> Receipt | None:
    """Read a receipt; None for bytes that `pack_receipt` cannot have written."""
    body = data[DIGITS:]
    if hashlib.sha256(body).hexdigest().encode() != data[:DIGITS]:
        return None
    try:
        return _parse(body)
    # The digest was right, so the writer had a bug; the receipt still only counts as damaged. JSON
    # that is nested too deeply raises the last of these.
    except (ValueError, TypeError, RecursionError):
        return None


def _parse(body: bytes) -> Receipt:
    # Every check here can fail although the digest was right: see `unpack_receipt`.
    count, newline, rest = body.partition(b"\n")
    if not newline or not count.isdigit() or int(count) > len(rest):
        raise ValueError("no table")
    text, small = rest[: int(count)], rest[int(count) :]
    rows, warnings, report = json.loads(text.decode())
    if not isinstance(rows, list):
        raise TypeError("no list of outputs")
    made: list[Output] = []
    inline: dict[str, bytes] = {}
    end = 0
    for role, size, sha, offset in rows:
        made.append(_output(role, size, sha))
        if offset is None:
            continue
        # The writer leaves no gaps, so there is exactly one offset that can be right; a bool is an
        # int to Python, and not to us.
        if type(offset) is not int or offset != end:
            raise ValueError("inline bytes overlap, or have gaps")
        inline[role] = small[end : end + size]
        end += size
    if end != len(small) or len({one.role for one in made}) != len(made):
        raise ValueError("too many or too few inline bytes, or a role twice")
    return Receipt(tuple(made), _texts(warnings), _texts(report), inline)


def _output(role: object, size: object, sha: object) -> Output:
    # `type`, not `isinstance`: true is an int to Python, and JSON may hold it.
    if not isinstance(role, str) or type(size) is not int or not isinstance(sha, str):
        raise TypeError("an output of other types")
    if size < 0 or SHA.fullmatch(sha) is None:
        raise ValueError("an output that there cannot be")
    return Output(role, size, sha)


def _texts(lines: object) -> tuple[str, ...]:
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise TypeError("no list of texts")
    return tuple(lines)


def has_sound_bytes(receipt: Receipt) -> bool:
    """Tell whether all inline bytes have the size and the SHA-256 that their output has."""
    return all(
        len(data) == one.size and hashlib.sha256(data).hexdigest() == one.sha
        for one in receipt.made
        if (data := receipt.inline.get(one.role)) is not None
    )
