"""What a triangle takes from its material: the texture request, the tint, and what is lost.

Colours multiply what a texture shows, and 128 leaves it as it is. Colours of glTF are linear light
and are converted to sRGB first; those of OBJ files are used as they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.image.srgb import linear_of
from encoders.kit.source.material import Material, Sampler, Slot, Texture
from encoders.kit.source.model import Model
from encoders.kit.warning import grouped
from encoders.splashpack.scene.texture_request import (
    TextureRequest,
    alpha_threshold,
    request_texture,
)

NEUTRAL = 128
SLOTS: tuple[Slot, ...] = ("base_color", "alpha")
# The linear light from which each tint is nearer than the one below it.
_STEPS = np.array([linear_of((tint + 0.5) / NEUTRAL) for tint in range(255)])


def tint_of(shares: npt.NDArray[np.float64], *, is_linear: bool) -> npt.NDArray[np.float32]:
    """Return the tints, 0 to 255, of colour factors; 1.0 is 128."""
    if is_linear:
        return np.searchsorted(_STEPS, shares, side="right").astype(np.float32)
    # Limited before it is multiplied: a source may hold any number.
    return np.minimum(np.floor(np.clip(shares, 0, 2) * NEUTRAL + 0.5), 255).astype(np.float32)


def exceeds_tints(shares: npt.NDArray[np.float64], *, is_linear: bool) -> bool:
    """Tell whether there are colour factors outside of the range of tints."""
    brightest = 255 / NEUTRAL
    limit = linear_of(brightest) if is_linear else brightest
    return bool((shares < 0).any() or (shares > limit).any())


def texture_request_of(model: Model, material: Material) -> TextureRequest | None:
    """Return the texture request of a material, or None if it has no image."""
    images: dict[str, str] = {
        slot: model.image_name(material, slot) for slot in SLOTS if slot in material.textures
    }
    alpha = material.alpha_mode, material.alpha_cutoff, material.rgba[3]
    return request_texture(images, alpha_threshold(*alpha))


def texture_of(material: Material) -> Texture:
    """Return the texture whose coordinates and sampler the material uses."""
    slot: Slot = "base_color" if "base_color" in material.textures else "alpha"
    return material.textures[slot]


def sampler_of(material: Material) -> Sampler:
    """Return the sampler, which says what lies beyond the edges of a texture."""
    return texture_of(material).sampler


def describe_losses(material: Material) -> list[str]:
    """Return a warning for everything that the console cannot show of a material."""
    place = f"{material.file}: " if material.file else ""
    who = f'{place}material "{material.name}"'
    if material.alpha_mode != "blend":
        return []
    return [
        grouped(
            "color", f"{who} is blended; it is drawn where its image is half opaque, elsewhere not"
        )
    ]
