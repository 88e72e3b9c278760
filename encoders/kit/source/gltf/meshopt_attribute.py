"""The meshopt attribute codec: byte deltas in groups of sixteen, each byte of an element apart.

A group's size shows only in its own bits, so one walk finds where the groups are and all of them
are decoded together afterwards. Damaged data raises ValueError.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

HEADER = 0xA0
# The stream ends with the first element, padded to 32 bytes.
TAIL_BYTES = 32
GROUP = 16
# One byte column of a block has at most 4 header bytes and 16 groups of at most 24 bytes, and is
# passed before its end is checked.
_OVERRUN = 4 + 16 * 24


def decode_attributes(data: bytes, count: int, stride: int) -> Bytes:
    """Decode `count` elements of `stride` bytes into an array (count, stride)."""
    end = len(data) - max(stride, TAIL_BYTES)
    if end < 1 or data[0] != HEADER:
        raise ValueError(f"header {data[:1].hex()} in {len(data)} bytes, a0 expected")
    if count * stride > 4 * GROUP * end:  # a header bit pair for each group, at the least
        raise ValueError(f"{count} elements in {len(data)} bytes")
    blocks = _block_sizes(count, stride)
    # Zeros behind the data, so that a walk over damaged data stays inside the array until its end
    # is checked.
    source = np.frombuffer(data + bytes(_OVERRUN + GROUP), np.uint8)
    modes, offsets = _find_groups(source, blocks, stride, end)
    deltas = _deinterleave(_decode_groups(source, modes, offsets), blocks, stride)
    # Zigzag: odd codes are negative; a byte's complement is that in two's complement.
    deltas = np.where(deltas & 1, ~(deltas >> 1), deltas >> 1).astype(np.uint8)
    baseline = source[len(data) - stride : len(data)]
    return np.cumsum(deltas, axis=0, dtype=np.uint8) + baseline


def _block_sizes(count: int, stride: int) -> list[int]:
    """How many elements each block holds."""
    # The extension's rule for the size of a block: at most 8 KiB and 256 elements, a multiple of
    # 16.
    largest = min((8192 // stride) & ~15, 256)
    full, rest = divmod(count, largest)
    return [largest] * full + ([rest] if rest else [])


def _find_groups(
    source: Bytes, blocks: list[int], stride: int, end: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Walk the stream: the mode of every group and where its bits begin."""
    walk = _Walk(source)
    for size in blocks:
        for _ in range(stride):
            walk.column(-(-size // GROUP))
            if walk.place > end:
                raise ValueError(f"cut off at byte {end}")
    if walk.place != end:
        raise ValueError(f"{end - walk.place} bytes left over")
    return np.frombuffer(walk.modes, np.uint8), np.array(walk.offsets, np.int64)


class _Walk:
    """A place in the stream, and the groups found before it."""

    def __init__(self, source: Bytes) -> None:
        self.place = 1
        self.modes = bytearray()
        self.offsets: list[int] = []
        self._data = source.tobytes()
        # Prefix sums: the sentinels of a group are the difference of two, so no group is decoded
        # here.
        self._two, self._four = (_sentinels(source, bits).data for bits in (2, 4))

    def column(self, groups: int) -> None:
        """Pass the groups of one byte column: two header bits for each, then their codes."""
        header = -(-groups // 4)
        bits = int.from_bytes(self._data[self.place : self.place + header], "little")
        place, two, four = self.place + header, self._two, self._four
        for _ in range(groups):
            mode, bits = bits & 3, bits >> 2
            self.modes.append(mode)
            self.offsets.append(place)
            # Mode 0 has no bytes, 1 has 2-bit codes, 2 has 4-bit codes, 3 has whole bytes. A code
            # of all ones adds a byte behind the group.
            if mode == 1:
                place += 4 + two[place + 4] - two[place]
            elif mode:
                place += 16 if mode == 3 else 8 + four[place + 8] - four[place]
        self.place = place


def _sentinels(source: Bytes, bits: int) -> npt.NDArray[np.int64]:
    """Count the all-ones fields in the bytes before each place."""
    mask = (1 << bits) - 1
    ones = sum(((source >> shift) & mask) == mask for shift in range(0, 8, bits))
    return np.concatenate(([0], np.cumsum(ones, dtype=np.int64)))


def _decode_groups(
    source: Bytes, modes: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
) -> Bytes:
    """Return the sixteen delta codes of every group."""
    codes = np.zeros((len(modes), GROUP), np.uint8)
    raw = np.flatnonzero(modes == 3)
    codes[raw] = source[offsets[raw, None] + np.arange(GROUP)]
    for mode, bits in ((1, 2), (2, 4)):
        rows = np.flatnonzero(modes == mode)
        codes[rows] = _decode_fields(source, offsets[rows, None], bits)
    return codes


def _decode_fields(source: Bytes, offsets: npt.NDArray[np.int64], bits: int) -> Bytes:
    """Unpack 2- or 4-bit codes, most significant first; all ones stand for a byte further on."""
    size, mask = 2 * bits, (1 << bits) - 1
    shifts = np.arange(8 - bits, -1, -bits, dtype=np.uint8)
    packed = source[offsets + np.arange(size)]
    codes = ((packed[:, :, None] >> shifts) & mask).reshape(-1, GROUP)
    is_sentinel = codes == mask
    # How many sentinels stand before this one, which is the place of its byte.
    rank = np.cumsum(is_sentinel, axis=1) - is_sentinel
    values: Bytes = np.where(is_sentinel, source[offsets + size + rank], codes)
    return values


def _deinterleave(codes: Bytes, blocks: list[int], stride: int) -> Bytes:
    """Bring groups, stored block by block and byte column by byte column, to element order."""
    parts, start = [np.zeros((0, stride), np.uint8)], 0
    for size in blocks:
        groups = -(-size // GROUP)
        block = codes[start : start + stride * groups].reshape(stride, groups * GROUP)
        parts.append(block[:, :size].T)
        start += stride * groups
    return np.concatenate(parts)
