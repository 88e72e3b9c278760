"""How large an image may be.

Only the standard library is imported, because surveys check sizes too.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError

# No target takes more than 8192 texels a side; as RGBA8 this is 256 MiB.
MAX_PIXELS = 8192 * 8192


def check_image_size(width: int, height: int, name: str) -> None:
    """Refuse an image of more than MAX_PIXELS."""
    if width * height > MAX_PIXELS:
        raise EncodeError(
            "the image is too large",
            {"file": name, "size": f"{width} x {height}", "allowed": f"{MAX_PIXELS} pixels"},
        )
