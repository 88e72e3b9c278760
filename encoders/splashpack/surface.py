"""What a triangle takes from its material: a texture, a tint, a second side.

Colours multiply what a texture shows, and 128 leaves it as it is. The one rule: glTF's colours are
linear light and become sRGB first, OBJ's are taken as they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.image.srgb import linear_of
from encoders.kit.source.material import Material, Sampler, Slot, Texture
from encoders.kit.source.model import Model
from encoders.splashpack.reading import Reading, read_images

NEUTRAL = 128
SLOTS: tuple[Slot, ...] = ("base_color", "alpha")
# The least linear light from which each tint is the nearest one.
_STEPS = np.array([linear_of((tint + 0.5) / NEUTRAL) for tint in range(255)])


def tint_of(shares: npt.NDArray[np.float64], *, is_linear: bool) -> npt.NDArray[np.float32]:
    """Give the tints, 0 to 255, of colour factors; 1.0 is 128."""
    if is_linear:
        return np.searchsorted(_STEPS, shares, side="right").astype(np.float32)
    return np.clip(np.floor(shares * NEUTRAL + 0.5), 0, 255).astype(np.float32)


def are_cut_off(shares: npt.NDArray[np.float64], *, is_linear: bool) -> bool:
    """Tell whether there are factors that no tint shows."""
    brightest = 255 / NEUTRAL
    limit = linear_of(brightest) if is_linear else brightest
    return bool((shares < 0).any() or (shares > limit).any())


def reading_of(model: Model, material: Material) -> Reading | None:
    """Tell how a material reads its images, if it has any."""
    images: dict[str, str] = {
        slot: model.image_name(material, slot) for slot in SLOTS if slot in material.textures
    }
    return read_images(images, material.alpha_mode, material.alpha_cutoff, material.rgba[3])


def texture_of(material: Material) -> Texture:
    """Give the texture that says where the material's images are read."""
    slot: Slot = "base_color" if "base_color" in material.textures else "alpha"
    return material.textures[slot]


def sampler_of(material: Material) -> Sampler:
    """Tell how a material's images are read beyond their edges."""
    return texture_of(material).sampler


def describe_losses(material: Material) -> list[str]:
    """Say what the console cannot show of a material."""
    place = f"{material.file}: " if material.file else ""
    who = f'{place}material "{material.name}"'
    if material.alpha_mode != "blend":
        return []
    return [f"{who} is blended; it is drawn where its image is half opaque, elsewhere not"]
