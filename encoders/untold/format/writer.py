"""The writer of `.untold` files. All offsets are computed before any byte is written."""

from __future__ import annotations

import numpy as np

from encoders.untold.format.chunk import Chunk, Compressor, content_hash, pack_chunks, store_chunk
from encoders.untold.format.layout import (
    ANIMATION,
    COUNTS,
    ENTITY,
    ENTITY_TABLE,
    HEADER,
    INDEX_DATA,
    INDICES,
    MATERIAL_TABLE,
    MATERIALS,
    MESH,
    MESH_TABLE,
    STRING_TABLE,
    TEXTURE,
    TEXTURE_TABLE,
    VERTEX_DATA,
    VERTEX_SIZE,
)
from encoders.untold.format.light import pack_cameras, pack_lights
from encoders.untold.format.rig_writer import (
    Payloads,
    pack_clips,
    pack_influences,
    pack_skeletons,
    pack_skins,
)
from encoders.untold.format.string_table import StringTable, collect_strings
from encoders.untold.format.untold_file import IDENTITY, UntoldFile
from encoders.untold.format.validate import validate_file

# Indices of a mesh begin at a multiple of the widest index: 32-bit ones may follow 16-bit ones.
INDEX_ALIGNMENT = 4


def pack_untold(file: UntoldFile, name: str, compressor: Compressor | None = None) -> bytes:
    """Encode a file; refuse one that a loader could not use."""
    validate_file(file, name)
    strings = collect_strings(file)
    payloads = _pack_payloads(file, strings)
    chunks = [
        store_chunk(chunk_type, *payload, compressor) for chunk_type, payload in payloads.items()
    ]
    return _pack_header(file, chunks) + pack_chunks(chunks)


def _pack_payloads(file: UntoldFile, strings: StringTable) -> Payloads:
    """Encode the chunks in the order of the engine's exporter.

    Chunks that are required are there even where they are empty. A file without a rig has the
    seven that every loader knows.
    """
    clips = pack_clips(file.clips, strings)
    if file.file_type == ANIMATION:
        return {STRING_TABLE: (strings.data, 0), **clips}
    meshes, vertex_data, index_data = _pack_meshes(file, strings)
    has_rig = bool(file.skeletons or file.skins)
    rig = {**pack_skeletons(file.skeletons, strings), **pack_skins(file.skins)}
    return {
        STRING_TABLE: (strings.data, 0),
        ENTITY_TABLE: (_pack_entities(file, strings), len(file.entities)),
        MESH_TABLE: (meshes, len(file.meshes)),
        MATERIAL_TABLE: (_pack_materials(file, strings), len(file.materials)),
        TEXTURE_TABLE: (_pack_textures(file, strings), len(file.textures)),
        **(rig if has_rig else {}),
        **(clips if file.clips else {}),
        **pack_lights(file.lights, strings),
        **pack_cameras(file.cameras, strings),
        VERTEX_DATA: (vertex_data, 0),
        INDEX_DATA: (index_data, 0),
        **(pack_influences(file.skins) if has_rig else {}),
    }


def _pack_header(file: UntoldFile, chunks: list[Chunk]) -> bytes:
    counts = {chunk.chunk_type: chunk.element_count for chunk in chunks}
    return HEADER.pack(
        {
            "format_version": file.version,
            "file_type": file.file_type,
            "chunk_count": len(chunks),
            **{field: counts.get(chunk_type, 0) for field, chunk_type in COUNTS.items()},
            "world_bounds": file.world_bounds,
            "root_transform": IDENTITY,
            "content_hash": content_hash({chunk.chunk_type: chunk.stored for chunk in chunks}),
        }
    )


def _pack_entities(file: UntoldFile, strings: StringTable) -> bytes:
    return ENTITY.pack_rows(
        [
            {
                "entity_id": entity.entity_id,
                "parent_entity_id": entity.parent,
                "name_offset": strings.offset(entity.name),
                "first_mesh_record_index": entity.first_mesh,
                "mesh_record_count": entity.mesh_count,
                "local_bounds": entity.local_bounds,
                "world_bounds": entity.world_bounds,
                "local_transform": entity.transform,
            }
            for entity in file.entities
        ]
    )


def _pack_meshes(file: UntoldFile, strings: StringTable) -> tuple[bytes, bytes, bytes]:
    """Return the mesh records, and the vertices and indices that they refer to."""
    records, vertices, indices = [], bytearray(), bytearray()
    for mesh in file.meshes:
        packed = INDICES[mesh.index_type].pack({"index": mesh.indices}, len(mesh.indices))
        # Padding is not part of the mesh: the offset is taken after it.
        indices += bytes(-len(indices) % INDEX_ALIGNMENT)
        records.append(
            {
                "entity_id": mesh.entity_id,
                "mesh_name_offset": strings.offset(mesh.name),
                "material_index": mesh.material,
                "index_type": mesh.index_type,
                "vertex_count": mesh.vertex_count,
                "index_count": len(mesh.indices),
                "vertex_stride_bytes": VERTEX_SIZE,
                "vertex_data_offset": len(vertices),
                "index_data_offset": len(indices),
                "vertex_data_size_bytes": len(mesh.vertices),
                "index_data_size_bytes": len(packed),
                "estimated_gpu_bytes": len(mesh.vertices) + len(packed),
                "local_bounds": mesh.bounds,
            }
        )
        vertices += mesh.vertices
        indices += packed
    return MESH.pack_rows(records), bytes(vertices), bytes(indices)


def _pack_materials(file: UntoldFile, strings: StringTable) -> bytes:
    layout = MATERIALS[file.version]
    return layout.pack_rows(
        [
            {
                "name_offset": strings.offset(material.name),
                "alpha_mode": material.alpha_mode,
                "base_color_factor": np.array(material.base_color_factor),
                "emissive_factor": np.array(material.emissive_factor),
                "normal_scale": material.normal_scale,
                "metallic_factor": material.metallic_factor,
                "roughness_factor": material.roughness_factor,
                "occlusion_strength": material.occlusion_strength,
                "alpha_cutoff": material.alpha_cutoff,
                "texture_index": np.array(material.textures),
                "reserved0": np.array(material.reserved),
                # Versions 1 and 2 have no height map, and version 3 no remap.
                **{key: one for key, one in material.height.items() if key in layout.columns},
            }
            for material in file.materials
        ]
    )


def _pack_textures(file: UntoldFile, strings: StringTable) -> bytes:
    return TEXTURE.pack_rows(
        [
            {
                "name_offset": strings.offset(texture.name),
                "uri_offset": strings.offset(texture.uri),
                "texture_format": texture.format,
                "flags": texture.flags,
                "width": texture.width,
                "height": texture.height,
                "mip_count": texture.mip_count,
            }
            for texture in file.textures
        ]
    )
