"""The header of a DDS texture: size, and whether its pixels can be transparent.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

import struct
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_header import (
    ImageHeader,
    checked_header,
    damaged_header,
    survey_header,
)

# Magic, header size, flags, height, width; then, after pitch, depth, mips and reserved words,
# the pixel format and the capabilities.
_START = struct.Struct("<4sIIII")
_PIXELS = struct.Struct("<II4sIIIII")
_PIXELS_OFFSET, _CAPS_OFFSET, _DX10_OFFSET, _SHORTEST = 76, 112, 128, 128
_ALPHA_PIXELS, _FOUR_CC = 0x1, 0x4
_CUBE, _VOLUME = 0x200, 0x200000
_ALPHA_CODES = (b"DXT1", b"DXT2", b"DXT3", b"DXT4", b"DXT5")
# DXGI formats without alpha: BC4, BC5 and BC6H.
_OPAQUE_DXGI = frozenset((*range(79, 85), *range(94, 97)))


def dds_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of a DDS; cube maps and volumes are refused."""
    if len(data) < _SHORTEST:
        raise damaged_header("DDS", name, data)
    _, _, _, height, width = _START.unpack_from(data)
    (caps,) = struct.unpack_from("<I", data, _CAPS_OFFSET)
    if caps & (_CUBE | _VOLUME):
        kind = "a cube map" if caps & _CUBE else "a volume"
        facts = {"file": name, "kind": kind, "allowed": "one flat picture, with or without mips"}
        raise EncodeError("the DDS is of a kind that is not supported", facts)
    return checked_header(ImageHeader(width, height, _has_alpha(data)), "DDS", data, name)


def _has_alpha(data: bytes) -> bool:
    _, flags, code, *_ = _PIXELS.unpack_from(data, _PIXELS_OFFSET)
    if not flags & _FOUR_CC:
        return bool(flags & _ALPHA_PIXELS)
    if code != b"DX10":
        return code in _ALPHA_CODES
    # A cut header says nothing; decoding refuses it.
    dxgi = int.from_bytes(data[_DX10_OFFSET : _DX10_OFFSET + 4], "little")
    return dxgi not in _OPAQUE_DXGI


def survey_dds(data: bytes, name: str) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha` from the header."""
    return survey_header("DDS", dds_header(data, name))
