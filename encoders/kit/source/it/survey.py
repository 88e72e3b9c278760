"""What must be known of an IT file before it is decoded: the counts of its header."""

from __future__ import annotations

from encoders.kit.source.it.header import decode_header


def survey_it(data: bytes, name: str) -> dict[str, object]:
    """Return `title`, `patterns`, `instruments` and `samples` of an IT."""
    found = decode_header(data, name)
    counts = {key: len(getattr(found, key)) for key in ("patterns", "instruments", "samples")}
    return {"title": found.title, **counts}
