"""AVIF to RGBA8 by Pillow, checked against the header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.source.avif.header import avif_header
from encoders.kit.source.shared.pillow import decode_with_pillow


def decode_avif(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return a still AVIF as RGBA8."""
    return decode_with_pillow(data, name, "AVIF", avif_header(data, name))
