"""Which extensions this reader knows, and what it does about the others.

The rule: an unknown extension that the file requires is refused by name; one that it only uses
is a warning, because the file promises to make sense without it.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from encoders.kit.source.gltf.document import Document, Record, decode_json
from encoders.kit.source.gltf.fault import fault
from encoders.kit.warning import grouped

DRACO = "KHR_draco_mesh_compression"
MESHOPT = "EXT_meshopt_compression"
TEXTURE_TRANSFORM = "KHR_texture_transform"
UNLIT = "KHR_materials_unlit"
EMISSIVE_STRENGTH = "KHR_materials_emissive_strength"
QUANTIZATION = "KHR_mesh_quantization"
BASISU = "KHR_texture_basisu"

KNOWN = frozenset(
    (DRACO, MESHOPT, TEXTURE_TRANSFORM, UNLIT, EMISSIVE_STRENGTH, QUANTIZATION)
)  # fmt: skip
HINTS = {
    BASISU: "KTX2 textures cannot be read: export the model with PNG or JPEG textures.",
    "EXT_texture_webp": "Export the model with PNG or JPEG textures.",
    "KHR_materials_pbrSpecularGlossiness": "Convert the materials to metallic-roughness.",
    "KHR_meshopt_compression": f"Compress the model with {MESHOPT} instead, or not at all.",
}

Shape = TypeVar("Shape", bound=msgspec.Struct)


def check_extensions(document: Document, name: str) -> list[str]:
    """Refuse unknown required extensions; return a warning for each unknown used one."""
    required = set(document.extensions_required)
    for extension in sorted(required - KNOWN):
        hint = HINTS.get(extension, "Export the model without this extension.")
        allowed = ", ".join(sorted(KNOWN))
        raise fault(
            "required extension is not supported",
            name,
            "extensionsRequired",
            extension,
            allowed,
            hint,
        )
    unknown = sorted(set(document.extensions_used) - KNOWN)
    return [
        grouped("ignored", f"extension {extension} is not supported and was ignored")
        for extension in unknown
    ]


def extension(
    record: Record, key: str, shape: type[Shape], name: str, where: str
) -> Shape | None:  # fmt: skip
    """Decode one extension of a record, if it is there."""
    raw = record.extensions.get(key)
    if raw is None:
        return None
    return decode_json(memoryview(raw), shape, name, f"{where}.extensions.{key}")
