"""A plain PNG writer for tests: every kind, depth, filter and interlacing, one sample at a time.

It is slow and obvious on purpose, and shares nothing with the decoder that it tests.
"""

from __future__ import annotations

import struct
import zlib

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
PASSES += [(0, 1, 1, 2)]


def chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content)) + kind + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )  # fmt: skip


def header(width: int, height: int, depth: int, colour: int, interlace: int = 0) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))


def filtered(row: bytes, above: bytes, step: int, kind: int) -> bytes:
    out = bytearray([kind])
    for i, value in enumerate(row):
        left = row[i - step] if i >= step else 0
        up = above[i]
        corner = above[i - step] if i >= step else 0
        guess = left + up - corner
        paeth = min((left, up, corner), key=lambda v: abs(guess - v))
        out.append((value - (0, left, up, (left + up) // 2, paeth)[kind]) % 256)
    return bytes(out)


def packed(samples: list[int], depth: int) -> bytes:
    bits = "".join(f"{sample:0{depth}b}" for sample in samples)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


def rows_of(picture, depth: int, interlace: int, filters: list[int]) -> bytes:
    """The picture is rows of pixels of samples."""
    height, width, channels = len(picture), len(picture[0]), len(picture[0][0])
    step = max(1, channels * depth // 8)
    out, count = b"", 0
    for x0, y0, dx, dy in PASSES if interlace else [(0, 0, 1, 1)]:
        above = None
        for y in range(y0, height, dy):
            samples = [s for x in range(x0, width, dx) for s in picture[y][x]]
            if not samples:
                continue
            row = packed(samples, depth)
            above = above or bytes(len(row))
            out += filtered(row, above, step, filters[count % len(filters)])
            above, count = row, count + 1
    return out


def make_png(
    picture, depth: int, colour: int, interlace: int = 0, filters=(0,), extra: bytes = b""
) -> bytes:
    head = header(len(picture[0]), len(picture), depth, colour, interlace)
    rows = rows_of(picture, depth, interlace, list(filters))
    idat = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + head + extra + idat + chunk(b"IEND", b"")
