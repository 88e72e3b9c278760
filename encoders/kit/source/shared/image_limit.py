"""How large an image may be.

Only the standard library is imported, because surveys check sizes too.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError

# No target takes more than 8192 texels a side; as RGBA8 this is 256 MiB.
MAX_PIXELS = 8192 * 8192
# So many pixels any file may have, and so many more for each of its bytes: a picture of one colour
# shrinks to almost nothing, but its pixels still take memory and time.
FREE_PIXELS, PIXELS_PER_BYTE = 4096 * 4096, 64


def check_image_size(width: int, height: int, name: str, file_bytes: int) -> None:
    """Refuse an image of more than MAX_PIXELS, or of far more than its file can fill."""
    allowed = min(MAX_PIXELS, FREE_PIXELS + PIXELS_PER_BYTE * file_bytes)
    if width * height > allowed:
        raise EncodeError(
            "the image is too large",
            {"file": name, "size": f"{width} x {height}", "bytes": file_bytes}
            | {"allowed": f"{allowed} pixels"},
        )
