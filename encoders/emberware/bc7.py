"""BC7 blocks through etcpak, an optional extra that is imported only where a texture asks for it.

The rule: the library's plain build is taken, never the one for this machine's processor, so that
the same picture gives the same blocks everywhere.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError

INSTALL_HINT = 'Install it with `pip install cartwright[bc7]`, or write `format = "rgba8"`.'


def compress_bc7(image: npt.NDArray[np.uint8], name: str) -> bytes:
    """Return the blocks of a picture (height, width, 4) whose sides are multiples of four."""
    height, width = image.shape[:2]
    if width % 4 or height % 4:
        facts = {"file": name, "size": f"{width} x {height}", "allowed": "multiples of 4"}
        hint = 'Scale the image, or write `format = "rgba8"`.'
        raise EncodeError("texture does not divide into BC7 blocks", facts, hint)
    library = _library(name)
    blocks: bytes = library.compress_bc7(image.tobytes(), width, height)
    return blocks


def _library(name: str) -> ModuleType:
    try:
        from etcpak import _etcpak_none  # type: ignore[attr-defined,unused-ignore] # not in its stubs
    except ImportError as error:
        facts = {"file": name, "reason": error}
        raise EncodeError("etcpak is needed to make BC7 textures", facts, INSTALL_HINT) from error
    library: ModuleType = _etcpak_none
    return library
