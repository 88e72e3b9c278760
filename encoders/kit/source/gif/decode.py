"""GIF to RGBA8 by Pillow, checked against the header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gif.header import gif_header
from encoders.kit.source.shared.pillow import decode_with_pillow
from encoders.kit.warning import Warn, ignore


def decode_gif(data: bytes, name: str, warn: Warn = ignore) -> npt.NDArray[np.uint8]:
    """Return the first picture of a GIF as RGBA8."""
    header = gif_header(data, name)
    if header.warning:
        warn(header.warning)
    return decode_with_pillow(data, name, "GIF", header)
