"""Images as KAC textures: square, sides powers of two, 5551 texels, all mip levels.

An image is encoded once for each combination of sampler flags and alpha test that materials use it
with, and textures with equal texels and flags are stored once. Colours are rounded to the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from encoders.kac.format import TEXEL, KacTexture
from encoders.kac.material import MaterialColor, is_clamped, texture_slot
from encoders.kit.image.alpha import join_alpha
from encoders.kit.image.import_image import import_image
from encoders.kit.image.import_option import POWER_OF_TWO
from encoders.kit.image.mip import full_level_count, mips_from_base, shown_texels
from encoders.kit.image.pixel import Rgba8, round_bits
from encoders.kit.image.resize import resize_colour
from encoders.kit.option import Value
from encoders.kit.source.image import open_image
from encoders.kit.source.material import Material, Slot
from encoders.kit.source.model import Model
from encoders.kit.warning import grouped

# Kelpo's Glide back end rejects textures of one texel.
MIN_SIDE, MAX_SIDE = 2, 256


@dataclass(frozen=True, order=True)
class TextureUse:
    """An image, perhaps another one for its alpha, the sampler flags and the alpha test.

    Textures are stored in this order.
    """

    color: str
    alpha: str
    sample_linearly: bool
    clamp_uv: bool
    threshold: int

    @property
    def images(self) -> tuple[str, str]:
        """The names of the two images; an empty name means none."""
        return self.color, self.alpha


@dataclass(frozen=True)
class EncodedTextures:
    """All textures of a model, the index of each material's texture (-1: none), and warnings."""

    textures: tuple[KacTexture, ...]
    numbers: tuple[int, ...]
    warnings: tuple[str, ...]


def encode_textures(
    model: Model,
    materials: Sequence[Material],
    colors: Sequence[MaterialColor],
    params: Mapping[str, Value],
) -> EncodedTextures:
    """Encode the images of the materials, once for each way in which they are used."""
    warnings: dict[str, None] = {}
    uses: dict[TextureUse, list[int]] = {}
    for number, (material, color) in enumerate(zip(materials, colors, strict=True)):
        use = _texture_use(model, material, color, params, warnings)
        if use is not None:
            uses.setdefault(use, []).append(number)
    textures: dict[KacTexture, int] = {}
    numbers = [-1] * len(materials)
    # Uses of the same images follow one another, so that each image is decoded once.
    for _, group in groupby(sorted(uses), key=lambda one: one.images):
        same_images = list(group)
        picture = _decode(model, materials[uses[same_images[0]][0]], same_images[0], warnings)
        for use in same_images:
            texture = _encode(model, picture, use, params, warnings)
            index = textures.setdefault(texture, len(textures))
            for number in uses[use]:
                numbers[number] = index
    return EncodedTextures(tuple(textures), tuple(numbers), tuple(warnings))


def _texture_use(
    model: Model,
    material: Material,
    color: MaterialColor,
    params: Mapping[str, Value],
    warnings: dict[str, None],
) -> TextureUse | None:
    """Return how a material uses its texture; the manifest's options override the source's."""
    slot = texture_slot(material)
    if slot is None:
        return None
    sampler = material.textures[slot].sampler
    clamp = is_clamped(sampler)
    if params["wrap"] is not None:
        clamp = params["wrap"] == "clamp"
    elif clamp is None:
        wraps = f"{sampler.wrap_u} and {sampler.wrap_v}"
        text = f"{model.image_name(material, slot)}: wraps by {wraps}; it will repeat"
        warnings[grouped("feature", text)] = None
    image = model.image_name(material, "base_color") if slot == "base_color" else ""
    alpha = model.image_name(material, "alpha") if "alpha" in material.textures else ""
    return TextureUse(
        color=image,
        # Exporters often name the colour image again as the alpha map: it means its own alpha.
        alpha="" if alpha == image else alpha,
        sample_linearly=(params["filter"] or sampler.filter) == "linear",
        clamp_uv=bool(clamp),
        threshold=0 if color.threshold is None else color.threshold,
    )


def _decode(model: Model, material: Material, use: TextureUse, warnings: dict[str, None]) -> Rgba8:
    """Decode the two images of a use into one picture."""
    images: tuple[tuple[Slot, str], ...] = (("base_color", use.color), ("alpha", use.alpha))
    color, alpha = (
        open_image(model.image_data(material, slot), name, warnings.setdefault) if name else None
        for slot, name in images
    )
    return join_alpha(color, alpha)


def _encode(
    model: Model,
    picture: Rgba8,
    use: TextureUse,
    params: Mapping[str, Value],
    warnings: dict[str, None],
) -> KacTexture:
    """Resize a picture to a square and pack it with all its mip levels."""
    if use.threshold == 0:
        # The alpha of an opaque material must not weight its colours when they are averaged.
        picture = picture.copy()
        picture[..., 3] = 255
    picture = import_image(picture, params)
    height, width = picture.shape[:2]
    limit = params["texture_size"]
    assert isinstance(limit, int)
    side = choose_side(width, height, limit)
    # A picture that was to become powers of two is only made square here.
    was_asked_for = params.get("scale_to") == POWER_OF_TWO and max(width, height) <= side
    # A limit below the format's own is the user's.
    was_asked_for |= limit < MAX_SIDE and width == height > limit == side
    if (width, height) != (side, side) and not was_asked_for:
        name = use.color or use.alpha
        text = f"{name}: resized from {width} x {height} to {side} x {side}"
        if max(width, height) > limit > side:
            text += f", the largest power of two within `texture_size = {limit}`"
        warnings[grouped("resize", text)] = None
    # The aspect ratio changes; UVs are relative, so nothing else does.
    square = resize_colour(picture, side, side)
    # Row 0 is v = 0, which is the bottom of an OBJ file's image and the top of a glTF file's.
    square = np.ascontiguousarray(square[::-1]) if model.mesh.has_v_up else square
    texels = pack_levels(square, use.threshold)
    return KacTexture(side, use.sample_linearly, use.clamp_uv, texels)


def choose_side(width: int, height: int, limit: int) -> int:
    """Return the texture's side: the largest power of two within the longer side and the limit."""
    longer = min(max(width, height), limit)
    return max(1 << (longer.bit_length() - 1), MIN_SIDE)


def pack_levels(square: Rgba8, threshold: int) -> bytes:
    """Pack a square picture with its mip levels; texels from an alpha of `threshold` on show."""
    chain = mips_from_base(square, full_level_count(*square.shape[:2]), resize_colour)
    flat = np.concatenate([level.reshape(-1, 4) for level in chain])
    red, green, blue = (round_bits(flat[:, channel], 5) for channel in range(3))
    # One bit of alpha cannot be averaged: without this, thin bars would vanish in small levels.
    shown = np.concatenate([level.reshape(-1) for level in shown_texels(chain, threshold)])
    return TEXEL.pack({"r": red, "g": green, "b": blue, "a": shown}, len(flat))
