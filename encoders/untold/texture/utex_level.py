"""Decode a mip level of a `.utex` file to pixels."""

from __future__ import annotations

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.image.mip import level_size
from encoders.kit.image.pixel import Rgba8
from encoders.untold.texture.utex import FORMATS, SRGB_FORMATS, Utex


def decode_level(utex: Utex, level: int, name: str) -> Rgba8:
    """Decode the ASTC blocks of a level; needs the library that makes them."""
    try:
        import astc_encoder  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise EncodeError(
            "ASTC textures need a library that is not installed",
            {"file": name, "library": "astc-encoder-py"},
            "Run `pip install astc-encoder-py`.",
        ) from error
    is_srgb = utex.pixel_format in SRGB_FORMATS.values()
    profile = astc_encoder.ASTCProfile.LDR_SRGB if is_srgb else astc_encoder.ASTCProfile.LDR
    context = astc_encoder.ASTCContext(
        astc_encoder.ASTCConfig(profile, *FORMATS[utex.pixel_format])
    )
    width, height = level_size(utex.width, utex.height, level)
    image = astc_encoder.ASTCImage(astc_encoder.ASTCType.U8, width, height, 1)
    swizzle = astc_encoder.ASTCSwizzle.from_str("RGBA")
    context.decompress(utex.levels[level], image, swizzle)
    pixels = image.data
    assert pixels is not None  # they were just decoded
    return np.frombuffer(pixels, np.uint8).reshape(height, width, 4).copy()
