"""Packs: many small results in one object, because a bucket charges money and time by the request.

A pack is an index, then the messages of its results in the order of the index. An entry has the
fingerprint and the length of its message. The object's name has the number of entries and the
SHA-256 of the index: a reader knows from a listing how many bytes the index has, and verifies it.
Messages are verified by whoever unpacks them.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

FOLDER = "packs/"
ENTRY = struct.Struct(">32sI")
NAME = re.compile(r"([1-9][0-9]{0,5})-([0-9a-f]{64})")
MOST_ENTRIES = 1 << 16
PACK_BYTES = 1 << 23  # a pack is full when its messages have so many bytes


class PackError(ValueError):
    """An index is not what the name of its pack says."""


class Slice(NamedTuple):
    """Where a message is: the name of its pack, its offset there, its length."""

    pack: str
    start: int
    length: int

    @property
    def end(self) -> int:
        """The offset after the message."""
        return self.start + self.length


def pack_results(messages: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Serialise messages by fingerprint; return the name of the pack and its bytes."""
    index = b"".join(ENTRY.pack(bytes.fromhex(one), len(data)) for one, data in messages.items())
    name = f"{len(messages)}-{hashlib.sha256(index).hexdigest()}"
    return name, b"".join([index, *messages.values()])


def index_bytes(name: str) -> int | None:
    """Return the length of the index of a pack; None where no pack is called so."""
    found = NAME.fullmatch(name)
    count = int(found[1]) if found else 0
    return count * ENTRY.size if 0 < count <= MOST_ENTRIES else None


def unpack_index(name: str, index: bytes) -> dict[str, Slice]:
    """Return where each message of a pack is; raise PackError where the index is not the pack's."""
    _, _, digest = name.partition("-")
    if len(index) != index_bytes(name) or hashlib.sha256(index).hexdigest() != digest:
        raise PackError("the index of a pack is damaged")
    slices, start = {}, len(index)
    for key, length in ENTRY.iter_unpack(index):
        slices[key.hex()] = Slice(name, start, length)
        start += length
    return slices


def split_packs(messages: Iterable[tuple[str, bytes]]) -> list[dict[str, bytes]]:
    """Divide messages into packs of bounded size, in their order."""
    packs: list[dict[str, bytes]] = []
    room = 0
    for fingerprint, data in messages:
        if not packs or len(data) > room or len(packs[-1]) >= MOST_ENTRIES:
            packs.append({})
            room = PACK_BYTES
        packs[-1][fingerprint] = data
        room -= len(data)
    return packs
