"""PSD to RGBA8 by Pillow, checked against the header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.source.psd.header import psd_header
from encoders.kit.source.shared.pillow import decode_with_pillow


def decode_psd(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return the merged picture of a Photoshop document as RGBA8."""
    return decode_with_pillow(data, name, "PSD", psd_header(data, name))
