"""The textures that a scene needs: one for each image and each way in which materials use it.

Planning finds requests in surveys, and the mesh encoder in materials. Both must build their keys
here, so that triangles find their textures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.source.material import AlphaMode

# Alpha thresholds of blended materials, and of those that show nothing.
HALF = 128
NEVER = 256


@dataclass(frozen=True, order=True)
class TextureRequest:
    """An image, perhaps another one for its alpha, and the alpha from which a texel is shown.

    Images are named by their path, or as the decoded model names those inside of it; an empty name
    is no image.
    """

    color: str
    alpha: str
    threshold: int

    @property
    def key(self) -> str:
        """The name of the texture between nodes."""
        return f"{self.color}|{self.alpha}|{self.threshold}"

    @property
    def image(self) -> str:
        """The image by which the user knows the texture."""
        return self.color or self.alpha


def request_texture(images: Mapping[str, str], threshold: int) -> TextureRequest | None:
    """Return the request of a material whose slots have these images, or None without images."""
    color, alpha = images.get("base_color", ""), images.get("alpha", "")
    if not color and not alpha:
        return None
    # Exporters name an image again for its own alpha.
    return TextureRequest(color, "" if alpha == color else alpha, threshold)


def alpha_threshold(mode: AlphaMode, cutoff: float, alpha: float) -> int:
    """Return the least alpha of a texel that is shown: 0 shows all texels and 256 none."""
    if mode == "opaque" or (mode == "mask" and cutoff <= 0):
        return 0
    if mode == "blend":
        return HALF
    # The alpha of the material scales that of the image, so the threshold is scaled instead.
    return math.ceil(cutoff / alpha * 255) if alpha >= cutoff else NEVER
