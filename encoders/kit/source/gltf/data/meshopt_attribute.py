"""The meshopt attribute codec: byte deltas in groups of sixteen, each byte of an element apart.

A group's size shows only in its own bits, so one walk finds where the groups are and all of them
are decoded together afterwards. Version 1 adds control bits for each byte column and says for
every four bytes of an element how they differ from the element before. Damaged data raises
ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

VERSIONS = {0xA0: 0, 0xA1: 1}
# The least bytes behind the blocks, by version: the first element and, in version 1, channels.
TAIL_BYTES = (32, 24)
GROUP = 16
# Bits of a code by the header's two bits: in version 0, and in version 1 by the column's control.
WIDTHS_V0 = (0, 2, 4, 8)
WIDTHS_V1 = ((0, 1, 2, 4), (1, 2, 4, 8))
_ZEROS, _LITERAL = 2, 3
# How many elements' bytes a byte of the stream can stand for at the most, by version.
_RATIO = (4 * GROUP, 1024)
# One byte column of a block has at most 4 header bytes and 16 groups of at most 24 bytes, and is
# passed before its end is checked, as are the control bytes.
_OVERRUN = 4 + 16 * 24 + 64


def decode_attributes(data: bytes, count: int, stride: int) -> Bytes:
    """Decode `count` elements of `stride` bytes into an array (count, stride)."""
    version = VERSIONS.get(data[0]) if data else None
    if version is None:
        raise ValueError(f"header {data[:1].hex()}, a0 or a1 expected")
    tail = stride + stride // 4 * version
    end = len(data) - max(tail, TAIL_BYTES[version])
    if end < 1 or count * stride > _RATIO[version] * end:
        raise ValueError(f"{count} elements in {len(data)} bytes")
    blocks = _block_sizes(count, stride)
    # Zeros behind the data, so that a walk over damaged data stays inside the array until its end
    # is checked.
    source = np.frombuffer(data + bytes(_OVERRUN + GROUP), np.uint8)
    walk = _walk(source, _Stream(blocks, stride, version, end))
    widths, offsets = np.frombuffer(walk.widths, np.uint8), np.array(walk.offsets, np.int64)
    codes = _deinterleave(_decode_groups(source, widths, offsets), blocks, stride)
    last = len(data) - tail
    baseline = source[last : last + stride]
    if version == 0:
        return _sum_bytes(codes, baseline)
    return _apply_channels(codes, baseline, data[last + stride :])


def _sum_bytes(codes: Bytes, baseline: Bytes) -> Bytes:
    return np.cumsum(_unzigzag(codes), axis=0, dtype=np.uint8) + baseline


def _unzigzag(codes: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.unsignedinteger]:
    """Odd codes are negative; a code's complement is that in two's complement."""
    return np.where(codes & 1, ~(codes >> 1), codes >> 1).astype(codes.dtype)


def _apply_channels(codes: Bytes, baseline: Bytes, channels: bytes) -> Bytes:
    """Undo the differences of every four bytes as their channel byte says."""
    result = np.empty_like(codes)
    for number, channel in enumerate(channels[: codes.shape[1] // 4]):
        columns = slice(4 * number, 4 * number + 4)
        result[:, columns] = _channel(codes[:, columns], baseline[columns], channel)
    return result


def _channel(codes: Bytes, baseline: Bytes, channel: int) -> Bytes:
    """Undo sums of bytes, sums of 16-bit numbers, or exclusive ors of rotated 32-bit numbers."""
    kind, rotation = channel & 3, channel >> 4
    if kind == 0:
        return _sum_bytes(codes, baseline)
    if kind == 1:
        words = np.ascontiguousarray(codes).view("<u2")
        sums = np.cumsum(_unzigzag(words), axis=0, dtype=np.uint16)
        added: Bytes = (sums + baseline.copy().view("<u2")).astype("<u2").view(np.uint8)
        return added
    if kind != 2:
        raise ValueError(f"channel {channel}")
    words = np.ascontiguousarray(codes).view("<u4")
    turned = (words >> np.uint32(rotation)) | (words << np.uint32((32 - rotation) & 31))
    mixed = np.bitwise_xor.accumulate(turned, axis=0) ^ baseline.copy().view("<u4")
    result: Bytes = mixed.astype("<u4").view(np.uint8)
    return result


def _block_sizes(count: int, stride: int) -> list[int]:
    """How many elements each block holds."""
    # The extension's rule for the size of a block: at most 8 KiB and 256 elements, a multiple of
    # 16.
    largest = min((8192 // stride) & ~15, 256)
    full, rest = divmod(count, largest)
    return [largest] * full + ([rest] if rest else [])


@dataclass(frozen=True)
class _Stream:
    """What decides how a stream is walked."""

    blocks: list[int]
    stride: int
    version: int
    end: int


def _walk(source: Bytes, stream: _Stream) -> _Walk:
    """Walk the stream and find every group."""
    walk = _Walk(source)
    for size in stream.blocks:
        controls = walk.controls(stream.stride) if stream.version else ()
        for byte in range(stream.stride):
            if stream.version:
                walk.controlled_column(controls[byte // 4] >> (byte % 4 * 2) & 3, size)
            else:
                walk.column(-(-size // GROUP), WIDTHS_V0)
            if walk.place > stream.end:
                raise ValueError(f"cut off at byte {stream.end}")
    if walk.place != stream.end:
        raise ValueError(f"{stream.end - walk.place} bytes left over")
    return walk


class _Walk:
    """A place in the stream, and the groups found before it: the bits of a code, and where."""

    def __init__(self, source: Bytes) -> None:
        self.place = 1
        self.widths = bytearray()
        self.offsets: list[int] = []
        self._data = source.tobytes()
        # Prefix sums: the sentinels of a group are the difference of two, so no group is decoded
        # here.
        self._ones = {bits: _sentinels(source, bits).data for bits in (1, 2, 4)}

    def controls(self, stride: int) -> bytes:
        """Pass the control bytes of a block, one for every four bytes of an element."""
        start = self.place
        self.place += stride // 4
        return self._data[start : self.place]

    def controlled_column(self, control: int, size: int) -> None:
        """Pass one byte column of version 1: groups, nothing at all, or a byte for each element."""
        groups = -(-size // GROUP)
        if control < _ZEROS:
            self.column(groups, WIDTHS_V1[control])
            return
        self.widths += bytes([8 if control == _LITERAL else 0]) * groups
        self.offsets += range(self.place, self.place + groups * GROUP, GROUP)
        self.place += size if control == _LITERAL else 0

    def column(self, groups: int, widths: tuple[int, ...]) -> None:
        """Pass the groups of one byte column: two header bits for each, then their codes."""
        header = -(-groups // 4)
        bits = int.from_bytes(self._data[self.place : self.place + header], "little")
        place = self.place + header
        for _ in range(groups):
            width, bits = widths[bits & 3], bits >> 2
            self.widths.append(width)
            self.offsets.append(place)
            # A code of all ones adds a byte behind the group; whole bytes have no such code.
            if width == 8:
                place += GROUP
            elif width:
                ones = self._ones[width]
                place += 2 * width + ones[place + 2 * width] - ones[place]
        self.place = place


def _sentinels(source: Bytes, bits: int) -> npt.NDArray[np.int64]:
    """Count the all-ones fields in the bytes before each place."""
    mask = (1 << bits) - 1
    ones = sum(((source >> shift) & mask) == mask for shift in range(0, 8, bits))
    return np.concatenate(([0], np.cumsum(ones, dtype=np.int64)))


def _decode_groups(source: Bytes, widths: Bytes, offsets: npt.NDArray[np.int64]) -> Bytes:
    """Return the sixteen delta codes of every group."""
    codes = np.zeros((len(widths), GROUP), np.uint8)
    raw = np.flatnonzero(widths == 8)
    codes[raw] = source[offsets[raw, None] + np.arange(GROUP)]
    for bits in (1, 2, 4):
        rows = np.flatnonzero(widths == bits)
        codes[rows] = _decode_fields(source, offsets[rows, None], bits)
    return codes


def _decode_fields(source: Bytes, offsets: npt.NDArray[np.int64], bits: int) -> Bytes:
    """Unpack codes of a few bits; all ones stand for a byte further on.

    The most significant bits come first, but single bits start with the least significant.
    """
    size, mask = 2 * bits, (1 << bits) - 1
    shifts = np.arange(8 - bits, -1, -bits, dtype=np.uint8)
    packed = source[offsets + np.arange(size)]
    codes = ((packed[:, :, None] >> (shifts[::-1] if bits == 1 else shifts)) & mask).reshape(
        -1, GROUP
    )
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
