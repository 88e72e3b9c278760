"""Which extensions this reader knows, and what it does about the others.

The rule: an extension that the file requires is refused if it changes what a target shows and
this reader does not know it; all of them are named in one error. Every other unknown extension is
a warning. How images are stored is not judged here, but when an image is opened.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

import msgspec

from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import Document, Record, decode_json
from encoders.kit.warning import grouped

DRACO = "KHR_draco_mesh_compression"
MESHOPT = "EXT_meshopt_compression"
KHR_MESHOPT = "KHR_meshopt_compression"
TEXTURE_TRANSFORM = "KHR_texture_transform"
UNLIT = "KHR_materials_unlit"
EMISSIVE_STRENGTH = "KHR_materials_emissive_strength"
QUANTIZATION = "KHR_mesh_quantization"
INSTANCING = "EXT_mesh_gpu_instancing"
VISIBILITY = "KHR_node_visibility"
WEBP = "EXT_texture_webp"
AVIF = "EXT_texture_avif"
BASISU = "KHR_texture_basisu"
DDS = "MSFT_texture_dds"
SPECULAR_GLOSSINESS = "KHR_materials_pbrSpecularGlossiness"

# Extensions that give a texture an image of another format, those that can be read first.
IMAGE_SOURCES = (WEBP, AVIF, BASISU, DDS)
KNOWN = frozenset(
    (
        *(DRACO, MESHOPT, KHR_MESHOPT, QUANTIZATION, INSTANCING, VISIBILITY),
        *(TEXTURE_TRANSFORM, UNLIT, EMISSIVE_STRENGTH, SPECULAR_GLOSSINESS, *IMAGE_SOURCES),
    )
)
# Lights, sounds, physics, metadata, finer surfaces and alternatives to what the file shows first:
# without them the same triangles, base colours and bones are left.
HARMLESS = frozenset(
    (
        "KHR_lights_punctual",
        "KHR_materials_anisotropy",
        "KHR_materials_clearcoat",
        "KHR_materials_diffuse_transmission",
        "KHR_materials_dispersion",
        "KHR_materials_ior",
        "KHR_materials_iridescence",
        "KHR_materials_sheen",
        "KHR_materials_specular",
        "KHR_materials_transmission",
        "KHR_materials_variants",
        "KHR_materials_volume",
        "KHR_materials_volume_scatter",
        "KHR_animation_pointer",
        "KHR_audio_emitter",
        "KHR_audio_graph",
        "KHR_implicit_shapes",
        "KHR_interactivity",
        "KHR_node_hoverability",
        "KHR_node_selectability",
        "KHR_physics_rigid_bodies",
        "KHR_xmp",
        "KHR_xmp_json_ld",
        "EXT_instance_features",
        "EXT_lights_ies",
        "EXT_lights_image_based",
        "EXT_mesh_features",
        "EXT_mesh_manifold",
        "EXT_structural_metadata",
        "ADOBE_materials_clearcoat_specular",
        "ADOBE_materials_clearcoat_tint",
        "ADOBE_materials_thin_transparency",
        "AGI_articulations",
        "AGI_stk_metadata",
        "CESIUM_primitive_outline",
        "FB_geometry_metadata",
        "FB_materials_modmap",
        "GODOT_single_root",
        "GRIFFEL_bim_data",
        "MPEG_accessor_timed",
        "MPEG_audio_spatial",
        "MPEG_buffer_circular",
        "MPEG_media",
        "MSFT_lod",
        "MSFT_packing_normalRoughnessMetallic",
        "MSFT_packing_occlusionRoughnessMetallic",
        "NV_materials_mdl",
        "OMI_audio_emitter",
        "OMI_physics_body",
        "OMI_physics_joint",
        "OMI_physics_shape",
        "OMI_seat",
        "OMI_spawn_point",
        "VRM",
        "VRMC_materials_hdr_emissiveMultiplier",
        "VRMC_materials_mtoon",
        "VRMC_node_constraint",
        "VRMC_springBone",
        "VRMC_vrm",
        "VRMC_vrm_animation",
    )
)
# Extensions that change colours only: nothing to a target that takes shapes alone.
MATERIALS = "_materials_"
Shape = TypeVar("Shape", bound=msgspec.Struct)


def check_extensions(
    document: Document, name: str, *, with_materials: bool = True, also_read: Collection[str] = ()
) -> list[str]:
    """Refuse required extensions that cannot be left out; return a warning for each that is.

    Without materials, extensions of materials are nothing to refuse or to warn about. `also_read`
    are extensions that the caller reads by itself.
    """
    ignored = set(document.extensions_used) - KNOWN - set(also_read)
    refused = set(document.extensions_required) - KNOWN - HARMLESS
    if not with_materials:
        ignored = {one for one in ignored if MATERIALS not in one}
        refused = {one for one in refused if MATERIALS not in one}
    if refused:
        raise _unsupported(sorted(refused), name)
    return [
        grouped("ignored", f"extension {extension} is not supported and was ignored")
        for extension in sorted(ignored)
    ]


def _unsupported(names: list[str], file: str) -> Exception:
    several = len(names) > 1
    hint = f"Export the model without {'them' if several else 'it'}."
    problem = f"required extension{'s are' if several else ' is'} not supported"
    return fault(problem, file, "extensionsRequired", ", ".join(names), None, hint)


def extension(
    record: Record, key: str, shape: type[Shape], name: str, where: str
) -> Shape | None:  # fmt: skip
    """Decode one extension of a record, if it is there."""
    raw = record.extensions.get(key)
    if raw is None:
        return None
    return decode_json(memoryview(raw), shape, name, f"{where}.extensions.{key}")
