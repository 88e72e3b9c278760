"""TIFF to RGBA8 by Pillow, checked against the header.

Pillow hands compressed TIFFs to libtiff, which damaged files have crashed before, so whatever
calls it runs in a process of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.isolate import isolated
from encoders.kit.source.shared.image_header import shown_header
from encoders.kit.source.shared.pillow import decode_with_pillow
from encoders.kit.source.tiff.header import tiff_header
from encoders.kit.warning import Warn, ignore


def decode_tiff(data: bytes, name: str, warn: Warn = ignore) -> npt.NDArray[np.uint8]:
    """Return the first picture of a TIFF as RGBA8."""
    # Before the other process is asked: most that is wrong shows in the header.
    header = tiff_header(data, name)
    if header.warning:
        warn(header.warning)
    return _decode(data, name)


@isolated
def _decode(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    # Of this format alone, Pillow applies the orientation by itself.
    return decode_with_pillow(data, name, "TIFF", shown_header(tiff_header(data, name)))
