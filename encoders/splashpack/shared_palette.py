"""What the node of a shared palette tells the nodes of its textures, as JSON."""

from __future__ import annotations

import numpy as np

from encoders.kit.image.palette.quantise import Palette, SharedPalette
from encoders.splashpack.intermediate import decode_json, encode_json


def encode_shared(shared: SharedPalette, bits: int) -> bytes:
    """Encode a palette and the bits of a texel that go with it."""
    palette, has_hole = shared
    facts = {"levels": palette.levels.tolist(), "scale": palette.scale, "has_hole": has_hole}
    return encode_json({**facts, "bits": bits})


def decode_shared(data: bytes) -> tuple[SharedPalette, int]:
    """Decode the result of `encode_shared`."""
    facts = decode_json(data)
    levels = np.array(facts["levels"], np.uint8).reshape(-1, 3)
    return SharedPalette(Palette(levels, facts["scale"]), facts["has_hole"]), facts["bits"]
