"""Node encoder of a level: a tile, whole or simplified, as an `.untold` file."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.vertex_cache import order_mesh
from encoders.kit.mesh.weld import weld_vertices
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.untold.format.chunk import LZ4_COMPRESSOR, Compressor
from encoders.untold.format.layout import (
    NONE,
    SHARED,
    VERTEX_LIMIT,
    VERTEX_SIZE,
)
from encoders.untold.format.untold_file import (
    EntityRecord,
    Floats,
    MeshRecord,
    UntoldFile,
    union_box,
)
from encoders.untold.format.writer import pack_untold
from encoders.untold.mesh.level_goal import miss
from encoders.untold.mesh.material_record import TextureTable, material_record, texture_facts
from encoders.untold.mesh.tile_mesh import (
    Tile,
    TileMesh,
    join_meshes,
    unpack_tile,
    with_back_faces,
)
from encoders.untold.mesh.vertex import pack_vertices

HASH_DIGITS = 16
# What begins the name of an input that holds facts about a texture.
TEXTURE = "texture/"


def encode_level(inputs: Inputs, params: Params) -> Outputs:
    """Encode one level of a tile, and the facts that the manifest needs about it."""
    is_compressed = params["compression"] == "lz4"
    return encode_compressed(inputs, params, LZ4_COMPRESSOR if is_compressed else None)


def encode_compressed(inputs: Inputs, params: Params, compressor: Compressor | None) -> Outputs:
    """Encode a level with this compression of its geometry."""
    known: Any = params
    tile = unpack_tile(inputs["tile"])
    if not tile.meshes:
        return {"facts": msgspec.json.encode({"bytes": 0})}
    name = known["file"]
    file = _build_file(tile, texture_facts(inputs, TEXTURE), known)
    data = pack_untold(file, f"{name}.untold", compressor)
    digest = hashlib.sha256(data).hexdigest()[:HASH_DIGITS] if known["hashed"] else ""
    bounds = file.world_bounds.tolist()
    facts = {
        "file": f"{name}_{digest}.untold" if digest else f"{name}.untold",
        "bytes": len(data),
        "bounds": {"min": bounds[0], "max": bounds[1]},
        "vertices": file.vertex_count,
        "triangles": file.triangle_count,
        # Only where it is so: the manifest warns of all such tiles together.
        **({"is_held_by_borders": True} if miss(tile, known["share"]) == "borders" else {}),
    }
    outputs = {f"file/{digest}" if digest else "file": data, "facts": msgspec.json.encode(facts)}
    if warnings := _warnings(tile, file, known):
        outputs[WARNINGS] = "\n".join(warnings).encode()
    return outputs


def _warnings(tile: Tile, file: UntoldFile, known: Any) -> list[str]:
    """Warn of too many vertices and, in the last level of a tile, of all missed shares."""
    found = []
    if file.vertex_count > VERTEX_LIMIT:
        # Smaller tiles would put more objects into the shared bucket, not fewer.
        is_shared = known["file_type"] == SHARED
        remedy = "get its objects into tiles" if is_shared else "make tiles smaller"
        found.append(
            grouped(
                "budget",
                f"{known['file']}: {file.vertex_count:,} vertices; the engine batches at most "
                f"{VERTEX_LIMIT:,} in a tile: {remedy}",
            )
        )
    if tile.missed:
        found.append(
            grouped(
                "budget",
                f"{known['name']}: of {tile.full_count:,} triangles {', '.join(tile.missed)} are "
                "kept: the rest is borders, open edges and shapes that fewer would change too much",
            )
        )
    return found


def _build_file(tile: Tile, textures: dict[str, dict[str, Any]], known: Any) -> UntoldFile:
    """Build a file with one entity for all merged meshes, and one for each unmerged object."""
    # The meshes of an entity must be consecutive.
    parts = sorted(tile.meshes, key=_object)
    if known["has_backs"]:
        # After simplification: two surfaces in one place could not be simplified together.
        parts = [with_back_faces(mesh) for mesh in parts]
    owners = list(dict.fromkeys(_object(mesh) for mesh in parts))
    # A level may have lost all triangles of a material.
    used = sorted({mesh.material for mesh in parts} - {-1})
    table = TextureTable(textures)
    materials = [material_record(tile.materials[number], table) for number in used]
    indices = {-1: NONE, **{number: index for index, number in enumerate(used)}}
    labels = [materials[indices[one.material]].name if one.material >= 0 else "" for one in parts]
    titles = [
        "_".join(word for word in (one.object or known["name"], label) if word)
        for one, label in zip(parts, labels, strict=True)
    ]
    meshes = [
        _mesh(mesh, rows, owners.index(_object(mesh)), indices[mesh.material], title)
        for mesh, rows, title in zip(
            parts, _stored_vertices(parts, known["name"]), titles, strict=True
        )
    ]
    entities = [
        _entity(number, own or known["name"], meshes) for number, (own, _) in enumerate(owners)
    ]
    return UntoldFile(
        known["file_type"],
        tuple(entities),
        tuple(meshes),
        tuple(materials),
        tuple(table.textures),
        known["format_version"],
    )


def _object(mesh: TileMesh) -> tuple[str, int]:
    """Return what tells the objects of a merged tile apart."""
    return mesh.object, mesh.owner


def _stored_vertices(parts: list[TileMesh], name: str) -> list[npt.NDArray[np.uint8]]:
    """Return the vertices of each mesh as they are stored, a row for each."""
    ends = np.cumsum([len(mesh.position) for mesh in parts])
    # All at once: most meshes are so small that each would cost more in calls than in work.
    packed = np.frombuffer(pack_vertices(join_meshes(parts), name), np.uint8)
    return np.split(packed.reshape(-1, VERTEX_SIZE), ends[:-1])


def _mesh(
    mesh: TileMesh, stored: npt.NDArray[np.uint8], entity: int, material: int, title: str
) -> MeshRecord:
    """Order a mesh for the vertex cache; vertices that are equal as stored become one."""
    # Welded again because packing rounds: vertices that differ as floats may be equal now.
    weld = weld_vertices([stored])
    used, triangles = order_mesh(weld.number[mesh.triangles], len(weld.first))
    vertices = stored[weld.first[used]]
    position = mesh.position[weld.first[used]]
    bounds: Floats = np.stack([position.min(axis=0), position.max(axis=0)])
    indices = triangles.reshape(-1).astype(np.uint32)
    return MeshRecord(title, entity, material, vertices.tobytes(), indices, bounds)


def _entity(number: int, name: str, meshes: list[MeshRecord]) -> EntityRecord:
    own = [index for index, mesh in enumerate(meshes) if mesh.entity_id == number]
    bounds = union_box([meshes[index].bounds for index in own])
    # World space: the transform is the identity, so local and world bounds are the same.
    return EntityRecord(number, name, own[0], len(own), bounds, bounds)
