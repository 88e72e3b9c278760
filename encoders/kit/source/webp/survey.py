"""What must be known of a WebP before it is decoded."""

from __future__ import annotations

from encoders.kit.source.shared.image_header import survey_header
from encoders.kit.source.webp.header import webp_header


def survey_webp(data: bytes, name: str) -> dict[str, object]:
    """Return `format`, `width`, `height` and `has_alpha` from the header."""
    return survey_header("WebP", webp_header(data, name))
