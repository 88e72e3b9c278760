"""What an `.untold` material says of a source's material, and what it cannot say.

The rule: what the engine ignores or shows otherwise is a warning, once for each material.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.source.material import Material, Slot, Texture
from encoders.kit.source.model import Model
from encoders.untold.picture import embedded_name, requests_of

ALPHA_MODES = {"opaque": 0, "mask": 1, "blend": 2}
# The engine draws a base colour white where all of it is below a thousandth.
LEAST_COLOR, BLACK = 0.001, 0.0011
NO_METAL, HALF_ROUGH = 0.0, 0.5
# The slots whose coordinates may become uv0, the most visible first.
UV_SLOTS: tuple[Slot, ...] = (
    "base_color",
    "alpha",
    "normal",
    "metallic_roughness",
    "roughness",
    "metallic",
    "emissive",
    "occlusion",
)
UNUSED: tuple[Slot, ...] = (
    "ambient",
    "bump",
    "decal",
    "displacement",
    "reflection",
    "shininess",
    "specular",
)


def describe_material(model: Model, material: Material) -> dict[str, Any]:
    """Give a material as the plain value that tiles take it in; `slots` are textures by key."""
    images = {str(slot): image_key(model, material, slot) for slot in material.textures}
    red, green, blue, alpha = material.rgba
    if max(red, green, blue) < LEAST_COLOR:
        red = green = blue = BLACK
    return {
        "name": material.name,
        "alpha_mode": ALPHA_MODES[material.alpha_mode],
        "base_color_factor": [red, green, blue, alpha],
        "emissive_factor": list(material.emissive),
        "normal_scale": _strength(material, "normal"),
        "metallic_factor": _factor(material, "metallic", NO_METAL),
        "roughness_factor": _factor(material, "roughness", HALF_ROUGH),
        "occlusion_strength": _strength(material, "occlusion"),
        "alpha_cutoff": material.alpha_cutoff,
        "is_alpha_in_image": not material.has_alpha_mode and material.alpha_mode == "mask",
        "slots": {slot: request.key for slot, request in sorted(requests_of(images).items())},
    }


def image_key(model: Model, material: Material, slot: Slot) -> str:
    """Name the image of a slot as the plan names it."""
    texture = material.textures[slot]
    if texture.uri:
        return model.image_name(material, slot)
    return embedded_name(model.source, texture.image)


def _factor(material: Material, slot: Slot, default: float) -> float:
    """Give a factor; a map counts in full where only the map is given."""
    given = material.metallic if slot == "metallic" else material.roughness
    if given is not None:
        return given
    return 1.0 if slot in material.textures else default


def _strength(material: Material, slot: Slot) -> float:
    return material.textures[slot].strength if slot in material.textures else 1.0


def uv_texture(material: Material | None) -> Texture:
    """Give the texture whose coordinates a material's triangles get."""
    if material is not None:
        for slot in UV_SLOTS:
            if slot in material.textures:
                return material.textures[slot]
    return Texture()


def describe_losses(material: Material, *, shows_emissive: bool) -> list[str]:
    """Say what the engine does not show of a material."""
    lost = []
    if material.double_sided:
        lost.append("is double-sided, which the format cannot say")
    if material.unlit:
        lost.append("is unlit, which the format cannot say")
    if any(material.emissive) and not shows_emissive:
        lost.append("is emissive, which newer engines ignore in format version 1")
    lost += [f"has a {slot} map, which was ignored" for slot in UNUSED if slot in material.textures]
    main = uv_texture(material)
    for slot in UV_SLOTS:
        texture = material.textures.get(slot, main)
        if _reading(texture) != _reading(main):
            lost.append(f"reads its {slot} map at coordinates of its own, which are not kept")
    samplers = {texture.sampler for texture in material.textures.values()}
    if any((one.wrap_u, one.wrap_v) != ("repeat", "repeat") for one in samplers):
        lost.append("has a texture that does not repeat; the engine repeats all")
    return [f'{material.file}: material "{material.name}" {one}' for one in lost]


def _reading(texture: Texture) -> tuple[object, ...]:
    return texture.uv_set, texture.scale, texture.rotation, texture.offset
