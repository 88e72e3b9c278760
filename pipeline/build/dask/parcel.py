"""Small inputs of a batch in one blob: a request for each would cost more than their bytes.

A parcel is the number of pieces, their sizes, and the pieces; all numbers are 32 bits, little
endian. A piece needs no name, because its digest is one.
"""

from __future__ import annotations

import hashlib
import struct

SMALL_BYTES = 1 << 14
MOST_BYTES = 1 << 25


class Parcel:
    """Pieces on their way, each of them once."""

    def __init__(self) -> None:
        self._pieces: dict[str, bytes] = {}
        self._size = 0

    def add(self, sha: str, data: bytes) -> bool:
        """Take a piece along; tells whether it is small enough, and there is room for it."""
        if sha in self._pieces:
            return True
        if len(data) > SMALL_BYTES or self._size + len(data) > MOST_BYTES:
            return False
        self._pieces[sha] = data
        self._size += len(data)
        return True

    def pack(self) -> bytes:
        """Give the blob; no pieces make no bytes."""
        if not self._pieces:
            return b""
        sizes = [len(data) for data in self._pieces.values()]
        head = struct.pack(f"<{1 + len(sizes)}I", len(sizes), *sizes)
        return b"".join((head, *self._pieces.values()))


def unpack_parcel(data: bytes) -> dict[str, bytes]:
    """Give the pieces of a blob by their digests."""
    (count,) = struct.unpack_from("<I", data)
    sizes = struct.unpack_from(f"<{count}I", data, 4)
    at = 4 + 4 * count
    if at + sum(sizes) != len(data):
        raise ValueError("this is no parcel")
    pieces = {}
    for size in sizes:
        piece = data[at : at + size]
        pieces[hashlib.sha256(piece).hexdigest()] = piece
        at += size
    return pieces
