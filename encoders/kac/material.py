"""Materials: a source's material as a colour of 4 bits per channel and an alpha threshold.

Kelpo draws texels and materials that are more than half opaque, and no others. So every kind of
transparency is reduced to a cut-out here, and what is lost becomes a warning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from encoders.kit.image.pixel import round_share
from encoders.kit.image.srgb import srgb_of
from encoders.kit.source.material import Material, Sampler, Slot
from encoders.kit.warning import grouped

OPAQUE = 15
# Kelpo's alpha test passes from these values on, in 4 and in 8 bits.
SHOWN_ALPHA = 8
HALF = 128
# An alpha threshold that no texel reaches.
NEVER = 256


@dataclass(frozen=True)
class MaterialColor:
    """A material's colour in 4 bits per channel, and the alpha test of its texture.

    Texels are shown from an alpha of `threshold` on; None makes all of them opaque.
    """

    color: tuple[int, int, int, int]
    threshold: int | None = None


def encode_color(material: Material, *, is_linear: bool) -> MaterialColor:
    """Encode a material whose colours are linear light (glTF) or sRGB (OBJ)."""
    *rgb, alpha = material.rgba
    shares = [min(max(share, 0.0), 1.0) for share in rgb]
    # Kelpo multiplies stored texels, which are sRGB, by this colour.
    if is_linear:
        shares = [srgb_of(share) for share in shares]
    red, green, blue, cover = round_share(np.array([*shares, alpha], np.float64), 4).tolist()
    if material.alpha_mode == "blend":
        return MaterialColor((red, green, blue, cover), HALF)
    if material.alpha_mode == "opaque":
        return MaterialColor((red, green, blue, OPAQUE))
    # A textured material is tested texel by texel, so its own alpha must pass.
    is_shown = texture_slot(material) is not None or alpha >= material.alpha_cutoff
    threshold = _threshold(material.alpha_cutoff, alpha)
    return MaterialColor((red, green, blue, OPAQUE if is_shown else 0), threshold)


def _threshold(cutoff: float, alpha: float) -> int:
    """Return the least texel alpha that, multiplied by the material's alpha, passes the cutoff."""
    if cutoff <= 0:
        return 0
    return math.ceil(cutoff / alpha * 255) if alpha >= cutoff else NEVER


def describe_losses(material: Material, color: MaterialColor, *, tells_of_backs: bool) -> list[str]:
    """Return warnings about what a KAC file cannot show of a material.

    The manifest may have decided about back sides; then nothing is told of them.
    """
    who = (
        f'{material.file}: material "{material.name}"' if material.file else "the default material"
    )
    lost = []
    if any(not 0 <= share <= 1 for share in material.rgba):
        lost.append(grouped("color", f"{who} has a colour outside of 0 to 1, which was cut off"))
    if material.alpha_mode == "blend":
        lost.append(
            grouped(
                "color", f"{who} is blended; KAC can only cut out, so it is shown where half opaque"
            )
        )
    if color.color[3] < SHOWN_ALPHA:
        lost.append(grouped("color", f"{who} is less than half opaque, so Kelpo does not draw it"))
    if material.double_sided and tells_of_backs:
        lost.append(grouped("feature", f"{who} is double-sided; KAC shows its front only"))
    return lost


def texture_slot(material: Material) -> Slot | None:
    """Return the slot whose texture has the sampler and the UVs of the material, if any."""
    slots: tuple[Slot, ...] = ("base_color", "alpha")
    return next((slot for slot in slots if slot in material.textures), None)


def is_clamped(sampler: Sampler) -> bool | None:
    """Tell whether UVs are clamped; None where KAC's single flag cannot express the sampler."""
    # KAC has one flag for both axes, and no mirrored repeat.
    wraps = {sampler.wrap_u, sampler.wrap_v}
    return {frozenset({"clamp"}): True, frozenset({"repeat"}): False}.get(frozenset(wraps))
