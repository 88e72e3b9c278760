"""What must be known of an image before it is decoded: its format, size and kind of alpha.

Only headers are read and only the standard library is imported. The one rule: an image whose
size is over the limit is refused here, before anything allocates memory for its pixels.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.source.png.chunk import (
    GREY_ALPHA,
    PNG_SIGNATURE,
    RGBA,
    PngHeader,
    decode_png_header,
    walk_chunks,
)

# No target takes more than 8192 texels a side; as RGBA8 this is 256 MiB.
MAX_PIXELS = 8192 * 8192

_OTHER_FORMATS = (
    (b"\xabKTX 20\xbb\r\n\x1a\n", 0, "KTX2"),
    (b"\xabKTX 11\xbb\r\n\x1a\n", 0, "KTX"),
    (b"WEBP", 8, "WebP"),
    (b"DDS ", 0, "DDS"),
    (b"GIF8", 0, "GIF"),
    (b"BM", 0, "BMP"),
    (b"II*\x00", 0, "TIFF"),
    (b"MM\x00*", 0, "TIFF"),
    (b"8BPS", 0, "Photoshop"),
    (b"qoif", 0, "QOI"),
    (b"ftypavif", 4, "AVIF"),
    (b"ftypheic", 4, "HEIC"),
    (b"#?RADIANCE", 0, "Radiance HDR"),
    (b"v/1\x01", 0, "OpenEXR"),
    (b"\x00\x00\x00\x0cjP  ", 0, "JPEG 2000"),
    (b"\xff\x0a", 0, "JPEG XL"),
    (b"<svg", 0, "SVG"),
    (b"<?xml", 0, "SVG"),
)
# Start-of-frame markers of the JPEGs that exist outside of laboratories: Huffman-coded,
# baseline, extended and progressive. The rest (lossless, arithmetic, hierarchical) is refused.
_JPEG_FRAMES = frozenset((0xC0, 0xC1, 0xC2))
_JPEG_OTHER_FRAMES = frozenset(range(0xC3, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE_MARKERS = frozenset((0x01, *range(0xD0, 0xD9)))


def survey_image(data: bytes, name: str) -> dict[str, object]:
    """Return `format`, `width`, `height` and `has_alpha` of a PNG or JPEG from its header.

    `has_alpha` says whether the file can have transparent pixels, not whether it has any.
    """
    kind = image_format(data, name)
    if kind == "jpeg":
        width, height, _ = jpeg_frame(data, name)
        return {"format": kind, "width": width, "height": height, "has_alpha": False}
    header, has_key = _survey_png(data, name)
    has_alpha = has_key or header.colour_type in (GREY_ALPHA, RGBA)
    return {"format": kind, "width": header.width, "height": header.height} | {
        "has_alpha": has_alpha
    }


def image_format(data: bytes, name: str) -> str:
    """Return "png" or "jpeg" by the file's first bytes; name other formats and refuse them."""
    if data.startswith(PNG_SIGNATURE):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    for magic, offset, found in _OTHER_FORMATS:
        if data.startswith(magic, offset):
            raise EncodeError(
                f"{found} images are not supported",
                {"file": name, "format": found},
                "Export the image as PNG or JPEG.",
            )
    raise EncodeError(
        "the image is neither PNG nor JPEG", {"file": name, "first bytes": data[:8].hex(" ")}
    )


def check_image_size(width: int, height: int, name: str) -> None:
    """Refuse an image of more than MAX_PIXELS."""
    if width * height > MAX_PIXELS:
        raise EncodeError(
            "the image is too large",
            {"file": name, "size": f"{width} x {height}", "allowed": f"{MAX_PIXELS} pixels"},
        )


def jpeg_frame(data: bytes, name: str) -> tuple[int, int, int]:
    """Return width, height and number of components from a JPEG's frame header."""
    offset = 2
    while offset + 4 <= len(data) and data[offset] == 0xFF:
        marker = data[offset + 1]
        if marker == 0xFF or marker in _JPEG_BARE_MARKERS:
            offset += 1 if marker == 0xFF else 2
            continue
        size = int.from_bytes(data[offset + 2 : offset + 4], "big")
        if marker in _JPEG_FRAMES:
            return _decode_jpeg_frame(data[offset + 4 : offset + 2 + size], name)
        if marker in _JPEG_OTHER_FRAMES or marker in (0xD9, 0xDA) or size < 2:
            raise EncodeError(
                "the JPEG is of a kind that is not supported",
                {"file": name, "marker": f"FF{marker:02X}", "offset": offset},
                "Export it as baseline or progressive JPEG, or as PNG.",
            )
        offset += 2 + size
    raise EncodeError("the JPEG ends before its frame header", {"file": name, "bytes": len(data)})


def _decode_jpeg_frame(segment: bytes, name: str) -> tuple[int, int, int]:
    if len(segment) < 6 or len(segment) != 6 + 3 * segment[5]:
        raise EncodeError("the JPEG's frame header has a wrong length", {"file": name})
    height = int.from_bytes(segment[1:3], "big")
    width = int.from_bytes(segment[3:5], "big")
    if segment[0] != 8 or not width or not height:
        raise EncodeError(
            "the JPEG has a size or depth that is not supported",
            {"file": name, "size": f"{width} x {height}", "bits": segment[0], "allowed": "8 bits"},
        )
    check_image_size(width, height, name)
    return width, height, segment[5]


def _survey_png(data: bytes, name: str) -> tuple[PngHeader, bool]:
    """Return the header, and whether a tRNS chunk stands before the image data."""
    chunks = walk_chunks(data, name)
    header = decode_png_header(*next(chunks), name)
    check_image_size(header.width, header.height, name)
    for kind, _ in chunks:
        if kind in ("tRNS", "IDAT", "IEND"):
            return header, kind == "tRNS"
    raise AssertionError("walk_chunks ends with IEND or an error")
