"""A node's receipt as an `ActionResult` of Bazel's remote execution protocol, and back.

The bytes are the protobuf wire format, of the few fields that are used. Messages come from a
server that anybody may have written to, so everything is checked here: size, number of fields,
roles, digests, a seal over all of it and, with a key, a signature. Nothing in a message names a
file. The cost of reading one is bounded by what the node's own roles can need.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from encoders.kit.plan import Family, Place
from pipeline.cache.receipt import Receipt
from pipeline.output import Output, compare_roles

# fmt: off
# ActionResult, OutputFile, Digest, ExecutedActionMetadata: the field numbers of
# build.bazel.remote.execution.v2.
OUTPUT_FILES, EXIT_CODE, STDOUT_RAW, STDERR_RAW, EXECUTION_METADATA = 2, 4, 5, 7, 9
PATH, DIGEST, CONTENTS = 1, 2, 5
HASH, SIZE_BYTES = 1, 2
WORKER = 1
# fmt: on
FILE_FIELDS = (PATH, DIGEST, CONTENTS)
# Directories, links and texts by digest: a message with one of them is not from Cartwright.
NOT_OURS = {3, 6, 8, 10, 11, 12}

# Wire types of protobuf; those of fixed width with their bytes. A varint has 7 bits a byte, so
# 64 bits take 10 bytes.
VARINT, BYTES, WIDTHS = 0, 2, {1: 8, 5: 4}
VARINT_BYTES = 10
# The seal and the signature travel as the name of the worker: servers keep that field, and those
# that validate results require nothing of it.
SEAL, SIGNATURE = "cartwright-1-", ".hmac-sha256-"
DIGEST_CHARACTERS = 64
SHA = re.compile(f"[0-9a-f]{{{DIGEST_CHARACTERS}}}")
# Outputs beyond so many bytes in all are blobs of their own instead of part of the message.
INLINE_TOTAL = 1 << 18
# Limits of what is believed, far above what builds have: they bound memory and time.
RESULT_BYTES = 1 << 32
ROLE_CHARACTERS = 1024
MEMBER_CHARACTERS = 64
TEXT_BYTES, TEXT_LINES = 1 << 20, 1 << 14
MESSAGE_BYTES = 1 << 23
MOST_MEMBERS = 1 << 14
# An output takes this many bytes besides its role and its contents. Servers may add fields; so
# many more than ours are passed over.
ENTRY_BYTES, SPARE_BYTES = 128, 1 << 12
SPARE_FIELDS, FIELDS_OF_FILE, FIELDS_OF_DIGEST, FIELDS_OF_METADATA = 64, 8, 4, 64


class BadActionError(Exception):
    """A message is not a result that this node can have."""


class UnsignedError(BadActionError):
    """A result has no signature, or one by another key."""


@dataclass(frozen=True, slots=True)
class Action:
    """A receipt from a server; the bytes of `inline` came with it and have their digests."""

    receipt: Receipt
    inline: Mapping[str, bytes]


def pack_action(fingerprint: str, receipt: Receipt, key: bytes = b"") -> bytes:
    """Serialise a receipt as an ActionResult, small outputs inside, signed where there is a key."""
    inside = inlined(receipt)
    parts = [
        _field(
            OUTPUT_FILES, _pack_file(one, receipt.inline[one.role] if one.role in inside else b"")
        )
        for one in receipt.made
    ]
    parts.append(_field(STDOUT_RAW, _text(receipt.report)))
    parts.append(_field(STDERR_RAW, _text(receipt.warnings)))
    name = seal(fingerprint, receipt) + (sign(fingerprint, receipt, key) if key else "")
    worker = _field(WORKER, name.encode())
    return b"".join([*parts, _field(EXECUTION_METADATA, worker)])


def inlined(receipt: Receipt) -> set[str]:
    """Return the roles whose bytes `pack_action` puts into the message."""
    # In the receipt's order, so that `pack_action` and the upload of blobs agree.
    room, roles = INLINE_TOTAL, set()
    for one in receipt.made:
        if one.role in receipt.inline and one.size <= room:
            room -= one.size
            roles.add(one.role)
    return roles


def seal(fingerprint: str, receipt: Receipt) -> str:
    """Digest everything that a result says, with its key: cut or mixed-up messages do not fit."""
    return SEAL + hashlib.sha256(_statement(fingerprint, receipt)).hexdigest()


def sign(fingerprint: str, receipt: Receipt, key: bytes) -> str:
    """Authenticate everything that a result says, with its key, for those who have the secret."""
    # With a prefix of its own, so that a seal never is the text that a signature covers.
    statement = SIGNATURE.encode() + _statement(fingerprint, receipt)
    return SIGNATURE + hmac.digest(key, statement, "sha256").hex()


def _statement(fingerprint: str, receipt: Receipt) -> bytes:
    """Serialise what is sealed and signed; the digests stand for the outputs' bytes."""
    # As JSON: joined texts could be cut at other places and still be the same bytes.
    rows = [[one.role, one.size, one.sha] for one in receipt.made]
    return json.dumps([fingerprint, rows, receipt.warnings, receipt.report]).encode()


def _pack_file(one: Output, contents: bytes) -> bytes:
    digest = _field(HASH, one.sha.encode()) + _number(SIZE_BYTES, one.size)
    return _field(PATH, one.role.encode()) + _field(DIGEST, digest) + _field(CONTENTS, contents)


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _field(number: int, data: bytes) -> bytes:
    """Serialise a field of bytes; protobuf leaves out empty ones."""
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


def message_limit(outputs: Mapping[str, Place]) -> int:
    """Return how many bytes a result with these roles can have; families make it long."""
    size = INLINE_TOTAL + 2 * TEXT_BYTES + SPARE_BYTES
    for role, place in outputs.items():
        is_family = isinstance(place, Family)
        entry = len(role.encode()) + ENTRY_BYTES + (MEMBER_CHARACTERS if is_family else 0)
        size += entry * (MOST_MEMBERS if is_family else 1)
    return min(size, MESSAGE_BYTES)


def _most_files(outputs: Mapping[str, Place], message_bytes: int) -> int:
    """Return how many outputs a message of this size can have, each with a digest at least."""
    has_family = any(isinstance(place, Family) for place in outputs.values())
    promised = len(outputs) + (MOST_MEMBERS if has_family else 0)
    return min(promised, message_bytes // DIGEST_CHARACTERS)


def unpack_action(
    data: bytes, fingerprint: str, outputs: Mapping[str, Place], key: bytes = b""
) -> Action:
    """Read an ActionResult that must be the result of this node, and with a key be signed by it."""
    if len(data) > message_limit(outputs):
        raise BadActionError("it is too large")
    made: list[Output] = []
    inline: dict[str, bytes] = {}
    texts = {STDOUT_RAW: b"", STDERR_RAW: b""}
    worker = ""
    for number, value in _fields(data, _most_files(outputs, len(data)) + SPARE_FIELDS):
        if number == OUTPUT_FILES:
            one, contents = _unpack_file(_bytes(value))
            made.append(one)
            # protobuf leaves out empty fields: an output without bytes is always complete.
            if contents or not one.size:
                inline[one.role] = contents
        elif number in texts:
            texts[number] = _bytes(value)
        elif number == EXECUTION_METADATA:
            worker = _only_text(_bytes(value), WORKER)
        elif number in NOT_OURS or (number == EXIT_CODE and value):
            raise BadActionError("it is not a result of Cartwright's")
    # Warnings travel as the action's error output, the report as its output.
    receipt = Receipt(tuple(made), _lines(texts[STDERR_RAW]), _lines(texts[STDOUT_RAW]))
    _check_worker(worker, fingerprint, receipt, key)
    _check_promise(receipt, outputs)
    return Action(receipt, inline)


def _check_worker(worker: str, fingerprint: str, receipt: Receipt, key: bytes) -> None:
    sealed, dot, signature = worker.partition(SIGNATURE)
    if sealed != seal(fingerprint, receipt):
        raise BadActionError("its seal does not fit")
    # In constant time, so that how long it takes tells nothing about the right signature.
    if key and not hmac.compare_digest(
        (dot + signature).encode(), sign(fingerprint, receipt, key).encode()
    ):
        raise UnsignedError("it has no valid signature")


def _check_promise(receipt: Receipt, outputs: Mapping[str, Place]) -> None:
    roles = [one.role for one in receipt.made]
    # Our own writer sorts them, so this costs no valid result.
    if roles != sorted(set(roles)):
        raise BadActionError("its outputs are repeated, or out of order")
    if any(compare_roles(roles, outputs)):
        raise BadActionError("its outputs are not those of the node")
    if sum(one.size for one in receipt.made) > RESULT_BYTES:
        raise BadActionError("it is too large")


def _unpack_file(data: bytes) -> tuple[Output, bytes]:
    fields = _fields(data, FIELDS_OF_FILE)
    parts = {number: _bytes(value) for number, value in fields if number in FILE_FIELDS}
    contents = parts.get(CONTENTS, b"")
    sha, size = _unpack_digest(parts.get(DIGEST, b""))
    one = Output(_checked_role(_decoded(parts.get(PATH, b""))), size, sha)
    if (contents or not size) and not _has_digest(contents, one):
        raise BadActionError("an output does not have the digest that it should")
    return one, contents


def _unpack_digest(data: bytes) -> tuple[str, int]:
    parts = dict(_fields(data, FIELDS_OF_DIGEST))
    sha, size = _decoded(_bytes(parts.get(HASH, b""))), parts.get(SIZE_BYTES, 0)
    if not SHA.fullmatch(sha) or not isinstance(size, int) or size > RESULT_BYTES:
        raise BadActionError("a digest is malformed")
    return sha, size


def _has_digest(data: bytes, one: Output) -> bool:
    return len(data) == one.size and hashlib.sha256(data).hexdigest() == one.sha


def _checked_role(role: str) -> str:
    """Refuse a role that could lead to another folder, or that cannot be part of a file's name."""
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
    """Split text into lines; people see them, so control codes for terminals are refused."""
    if len(text) > TEXT_BYTES or text.count(b"\n") > TEXT_LINES:
        raise BadActionError("its messages are too long")
    lines = tuple(_decoded(text).split("\n")[:-1]) if text else ()
    if not all(line.replace("\t", " ").isprintable() or not line for line in lines):
        raise BadActionError("its messages are not plain text")
    return lines


def can_travel(receipt: Receipt) -> bool:
    """Tell whether other machines would accept this result."""
    try:
        for one in receipt.made:
            _checked_role(one.role)
        _lines(_text(receipt.warnings))
        _lines(_text(receipt.report))
    except BadActionError:
        return False
    # With all room for inline bytes and texts: what passes here is below every reader's limit.
    names = sum(len(one.role.encode()) + ENTRY_BYTES for one in receipt.made)
    is_short = names + INLINE_TOTAL + 2 * TEXT_BYTES + SPARE_BYTES <= MESSAGE_BYTES
    is_small = sum(one.size for one in receipt.made) <= RESULT_BYTES
    return is_short and is_small and len(receipt.made) <= MOST_MEMBERS


def _only_text(data: bytes, wanted: int) -> str:
    found = [value for number, value in _fields(data, FIELDS_OF_METADATA) if number == wanted]
    # Our writer sets it once. protobuf would let the last of several win.
    return _decoded(_bytes(found[0])) if len(found) == 1 else ""


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadActionError("a text is not UTF-8") from None


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise BadActionError("a field is of another type")
    return value


def _fields(data: bytes, most: int) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message but those of fixed width; refuse more than `most` of them.

    A field may be two bytes long: without a limit, a message of a few megabytes would take
    seconds to read. A nested message is read by the caller that expects one, at most three levels
    deep.
    """
    at, end = 0, len(data)
    for _ in range(most):
        if at >= end:
            return
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _read_varint(data, at)
            yield key >> 3, value
            continue
        size, at = _read_varint(data, at) if kind == BYTES else (_width(kind), at)
        if at + size > end:
            raise BadActionError("it is cut short")
        if kind == BYTES:
            yield key >> 3, data[at : at + size]
        at += size
    if at < end:
        raise BadActionError("it has too many fields")


def _width(kind: int) -> int:
    if kind not in WIDTHS:
        raise BadActionError("it is not a protobuf message")
    return WIDTHS[kind]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(data[at : at + VARINT_BYTES]):
        if byte < 0x80:
            return value | byte << 7 * place, at + place + 1
        value |= (byte & 0x7F) << 7 * place
    raise BadActionError("it is cut short")
