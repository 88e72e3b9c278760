"""Row filters of a PNG: each row was stored as differences from its neighbours.

For pixels of one to four bytes that are not interlaced, which most pictures have. Pillow's zip
decoder is the reference of the kernel; with the kernel, Pillow need not be imported.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from encoders.kit.native.kernel import choose

Bytes = npt.NDArray[np.uint8]

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # of Pillow, by the bytes of a pixel
FILTERS = 5


def unfilter_rows(rows: Bytes, pixel_bytes: int) -> Bytes:
    """Return the bytes of pixels, of rows that begin with their filter; ValueError for a wrong one.

    `rows` is (height, 1 + bytes of a row).
    """
    pixels = np.empty((rows.shape[0], rows.shape[1] - 1), np.uint8)
    choose("unfilter_rows", unfilter_rows_reference)(rows, pixels, pixel_bytes)
    return pixels


def unfilter_rows_reference(rows: Bytes, pixels: Bytes, pixel_bytes: int) -> None:
    """Take the filters off: the reference of the native kernel."""
    from PIL import Image

    if (rows[:, 0] >= FILTERS).any():
        raise ValueError("a row's filter does not exist")
    # A stream of stored blocks: the zip decoder unfilters, and inflates nothing.
    stream = zlib.compress(rows.tobytes(), 0)
    mode, size = MODES[pixel_bytes], (pixels.shape[1] // pixel_bytes, len(pixels))
    picture = Image.frombytes(mode, size, stream, "zip", mode, 0)
    pixels[:] = np.asarray(picture, np.uint8).reshape(pixels.shape)
