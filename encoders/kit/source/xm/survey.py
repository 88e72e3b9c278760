"""What must be known of an XM file before it is decoded: the counts of its header."""

from __future__ import annotations

from encoders.kit.source.xm.header import decode_header


def survey_xm(data: bytes, name: str) -> dict[str, object]:
    """Return `title`, `channels`, `patterns` and `instruments` of an XM."""
    found = decode_header(data, name)
    keys = ("title", "channels", "patterns", "instruments")
    return {key: getattr(found, key) for key in keys}
