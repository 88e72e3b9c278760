"""Join a colour picture and a separate alpha picture, as MTL's `map_d` gives it.

The result has the size of the colour picture; the alpha picture is resized to it.
"""

from __future__ import annotations

import numpy as np

from encoders.kit.image.pixel import Rgba8


def join_alpha(color: Rgba8 | None, alpha: Rgba8 | None) -> Rgba8:
    """Multiply the colour's alpha by the alpha picture; without a colour the result is white."""
    if alpha is None:
        assert color is not None
        return color
    from encoders.kit.image.resize import resize_colour

    grey = _grey(alpha)
    picture = np.full((*grey.shape[:2], 4), 255, np.uint8) if color is None else color
    height, width = picture.shape[:2]
    factor = resize_colour(grey, width, height)[..., 0].astype(np.uint32)
    joined = picture.copy()
    # Rounded product of two shares of 255.
    joined[..., 3] = (picture[..., 3] * factor + 127) // 255
    return joined


def _grey(image: Rgba8) -> Rgba8:
    """Return an alpha map as an opaque grey picture: its alpha, or its luma where it is opaque."""
    level = image[..., 3].astype(np.uint32)
    # An opaque picture can only mean its brightness.
    if (level == 255).all():
        red, green, blue = (image[..., channel].astype(np.uint32) for channel in range(3))
        # Rec. 601 luma in integers.
        level = (299 * red + 587 * green + 114 * blue + 500) // 1000
    grey = np.full(image.shape, 255, np.uint8)
    grey[..., :3] = level[..., None].astype(np.uint8)
    return grey
