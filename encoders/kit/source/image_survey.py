"""What must be known of an image before it is decoded: its format, size and kind of alpha.

Only headers are read and only the standard library is imported. An image over the size limit is
refused here, before anything allocates memory for its pixels.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.source.content import image_format
from encoders.kit.source.registry import load_reader


def survey_image(data: bytes, name: str) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha` of an image from its header.

    `has_alpha` says whether the file can have transparent pixels, not whether it has any.
    """
    # By content, not by suffix: names in models are often wrong, and images inside GLB have none.
    found: dict[str, Any] = load_reader(image_format(data, name), "survey", name)(data, name)
    return found
