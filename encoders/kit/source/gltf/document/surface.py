"""The surface of a material in metallic-roughness terms, whichever way the file says it."""

from __future__ import annotations

from encoders.kit.source.gltf.document.extension import SPECULAR_GLOSSINESS, extension
from encoders.kit.source.gltf.document.spec import (
    Material,
    PbrMetallicRoughness,
    Record,
    TextureInfo,
    Vec4,
)


class SpecularGlossiness(Record, frozen=True, kw_only=True):
    """`material.extensions.KHR_materials_pbrSpecularGlossiness`, without its specular colour."""

    diffuse_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    diffuse_texture: TextureInfo | None = None
    glossiness_factor: float = 1.0


def metallic_roughness(material: Material, name: str, where: str) -> PbrMetallicRoughness:
    """Return the material's surface; a diffuse colour becomes the base colour of no metal."""
    older = extension(material, SPECULAR_GLOSSINESS, SpecularGlossiness, name, where)
    if older is None:
        return material.pbr_metallic_roughness
    return PbrMetallicRoughness(
        base_color_factor=older.diffuse_factor,
        base_color_texture=older.diffuse_texture,
        metallic_factor=0.0,
        roughness_factor=1.0 - older.glossiness_factor,
    )
