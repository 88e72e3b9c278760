"""A picture whose alpha comes from a picture of its own, as MTL's `map_d` has it.

The one rule: the colour's size is the result's; the alpha picture is resized to it.
"""

from __future__ import annotations

import numpy as np

from encoders.kit.image.pixel import Rgba8


def join_alpha(color: Rgba8 | None, alpha: Rgba8 | None) -> Rgba8:
    """Multiply the alpha picture into the colour's alpha; without a colour it covers white."""
    if alpha is None:
        assert color is not None
        return color
    from encoders.kit.image.resize import resize_colour

    cover = _cover(alpha)
    picture = np.full((*cover.shape[:2], 4), 255, np.uint8) if color is None else color
    height, width = picture.shape[:2]
    share = resize_colour(cover, width, height)[..., 0].astype(np.uint32)
    joined = picture.copy()
    joined[..., 3] = (picture[..., 3] * share + 127) // 255
    return joined


def _cover(image: Rgba8) -> Rgba8:
    """Give an alpha map as an opaque grey picture: its own alpha, or else its brightness."""
    level = image[..., 3].astype(np.uint32)
    if (level == 255).all():
        red, green, blue = (image[..., channel].astype(np.uint32) for channel in range(3))
        level = (299 * red + 587 * green + 114 * blue + 500) // 1000
    grey = np.full(image.shape, 255, np.uint8)
    grey[..., :3] = level[..., None].astype(np.uint8)
    return grey
