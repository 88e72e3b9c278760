"""How a scene reads an image: the texture that one or more materials come to.

Planning finds readings in surveys and the mesh encoder finds them in materials. The one rule: both
spell them by this module, so that a triangle and its texture meet under one key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.source.material import AlphaMode

HALF = 128
NEVER = 256


@dataclass(frozen=True, order=True)
class Reading:
    """An image, perhaps another one for its alpha, and the alpha from which a texel is shown.

    Images are named by their path, or by their place inside a source; no name stands for none.
    """

    color: str
    alpha: str
    threshold: int

    @property
    def key(self) -> str:
        """What the texture is called between encoders."""
        return f"{self.color}|{self.alpha}|{self.threshold}"

    @property
    def image(self) -> str:
        """The image that the user knows the texture by."""
        return self.color or self.alpha


def read_images(
    images: Mapping[str, str], mode: AlphaMode, cutoff: float, alpha_factor: float
) -> Reading | None:
    """Give the reading of a material whose images, by slot, are called so."""
    color, alpha = images.get("base_color", ""), images.get("alpha", "")
    if not color and not alpha:
        return None
    threshold = shown_from(mode, cutoff, alpha_factor)
    # Exporters name an image again for its own alpha.
    return Reading(color, "" if alpha == color else alpha, threshold)


def shown_from(mode: AlphaMode, cutoff: float, alpha: float) -> int:
    """Give the least alpha of a texel that is shown; all are from 0 on, and none from 256 on."""
    if mode == "opaque" or (mode == "mask" and cutoff <= 0):
        return 0
    if mode == "blend":
        return HALF
    return math.ceil(cutoff / alpha * 255) if alpha >= cutoff else NEVER
