"""Images opened by their content: a file, or bytes inside a model, to RGBA8.

The one rule: the result is what the file's numbers say - no colour management, no premultiplying;
the orientation that the file declares is applied; a file whose pixels are damaged is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.kit.source.content import content_warning, image_format
from encoders.kit.source.registry import load_reader
from encoders.kit.warning import Warn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def open_image(data: bytes, name: str, warn: Warn | None = None) -> npt.NDArray[np.uint8]:
    """Return the image as (height, width, 4) RGBA8, top row first."""
    form = image_format(data, name)
    said = content_warning(data, name)
    if warn and said:
        warn(said)
    reader = load_reader(form, "image", name)
    # Only some formats can be read in spite of a fault; the others take no third argument.
    arguments = (data, name, warn) if form.image_warns and warn else (data, name)
    image: npt.NDArray[np.uint8] = reader(*arguments)
    return image
