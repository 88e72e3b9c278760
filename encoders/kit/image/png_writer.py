"""Write PNG files whose bytes depend on the pixels alone.

The rows are stored uncompressed: the output of zlib differs between versions and processors.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from encoders.kit.source.png.chunk import PNG_SIGNATURE

# PNG colour types by the number of channels: grey, RGB and RGBA.
COLOUR_TYPES = {1: 0, 3: 2, 4: 6}
# The largest stored block of a deflate stream.
BLOCK_BYTES = 65535


def encode_png(picture: npt.NDArray[np.uint8]) -> bytes:
    """Encode a picture (height, width, 1, 3 or 4 channels) with 8 bits per channel."""
    height, width, channels = picture.shape
    # The first byte of a row is its filter; 0 is none.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = picture.reshape(height, -1)
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    header += bytes((8, COLOUR_TYPES[channels], 0, 0, 0))
    chunks = ((b"IHDR", header), (b"IDAT", store(rows.tobytes())), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def store(data: bytes) -> bytes:
    """Return data as a zlib stream of stored blocks."""
    # The zlib header: deflate with a 32 KiB window, no dictionary, fastest.
    parts = [b"\x78\x01"]
    # One block even for no data, since a stream needs a last one.
    for start in range(0, max(len(data), 1), BLOCK_BYTES):
        block = data[start : start + BLOCK_BYTES]
        is_last = start + BLOCK_BYTES >= len(data)
        size = len(block).to_bytes(2, "little")
        parts += [bytes([is_last]), size, bytes(byte ^ 0xFF for byte in size), block]
    return b"".join([*parts, zlib.adler32(data).to_bytes(4, "big")])


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(data, zlib.crc32(kind)).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + check
