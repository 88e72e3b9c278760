"""The objects of a source: each mesh node of a glTF scene, each `o` of an OBJ file.

The format has a position and a pure rotation for an object. Scale, shear and mirroring are baked
into the vertices. Units and axes are still those of the source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Part
from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.bake import bake
from encoders.kit.source.gltf.matrix import compose, decompose, determinant
from encoders.kit.source.gltf.node import scene_nodes
from encoders.kit.source.gltf.rotation import to_matrix
from encoders.kit.source.gltf.scene import PlacedPrimitive, place_primitives
from encoders.kit.source.gltf.source import Gltf, decode_gltf
from encoders.kit.source.gltf.world import join_primitives
from encoders.kit.source.model import Model, decode_model, find_resources

Doubles = npt.NDArray[np.float64]
# A matrix has no shear if translation, rotation and scale give it back with a relative error below
# this.
SHEAR_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class SceneObject:
    """An object of the scene."""

    name: str
    position: Doubles
    rotation: Doubles


@dataclass(frozen=True, eq=False)
class DecodedObjects:
    """A source: its triangles in the local spaces of its objects.

    `object_of_part` is the index of the object that each part of the mesh belongs to.
    """

    model: Model
    objects: tuple[SceneObject, ...]
    object_of_part: npt.NDArray[np.int64]


def decode_objects(inputs: Inputs, source: str) -> DecodedObjects:
    """Decode a source into objects."""
    if source.lower().endswith(".obj"):
        return _decode_obj(inputs, source)
    gltf = decode_gltf(inputs[source], source)
    gltf.resources = find_resources(gltf, inputs)
    placed = place_primitives(gltf)
    if not any(len(place.primitive.triangles) for place in placed):
        raise EncodeError("no triangles", {"file": source}, "Put a mesh into the default scene.")
    nodes = [node for node in scene_nodes(gltf.document, source) if _has_mesh(gltf, node)]
    skinned = {place.node for place in placed if place.skin is not None}
    objects, local = [], {}
    for node in nodes:
        name = gltf.document.nodes[node].name or f"nodes[{node}]"
        world = np.array(gltf.world[node]).reshape(4, 4)
        if node in skinned:  # its joints place it, and the node's own matrix is ignored
            objects.append(SceneObject(name, np.zeros(3), np.eye(3)))
            continue
        rotation, local[node] = split_matrix(world)
        objects.append(SceneObject(name, world[:3, 3], rotation))
    baked = [bake(gltf, _in_local_space(place, local)) for place in placed]
    parts = tuple(Part(place.node_name, place.mesh_name) for place in placed)
    mesh = join_primitives(gltf, baked, parts)
    if gltf.document.animations:
        gltf.warn("animations were ignored")
    warnings = tuple(f"{source}: {warning}" for warning in gltf.warnings)
    rank = {node: number for number, node in enumerate(nodes)}
    number = np.array([rank[place.node] for place in placed], np.int64)
    return DecodedObjects(Model(source, mesh, warnings, {}, gltf), tuple(objects), number)


def _has_mesh(gltf: Gltf, node: int) -> bool:
    return gltf.document.nodes[node].mesh is not None


def _in_local_space(place: PlacedPrimitive, local: dict[int, Doubles]) -> PlacedPrimitive:
    return replace(place, matrix=local[place.node]) if place.node in local else place


def split_matrix(world: Doubles) -> tuple[Doubles, Doubles]:
    """Split a node's matrix into a rotation for the file and a matrix to bake into the vertices.

    If the matrix mirrors or shears, all of it but the translation is baked.
    """
    local = np.eye(4)
    with np.errstate(all="ignore"):  # an overflow is not split, and refused when it is baked
        # A negative determinant is a mirror, and zero has no rotation.
        if float(determinant(world)) > 0:
            translation, turn, scale = decompose(world)
            error = np.abs(compose(translation, turn, scale) - world)[:3, :3].max()
            if error <= SHEAR_TOLERANCE * np.abs(world[:3, :3]).max():
                local[:3, :3] = np.diag(scale)
                return to_matrix(turn), local
    local[:3, :3] = world[:3, :3]
    return np.eye(3), local


def _decode_obj(inputs: Inputs, source: str) -> DecodedObjects:
    model = decode_model(inputs, source)
    names = [part.object for part in model.mesh.parts]
    order = list(dict.fromkeys(names))
    # OBJ files have no transforms.
    objects = tuple(SceneObject(name, np.zeros(3), np.eye(3)) for name in order)
    rank = {name: number for number, name in enumerate(order)}
    number = np.array([rank[name] for name in names], np.int64)
    return DecodedObjects(replace(model, inputs={}), objects, number)
