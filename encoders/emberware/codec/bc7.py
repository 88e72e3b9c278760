"""BC7 blocks of textures; texture2ddecoder, an optional dependency, decodes them to be shown."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.bc.bc7 import encode_bc7
from encoders.kit.image.bc.bc7_reference import BLOCK_BYTES

Image = npt.NDArray[np.uint8]


def compress_bc7(image: Image, name: str) -> bytes:
    """Compress an RGBA picture (height, width, 4) whose sides are multiples of four.

    Blocks of opaque texels are opaque.
    """
    check_sides(image, name, "BC7")
    return encode_bc7(image)


def check_sides(image: Image, name: str, form: str) -> None:
    """Refuse a picture that does not divide into blocks."""
    height, width = image.shape[:2]
    if width % 4 or height % 4:
        facts = {"file": name, "size": f"{width} x {height}", "allowed": "multiples of 4"}
        hint = 'Scale the image, or write `format = "rgba8"`.'
        raise EncodeError(f"texture does not divide into {form} blocks", facts, hint)


def decode_bc7(blocks: bytes, width: int, height: int, name: str) -> Image:
    """Decode the blocks of a picture to RGBA."""
    library = _load_decoder(name)
    if len(blocks) != -(-width // 4) * -(-height // 4) * BLOCK_BYTES:
        raise EncodeError("not the blocks of a picture", {"file": name, "bytes": len(blocks)})
    pixels = np.frombuffer(library.decode_bc7(blocks, width, height), np.uint8)
    # The decoder gives blue first.
    return np.ascontiguousarray(pixels.reshape(height, width, 4)[..., [2, 1, 0, 3]])


# A plain import, so that the version of the package counts for the keys of the cache.


def _load_decoder(name: str) -> ModuleType:
    try:
        import texture2ddecoder
    except ImportError as error:
        facts = {"file": name, "reason": error}
        hint = 'Install it with `pip install "cartwright-build[bc7]"`.'
        raise EncodeError("texture2ddecoder is needed to show BC7 textures", facts, hint) from error
    library: ModuleType = texture2ddecoder
    return library
