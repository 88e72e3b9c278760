"""glTF materials as the material value that all readers share.

Colours stay linear and textures stay references; what glTF leaves out has the specification's
default. Which images a texture needs is said, not fetched.
"""

from __future__ import annotations

import msgspec

from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.extension import (
    EMISSIVE_STRENGTH,
    TEXTURE_TRANSFORM,
    UNLIT,
    extension,
)
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.surface import metallic_roughness
from encoders.kit.source.gltf.document.texture import texture_image
from encoders.kit.source.gltf.document.uri import is_data_uri
from encoders.kit.source.material import AlphaMode, Filter, Material, Sampler, Slot, Texture, Wrap
from encoders.kit.warning import grouped

_WRAPS: dict[int, Wrap] = {10497: "repeat", 33071: "clamp", 33648: "mirror"}
_ALPHA_MODES: dict[str, AlphaMode] = {"OPAQUE": "opaque", "MASK": "mask", "BLEND": "blend"}
_NEAREST = 9728


class TextureTransform(msgspec.Struct, frozen=True, rename="camel"):
    """`textureInfo.extensions.KHR_texture_transform`."""

    offset: tuple[float, float] = (0.0, 0.0)
    rotation: float = 0.0
    scale: tuple[float, float] = (1.0, 1.0)
    tex_coord: spec.Count | None = None


class EmissiveStrength(msgspec.Struct, frozen=True, rename="camel"):
    """`material.extensions.KHR_materials_emissive_strength`."""

    emissive_strength: float = 1.0


def decode_materials(gltf: Gltf) -> tuple[Material, ...]:
    """Return every material of the file, in its order."""
    return tuple(
        _material(gltf, record, f"materials[{index}]")
        for index, record in enumerate(gltf.document.materials)
    )


def _material(gltf: Gltf, record: spec.Material, where: str) -> Material:
    pbr = metallic_roughness(record, gltf.name, where)
    glow = extension(record, EMISSIVE_STRENGTH, EmissiveStrength, gltf.name, where)
    strength = 1.0 if glow is None else glow.emissive_strength
    red, green, blue = record.emissive_factor
    return Material(
        name=record.name,
        base_color=pbr.base_color_factor,
        textures=_textures(gltf, record, where),
        alpha_mode=_ALPHA_MODES[record.alpha_mode],
        alpha_cutoff=record.alpha_cutoff,
        double_sided=record.double_sided,
        unlit=UNLIT in record.extensions,
        emissive=(red * strength, green * strength, blue * strength),
        metallic=pbr.metallic_factor,
        roughness=pbr.roughness_factor,
        file=gltf.name,
        place=where,
    )


def _textures(gltf: Gltf, record: spec.Material, where: str) -> dict[Slot, Texture]:
    pbr = metallic_roughness(record, gltf.name, where)
    slots: dict[Slot, spec.TextureInfo | None] = {
        "base_color": pbr.base_color_texture,
        "normal": record.normal_texture,
        "metallic_roughness": pbr.metallic_roughness_texture,
        "emissive": record.emissive_texture,
        "occlusion": record.occlusion_texture,
    }
    found: dict[Slot, Texture] = {}
    for slot, info in slots.items():
        texture = None if info is None else _texture(gltf, info, slot, where)
        if texture is not None:
            found[slot] = texture
    return found


def _texture(gltf: Gltf, info: spec.TextureInfo, slot: Slot, where: str) -> Texture | None:
    document = gltf.document
    record = spec.element(document.textures, info.index, f"{where}, {slot} texture", gltf.name)
    place = spec.place(record.name, f"textures[{info.index}]")
    number = texture_image(record, gltf.name, place)
    if number is None:
        gltf.warn(grouped("missing", f"{place} has no image and was ignored"))
        return None
    image = spec.element(document.images, number, place, gltf.name)
    moved = extension(info, TEXTURE_TRANSFORM, TextureTransform, gltf.name, where)
    transform = moved or TextureTransform()
    uri = image.uri or ""
    return Texture(
        uri="" if is_data_uri(uri) else uri,
        image=number,
        uv_set=info.tex_coord if transform.tex_coord is None else transform.tex_coord,
        scale=transform.scale,
        rotation=transform.rotation,
        offset=transform.offset,
        sampler=_sampler(gltf, record),
        strength={"normal": info.scale, "occlusion": info.strength}.get(slot, 1.0),
        file=gltf.name,
        place=f"{where}, {slot} texture",
    )


def _sampler(gltf: Gltf, texture: spec.Texture) -> Sampler:
    if texture.sampler is None:
        return Sampler()
    where = f"samplers[{texture.sampler}]"
    record = spec.element(gltf.document.samplers, texture.sampler, "textures[].sampler", gltf.name)
    for wrap in (record.wrap_s, record.wrap_t):
        if wrap not in _WRAPS:
            raise fault("sampler wrap is unknown", gltf.name, where, wrap, sorted(_WRAPS))
    filtering: Filter = "nearest" if record.mag_filter == _NEAREST else "linear"
    return Sampler(_WRAPS[record.wrap_s], _WRAPS[record.wrap_t], filtering)
