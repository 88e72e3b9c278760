"""Which format an image is in, by its first bytes.

Images inside a model have no suffix, and files often have a wrong one, so content decides.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.source.format import SourceFormat
from encoders.kit.source.registry import IMAGE_FORMATS, format_of

# Image formats that are named in the error when they are met.
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


def find_image_format(data: bytes, name: str) -> SourceFormat | None:
    """Return the format whose magic the bytes have, or one without magic that the name has."""
    for one in IMAGE_FORMATS:
        if one.magic and all(data.startswith(magic, offset) for offset, magic in one.magic):
            return one
    named = format_of(name)
    return named if named in IMAGE_FORMATS and not named.magic else None


def image_format(data: bytes, name: str) -> SourceFormat:
    """Return the format of an image; name formats that cannot be read and refuse them."""
    found = find_image_format(data, name)
    if found is not None:
        return found
    for magic, offset, other in _OTHER_FORMATS:
        if data.startswith(magic, offset):
            raise EncodeError(
                f"{other} images are not supported",
                {"file": name, "format": other},
                "Export the image as PNG or JPEG.",
            )
    known = ", ".join(sorted(one.name for one in IMAGE_FORMATS))
    raise EncodeError(
        "the image is of an unknown format",
        {"file": name, "first bytes": data[:8].hex(" "), "allowed": known},
    )
