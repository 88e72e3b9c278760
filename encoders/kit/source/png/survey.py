"""What must be known of a PNG before it is decoded."""

from __future__ import annotations

from encoders.kit.source.png.chunk import (
    GREY_ALPHA,
    RGBA,
    PngHeader,
    decode_png_header,
    png_orientation,
    walk_chunks,
)
from encoders.kit.source.shared.image_header import ImageHeader, survey_header
from encoders.kit.source.shared.image_limit import check_image_size


def survey_png(data: bytes, name: str) -> dict[str, object]:
    """Return `format`, `width`, `height` and `has_alpha` from the chunks before the pixels.

    `has_alpha` says whether the file can have transparent pixels, not whether it has any.
    """
    header, has_key = _headers(data, name)
    has_alpha = has_key or header.colour_type in (GREY_ALPHA, RGBA)
    orientation = png_orientation(data)
    return survey_header("PNG", ImageHeader(header.width, header.height, has_alpha, orientation))


def _headers(data: bytes, name: str) -> tuple[PngHeader, bool]:
    """Return the header, and whether a tRNS chunk stands before the image data."""
    chunks = walk_chunks(data, name)
    header = decode_png_header(*next(chunks), name)
    check_image_size(header.width, header.height, name, len(data))
    for kind, _ in chunks:
        if kind in ("tRNS", "IDAT", "IEND"):
            return header, kind == "tRNS"
    raise AssertionError("walk_chunks ends with IEND or an error")
