"""Pictures in the formats that Pillow writes, and a few that it only reads."""

from __future__ import annotations

import io
import struct

import numpy as np
from PIL import Image


def pixels(mode: str, width: int = 14, height: int = 9) -> Image.Image:
    """Return a noisy picture of a mode."""
    rng = np.random.default_rng(7)
    image = Image.fromarray(rng.integers(0, 256, (height, width, 4), np.uint8))
    if mode == "P":
        return image.convert("RGB").quantize(16)
    return image.convert(mode)


def saved(form: str, mode: str, **options: object) -> bytes:
    """Return the noisy picture as a file."""
    stream = io.BytesIO()
    pixels(mode).save(stream, form, **options)
    return stream.getvalue()


def make_psd(planes: np.ndarray, mode: int = 3, depth: int = 8, version: int = 1) -> bytes:
    """Return a Photoshop document of (channels, height, width) samples, without layers."""
    head = struct.pack(">4sH6xHIIHH", b"8BPS", version, *planes.shape, depth, mode)
    return head + struct.pack(">III", 0, 0, 0) + struct.pack(">H", 0) + planes.tobytes()
