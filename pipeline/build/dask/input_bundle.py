"""Input bundles: the small inputs of a batch in one blob, because a request each would be slow.

A bundle is the number of inputs, their sizes, and their bytes; all numbers are 32 bits, little
endian. Inputs have no names in it: they are found by their digests.
"""

from __future__ import annotations

import hashlib
import struct

SMALL_BYTES = 1 << 14
BUNDLE_BYTES = 1 << 25  # of all inputs together


class InputBundle:
    """Small inputs that are sent together, each once."""

    def __init__(self) -> None:
        self._inputs: dict[str, bytes] = {}
        self._size = 0

    def add(self, sha: str, data: bytes) -> bool:
        """Add an input; return False where it is too large for what is left."""
        if sha in self._inputs:
            return True
        # A large input is a blob of its own, which later builds find again by its digest.
        if len(data) > SMALL_BYTES or self._size + len(data) > BUNDLE_BYTES:
            return False
        self._inputs[sha] = data
        self._size += len(data)
        return True

    def pack(self) -> bytes:
        """Serialise the bundle; an empty one gives no bytes."""
        if not self._inputs:
            return b""
        sizes = [len(data) for data in self._inputs.values()]
        head = struct.pack(f"<{1 + len(sizes)}I", len(sizes), *sizes)
        return b"".join((head, *self._inputs.values()))


def unpack_bundle(data: bytes) -> dict[str, bytes]:
    """Return the inputs of a packed bundle by digest, or raise ValueError."""
    count = int.from_bytes(data[:4], "little")
    start = 4 + 4 * count
    # Checked before anything of that size is allocated.
    if len(data) < start:
        raise ValueError("an input bundle is cut short")
    sizes = struct.unpack_from(f"<{count}I", data, 4)
    if start + sum(sizes) != len(data):
        raise ValueError("an input bundle has another size than it says")
    inputs = {}
    # Digests are computed here and not sent, so a wrong one cannot stand for other bytes.
    for size in sizes:
        one = data[start : start + size]
        inputs[hashlib.sha256(one).hexdigest()] = one
        start += size
    return inputs
