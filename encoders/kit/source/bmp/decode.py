"""BMP to RGBA8 by Pillow, checked against the header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.source.bmp.header import bmp_header
from encoders.kit.source.shared.pillow import decode_with_pillow


def decode_bmp(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return a BMP as RGBA8."""
    return decode_with_pillow(data, name, "BMP", bmp_header(data, name))
