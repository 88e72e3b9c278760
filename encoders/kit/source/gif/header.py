"""The blocks of a GIF before its first picture: size, alpha, and whether more pictures follow.

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
from encoders.kit.warning import grouped

_SCREEN = struct.Struct("<6sHHBBB")
_EXTENSION, _PICTURE = 0x21, 0x2C
_CONTROL = 0xF9
_HAS_PALETTE, _SIZE_BITS, _IS_TRANSPARENT = 0x80, 0x07, 0x01


def gif_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of a GIF; a damaged or oversized one is refused."""
    try:
        return checked_header(_decode(data, name), "GIF", data, name)
    except (struct.error, IndexError) as error:
        raise damaged_header("GIF", name, data, "it ends before its first picture") from error


def _decode(data: bytes, name: str) -> ImageHeader:
    _, width, height, flags, _, _ = _SCREEN.unpack_from(data)
    place = _SCREEN.size + _palette_bytes(flags)
    place, has_alpha = _skip_extensions(data, place)
    if data[place] != _PICTURE:
        raise IndexError
    left, top, own_width, own_height, own_flags = struct.unpack_from("<HHHHB", data, place + 1)
    # A picture may be larger than the screen that the file declares; readers widen it.
    width, height = max(width, left + own_width), max(height, top + own_height)
    # Where the first picture does not fill the screen, the rest is transparent.
    fills = (left, top, own_width, own_height) == (0, 0, width, height)
    is_animated = _has_more(data, place + 10 + _palette_bytes(own_flags) + 1)
    text = f"{name}: the GIF is animated; only its first picture was read"
    warning = grouped("ignored", text) if is_animated else ""
    return ImageHeader(width, height, has_alpha or not fills, warning=warning)


def _palette_bytes(flags: int) -> int:
    return 3 << (flags & _SIZE_BITS) + 1 if flags & _HAS_PALETTE else 0


def _skip_extensions(data: bytes, place: int) -> tuple[int, bool]:
    """Return where the next picture is, and whether its control block names a clear colour."""
    has_alpha = False
    while data[place] == _EXTENSION:
        if data[place + 1] == _CONTROL:
            has_alpha = bool(data[place + 3] & _IS_TRANSPARENT)
        place = _skip_blocks(data, place + 2)
    return place, has_alpha


def _skip_blocks(data: bytes, place: int) -> int:
    while data[place]:
        place += 1 + data[place]
    return place + 1


def _has_more(data: bytes, place: int) -> bool:
    """Tell whether another picture follows the blocks of the first one."""
    try:
        place, _ = _skip_extensions(data, _skip_blocks(data, place))
        return data[place] == _PICTURE
    except IndexError:
        return False


def survey_gif(data: bytes, name: str) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha` from the blocks before the pixels."""
    return survey_header("GIF", gif_header(data, name))
