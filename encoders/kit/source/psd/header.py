"""The header of a Photoshop document: size, mode and number of channels.

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

_HEADER = struct.Struct(">4sH6xHIIHH")
_MODES = {0: "bitmap", 1: "grey", 2: "palette", 3: "RGB", 4: "CMYK", 7: "multichannel"}
_MODES |= {8: "duotone", 9: "Lab"}
_READ = ("bitmap", "grey", "palette", "RGB", "CMYK")
_RGB = 3


def psd_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of a Photoshop document; kinds that cannot be read are refused."""
    if len(data) < _HEADER.size:
        raise damaged_header("PSD", name, data)
    _, version, channels, height, width, depth, mode = _HEADER.unpack_from(data)
    kind = _MODES.get(mode, f"mode {mode}")
    if version != 1 or kind not in _READ or depth not in ((1,) if kind == "bitmap" else (8,)):
        raise EncodeError(
            "the PSD is of a kind that is not supported",
            {"file": name, "version": version, "mode": kind, "bits": depth}
            | {"allowed": f"version 1, 8 bits a channel, {', '.join(_READ)}"},
            "Save it as RGB with 8 bits a channel, with maximised compatibility.",
        )
    header = ImageHeader(width, height, mode == _RGB and channels >= 4)
    return checked_header(header, "PSD", data, name)


def survey_psd(data: bytes, name: str) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha` from the header."""
    return survey_header("PSD", psd_header(data, name))
