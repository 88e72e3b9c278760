"""JPEG to RGBA8 by Pillow, checked against the frame header.

The one rule: no colour management and no orientation from metadata; a file that is damaged or
lies about itself is refused.
"""

from __future__ import annotations

import io
import warnings

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.jpeg.frame import jpeg_frame

# Progressive encoders write about ten scans; each costs a pass over the whole picture.
MAX_SCANS = 100
_COMPONENTS = {1: "grey", 3: "RGB"}


def decode_jpeg(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return a grey or colour JPEG as opaque RGBA8."""
    from PIL import Image

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
    try:
        # Damaged metadata, which is not used, makes Pillow warn.
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(data), formats=["JPEG"]) as picture,
        ):
            image = np.array(picture.convert("RGBA"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        facts = {"file": name, "reason": str(error)}
        raise EncodeError("the JPEG is damaged or cut short", facts) from error
    if image.shape != (height, width, 4):
        facts = {"file": name, "header": f"{width} x {height}", "decoded": str(image.shape)}
        raise EncodeError("the JPEG's parts disagree about its size", facts)
    return image
