"""The header of a WebP: size, alpha and orientation.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_header import ImageHeader
from encoders.kit.source.shared.image_limit import check_image_size
from encoders.kit.source.shared.tag_directory import UPRIGHT, exif_orientation

# RIFF, size, WEBP; then the first chunk's tag and size.
_CHUNK, _BODY = 12, 20
_SHORTEST = 30
_ANIMATION, _EXIF, _ALPHA = 0x02, 0x08, 0x10
_SIDE = 0x3FFF  # lossy and lossless sides have 14 bits
_LOSSY_START, _LOSSLESS_START = b"\x9d\x01\x2a", 0x2F


def webp_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of a WebP; an animated, damaged, cut or oversized one is refused."""
    declared = int.from_bytes(data[4:8], "little") + 8
    if len(data) < max(declared, _SHORTEST):
        facts = {"file": name, "bytes": len(data), "declared": declared}
        raise EncodeError("the WebP is damaged or cut short", facts)
    readers = {b"VP8X": _extended, b"VP8L": _lossless, b"VP8 ": _lossy}
    kind = data[_CHUNK : _CHUNK + 4]
    header = readers[kind](data, name) if kind in readers else None
    if header is None or not header.width or not header.height:
        facts = {"file": name, "first chunk": repr(kind)}
        raise EncodeError("the WebP's header is damaged", facts)
    check_image_size(header.width, header.height, name, len(data))
    return header


def _extended(data: bytes, name: str) -> ImageHeader:
    flags = data[_BODY]
    if flags & _ANIMATION:
        hint = "Save one picture of it as WebP or PNG."
        raise EncodeError("the WebP is animated", {"file": name}, hint)
    width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    orientation = _orientation(data) if flags & _EXIF else UPRIGHT
    return ImageHeader(width, height, bool(flags & _ALPHA), orientation)


def _orientation(data: bytes) -> int:
    """Return the orientation in the chunk EXIF, which follows the pixels."""
    place = _CHUNK
    while place + 8 <= len(data):
        size = int.from_bytes(data[place + 4 : place + 8], "little")
        if data[place : place + 4] == b"EXIF":
            return exif_orientation(data[place + 8 : place + 8 + size])
        place += 8 + size + size % 2
    return UPRIGHT


def _lossless(data: bytes, name: str) -> ImageHeader | None:
    del name
    if data[_BODY] != _LOSSLESS_START:
        return None
    bits = int.from_bytes(data[_BODY + 1 : _BODY + 5], "little")
    return ImageHeader((bits & _SIDE) + 1, (bits >> 14 & _SIDE) + 1, bool(bits >> 28 & 1))


def _lossy(data: bytes, name: str) -> ImageHeader | None:
    del name
    if data[23:26] != _LOSSY_START:
        return None
    width, height = (int.from_bytes(data[at : at + 2], "little") & _SIDE for at in (26, 28))
    return ImageHeader(width, height, has_alpha=False)
