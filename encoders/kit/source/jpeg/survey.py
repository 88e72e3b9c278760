"""What must be known of a JPEG before it is decoded."""

from __future__ import annotations

from encoders.kit.source.jpeg.frame import jpeg_frame


def survey_jpeg(data: bytes, name: str) -> dict[str, object]:
    """Return `format`, `width`, `height` and `has_alpha` from the frame header."""
    width, height, _ = jpeg_frame(data, name)
    return {"format": "jpeg", "width": width, "height": height, "has_alpha": False}
