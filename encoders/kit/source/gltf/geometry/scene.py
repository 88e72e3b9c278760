"""The default scene as a flat list of placed primitives, in the order of its nodes.

A mesh that several nodes show in one shape is decoded once: its placements share their arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.node import scene_nodes
from encoders.kit.source.gltf.document.spec import element, node_place
from encoders.kit.source.gltf.geometry.matrix import Doubles
from encoders.kit.source.gltf.geometry.mesh import decode_primitive
from encoders.kit.source.gltf.geometry.primitive import Primitive

# Weights of morph targets; none means those of the mesh.
Weights = tuple[float, ...]
PLACEMENT_LIMIT = 1 << 18
# Placements share arrays here, but every target makes triangles of its own of each. A file may
# show a million, and more the larger it is: a small one must not take minutes and gigabytes.
TRIANGLE_LIMIT, TRIANGLES_PER_BYTE = 1 << 20, 4


@dataclass(frozen=True, eq=False)
class PlacedPrimitive:
    """A primitive with the node that places it; `matrix` is the node's world matrix (4, 4).

    A skinned one (`skin` is not None) is placed by its joints alone, as the specification says.
    """

    node: int
    node_name: str
    mesh_name: str
    matrix: Doubles
    primitive: Primitive
    skin: int | None = None


def place_primitives(gltf: Gltf) -> list[PlacedPrimitive]:
    """Return every primitive of the default scene, in the order of its nodes."""
    decoded: dict[tuple[int, Weights], list[Primitive]] = {}
    checked: set[tuple[int, int]] = set()
    placed: list[PlacedPrimitive] = []
    triangles, allowed = 0, TRIANGLE_LIMIT + TRIANGLES_PER_BYTE * gltf.size_bytes
    for index in scene_nodes(gltf.document, gltf.name):
        node, where = gltf.document.nodes[index], node_place(gltf.document, index)
        mesh, skin = node.mesh, node.skin
        if mesh is None:
            continue
        shape = (mesh, node.weights)
        if shape not in decoded:
            decoded[shape] = _primitives(gltf, mesh, node.weights, where)
        # Once a pair: many nodes can show one mesh, and the check goes over all its vertices.
        if skin is not None and (mesh, skin) not in checked:
            checked.add((mesh, skin))
            _check_skin(gltf, decoded[shape], skin, where)
        placed += _place(gltf, index, gltf.world[index], decoded[shape])
        if len(placed) > PLACEMENT_LIMIT:
            raise fault("scene has too many meshes", gltf.name, "nodes", None, PLACEMENT_LIMIT)
        triangles += sum(len(primitive.triangles) for primitive in decoded[shape])
        if triangles > allowed:
            hint = "Show fewer copies, or split the scene into several files."
            raise fault(
                "scene shows too many triangles", gltf.name, where, triangles, allowed, hint
            )
    return placed


def _primitives(gltf: Gltf, mesh: int, weights: Weights, where: str) -> list[Primitive]:
    record = element(gltf.document.meshes, mesh, where, gltf.name)
    numbers = range(len(record.primitives))
    found = (decode_primitive(gltf, mesh, number, weights) for number in numbers)
    return [primitive for primitive in found if primitive is not None]


def _place(
    gltf: Gltf, index: int, world: Sequence[float], primitives: list[Primitive]
) -> list[PlacedPrimitive]:
    node = gltf.document.nodes[index]
    assert node.mesh is not None
    mesh_name = gltf.document.meshes[node.mesh].name
    matrix = np.array(world).reshape(4, 4)
    return [
        PlacedPrimitive(index, node.name, mesh_name, matrix, primitive, node.skin)
        for primitive in primitives
    ]


def _check_skin(gltf: Gltf, primitives: list[Primitive], skin: int, where: str) -> None:
    record = element(gltf.document.skins, skin, f"{where}.skin", gltf.name)
    for primitive in primitives:
        # The check takes time, which the limit bounds too.
        gltf.charge(4 * len(primitive.position), where)
        _check_joints(gltf, primitive, len(record.joints), where)


def _check_joints(gltf: Gltf, primitive: Primitive, count: int, where: str) -> None:
    joints, weights = primitive.joints, primitive.weights
    if (joints is None) != (weights is None):
        raise fault("vertices have joints or weights, but not both", gltf.name, where)
    if joints is None or weights is None:
        return
    if joints.shape != weights.shape:
        raise fault("joints do not fit weights", gltf.name, where, joints.shape, weights.shape)
    # A joint of no weight may be any number.
    largest = int(np.where(weights != 0, joints, 0).max(initial=0))
    if largest >= count:
        raise fault("vertex joint is not in the skin", gltf.name, where, largest, f"below {count}")
