"""What must be known of an AVIF before it is decoded."""

from __future__ import annotations

from encoders.kit.source.avif.header import avif_header
from encoders.kit.source.shared.image_header import survey_header


def survey_avif(data: bytes, name: str) -> dict[str, object]:
    """Return `format`, `width`, `height` and `has_alpha` from the header."""
    return survey_header("AVIF", avif_header(data, name))
