"""Validation of a file, before it is written and after it is read.

The engine checks only a part of this; what it does not check reaches the GPU, draws nothing or
crashes. Every error names the record and the field.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from encoders.kit.error import EncodeError
from encoders.untold.format.layout import (
    ALPHA_MODES,
    ANIMATION,
    INDEX_SIZES,
    NONE,
    SLOTS,
    TEXTURE_FORMATS,
    UINT16,
    UINT16_VERTICES,
    VERTEX,
    VERTEX_SIZE,
)
from encoders.untold.format.light import validate_lights
from encoders.untold.format.rig_validate import validate_clips, validate_skeletons, validate_skins
from encoders.untold.format.untold_file import (
    EntityRecord,
    Floats,
    MaterialRecord,
    MeshRecord,
    TextureReference,
    UntoldFile,
)

# The largest cosine between two columns of a transform that counts as a right angle.
ANGLE_TOLERANCE = 1e-4


def validate_mesh_record(
    row: dict[str, Any], number: int, vertex_bytes: int, index_bytes: int, name: str
) -> None:
    """Refuse a stored mesh record whose sizes and ranges disagree with each other or the chunks."""
    facts: dict[str, object] = {"file": name, "mesh": number}
    if row["index_type"] not in INDEX_SIZES:
        raise EncodeError("unknown index type", {**facts, "found": row["index_type"]})
    # The loader checks the stride and the index size; the vertex size it takes on trust.
    if row["vertex_stride_bytes"] != VERTEX_SIZE:
        stride = {"found": row["vertex_stride_bytes"], "allowed": VERTEX_SIZE}
        raise EncodeError("the vertex stride is not that of the layout", {**facts, **stride})
    vertex_size = row["vertex_count"] * VERTEX_SIZE
    index_size = row["index_count"] * INDEX_SIZES[row["index_type"]]
    expected = {
        "index_data_size_bytes": index_size,
        "vertex_data_size_bytes": vertex_size,
        "estimated_gpu_bytes": vertex_size + index_size,
    }
    for field, size in expected.items():
        if row[field] != size:
            sizes = {"field": field, "found": row[field], "allowed": size}
            raise EncodeError("a size does not fit its count", {**facts, **sizes})
    _check_data_range(row, "vertex", vertex_size, vertex_bytes, facts)
    _check_data_range(row, "index", index_size, index_bytes, facts)
    if row["index_type"] == UINT16 and row["vertex_count"] > UINT16_VERTICES:
        raise EncodeError("too many vertices for 16-bit indices", facts)


def _check_data_range(
    row: dict[str, Any], kind: str, size: int, chunk: int, facts: dict[str, object]
) -> None:
    start = row[f"{kind}_data_offset"]
    if start + size > chunk:
        found = {**facts, "range": f"{start} + {size}", "chunk": chunk}
        raise EncodeError(f"{kind} data reach past their chunk", found)


def validate_file(file: UntoldFile, name: str) -> None:
    """Refuse a file with dangling references, or with values that no renderer can use."""
    validate_clips(file.clips, name)
    if file.file_type == ANIMATION:
        _check_clips_only(file, name)
        return
    # The loader rejects a file without entities.
    if not file.entities:
        raise EncodeError("there is no entity", {"file": name})
    _check_entities(file, name)
    for number, texture in enumerate(file.textures):
        _check_texture(texture, {"file": name, "texture": number})
    for number, material in enumerate(file.materials):
        _check_material(material, len(file.textures), {"file": name, "material": number})
    ids = {entity.entity_id for entity in file.entities}
    validate_lights(file.lights, file.cameras, ids, name)
    validate_skeletons(file.skeletons, ids, name)
    validate_skins(file.skins, file.skeletons, file.meshes, name)
    skinned = {skin.mesh for skin in file.skins}
    for number, mesh in enumerate(file.meshes):
        facts: dict[str, object] = {"file": name, "mesh": number}
        _check_index(mesh.material, len(file.materials), "material_index", facts)
        if mesh.entity_id not in ids:
            raise EncodeError("a mesh belongs to no entity", {**facts, "found": mesh.entity_id})
        _check_mesh(mesh, facts, is_skinned=number in skinned)


def _check_clips_only(file: UntoldFile, name: str) -> None:
    others = (file.entities, file.meshes, file.skeletons, file.skins, file.lights, file.cameras)
    if any(others):
        raise EncodeError("an animation file holds more than clips", {"file": name})
    if not file.clips:
        raise EncodeError("there is no clip", {"file": name})


def _check_index(index: int, count: int, field: str, facts: dict[str, object]) -> None:
    if index != NONE and index >= count:
        wrong = {"field": field, "found": index, "allowed": f"below {count}"}
        raise EncodeError("an index is out of range", {**facts, **wrong})


def _check_entities(file: UntoldFile, name: str) -> None:
    seen: set[int] = set()
    owners = [NONE] * len(file.meshes)
    for number, entity in enumerate(file.entities):
        facts: dict[str, object] = {"file": name, "entity": number}
        # The loader crashes on an id that is there twice: it builds a dictionary of unique keys.
        if entity.entity_id in seen or entity.entity_id == NONE:
            raise EncodeError("two entities have one id", {**facts, "found": entity.entity_id})
        # Entities are registered in order; one whose parent comes later silently becomes a root.
        if entity.parent != NONE and entity.parent not in seen:
            problem = "the parent of an entity does not come before it"
            raise EncodeError(problem, {**facts, "found": entity.parent})
        seen.add(entity.entity_id)
        _check_range(entity, owners, facts)
        for field, box in (("local", entity.local_bounds), ("world", entity.world_bounds)):
            _check_box(box, f"{field}_bounds", facts)
        _check_transform(entity.transform, facts)
    for number, mesh in enumerate(file.meshes):
        if owners[number] != mesh.entity_id:
            facts = {"file": name, "mesh": number, "entity": mesh.entity_id}
            raise EncodeError("a mesh is not in the range of its entity", facts)


def _check_range(entity: EntityRecord, owners: list[int], facts: dict[str, object]) -> None:
    end = entity.first_mesh + entity.mesh_count
    # The loader does not check this: the entity would silently have nothing to draw.
    if end > len(owners):
        wrong = {"found": f"{entity.first_mesh} + {entity.mesh_count}", "allowed": len(owners)}
        raise EncodeError("meshes of an entity are out of range", {**facts, **wrong})
    for number in range(entity.first_mesh, end):
        if owners[number] != NONE:
            raise EncodeError("two entities have one mesh", {**facts, "mesh": number})
        owners[number] = entity.entity_id


def _check_box(box: Floats, field: str, facts: dict[str, object]) -> None:
    if not np.isfinite(box).all() or (box[0] > box[1]).any():
        wrong = {"field": field, "found": box.tolist()}
        raise EncodeError("bounds are not finite or not in order", {**facts, **wrong})


def _check_transform(transform: Floats, facts: dict[str, object]) -> None:
    """Refuse a matrix that the engine cannot split into translation, rotation and scale."""
    matrix = transform.astype(np.float64).reshape(4, 4).T
    if not np.isfinite(matrix).all() or not np.array_equal(matrix[3], (0, 0, 0, 1)):
        raise EncodeError("a transform is not affine", facts)
    # The engine takes the lengths of the columns for the scale, so it cannot be negative.
    lengths = np.sqrt((matrix[:3, :3] ** 2).sum(axis=0))
    if (lengths == 0).any():
        raise EncodeError("a transform has no size in one direction", facts)
    x, y, z = (matrix[:3, :3] / lengths).T
    slant = max(abs(float((one * other).sum())) for one, other in ((x, y), (y, z), (z, x)))
    if slant > ANGLE_TOLERANCE or float((np.cross(x, y) * z).sum()) < 0:
        problem = "a transform is mirrored or sheared, which the engine cannot show"
        raise EncodeError(problem, facts, "Bake it into the vertices.")


def _check_texture(texture: TextureReference, facts: dict[str, object]) -> None:
    # The loader decides by the format, not by the suffix, how to load a texture.
    if texture.format not in TEXTURE_FORMATS:
        raise EncodeError("unknown texture format", {**facts, "found": texture.format})
    if texture.uri is None or not texture.uri:
        raise EncodeError("a texture has no URI", facts)
    # Only paths below the folder of the file: no scheme, no drive, no way up, no root.
    parts = texture.uri.split("/")
    if ":" in texture.uri or "\\" in texture.uri or ".." in parts or not parts[0]:
        hint = "A URI is relative to the file and stays below its folder."
        raise EncodeError("a texture's URI leads elsewhere", {**facts, "uri": texture.uri}, hint)
    if not (texture.width and texture.height and texture.mip_count):
        raise EncodeError("a texture has no size", facts)


def _check_material(material: MaterialRecord, textures: int, facts: dict[str, object]) -> None:
    if material.alpha_mode >= len(ALPHA_MODES):
        raise EncodeError("unknown alpha mode", {**facts, "found": material.alpha_mode})
    for slot, index in zip(SLOTS, material.textures, strict=True):
        _check_index(index, textures, f"{slot} texture", facts)
    height = material.height["height_texture_index"]
    _check_index(int(height), textures, "height texture", facts)


def _check_mesh(mesh: MeshRecord, facts: dict[str, object], *, is_skinned: bool) -> None:
    _check_box(mesh.bounds, "local_bounds", facts)
    if len(mesh.indices) % 3:
        raise EncodeError("indices are no triangles", {**facts, "indices": len(mesh.indices)})
    if not len(mesh.indices) or not mesh.vertex_count:
        raise EncodeError("a mesh is empty", facts)
    # The loader does not look at indices: a wrong one would read beyond the buffer on the GPU.
    largest = int(mesh.indices.max())
    if largest >= mesh.vertex_count:
        wrong = {"found": largest, "allowed": f"below {mesh.vertex_count}"}
        raise EncodeError("an index leads to no vertex", {**facts, **wrong})
    columns = VERTEX.unpack(mesh.vertices, mesh.vertex_count, 0, str(facts["file"]))
    box = np.stack([columns["position"].min(axis=0), columns["position"].max(axis=0)])
    # Bounds of a skin also hold what its joints do to it; the engine does not widen them.
    is_inside = (box[0] >= mesh.bounds[0]).all() and (box[1] <= mesh.bounds[1]).all()
    if not (is_inside if is_skinned else np.array_equal(box, mesh.bounds)):
        wrong = {"found": mesh.bounds.tolist(), "allowed": box.tolist()}
        raise EncodeError("the bounds are not those of the vertices", {**facts, **wrong})
    # 01 is +1 and 11 is -1; the other two values of the field are not defined.
    if (columns["tangent_w"] % 2 == 0).any():
        raise EncodeError("a tangent has no handedness", facts)
