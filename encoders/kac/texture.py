"""Images to KAC textures: square, a power of two, 5551 texels, all mip levels.

The rule: an image is stored once for each way in which it is read, and equal texels once however
many images hold them. Everything is rounded to the nearest, never cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from encoders.kac.format import TEXEL, Texture
from encoders.kac.material import Surface, is_clamped, texture_slot
from encoders.kit.image.alpha import join_alpha
from encoders.kit.image.mip import full_level_count, mips_from_base
from encoders.kit.image.pixel import Rgba8, round_bits
from encoders.kit.image.resize import resize_colour
from encoders.kit.option import Value
from encoders.kit.source.image import open_image
from encoders.kit.source.material import Material, Slot
from encoders.kit.source.model import Model

# Kelpo's Glide back end stops at textures of one texel.
LEAST_SIDE = 2


@dataclass(frozen=True, order=True)
class Reading:
    """An image (and perhaps another one for its alpha) and how it is read.

    Textures stand in the file in this order.
    """

    color: str
    alpha: str
    sample_linearly: bool
    clamp_uv: bool
    threshold: int

    @property
    def images(self) -> tuple[str, str]:
        """The names of its images; the empty one stands for none."""
        return self.color, self.alpha


@dataclass(frozen=True)
class Collection:
    """All textures of a model, the number of each material's texture (-1: none), and warnings."""

    textures: tuple[Texture, ...]
    numbers: tuple[int, ...]
    warnings: tuple[str, ...]


def collect_textures(
    model: Model,
    materials: Sequence[Material],
    surfaces: Sequence[Surface],
    params: Mapping[str, Value],
) -> Collection:
    """Encode the images of the materials, each in as many ways as it is read."""
    warnings: dict[str, None] = {}
    readings: dict[Reading, list[int]] = {}
    for number, (material, surface) in enumerate(zip(materials, surfaces, strict=True)):
        reading = _reading(model, material, surface, params, warnings)
        if reading is not None:
            readings.setdefault(reading, []).append(number)
    textures: dict[Texture, int] = {}
    numbers = [-1] * len(materials)
    for _, group in groupby(sorted(readings), key=lambda one: one.images):
        same_images = list(group)
        picture = _decode(model, materials[readings[same_images[0]][0]], same_images[0])
        for reading in same_images:
            texture = _encode(model, picture, reading, params, warnings)
            place = textures.setdefault(texture, len(textures))
            for number in readings[reading]:
                numbers[number] = place
    return Collection(tuple(textures), tuple(numbers), tuple(warnings))


def _reading(
    model: Model,
    material: Material,
    surface: Surface,
    params: Mapping[str, Value],
    warnings: dict[str, None],
) -> Reading | None:
    slot = texture_slot(material)
    if slot is None:
        return None
    sampler = material.textures[slot].sampler
    clamp = is_clamped(sampler)
    if params["wrap"] is not None:
        clamp = params["wrap"] == "clamp"
    elif clamp is None:
        wraps = f"{sampler.wrap_u} and {sampler.wrap_v}"
        warnings[f"{model.image_name(material, slot)}: wraps by {wraps}; it will repeat"] = None
    color = model.image_name(material, "base_color") if slot == "base_color" else ""
    alpha = model.image_name(material, "alpha") if "alpha" in material.textures else ""
    return Reading(
        color=color,
        # Exporters name an image again for its own alpha.
        alpha="" if alpha == color else alpha,
        sample_linearly=(params["filter"] or sampler.filter) == "linear",
        clamp_uv=bool(clamp),
        threshold=0 if surface.threshold is None else surface.threshold,
    )


def _decode(model: Model, material: Material, reading: Reading) -> Rgba8:
    """Decode the images of a reading into one picture."""
    images: tuple[tuple[Slot, str], ...] = (("base_color", reading.color), ("alpha", reading.alpha))
    color, alpha = (
        open_image(model.image_data(material, slot), name) if name else None
        for slot, name in images
    )
    return join_alpha(color, alpha)


def _encode(
    model: Model,
    picture: Rgba8,
    reading: Reading,
    params: Mapping[str, Value],
    warnings: dict[str, None],
) -> Texture:
    height, width = picture.shape[:2]
    limit = params["texture_size"]
    assert isinstance(limit, int)
    side = choose_side(width, height, limit)
    if (width, height) != (side, side):
        name = reading.color or reading.alpha
        warnings[f"{name}: resized from {width} x {height} to {side} x {side}"] = None
    if reading.threshold == 0:
        picture = picture.copy()
        picture[..., 3] = 255
    square = resize_colour(picture, side, side)
    # Row 0 is v = 0, which is the bottom of an OBJ file's image and the top of a glTF file's.
    square = np.ascontiguousarray(square[::-1]) if model.mesh.has_v_up else square
    texels = pack_levels(square, reading.threshold)
    return Texture(side, reading.sample_linearly, reading.clamp_uv, texels)


def choose_side(width: int, height: int, limit: int) -> int:
    """Give the side of the square that an image becomes: the power of two its longer side holds."""
    longer = min(max(width, height), limit)
    return max(1 << (longer.bit_length() - 1), LEAST_SIDE)


def pack_levels(square: Rgba8, threshold: int) -> bytes:
    """Write a square picture and its mip levels as texels, shown from an alpha of `threshold`."""
    chain = mips_from_base(square, full_level_count(*square.shape[:2]), resize_colour)
    flat = np.concatenate([level.reshape(-1, 4) for level in chain])
    red, green, blue = (round_bits(flat[:, channel], 5) for channel in range(3))
    shown = flat[:, 3] >= threshold
    return TEXEL.pack({"r": red, "g": green, "b": blue, "a": shown}, len(flat))
