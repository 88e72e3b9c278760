"""The header of a TGA: size and whether there is alpha.

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
from encoders.kit.source.signature import describe_beginning

HEADER = struct.Struct("<BBBHHBHHHHBB")
# Bits a pixel by kind of image: palette, colour and grey; 8 more say run-length coding.
_DEPTHS = {1: (8,), 2: (16, 24, 32), 3: (1, 8, 16)}
_RUN_LENGTH = 8
_MAP_DEPTHS = (16, 24, 32)


def tga_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of a TGA; what cannot be one is refused with what it looks like."""
    if len(data) < HEADER.size:
        raise damaged_header("TGA", name, data)
    _, has_map, kind, _, _, map_depth, _, _, width, height, depth, flags = HEADER.unpack_from(data)
    plain = kind & ~_RUN_LENGTH
    is_map_right = map_depth in _MAP_DEPTHS if plain == 1 else True
    if has_map > 1 or depth not in _DEPTHS.get(plain, ()) or not is_map_right:
        raise damaged_header("TGA", name, data, describe_beginning(data))
    if plain == 1:
        has_alpha = map_depth == 32
    else:
        # 16-bit colour has a bit of alpha, and grey of 16 bits a byte, if the flags count it.
        has_alpha = depth == 32 or (depth == 16 and (plain == 3 or bool(flags & 0xF)))
    return checked_header(ImageHeader(width, height, has_alpha), "TGA", data, name)


def survey_tga(data: bytes, name: str) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha` from the header."""
    return survey_header("TGA", tga_header(data, name))
