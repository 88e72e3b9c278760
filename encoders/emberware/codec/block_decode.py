"""Decode BC7 and BC5 blocks with Pillow, which reads them inside a DDS file."""

from __future__ import annotations

import io
import struct

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.image.pixel import Rgba8

# The numbers of block formats in DXGI, by their names in ROMs and loose files in lower case.
DXGI = {"bc7": 98, "bc7linear": 98, "bc5": 83}
# The flags of a two-dimensional texture with a size and a pixel format.
TEXTURE_2D, FLAGS, PIXEL_FORMAT_FOURCC, TEXTURE_CAPS = 3, 0x1007, 0x4, 0x1000


def decode_blocks(blocks: bytes, form: str, size: tuple[int, int], name: str) -> Rgba8:
    """Decode a picture of this width and height."""
    from PIL import Image

    width, height = size
    head = struct.pack("<4s7I44x", b"DDS ", 124, FLAGS, height, width, len(blocks), 0, 0)
    pixel_format = struct.pack("<2I4s20x", 32, PIXEL_FORMAT_FOURCC, b"DX10")
    caps = struct.pack("<I16x", TEXTURE_CAPS)
    extension = struct.pack("<5I", DXGI[form], TEXTURE_2D, 0, 1, 0)
    try:
        with Image.open(io.BytesIO(head + pixel_format + caps + extension + blocks)) as picture:
            return np.array(picture.convert("RGBA"))
    except (OSError, ValueError) as error:
        raise EncodeError(
            "the texture's blocks cannot be decoded",
            {"file": name, "format": form, "reason": error},
        ) from None
