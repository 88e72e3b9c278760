"""WebP to RGBA8 by Pillow, checked against the header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.source.shared.pillow import decode_with_pillow
from encoders.kit.source.webp.header import webp_header


def decode_webp(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return a still WebP as RGBA8."""
    return decode_with_pillow(data, name, "WebP", webp_header(data, name))
