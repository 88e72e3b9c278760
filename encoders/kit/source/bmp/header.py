"""The header of a BMP: size and whether there is alpha.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

import struct
from typing import Any

from encoders.kit.source.shared.image_header import (
    ImageHeader,
    checked_header,
    damaged_header,
    survey_header,
)

_CORE_BYTES, _ALPHA_MASK_BYTES = 12, 56
_BITFIELDS = 3


def bmp_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of a BMP; a damaged or oversized one is refused."""
    try:
        header = _decode(data)
    except struct.error as error:
        raise damaged_header("BMP", name, data) from error
    return checked_header(header, "BMP", data, name)


def _decode(data: bytes) -> ImageHeader:
    (size,) = struct.unpack_from("<I", data, 14)
    if size == _CORE_BYTES:
        width, height = struct.unpack_from("<HH", data, 18)
        return ImageHeader(width, height, has_alpha=False)
    width, height, _, bits, compression = struct.unpack_from("<iiHHI", data, 18)
    has_alpha = False
    if size >= _ALPHA_MASK_BYTES and bits == 32 and compression == _BITFIELDS:
        (mask,) = struct.unpack_from("<I", data, 66)
        has_alpha = mask != 0
    # A negative height says that the top row comes first.
    return ImageHeader(width, abs(height), has_alpha)


def survey_bmp(data: bytes, name: str) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha` from the header."""
    return survey_header("BMP", bmp_header(data, name))
