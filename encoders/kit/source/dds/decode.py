"""DDS to RGBA8 by Pillow, checked against the header."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.source.dds.header import dds_header
from encoders.kit.source.shared.pillow import decode_with_pillow


def decode_dds(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return the largest picture of a DDS texture as RGBA8."""
    return decode_with_pillow(data, name, "DDS", dds_header(data, name))
