"""JPEG to RGBA8 by Pillow, checked against the frame header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.jpeg.frame import jpeg_frame
from encoders.kit.source.shared.pillow import decode_with_pillow
from encoders.kit.warning import Warn, grouped, ignore

# Progressive encoders write about ten scans; each costs a pass over the whole picture.
MAX_SCANS = 100
_CMYK = 4
_COMPONENTS = (1, 3, _CMYK)


def decode_jpeg(data: bytes, name: str, warn: Warn = ignore) -> npt.NDArray[np.uint8]:
    """Return a grey, colour or CMYK JPEG as opaque RGBA8; profiles of colours are ignored."""
    frame = jpeg_frame(data, name)
    scans = data.count(b"\xff\xda")
    # Before Pillow: decoding an image of thousands of scans would take minutes.
    if frame.components not in _COMPONENTS or scans > MAX_SCANS:
        raise EncodeError(
            "the JPEG is of a kind that is not supported",
            {"file": name, "components": frame.components, "scans": scans}
            | {"allowed": f"grey, RGB or CMYK, at most {MAX_SCANS} scans"},
            "Save it as an RGB image.",
        )
    if frame.components == _CMYK:
        text = f"{name}: CMYK was converted to RGB without a colour profile"
        warn(grouped("color", text))
    return decode_with_pillow(data, name, "JPEG", frame.header)
