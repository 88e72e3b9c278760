"""Images opened by their content: a file, or bytes inside a model, to RGBA8.

The one rule: the result is what the file's numbers say - no colour management, no orientation
from metadata, no premultiplication; a file that is damaged or lies about itself is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.kit.source.content import image_format
from encoders.kit.source.registry import load_reader

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def open_image(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return the image as (height, width, 4) RGBA8, top row first."""
    image: npt.NDArray[np.uint8] = load_reader(image_format(data, name), "image", name)(data, name)
    return image
