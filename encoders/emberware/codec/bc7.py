"""BC7 blocks through etcpak, an optional dependency imported only when a texture asks for BC7.

etcpak's scalar build is used on every machine: its SIMD builds may choose other blocks, and the
same picture has to give the same bytes everywhere.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError

INSTALL_HINT = 'Install it with `pip install cartwright-build[bc7]`, or write `format = "rgba8"`.'


def compress_bc7(image: npt.NDArray[np.uint8], name: str) -> bytes:
    """Compress an RGBA picture (height, width, 4) whose sides are multiples of four."""
    height, width = image.shape[:2]
    if width % 4 or height % 4:
        facts = {"file": name, "size": f"{width} x {height}", "allowed": "multiples of 4"}
        hint = 'Scale the image, or write `format = "rgba8"`.'
        raise EncodeError("texture does not divide into BC7 blocks", facts, hint)
    library = _load_etcpak(name)
    blocks: bytes = library.compress_bc7(image.tobytes(), width, height)
    return blocks


def _load_etcpak(name: str) -> ModuleType:
    """Import etcpak's scalar build, or refuse the texture where it is not installed."""
    try:
        from etcpak import _etcpak_none  # type: ignore[attr-defined,unused-ignore] # not in its stubs
    except ImportError as error:
        facts = {"file": name, "reason": error}
        raise EncodeError("etcpak is needed to make BC7 textures", facts, INSTALL_HINT) from error
    library: ModuleType = _etcpak_none
    return library
