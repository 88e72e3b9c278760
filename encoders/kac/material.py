"""What a KAC material can say of a source's material: a 4-bit colour and a cut-out.

The rule: Kelpo draws what is more than half opaque and nothing else, so transparency is decided
here, once; whatever a user may have meant otherwise is a warning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from encoders.kit.image.pixel import round_share
from encoders.kit.image.srgb import share_of
from encoders.kit.source.material import Material, Sampler, Slot

OPAQUE = 15
# Kelpo's alpha test passes from here on, in 4 and in 8 bits.
SHOWN_ALPHA = 8
HALF = 128
NEVER = 256


@dataclass(frozen=True)
class Surface:
    """A material's colour in codes of 4 bits, and how the alpha of its image is taken.

    `threshold` is the alpha from which on a texel is shown; None makes all of them opaque.
    """

    color: tuple[int, int, int, int]
    threshold: int | None = None


def encode_surface(material: Material, *, is_linear: bool) -> Surface:
    """Give the colour and the cut-out of a material whose colours are linear light, or not."""
    *rgb, alpha = material.rgba
    shares = [min(max(share, 0.0), 1.0) for share in rgb]
    if is_linear:
        shares = [share_of(share) for share in shares]
    red, green, blue, cover = round_share(np.array([*shares, alpha], np.float64), 4).tolist()
    if material.alpha_mode == "blend":
        return Surface((red, green, blue, cover), HALF)
    if material.alpha_mode == "opaque":
        return Surface((red, green, blue, OPAQUE))
    # The alpha test of a textured material is that of its texels.
    is_shown = texture_slot(material) is not None or alpha >= material.alpha_cutoff
    threshold = _threshold(material.alpha_cutoff, alpha)
    return Surface((red, green, blue, OPAQUE if is_shown else 0), threshold)


def _threshold(cutoff: float, alpha: float) -> int:
    """Give the least alpha of a texel that passes when the material's alpha is multiplied in."""
    if cutoff <= 0:
        return 0
    return math.ceil(cutoff / alpha * 255) if alpha >= cutoff else NEVER


def describe_losses(material: Material, surface: Surface) -> list[str]:
    """Say what a KAC file cannot show of a material."""
    who = (
        f'{material.file}: material "{material.name}"' if material.file else "the default material"
    )
    lost = []
    if any(not 0 <= share <= 1 for share in material.rgba):
        lost.append(f"{who} has a colour outside of 0 to 1, which was cut off")
    if material.alpha_mode == "blend":
        lost.append(f"{who} is blended; KAC can only cut out, so it is shown where half opaque")
    if surface.color[3] < SHOWN_ALPHA:
        lost.append(f"{who} is less than half opaque, so Kelpo does not draw it")
    if material.double_sided:
        lost.append(f"{who} is double-sided; KAC shows its front only")
    return lost


def texture_slot(material: Material) -> Slot | None:
    """Name the slot whose texture says where and how the material's images are read."""
    slots: tuple[Slot, ...] = ("base_color", "alpha")
    return next((slot for slot in slots if slot in material.textures), None)


def is_clamped(sampler: Sampler) -> bool | None:
    """Tell whether a texture stops at its edges; None where KAC's one flag cannot say it."""
    wraps = {sampler.wrap_u, sampler.wrap_v}
    return {frozenset({"clamp"}): True, frozenset({"repeat"}): False}.get(frozenset(wraps))
