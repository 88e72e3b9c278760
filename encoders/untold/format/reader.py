"""The reader of `.untold` files.

Every loader accepts the files that are accepted here. What the loaders fail to check is checked
here as well; see `validate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout
from encoders.untold.format.chunk import Chunk, content_hash
from encoders.untold.format.chunk_reader import chunk_data, unpack_chunks
from encoders.untold.format.layout import (
    CHUNKS,
    COUNTS,
    ENTITY,
    ENTITY_TABLE,
    FILE_TYPES,
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
from encoders.untold.format.string_table import string_at
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
    chunks = unpack_chunks(data, header["chunk_count"], name)
    expected = content_hash({number: chunk.stored for number, chunk in chunks.items()})
    # A hash of zeros switches the check off in the loader, so it is accepted here as well.
    if header["content_hash"].tobytes() not in (expected, bytes(32)):
        raise EncodeError("the content does not have the hash that the header says", {"file": name})
    # The loader believes the chunk table and ignores the counts of the header.
    for field, chunk_type in COUNTS.items():
        if header[field] != chunks[chunk_type].element_count:
            facts = {"file": name, "field": field, "found": header[field]}
            count = chunks[chunk_type].element_count
            raise EncodeError("header and chunk table differ", {**facts, "chunk table": count})
    file = _unpack_file(header, {key: _Table(one, name) for key, one in chunks.items()}, name)
    validate_file(file, name)
    if not np.array_equal(header["world_bounds"], file.world_bounds):
        facts = {"file": name, "found": header["world_bounds"].tolist()}
        allowed = file.world_bounds.tolist()
        raise EncodeError("the bounds are not those of the entities", {**facts, "allowed": allowed})
    return file


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


class _Table:
    """The payload of a chunk and the number of records that it should hold."""

    def __init__(self, chunk: Chunk, name: str) -> None:
        self.data = chunk_data(chunk, name)
        self.chunk, self.name = chunk, name

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        """Return the records as mappings; they must fill the chunk exactly."""
        count = self.chunk.element_count
        if len(self.data) != count * layout.size:
            facts = {"file": self.name, "chunk": CHUNKS[self.chunk.chunk_type]}
            sizes = {"bytes": len(self.data), "needed": f"{count} x {layout.size}"}
            raise EncodeError("a table does not hold the records that it says", {**facts, **sizes})
        columns = layout.unpack(self.data, count, 0, self.name)
        return [
            {key: _plain(values[row]) for key, values in columns.items()} for row in range(count)
        ]


# Records are handed on as Python numbers; only vectors stay arrays.
def _plain(value: Any) -> Any:
    return value if getattr(value, "ndim", 0) else value.item()


def _unpack_file(header: dict[str, Any], tables: dict[int, _Table], name: str) -> UntoldFile:
    strings = _Strings(tables[STRING_TABLE].data, name)
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


class _Strings:
    """The string table, for looking up the names of records."""

    def __init__(self, data: bytes, name: str) -> None:
        if data and not data.endswith(b"\0"):
            raise EncodeError("the string table has no end", {"file": name})
        self.data, self.name = data, name

    def at(self, row: dict[str, Any], field: str) -> str | None:
        """Return the string that a field of a record refers to."""
        return string_at(self.data, row[field], self.name, field)


def _entity(row: dict[str, Any], strings: _Strings) -> EntityRecord:
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


def _mesh(row: dict[str, Any], strings: _Strings, vertices: bytes, indices: bytes) -> MeshRecord:
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


def _material(row: dict[str, Any], strings: _Strings) -> MaterialRecord:
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


def _texture(row: dict[str, Any], strings: _Strings) -> TextureReference:
    return TextureReference(
        name=strings.at(row, "name_offset"),
        uri=strings.at(row, "uri_offset"),
        format=row["texture_format"],
        flags=row["flags"],
        width=row["width"],
        height=row["height"],
        mip_count=row["mip_count"],
    )
