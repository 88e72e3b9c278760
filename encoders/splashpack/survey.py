"""Surveys of a scene's sources: what planning needs beside the kit's surveys.

`looks` are the images of materials, as the source names them, with the alpha from which texels are
shown. Materials that no triangle of the scene uses are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from encoders.kit.source.gltf.container import decode_container
from encoders.kit.source.gltf.document import Document, Material, decode_document, element
from encoders.kit.source.gltf.node import scene_nodes
from encoders.kit.source.gltf.survey import survey_gltf as survey_kit_gltf
from encoders.kit.source.material import AlphaMode
from encoders.kit.source.obj.mtl import decode_mtl
from encoders.kit.source.obj.mtl_survey import survey_mtl as survey_kit_mtl
from encoders.splashpack.texture_request import alpha_threshold

# The first primitive mode of glTF that has triangles; strips and fans follow.
TRIANGLES = 4
MODES: dict[str, AlphaMode] = {"OPAQUE": "opaque", "MASK": "mask", "BLEND": "blend"}


def survey_mtl(data: bytes, name: str) -> dict[str, Any]:
    """Survey an MTL file; `looks` has a row of URIs for each material with an image."""
    looks = []
    for material in decode_mtl(data, name):
        color, alpha = (
            material.textures[slot].uri if slot in material.textures else ""
            for slot in ("base_color", "alpha")
        )
        if color or alpha:
            shown = alpha_threshold(material.alpha_mode, material.alpha_cutoff, material.rgba[3])
            looks.append(
                {"material": material.name, "color": color, "alpha": alpha, "shown": shown}
            )
    return {**survey_kit_mtl(data, name), "looks": looks}


def survey_gltf(data: bytes, name: str) -> dict[str, Any]:
    """Survey a glTF file; `looks` has a row for each image and alpha threshold in use."""
    document = decode_document(decode_container(data, name).json, name)
    looks = {}
    for number in _materials_in_use(document, name):
        material = element(document.materials, number, "materials", name)
        image = _color_image(document, material, name)
        if image is not None:
            alpha = material.pbr_metallic_roughness.base_color_factor[3]
            shown = alpha_threshold(MODES[material.alpha_mode], material.alpha_cutoff, alpha)
            looks[image, shown] = {"image": image, "shown": shown}
    return {**survey_kit_gltf(data, name), "looks": [looks[key] for key in sorted(looks)]}


def _materials_in_use(document: Document, name: str) -> Iterable[int]:
    """Return the numbers of the materials that triangles of the default scene use."""
    found = set()
    shown = {document.nodes[node].mesh for node in scene_nodes(document, name)}
    for mesh in shown - {None}:
        for primitive in element(document.meshes, mesh or 0, "nodes[].mesh", name).primitives:
            if primitive.material is not None and primitive.mode >= TRIANGLES:
                found.add(primitive.material)
    return sorted(found)


def _color_image(document: Document, material: Material, name: str) -> int | None:
    info = material.pbr_metallic_roughness.base_color_texture
    if info is None:
        return None
    image = element(document.textures, info.index, "materials[].textures", name).source
    if image is not None:
        element(document.images, image, f"textures[{info.index}]", name)
    return image
