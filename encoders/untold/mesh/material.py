"""Convert a source's material to the values of an `.untold` material record.

What the engine ignores or shows differently is a warning, once for each material.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.source.material import Material, Slot, Texture
from encoders.kit.source.model import Model
from encoders.kit.warning import grouped
from encoders.untold.scene.texture_request import embedded_name, texture_requests

ALPHA_MODES = {"opaque": 0, "mask": 1, "blend": 2}
# The engine draws a base colour white if all its channels are below LEAST_COLOR.
LEAST_COLOR, BLACK = 0.001, 0.0011
# The defaults of an MTL material, which may give neither.
NO_METAL, HALF_ROUGH = 0.0, 0.5
# The slots whose coordinates may become uv0, the most visible one first.
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
# Maps that the engine has no slot for.
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
    """Return a material as JSON values; `slots` are texture requests by their keys."""
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
        # An MTL file has no alpha mode: the texture decides it, in `node_level`.
        "is_alpha_in_image": not material.has_alpha_mode and material.alpha_mode == "mask",
        "slots": {slot: request.key for slot, request in sorted(texture_requests(images).items())},
    }


def image_key(model: Model, material: Material, slot: Slot) -> str:
    """Return the name that the plan has for the image of a slot."""
    texture = material.textures[slot]
    if texture.uri:
        return model.image_name(material, slot)
    return embedded_name(model.source, texture.image)


def _factor(material: Material, slot: Slot, default: float) -> float:
    """Return a factor; where only a map is given, it counts in full."""
    given = material.metallic if slot == "metallic" else material.roughness
    if given is not None:
        return given
    return 1.0 if slot in material.textures else default


def _strength(material: Material, slot: Slot) -> float:
    return material.textures[slot].strength if slot in material.textures else 1.0


def uv_texture(material: Material | None) -> Texture:
    """Return the texture whose coordinates become uv0 of a material's triangles."""
    if material is not None:
        for slot in UV_SLOTS:
            if slot in material.textures:
                return material.textures[slot]
    return Texture()


def describe_losses(
    material: Material, *, shows_emissive: bool, asks_for_sides: bool = False
) -> list[str]:
    """Return a warning for everything that the engine does not show of a material.

    `asks_for_sides` tells that the manifest says whether triangles have backs.
    """
    lost = []
    if material.double_sided and not asks_for_sides:
        lost.append("is double-sided, which the format cannot say; see `double_sided`")
    if material.unlit:
        lost.append("is unlit, which the format cannot say")
    if any(material.emissive) and not shows_emissive:
        lost.append("is emissive, which newer engines ignore in format version 1")
    lost += [f"has a {slot} map, which was ignored" for slot in UNUSED if slot in material.textures]
    main = uv_texture(material)
    for slot in UV_SLOTS:
        texture = material.textures.get(slot, main)
        if _coordinates(texture) != _coordinates(main):
            lost.append(f"reads its {slot} map at coordinates of its own, which are not kept")
    samplers = {texture.sampler for texture in material.textures.values()}
    if any((one.wrap_u, one.wrap_v) != ("repeat", "repeat") for one in samplers):
        lost.append("has a texture that does not repeat; the engine repeats all")
    who = f'{material.file}: material "{material.name}"'
    return [grouped("feature", f"{who} {one}") for one in lost]


def _coordinates(texture: Texture) -> tuple[object, ...]:
    return texture.uv_set, texture.scale, texture.rotation, texture.offset
