"""The reader of `.untold` files.

Every loader accepts the files that are accepted here. What the loaders fail to check is checked
here as well; see `validate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from encoders.kit.error import EncodeError
from encoders.untold.format.chunk import Chunk, content_hash
from encoders.untold.format.chunk_reader import unpack_chunks
from encoders.untold.format.layout import (
    ANIMATION,
    CLIP_CHUNKS,
    COUNTS,
    ENTITY,
    ENTITY_TABLE,
    FILE_TYPES,
    GEOMETRY_CHUNKS,
    HEADER,
    INDEX_DATA,
    INDICES,
    MAGIC,
    MATERIAL_TABLE,
    MATERIALS,
    MESH,
    MESH_TABLE,
    NO_HEIGHT,
    STRING_TABLE,
    TEXTURE,
    TEXTURE_TABLE,
    VERSIONS,
    VERTEX_DATA,
)
from encoders.untold.format.light import read_cameras, read_lights
from encoders.untold.format.record import Strings, Tables
from encoders.untold.format.rig_reader import read_clips, read_skeletons, read_skins
from encoders.untold.format.untold_file import (
    IDENTITY,
    EntityRecord,
    MaterialRecord,
    MeshRecord,
    TextureReference,
    UntoldFile,
)
from encoders.untold.format.validate import validate_file, validate_mesh_record


def unpack_untold(data: bytes, name: str) -> UntoldFile:
    """Decode a file; refuse one that a loader would refuse, misread or crash on."""
    header = _unpack_header(data, name)
    is_animation = header["file_type"] == ANIMATION
    required = CLIP_CHUNKS if is_animation else GEOMETRY_CHUNKS
    chunks = unpack_chunks(data, header["chunk_count"], name, required)
    expected = content_hash({number: chunk.stored for number, chunk in chunks.items()})
    # A hash of zeros switches the check off in the loader, so it is accepted here as well.
    if header["content_hash"].tobytes() not in (expected, bytes(32)):
        raise EncodeError("the content does not have the hash that the header says", {"file": name})
    _check_counts(header, chunks, name)
    file = _unpack_file(header, Tables(chunks, name), name)
    validate_file(file, name)
    if not np.array_equal(header["world_bounds"], file.world_bounds):
        facts = {"file": name, "found": header["world_bounds"].tolist()}
        allowed = file.world_bounds.tolist()
        raise EncodeError("the bounds are not those of the entities", {**facts, "allowed": allowed})
    return file


def _check_counts(header: dict[str, Any], chunks: dict[int, Chunk], name: str) -> None:
    # The loader believes the chunk table and ignores the counts of the header.
    for field, chunk_type in COUNTS.items():
        count = chunks[chunk_type].element_count if chunk_type in chunks else 0
        if header[field] != count:
            facts = {"file": name, "field": field, "found": header[field]}
            raise EncodeError("header and chunk table differ", {**facts, "chunk table": count})


def _unpack_header(data: bytes, name: str) -> dict[str, Any]:
    # Before the header is decoded, so that a foreign file is called that and not a damaged one.
    if len(data) >= len(MAGIC) and not data.startswith(MAGIC):
        raise EncodeError("the file is no .untold file", {"file": name, "magic": data[:8].hex(" ")})
    header = HEADER.unpack_one(data, 0, name)
    for field, allowed in (("file_type", tuple(FILE_TYPES)), ("format_version", VERSIONS)):
        if header[field] not in allowed:
            facts = {"file": name, "found": header[field], "allowed": allowed}
            raise EncodeError(f"{field.replace('_', ' ')} is not supported", facts)
    # Geometry of all file types is in world space.
    if not np.array_equal(header["root_transform"], IDENTITY):
        raise EncodeError("the root transform is not the identity", {"file": name})
    return header


def _unpack_file(header: dict[str, Any], tables: Tables, name: str) -> UntoldFile:
    strings = Strings(tables[STRING_TABLE].data, name)
    version = header["format_version"]
    materials = tables[MATERIAL_TABLE].rows(MATERIALS[version])
    meshes = tables[MESH_TABLE].rows(MESH)
    vertices, indices = tables[VERTEX_DATA].data, tables[INDEX_DATA].data
    # Before any range is sliced: a slice beyond the end would be shorter without an error.
    for row, mesh in enumerate(meshes):
        validate_mesh_record(mesh, row, len(vertices), len(indices), name)
    _check_covered(meshes, "vertex_data", vertices, name)
    _check_covered(meshes, "index_data", indices, name)
    return UntoldFile(
        file_type=header["file_type"],
        entities=tuple(_entity(one, strings) for one in tables[ENTITY_TABLE].rows(ENTITY)),
        meshes=tuple(_mesh(one, strings, vertices, indices) for one in meshes),
        materials=tuple(_material(one, strings) for one in materials),
        textures=tuple(_texture(one, strings) for one in tables[TEXTURE_TABLE].rows(TEXTURE)),
        version=version,
        skeletons=read_skeletons(tables, strings),
        skins=read_skins(tables),
        clips=read_clips(tables, strings),
        lights=read_lights(tables, strings),
        cameras=read_cameras(tables, strings),
    )


def _check_covered(meshes: list[dict[str, Any]], kind: str, data: bytes, name: str) -> None:
    """Refuse geometry that two meshes share, and bytes between meshes that are not zero."""
    end = 0
    spans = sorted((one[f"{kind}_offset"], one[f"{kind}_size_bytes"]) for one in meshes)
    # The end of the chunk is an empty last range, so that trailing bytes are found too.
    for start, size in [*spans, (len(data), 0)]:
        if start < end or any(data[end:start]):
            facts = {"file": name, "field": f"{kind}_offset", "found": start, "used to": end}
            raise EncodeError("ranges of meshes overlap or leave something out", facts)
        end = start + size


def _entity(row: dict[str, Any], strings: Strings) -> EntityRecord:
    return EntityRecord(
        entity_id=row["entity_id"],
        name=strings.at(row, "name_offset"),
        first_mesh=row["first_mesh_record_index"],
        mesh_count=row["mesh_record_count"],
        local_bounds=row["local_bounds"],
        world_bounds=row["world_bounds"],
        parent=row["parent_entity_id"],
        transform=row["local_transform"],
    )


def _mesh(row: dict[str, Any], strings: Strings, vertices: bytes, indices: bytes) -> MeshRecord:
    start = row["vertex_data_offset"]
    layout = INDICES[row["index_type"]]
    found = layout.unpack(indices, row["index_count"], row["index_data_offset"])["index"]
    return MeshRecord(
        name=strings.at(row, "mesh_name_offset"),
        entity_id=row["entity_id"],
        material=row["material_index"],
        vertices=vertices[start : start + row["vertex_data_size_bytes"]],
        indices=found.astype(np.uint32),
        bounds=row["local_bounds"],
    )


def _material(row: dict[str, Any], strings: Strings) -> MaterialRecord:
    red, green, blue, alpha = row["base_color_factor"].tolist()
    glow_red, glow_green, glow_blue = row["emissive_factor"].tolist()
    # Later engines read channel selectors and a transmission factor here.
    channels, transmission = row["reserved0"].tolist()
    return MaterialRecord(
        name=strings.at(row, "name_offset"),
        alpha_mode=row["alpha_mode"],
        base_color_factor=(red, green, blue, alpha),
        emissive_factor=(glow_red, glow_green, glow_blue),
        normal_scale=row["normal_scale"],
        metallic_factor=row["metallic_factor"],
        roughness_factor=row["roughness_factor"],
        occlusion_strength=row["occlusion_strength"],
        alpha_cutoff=row["alpha_cutoff"],
        textures=tuple(row["texture_index"].tolist()),
        reserved=(channels, transmission),
        # Versions 1 and 2 have no height map.
        height={key: row.get(key, default) for key, default in NO_HEIGHT.items()},
    )


def _texture(row: dict[str, Any], strings: Strings) -> TextureReference:
    return TextureReference(
        name=strings.at(row, "name_offset"),
        uri=strings.at(row, "uri_offset"),
        format=row["texture_format"],
        flags=row["flags"],
        width=row["width"],
        height=row["height"],
        mip_count=row["mip_count"],
    )
