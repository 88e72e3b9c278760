"""KTX2 to RGBA8 by opengl_basisu, an optional extra.

The library is native code that reads files from anywhere, so it runs in a process of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import opengl_basisu

from encoders.kit.error import EncodeError
from encoders.kit.isolate import isolated
from encoders.kit.source.ktx2.header import ktx2_header


def decode_ktx2(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return the largest level of a KTX2 as RGBA8, top row first."""
    header = ktx2_header(data, name)
    image = transcode(data, name)
    if image.shape != (header.height, header.width, 4):
        size = f"{header.width} x {header.height}"
        facts = {"file": name, "header": size, "decoded": str(image.shape)}
        raise EncodeError("the KTX2's parts disagree about its size", facts)
    return image[::-1].copy() if header.is_upwards else image


@isolated
def transcode(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return the largest level as RGBA8, in the file's order of rows."""
    try:
        image = opengl_basisu.open(data).transcode("rgba8")
    except opengl_basisu.BasisuError as error:
        facts = {"file": name, "reason": str(error)}
        raise EncodeError("the KTX2 is damaged or cut short", facts) from error
    return np.asarray(image.data, np.uint8)
