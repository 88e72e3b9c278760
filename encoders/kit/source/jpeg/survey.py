"""What must be known of a JPEG before it is decoded."""

from __future__ import annotations

from encoders.kit.source.jpeg.frame import jpeg_frame
from encoders.kit.source.shared.image_header import survey_header


def survey_jpeg(data: bytes, name: str) -> dict[str, object]:
    """Return `format`, `width`, `height` and `has_alpha` from the frame header."""
    return survey_header("JPEG", jpeg_frame(data, name).header)
