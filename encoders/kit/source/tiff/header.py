"""The first directory of a TIFF: size, kind of samples, alpha and orientation.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_header import (
    ImageHeader,
    checked_header,
    damaged_header,
    survey_header,
)
from encoders.kit.source.shared.tag_directory import (
    ORIENTATION,
    UPRIGHT,
    TagDirectory,
    decode_directory,
)
from encoders.kit.warning import grouped

WIDTH, HEIGHT, BITS, PHOTOMETRIC = 256, 257, 258, 262
EXTRA_SAMPLES, SAMPLE_FORMAT, TILE_WIDTH, TILE_HEIGHT = 338, 339, 322, 323
_UNSIGNED = (1, 4)  # whole numbers, or nothing said
_CHOICES = (1, 2, 4, 8, 16)
_ALPHA = (1, 2)  # premultiplied, and straight
_MAX_TILE = 1 << 13


def tiff_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of the first picture; refuse kinds of samples without a full scale."""
    try:
        found = decode_directory(data)
    except ValueError as error:
        raise damaged_header("TIFF", name, data, error) from error
    _refuse_samples(found, name)
    if max(found.first(TILE_WIDTH, 0), found.first(TILE_HEIGHT, 0)) > _MAX_TILE:
        raise damaged_header("TIFF", name, data, "its tiles are larger than any picture may be")
    orientation = found.first(ORIENTATION, UPRIGHT)
    header = ImageHeader(
        found.first(WIDTH, 0),
        found.first(HEIGHT, 0),
        any(one in _ALPHA for one in found.tags.get(EXTRA_SAMPLES, ())),
        orientation if 1 <= orientation <= 8 else UPRIGHT,
        _warning(found, name),
    )
    return checked_header(header, "TIFF", data, name)


def _refuse_samples(found: TagDirectory, name: str) -> None:
    bits = found.tags.get(BITS, (1,))
    is_whole = all(one in _UNSIGNED for one in found.tags.get(SAMPLE_FORMAT, (1,)))
    if is_whole and all(one in _CHOICES for one in bits):
        return
    kind = "whole numbers" if is_whole else "floating-point or signed numbers"
    raise EncodeError(
        "the TIFF is of a kind that is not supported",
        {"file": name, "samples": kind, "bits": ", ".join(map(str, bits))}
        | {"allowed": "unsigned whole numbers of up to 16 bits"},
        "Save it with 8 or 16 bits a channel: only you know which value is white.",
    )


def _warning(found: TagDirectory, name: str) -> str:
    if found.next_offset:
        text = f"{name}: the TIFF has several pictures; only the first was read"
        return grouped("ignored", text)
    return ""


def survey_tiff(data: bytes, name: str) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha` from the first directory."""
    return survey_header("TIFF", tiff_header(data, name))
