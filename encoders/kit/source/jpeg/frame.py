"""The headers of a JPEG before its pixels: size, number of components and orientation.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

from typing import NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_header import ImageHeader
from encoders.kit.source.shared.image_limit import check_image_size
from encoders.kit.source.shared.tag_directory import UPRIGHT, exif_orientation

# Start-of-frame markers of the JPEGs that exist outside of laboratories: Huffman-coded,
# baseline, extended and progressive. The rest (lossless, arithmetic, hierarchical) is refused.
_FRAMES = frozenset((0xC0, 0xC1, 0xC2))
_OTHER_FRAMES = frozenset(range(0xC3, 0xD0)) - {0xC4, 0xC8, 0xCC}
_EXIF = 0xE1
_BARE_MARKERS = frozenset((0x01, *range(0xD0, 0xD9)))


class JpegFrame(NamedTuple):
    """Width and height as they are stored, number of components, and EXIF's orientation."""

    width: int
    height: int
    components: int
    orientation: int

    @property
    def header(self) -> ImageHeader:
        """The frame in the shape that all formats share."""
        return ImageHeader(self.width, self.height, has_alpha=False, orientation=self.orientation)


def jpeg_frame(data: bytes, name: str) -> JpegFrame:
    """Return what the headers before a JPEG's pixels say."""
    offset, orientation = 2, UPRIGHT
    while offset + 4 <= len(data) and data[offset] == 0xFF:
        marker = data[offset + 1]
        if marker == 0xFF or marker in _BARE_MARKERS:
            offset += 1 if marker == 0xFF else 2
            continue
        size = int.from_bytes(data[offset + 2 : offset + 4], "big")
        if marker in _FRAMES:
            width, height, components = _decode_frame(data[offset + 4 : offset + 2 + size], name)
            check_image_size(width, height, name, len(data))
            return JpegFrame(width, height, components, orientation)
        if marker in _OTHER_FRAMES or marker in (0xD9, 0xDA) or size < 2:
            raise EncodeError(
                "the JPEG is of a kind that is not supported",
                {"file": name, "marker": f"FF{marker:02X}", "offset": offset},
                "Export it as baseline or progressive JPEG, or as PNG.",
            )
        body = data[offset + 4 : offset + 2 + size]
        if marker == _EXIF and body.startswith(b"Exif\0\0") and orientation == UPRIGHT:
            orientation = exif_orientation(body)
        offset += 2 + size
    raise EncodeError("the JPEG ends before its frame header", {"file": name, "bytes": len(data)})


def _decode_frame(segment: bytes, name: str) -> tuple[int, int, int]:
    if len(segment) < 6 or len(segment) != 6 + 3 * segment[5]:
        raise EncodeError("the JPEG's frame header has a wrong length", {"file": name})
    height = int.from_bytes(segment[1:3], "big")
    width = int.from_bytes(segment[3:5], "big")
    if segment[0] != 8 or not width or not height:
        raise EncodeError(
            "the JPEG has a size or depth that is not supported",
            {"file": name, "size": f"{width} x {height}", "bits": segment[0], "allowed": "8 bits"},
        )
    return width, height, segment[5]
