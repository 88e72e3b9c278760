"""JPEG to RGBA8 by Pillow, checked against the frame header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.jpeg.frame import jpeg_frame
from encoders.kit.source.pillow import decode_with_pillow

# Progressive encoders write about ten scans; each costs a pass over the whole picture.
MAX_SCANS = 100
_COMPONENTS = {1: "grey", 3: "RGB"}


def decode_jpeg(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return a grey or colour JPEG as opaque RGBA8."""
    width, height, components = jpeg_frame(data, name)
    scans = data.count(b"\xff\xda")
    # Before Pillow: decoding an image of thousands of scans would take minutes.
    if components not in _COMPONENTS or scans > MAX_SCANS:
        raise EncodeError(
            "the JPEG is of a kind that is not supported",
            {"file": name, "components": components, "scans": scans}
            | {"allowed": f"grey or RGB, at most {MAX_SCANS} scans"},
            "Save it as an RGB image, not as CMYK.",
        )
    return decode_with_pillow(data, name, "JPEG", (width, height))
