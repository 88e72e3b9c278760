"""What a node produced: its outputs by role, with sizes and digests, and what it had to say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.plan import Family, Place


@dataclass(frozen=True, slots=True)
class Made:
    """One output: its role (with the member, in a family), its size and its SHA-256."""

    role: str
    size: int
    sha: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """All outputs of one run of an encoder, with its warnings and its report."""

    made: tuple[Made, ...]
    warnings: tuple[str, ...] = ()
    report: tuple[str, ...] = ()


def pack_receipt(receipt: Receipt) -> bytes:
    """Serialise a receipt, its own digest first, so that a damaged one is known."""
    body = json.dumps(
        {
            "made": [[one.role, one.size, one.sha] for one in receipt.made],
            "warnings": receipt.warnings,
            "report": receipt.report,
        },
        separators=(",", ":"),
    ).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def unpack_receipt(data: bytes) -> Receipt | None:
    """Read a receipt, or give None for bytes that are not one."""
    head, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != head:
        return None
    fields = json.loads(body)
    made = tuple(Made(role, size, sha) for role, size, sha in fields["made"])
    return Receipt(made, tuple(fields["warnings"]), tuple(fields["report"]))


def place_of(role: str, outputs: Mapping[str, Place]) -> str | None:
    """Say which file an output is put into, or None for a private one."""
    if role in outputs:
        place = outputs[role]
        return place.alone if isinstance(place, Family) else place
    name, _, member = role.rpartition("/")
    family = outputs.get(name)
    return f"{family.prefix}{member}{family.suffix}" if isinstance(family, Family) else None
