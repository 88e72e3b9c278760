"""The meshopt index codecs: triangle lists by recent edges and vertices, and index sequences.

One decoder step for one case of the code byte, as the extension lists them. Damaged data raises
ValueError or IndexError.
"""

from __future__ import annotations

from collections import deque

import numpy as np

TRIANGLES_HEADER = 0xE1
INDICES_HEADER = 0xD1
TRIANGLES_TAIL = 16
INDICES_TAIL = 4
_FIFO = 16
_WORD = 0xFFFFFFFF


class _Extra:
    """The bytes after the codes: plain bytes and LEB128 numbers."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def byte(self) -> int:
        self._place += 1
        return self._data[self._place - 1]

    def number(self) -> int:
        value = 0
        # Five groups of seven bits hold any 32-bit number.
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("number of more than five bytes")

    @property
    def left(self) -> int:
        return len(self._data) - self._place


def _zigzag(value: int) -> int:
    return ~(value >> 1) if value & 1 else value >> 1


class _Triangles:
    """The decoder's state: next new vertex, last explicit one, and two short memories.

    Entry 0 of a memory is the most recent.
    """

    def __init__(self, table: bytes, extra: _Extra) -> None:
        self._table = table
        self._extra = extra
        self._next = 0
        self._last = 0
        self._edges = deque([(0, 0)] * _FIFO, _FIFO)
        self._vertices = deque([0] * _FIFO, _FIFO)

    def decode(self, code: int) -> tuple[int, int, int]:
        """Return the triangle of one code byte."""
        if code < 0xF0:
            return self._from_edge(code >> 4, code & 15)
        if code < 0xFE:
            pair = self._table[code & 15]
            return self._from_vertices(0, pair >> 4, pair & 15)
        pair = self._extra.byte()
        # The extension's escape that starts the numbering of new vertices again.
        if pair == 0:
            self._next = 0
        return self._from_vertices(0 if code == 0xFE else 15, pair >> 4, pair & 15)

    def _from_edge(self, edge: int, kind: int) -> tuple[int, int, int]:
        a, b = self._edges[edge]
        if 0 < kind < 13:
            # Recent vertices are named from 1 here; 13 and 14 are the neighbours of the last
            # explicit one.
            c = self._vertices[kind]
        else:
            c = self._new() if kind == 0 else self._near_last(kind)
            self._vertices.appendleft(c)
        # The two edges that the triangle adds, in the order of the extension, turned so that the
        # next triangle has the same winding.
        self._edges.extendleft(((c, b), (a, c)))
        return a, b, c

    def _near_last(self, kind: int) -> int:
        if kind == 15:
            return self._explicit()
        self._last = (self._last + (-1 if kind == 13 else 1)) & _WORD
        return self._last

    def _from_vertices(self, *kinds: int) -> tuple[int, int, int]:
        """Take each corner by its kind: 0 new, 15 explicit, else a recent vertex."""
        # Corners are named by the memory as it was before this triangle.
        recent = tuple(self._vertices)
        corners = []
        for kind in kinds:
            if 0 < kind < 15:
                corners.append(recent[kind - 1])
                continue
            corners.append(self._explicit() if kind else self._new())
            self._vertices.appendleft(corners[-1])
        a, b, c = corners
        self._edges.extendleft(((b, a), (c, b), (a, c)))
        return a, b, c

    def _new(self) -> int:
        self._next += 1
        return self._next - 1

    def _explicit(self) -> int:
        self._last = (self._last + _zigzag(self._extra.number())) & _WORD
        return self._last


def decode_triangles(data: bytes, count: int, stride: int) -> bytes:
    """Decode a triangle list of `count` indices, each of `stride` bytes."""
    codes = count // 3
    _check(data, TRIANGLES_HEADER, codes + TRIANGLES_TAIL)
    extra = _Extra(data[1 + codes : -TRIANGLES_TAIL])
    decoder = _Triangles(data[-TRIANGLES_TAIL:], extra)
    corners = [corner for code in data[1 : 1 + codes] for corner in decoder.decode(code)]
    return _pack(corners, stride, extra)


def decode_indices(data: bytes, count: int, stride: int) -> bytes:
    """Decode a sequence of `count` indices, each of `stride` bytes."""
    _check(data, INDICES_HEADER, count + INDICES_TAIL)
    extra = _Extra(data[1:-INDICES_TAIL])
    last, indices = [0, 0], []
    for _ in range(count):
        value = extra.number()
        # Two running values: the lowest bit says from which of them the index is counted.
        baseline = value & 1
        last[baseline] = (last[baseline] + _zigzag(value >> 1)) & _WORD
        indices.append(last[baseline])
    return _pack(indices, stride, extra)


def _check(data: bytes, header: int, least: int) -> None:
    if data[:1] != bytes((header,)) or len(data) < 1 + least:
        raise ValueError(f"header {data[:1].hex()} in {len(data)} bytes, {header:x} expected")


def _pack(indices: list[int], stride: int, extra: _Extra) -> bytes:
    # Damage that happens to decode shows in bytes that nobody asked for.
    if extra.left:
        raise ValueError(f"{extra.left} bytes left over")
    values = np.array(indices, np.int64)
    if len(values) and int(values.max()) >= 1 << (8 * stride):
        raise ValueError(f"index {values.max()} in {stride} bytes")
    return values.astype(f"<u{stride}").tobytes()
