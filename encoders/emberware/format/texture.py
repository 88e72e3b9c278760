"""`.ewztex`: width, height, and pixels as RGBA8 or as BC7 blocks, rows from top to bottom.

The file does not say which of the two it holds. Its size does, because BC7 is only written for
sides that are multiples of four. BC5 blocks are of the same size as those of BC7: only a ROM tells
the two apart.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U16

SIDE_LIMIT = 65535
RGBA8, BC7, BC5 = "rgba8", "bc7", "bc5"

# fmt: off
TEXTURE_HEADER = Layout("Texture header", 4,
    Row(0x00, "width",  U16),
    Row(0x02, "height", U16),
)
# fmt: on


def pack_texture(width: int, height: int, pixels: bytes) -> bytes:
    """Encode a texture whose pixels are RGBA8 rows or BC7 blocks."""
    return TEXTURE_HEADER.pack({"width": width, "height": height}) + pixels


def may_be_bc5(name: str) -> bool:
    """Tell whether the blocks of a file may be BC5, which only one of the consoles has."""
    return name.lower().endswith(".nczxtex")


def bc7_size(width: int, height: int) -> int:
    """Return the size in bytes of a picture's BC7 blocks."""
    return -(-width // 4) * -(-height // 4) * 16


def unpack_texture(data: bytes, name: str) -> dict[str, Any]:
    """Decode a file: width, height, format and the stored pixels."""
    header = TEXTURE_HEADER.unpack_one(data, name=name)
    width, height = header["width"], header["height"]
    sizes = {RGBA8: width * height * 4}
    if width % 4 == height % 4 == 0:
        sizes[BC7] = bc7_size(width, height)
    found = [
        form for form, size in sizes.items() if size and len(data) == TEXTURE_HEADER.size + size
    ]
    if not found:
        facts = {"file": name, "size": f"{width} x {height}", "bytes": len(data)}
        expected = " or ".join(
            f"{TEXTURE_HEADER.size + size} ({form})" for form, size in sizes.items()
        )
        raise EncodeError("not a texture", facts | {"expected bytes": expected})
    return {**header, "format": found[0], "pixels": data[TEXTURE_HEADER.size :]}
