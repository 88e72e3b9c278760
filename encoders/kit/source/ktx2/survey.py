"""What must be known of a KTX2 before it is decoded."""

from __future__ import annotations

from encoders.kit.source.ktx2.header import ktx2_header


def survey_ktx2(data: bytes, name: str) -> dict[str, object]:
    """Return `format`, `width`, `height` and `has_alpha` from the header."""
    header = ktx2_header(data, name)
    size = {"width": header.width, "height": header.height}
    return {"format": "ktx2", **size, "has_alpha": header.has_alpha}
