"""Node encoder of a model: an `.untold` file with skeletons, skins and all materials.

An object keeps an entity of its own. Skeletons have entities too, and the objects that follow
their joints are children of these. All transforms are the identity: everything is baked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from encoders.kit.mesh.import_mesh import flip_v
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.model import Model
from encoders.untold.format.chunk import LZ4_COMPRESSOR
from encoders.untold.format.layout import NONE, TILE
from encoders.untold.format.light_record import CameraRecord, LightRecord
from encoders.untold.format.reader import unpack_untold
from encoders.untold.format.rig_record import ClipRecord, Floats, SkinRecord
from encoders.untold.format.untold_file import (
    EntityRecord,
    MaterialRecord,
    MeshRecord,
    UntoldFile,
    union_box,
)
from encoders.untold.format.writer import pack_untold
from encoders.untold.mesh.material import describe_losses, describe_material
from encoders.untold.mesh.material_record import TextureTable, material_record, texture_facts
from encoders.untold.mesh.object_mesh import ObjectMesh, build_object_meshes
from encoders.untold.rig.model_mesh import PackedMesh, pack_model_mesh, skin_record
from encoders.untold.rig.pose_bounds import Poses, SkinnedPoints, posed_bounds
from encoders.untold.rig.rigged_model import RiggedModel, open_rigged

Item = TypeVar("Item", LightRecord, CameraRecord)
TEXTURE, CLIP = "texture:", "clip:"


def encode_model(inputs: Inputs, params: Params) -> Outputs:
    """Encode a model; clips widen the bounds of what they move."""
    known: Any = params
    rigged = open_rigged(inputs, known["source"], with_lights=known["lights"])
    if known.get("flip_v"):
        model = replace(rigged.model, mesh=flip_v(rigged.model.mesh))
        rigged = replace(rigged, model=model)
    objects, warnings = build_object_meshes(rigged.model, known["shading"])
    table = TextureTable(texture_facts(inputs, TEXTURE), known["folder"])
    file = _build_file(rigged, _by_object(objects), table, _clips(inputs), known)
    compressor = LZ4_COMPRESSOR if known["compression"] == "lz4" else None
    data = pack_untold(file, f"{known['name']}.untold", compressor)
    warnings += _losses(rigged.model, known)
    return {"file": data, **({WARNINGS: "\n".join(warnings).encode()} if warnings else {})}


def _clips(inputs: Inputs) -> list[ClipRecord]:
    return [
        clip
        for name in sorted(inputs)
        if name.startswith(CLIP)
        for clip in unpack_untold(inputs[name], name).clips
    ]


def _by_object(objects: Sequence[ObjectMesh]) -> list[ObjectMesh]:
    """Put the meshes of an object together: an entity's meshes must be consecutive."""
    order = {key: number for number, key in enumerate(dict.fromkeys(one.key for one in objects))}
    return sorted(objects, key=lambda one: order[one.key])


class _Builder:
    """The records of a model's objects while they are collected; skeletons come first."""

    def __init__(self, rigged: RiggedModel, known: Any) -> None:
        self.rigged, self.known = rigged, known
        self.skeletons = rigged.records()
        self.numbers = {one: number for number, one in enumerate(rigged.skeletons)}
        # The meshes that follow each skeleton, by their numbers.
        self.followers: list[dict[int, SkinnedPoints]] = [{} for _ in self.skeletons]
        self.titles = [one.name or "skeleton" for one in rigged.skeletons]
        # The entity of each object, and the skeleton of each entity that follows one.
        self.entities: dict[str, int] = {}
        self.owners: dict[int, int] = {}
        self.meshes: list[MeshRecord] = []
        self.skins: list[SkinRecord] = []

    def add(self, one: ObjectMesh, material: int, label: str) -> None:
        """Add a mesh, and the skin that it has."""
        entity = self._entity(one)
        has_backs = self.known["double_sided"] is True
        packed = pack_model_mesh(one, self.known["name"], has_backs=has_backs)
        number = self.owners.get(entity)
        if number is not None:
            self.skins.append(skin_record(packed, entity, len(self.meshes), number))
            self.followers[number][len(self.meshes)] = packed.points
        self.meshes.append(_mesh_record(packed, one, entity, material, label))

    def widen_bounds(self, clips: Sequence[ClipRecord]) -> None:
        """Let the bounds of skinned meshes hold all poses."""
        for skeleton, followers in zip(self.skeletons, self.followers, strict=True):
            boxes = posed_bounds(list(followers.values()), Poses(skeleton, clips))
            for index, box in zip(followers, boxes, strict=True):
                self.meshes[index] = replace(self.meshes[index], bounds=box)

    def _entity(self, one: ObjectMesh) -> int:
        """Return the entity of an object, which is added if it is new."""
        if one.key not in self.entities:
            entity = self.entities[one.key] = len(self.titles)
            self.titles.append(one.name or self.known["name"])
            skeleton = self.rigged.skeleton_of.get(one.key)
            if skeleton is not None:
                self.owners[entity] = self.numbers[skeleton]
        return self.entities[one.key]

    def entity_records(self) -> tuple[EntityRecord, ...]:
        """Return the entities; the bounds of a skeleton hold all that follows it."""
        own: list[list[int]] = [[] for _ in self.titles]
        held: list[list[Floats]] = [[] for _ in self.titles]
        for index, mesh in enumerate(self.meshes):
            own[mesh.entity_id].append(index)
            held[mesh.entity_id].append(mesh.bounds)
            if mesh.entity_id in self.owners:
                held[self.owners[mesh.entity_id]].append(mesh.bounds)
        found = []
        for number, title in enumerate(self.titles):
            bounds = union_box(held[number])
            first = own[number][0] if own[number] else 0
            parent = self.owners.get(number, NONE)
            count = len(own[number])
            found.append(EntityRecord(number, title, first, count, bounds, bounds, parent))
        return tuple(found)


def _build_file(
    rigged: RiggedModel,
    objects: Sequence[ObjectMesh],
    table: TextureTable,
    clips: Sequence[ClipRecord],
    known: Any,
) -> UntoldFile:
    used = sorted({one.material for one in objects} - {-1})
    materials = [_material(rigged.model, number, table, known) for number in used]
    indices = {-1: NONE, **{number: index for index, number in enumerate(used)}}
    builder = _Builder(rigged, known)
    for one in objects:
        index = indices[one.material]
        builder.add(one, index, "" if index == NONE else materials[index].name or "")
    builder.widen_bounds(clips)
    return UntoldFile(
        TILE,
        builder.entity_records(),
        tuple(builder.meshes),
        tuple(materials),
        tuple(table.textures),
        known["format_version"],
        tuple(builder.skeletons),
        tuple(builder.skins),
        tuple(clips[index] for index in known["clips"]),
        # Behind the ids of all entities.
        lights=tuple(_renumbered(rigged.lights, len(builder.titles))),
        cameras=tuple(_renumbered(rigged.cameras, len(builder.titles))),
    )


def _renumbered(records: Sequence[Item], first: int) -> list[Item]:
    return [replace(one, entity_id=one.entity_id + first) for one in records]


def _material(model: Model, number: int, table: TextureTable, known: Any) -> MaterialRecord:
    described = describe_material(model, model.mesh.materials[number])
    # Equal pictures are one texture.
    slots = {slot: known["textures"].get(key, key) for slot, key in described["slots"].items()}
    return material_record({**described, "slots": slots}, table)


def _mesh_record(
    packed: PackedMesh, one: ObjectMesh, entity: int, material: int, label: str
) -> MeshRecord:
    title = "_".join(part for part in (one.name, label) if part)
    bounds = np.stack([packed.position.min(axis=0), packed.position.max(axis=0)])
    return MeshRecord(title or None, entity, material, packed.vertices, packed.indices, bounds)


def _losses(model: Model, known: Any) -> list[str]:
    used = sorted(set(model.mesh.material.tolist()) - {-1})
    asks_for_sides = known["double_sided"] != "source"
    shows_emissive = known["format_version"] != 1
    return [
        text
        for number in used
        for text in describe_losses(
            model.mesh.materials[number],
            shows_emissive=shows_emissive,
            asks_for_sides=asks_for_sides,
        )
    ]
