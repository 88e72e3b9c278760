"""A glTF file as a model; its objects are the nodes of the default scene that have a mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Mesh, Part
from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.data.image import image_source, warn_of_wrong_types
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.node import scene_nodes
from encoders.kit.source.gltf.geometry.bake import bake_all
from encoders.kit.source.gltf.geometry.primitive import Primitive
from encoders.kit.source.gltf.geometry.scene import PlacedPrimitive, place_primitives
from encoders.kit.source.gltf.source import open_gltf
from encoders.kit.source.gltf.world import join_primitives
from encoders.kit.source.model import IDENTITY, Doubles, Model, ModelObject, Split
from encoders.kit.warning import grouped


def open_gltf_model(inputs: Inputs, source: str, split: Split, with_materials: bool) -> Model:
    """Open a glTF file; its materials are inside, so they come along in any case.

    Without materials nobody wants its images, and nothing is said of them.
    """
    gltf = open_gltf(inputs, source, with_materials=with_materials)
    placed = place_primitives(gltf)
    objects, taken = _objects(gltf, placed, split)
    own = [replace(one, matrix=taken[one.node]) if one.node in taken else one for one in placed]
    baked = bake_all(gltf, own)
    if gltf.document.animations:
        gltf.warn(grouped("ignored", "animations were ignored"))
    return join_model(gltf, inputs, placed, baked, objects, with_materials=with_materials)


def join_model(
    gltf: Gltf,
    inputs: Inputs,
    placed: Sequence[PlacedPrimitive],
    baked: Sequence[Primitive],
    objects: Mapping[int, ModelObject],
    *,
    with_materials: bool = True,
) -> Model:
    """Put placed primitives, whose vertices are where they belong, into one model."""
    parts = tuple(Part(one.node_name, one.mesh_name, one.node) for one in placed)
    mesh = join_primitives(gltf, baked, parts)
    if not mesh.triangle_count:
        facts = {"file": gltf.name}
        raise EncodeError("no triangles", facts, "Put a mesh into the default scene.")
    numbers = {node: number for number, node in enumerate(objects)}
    part_object = np.array([numbers[one.node] for one in placed], np.int64)
    model = _model(gltf, inputs, mesh, with_materials=with_materials)
    return replace(model, objects=tuple(objects.values()), part_object=part_object)


def open_surfaces(gltf: Gltf, inputs: Inputs) -> Model:
    """Return a model that has the materials and images of a file, but no object."""
    if gltf.document.animations:
        gltf.warn(grouped("ignored", "animations were ignored"))
    return _model(gltf, inputs, join_primitives(gltf, (), ()), with_materials=True)


def _model(gltf: Gltf, inputs: Inputs, mesh: Mesh, *, with_materials: bool) -> Model:
    """Return a model of a mesh, without objects."""
    source = gltf.name
    if with_materials:
        shown = {one.image for material in mesh.materials for one in material.textures.values()}
        warn_of_wrong_types(gltf, sorted(shown))
    return Model(
        source,
        mesh,
        tuple(f"{source}: {warning}" for warning in gltf.warnings),
        inputs,
        objects=(),
        part_object=np.zeros(0, np.int64),
        material_keys=tuple(str(number) for number in range(len(mesh.materials))),
        inner_image=lambda index: image_source(gltf, index).data,
    )


def _objects(
    gltf: Gltf, placed: Sequence[PlacedPrimitive], split: Split
) -> tuple[dict[int, ModelObject], dict[int, Doubles]]:
    """Return the object of each mesh node, and the matrix that its vertices take.

    A skinned mesh is placed in the world by its joints, so its node keeps nothing.
    """
    skinned = {one.node for one in placed if one.skin is not None}
    objects, taken = {}, {}
    for node in scene_nodes(gltf.document, gltf.name):
        record = gltf.document.nodes[node]
        if record.mesh is None:
            continue
        kept = IDENTITY
        if node not in skinned:
            kept, taken[node] = split(np.array(gltf.world[node]).reshape(4, 4))
        objects[node] = ModelObject(record.name or f"nodes[{node}]", kept)
    return objects, taken
