"""TGA to RGBA8 by Pillow, checked against the header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.source.shared.pillow import decode_with_pillow
from encoders.kit.source.tga.header import tga_header


def decode_tga(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return a TGA as RGBA8."""
    return decode_with_pillow(data, name, "TGA", tga_header(data, name))
