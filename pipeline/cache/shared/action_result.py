"""A node's receipt as an `ActionResult` of Bazel's remote execution protocol, and back.

The bytes are the protobuf wire format, of the few fields that are used. What is read was
written by anybody: everything about it is checked here, and nothing in it names a file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from encoders.kit.plan import Place
from pipeline.cache.receipt import Receipt
from pipeline.output import Output
from pipeline.plan.place import broken_promise

# fmt: off
# ActionResult, OutputFile, Digest, ExecutedActionMetadata: the field numbers of
# build.bazel.remote.execution.v2.
OUTPUT_FILES, EXIT_CODE, STDOUT_RAW, STDERR_RAW, EXECUTION_METADATA = 2, 4, 5, 7, 9
PATH, DIGEST, CONTENTS = 1, 2, 5
HASH, SIZE_BYTES = 1, 2
WORKER = 1
# fmt: on
FILE_FIELDS = (PATH, DIGEST, CONTENTS)
# Directories, links and texts by digest: we never write them, so nobody else is understood.
NOT_OURS = {3, 6, 8, 10, 11, 12}

VARINT, BYTES, WIDTHS = 0, 2, {1: 8, 5: 4}
VARINT_BYTES = 10
SEAL = "cartwright-1-"
SHA = re.compile("[0-9a-f]{64}")
# Bytes that travel inside of the message; what goes beyond has a place of its own.
INLINE_TOTAL = 1 << 18
MESSAGE_BYTES = 1 << 24
RESULT_BYTES = 1 << 32
ROLE_CHARACTERS = 1024
MEMBER_CHARACTERS = 64
TEXT_BYTES = 1 << 20


class BadActionError(Exception):
    """An answer is not a result that this node can have."""


@dataclass(frozen=True, slots=True)
class Action:
    """A receipt from elsewhere; the bytes of `inline` came with it, and have their digests."""

    receipt: Receipt
    inline: Mapping[str, bytes]


def pack_action(fingerprint: str, receipt: Receipt) -> bytes:
    """Write a receipt as an ActionResult, small outputs inside."""
    inside = inlined(receipt)
    parts = [
        _field(
            OUTPUT_FILES, _pack_file(one, receipt.inline[one.role] if one.role in inside else b"")
        )
        for one in receipt.made
    ]
    parts.append(_field(STDOUT_RAW, _text(receipt.report)))
    parts.append(_field(STDERR_RAW, _text(receipt.warnings)))
    worker = _field(WORKER, seal(fingerprint, receipt).encode())
    return b"".join([*parts, _field(EXECUTION_METADATA, worker)])


def inlined(receipt: Receipt) -> set[str]:
    """Name the roles whose bytes `pack_action` puts into the message."""
    room, roles = INLINE_TOTAL, set()
    for one in receipt.made:
        if one.role in receipt.inline and one.size <= room:
            room -= one.size
            roles.add(one.role)
    return roles


def seal(fingerprint: str, receipt: Receipt) -> str:
    """Digest all that a result says, with its key: what was cut or mixed up does not fit."""
    rows = [[one.role, one.size, one.sha] for one in receipt.made]
    text = json.dumps([fingerprint, rows, receipt.warnings, receipt.report])
    return SEAL + hashlib.sha256(text.encode()).hexdigest()


def _pack_file(one: Output, contents: bytes) -> bytes:
    digest = _field(HASH, one.sha.encode()) + _number(SIZE_BYTES, one.size)
    return _field(PATH, one.role.encode()) + _field(DIGEST, digest) + _field(CONTENTS, contents)


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _field(number: int, data: bytes) -> bytes:
    """Write a field of bytes; protobuf leaves out what is empty."""
    return _varint(number << 3 | BYTES) + _varint(len(data)) + data if data else b""


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | VARINT) + _varint(value) if value else b""


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    parts = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*parts, value))


def unpack_action(data: bytes, fingerprint: str, outputs: Mapping[str, Place]) -> Action:
    """Read an ActionResult that must be the result of this node."""
    made: list[Output] = []
    inline: dict[str, bytes] = {}
    texts = {STDOUT_RAW: b"", STDERR_RAW: b""}
    worker = ""
    for number, value in _fields(data):
        if number == OUTPUT_FILES:
            one, contents = _unpack_file(_bytes(value))
            made.append(one)
            if contents or not one.size:
                inline[one.role] = contents
        elif number in texts:
            texts[number] = _bytes(value)
        elif number == EXECUTION_METADATA:
            worker = _only_text(_bytes(value), WORKER)
        elif number in NOT_OURS or (number == EXIT_CODE and value):
            raise BadActionError("it is not a result of Cartwright's")
    receipt = Receipt(tuple(made), _lines(texts[STDERR_RAW]), _lines(texts[STDOUT_RAW]))
    if worker != seal(fingerprint, receipt):
        raise BadActionError("its seal does not fit")
    _check_promise(receipt, outputs)
    return Action(receipt, inline)


def _check_promise(receipt: Receipt, outputs: Mapping[str, Place]) -> None:
    roles = [one.role for one in receipt.made]
    if roles != sorted(set(roles)):
        raise BadActionError("its outputs are repeated, or out of order")
    if any(broken_promise(roles, outputs)):
        raise BadActionError("its outputs are not those of the node")
    if sum(one.size for one in receipt.made) > RESULT_BYTES:
        raise BadActionError("it is too large")


def _unpack_file(data: bytes) -> tuple[Output, bytes]:
    parts = {number: _bytes(value) for number, value in _fields(data) if number in FILE_FIELDS}
    contents = parts.get(CONTENTS, b"")
    sha, size = _unpack_digest(parts.get(DIGEST, b""))
    one = Output(_checked_role(_decoded(parts.get(PATH, b""))), size, sha)
    if (contents or not size) and not _has_digest(contents, one):
        raise BadActionError("an output does not have the digest that it should")
    return one, contents


def _unpack_digest(data: bytes) -> tuple[str, int]:
    parts = dict(_fields(data))
    sha, size = _decoded(_bytes(parts.get(HASH, b""))), parts.get(SIZE_BYTES, 0)
    if not SHA.fullmatch(sha) or not isinstance(size, int) or size > RESULT_BYTES:
        raise BadActionError("a digest is none")
    return sha, size


def _has_digest(data: bytes, one: Output) -> bool:
    return len(data) == one.size and hashlib.sha256(data).hexdigest() == one.sha


def _checked_role(role: str) -> str:
    """Refuse a role that could be a path to somewhere else, or that no file could be named by."""
    parts = role.split("/")
    if (
        not role.isprintable()
        or "\\" in role
        or any(part in ("", ".", "..") for part in parts)
        or len(role) > ROLE_CHARACTERS
        or (len(parts) > 1 and len(parts[-1]) > MEMBER_CHARACTERS)
    ):
        raise BadActionError("an output has a name that none can have")
    return role


def _lines(text: bytes) -> tuple[str, ...]:
    """Take text apart into lines; it is shown to people, so nothing may steer their terminal."""
    lines = tuple(_decoded(text).split("\n")[:-1]) if text else ()
    if len(text) > TEXT_BYTES or not all(
        line.replace("\t", " ").isprintable() or not line for line in lines
    ):
        raise BadActionError("its messages are not plain text")
    return lines


def can_travel(receipt: Receipt) -> bool:
    """Tell whether another machine would take this result."""
    try:
        for one in receipt.made:
            _checked_role(one.role)
        _lines(_text(receipt.warnings))
        _lines(_text(receipt.report))
    except BadActionError:
        return False
    return sum(one.size for one in receipt.made) <= RESULT_BYTES


def _only_text(data: bytes, wanted: int) -> str:
    found = [_bytes(value) for number, value in _fields(data) if number == wanted]
    return _decoded(found[0]) if len(found) == 1 else ""


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadActionError("a text is not UTF-8") from None


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise BadActionError("a field is of another type")
    return value


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """Give the fields of a message; those of fixed width are passed over."""
    found: list[tuple[int, int | bytes]] = []
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == BYTES:
            size, at = _read_varint(data, at)
            found.append((key >> 3, data[at : at + size]))
            at += size
        elif kind == VARINT:
            value, at = _read_varint(data, at)
            found.append((key >> 3, value))
        elif kind in WIDTHS:
            at += WIDTHS[kind]
        else:
            raise BadActionError("it is no message")
    if at > end:
        raise BadActionError("it is cut short")
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(data[at : at + VARINT_BYTES]):
        if byte < 0x80:
            return value | byte << 7 * place, at + place + 1
        value |= (byte & 0x7F) << 7 * place
    raise BadActionError("it is cut short")
