"""What a node produced: its outputs by role, with sizes and digests, and what it had to say.

Small outputs travel inside the receipt, so that a small node costs one file in the cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.output import Output

_encode = json.JSONEncoder(separators=(",", ":")).encode
INLINE_BYTES = 1 << 14
DIGITS = 64


def is_inline(one: Output) -> bool:
    """Tell whether the bytes of an output are kept in the receipt itself."""
    return one.size <= INLINE_BYTES


class Receipt(NamedTuple):
    """All outputs of one run of an encoder, with its warnings and its report."""

    made: tuple[Output, ...]
    warnings: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    inline: Mapping[str, bytes] = {}


def pack_receipt(receipt: Receipt) -> bytes:
    """Serialise a receipt, its own digest first, so that a damaged one is known."""
    facts = [
        [[one.role, one.size, one.sha] for one in receipt.made],
        receipt.warnings,
        receipt.report,
    ]
    text = _encode(facts).encode()
    small = (receipt.inline[one.role] for one in receipt.made if is_inline(one))
    body = b"%d\n%b%b" % (len(text), text, b"".join(small))
    return hashlib.sha256(body).hexdigest().encode() + body


def unpack_receipt(data: bytes) -> Receipt | None:
    """Read a receipt, or give None for bytes that are not one."""
    body = data[DIGITS:]
    if hashlib.sha256(body).hexdigest().encode() != data[:DIGITS]:
        return None
    count, _, rest = body.partition(b"\n")
    end = int(count)
    rows, warnings, report = json.loads(rest[:end])
    made = tuple(Output(role, size, sha) for role, size, sha in rows)
    inline = {}
    for one in made:
        if is_inline(one):
            inline[one.role] = rest[end : end + one.size]
            end += one.size
    return Receipt(made, tuple(warnings), tuple(report), inline)
