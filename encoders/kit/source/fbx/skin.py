"""The skins of an FBX file: joints, inverse bind matrices, and the weights of vertices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.kit.source.fbx.library import Doubles, items, matrix, mesh_name
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.geometry.matrix import cofactor, determinant, multiply
from encoders.kit.source.shared.polygon_mesh import Weights
from encoders.kit.warning import grouped

# Weights of a vertex that glTF's two sets of joints hold; lighter ones are left out.
INFLUENCES = 8
Influences = list[tuple[float, int]]
Warn = Callable[[str], object]
# Matrices that differ by less are the same, as writers round them.
SAME = 1e-4


@dataclass(frozen=True, eq=False)
class Rig:
    """A skin in the making: its joints by node with their inverse bind matrices.

    `members` are the numbers of the deformers that it is made of.
    """

    name: str
    joints: dict[int, Doubles]
    members: tuple[int, ...] = ()

    def fits(self, joints: Mapping[int, Doubles]) -> bool:
        """Tell whether a mesh with these joints can have the same skin.

        It has a joint in common, and a joint that both have was bound in the same place.
        """
        shared = self.joints.keys() & joints.keys()
        return bool(shared) and all(
            np.allclose(self.joints[one], joints[one], rtol=SAME, atol=SAME) for one in shared
        )


class Skins:
    """The skins of a file; one without any has one of all its bones, at rest.

    FBX binds every mesh by itself, each to the bones that it uses. Those of one character become
    one skin, so that it has one skeleton.
    """

    def __init__(self, scene: Any, glb: GlbBuilder, warn: Warn) -> None:
        self._warn = warn
        self._numbers: dict[int, int] = {}
        self._clusters: dict[int, dict[int, int]] = {}
        clusters = {one.typed_id: (one.name, _clusters(one)) for one in items(scene.skin_deformers)}
        rigs = _join(
            [Rig(name, _bones(own), (key,)) for key, (name, own) in clusters.items() if own]
        )
        for number, rig in enumerate(rigs):
            joints = {node: joint for joint, node in enumerate(rig.joints)}
            for key in rig.members:
                own = clusters[key][1]
                self._numbers[key] = number
                self._clusters[key] = {at: joints[_node(one)] for at, one in own.items()}
        # A file of animations alone has bones and no mesh; targets ask for joints by skin.
        if not rigs:
            bones = [node for node in items(scene.nodes) if node.bone is not None]
            resting = {node.typed_id: _inverse(matrix(node.node_to_world)) for node in bones}
            rigs = [Rig("bones", resting)] if bones else []
        self.skins = [_skin(rig, glb) for rig in rigs]

    def of(self, mesh: Any) -> tuple[int, Weights] | None:
        """Return the number of a mesh's skin, and joints and weights of its vertices."""
        bound = [one for one in items(mesh.skin_deformers) if one.typed_id in self._numbers]
        if not bound:
            return None
        deformer = bound[0]
        if len(bound) > 1:
            # A glTF node has one skin; FBX can blend several.
            text = f'mesh "{mesh_name(mesh)}" has {len(bound)} skins; the first was taken'
            self._warn(grouped("ignored", text))
        found = _influences(deformer, mesh.num_vertices, self._clusters[deformer.typed_id])
        lost = sum(len(one) > INFLUENCES for one in found)
        if lost:
            text = f'mesh "{mesh_name(mesh)}": {lost} vertices have more than {INFLUENCES} joints'
            self._warn(grouped("feature", f"{text}; the lightest were left out"))
        return self._numbers[deformer.typed_id], _weights(found)


def _clusters(deformer: Any) -> dict[int, Any]:
    """Return the clusters by place; one whose bone is missing has no node to follow."""
    found = enumerate(items(deformer.clusters))
    return {place: one for place, one in found if one.bone_node is not None}


def _bones(clusters: Mapping[int, Any]) -> dict[int, Doubles]:
    """Return the inverse bind matrix of each bone, by node."""
    return {_node(one): matrix(one.geometry_to_bone) for one in clusters.values()}


def _node(cluster: Any) -> int:
    node: int = cluster.bone_node.typed_id
    return node


def _join(single: Sequence[Rig]) -> list[Rig]:
    """Join the rigs that fit one another; each takes the place of its first member."""
    rigs: list[Rig] = []
    for one in single:
        joined, place = one, len(rigs)
        # Backwards, so that the first name and the first joints come first in the end.
        for number in reversed(range(len(rigs))):
            # Two rigs without a common joint can be joined by a third that has joints of both.
            if rigs[number].fits(joined.joints):
                first, place = rigs.pop(number), number
                joints = first.joints | {
                    node: bind for node, bind in joined.joints.items() if node not in first.joints
                }
                joined = Rig(first.name, joints, first.members + joined.members)
        rigs.insert(place, joined)
    return rigs


def _skin(rig: Rig, glb: GlbBuilder) -> spec.Skin:
    # glTF stores matrices column by column.
    columns = np.array(list(rig.joints.values())).transpose(0, 2, 1).reshape(-1, 16)
    stored = glb.accessor(columns.astype("<f4"))
    return spec.Skin(name=rig.name, joints=tuple(rig.joints), inverse_bind_matrices=stored)


def _influences(deformer: Any, count: int, joints: Mapping[int, int]) -> list[Influences]:
    """Return for each vertex its joints with their weights, the heaviest first."""
    found: list[Influences] = [[] for _ in range(count)]
    for place, cluster in enumerate(items(deformer.clusters)):
        if place not in joints:
            continue
        vertices, weights = cluster.vertices, cluster.weights
        for row in range(len(vertices)):
            if weights[row] > 0 and vertices[row] < count:
                # Negative, so that plain sorting puts the heaviest first and breaks ties by joint
                # number.
                found[vertices[row]].append((-weights[row], joints[place]))
    return [sorted(one) for one in found]


def _weights(found: Sequence[Influences]) -> Weights:
    """Return joints and weights (vertices, 4 or 8), with a sum of one."""
    most = max(map(len, found), default=0)
    width = INFLUENCES // 2 if most <= INFLUENCES // 2 else INFLUENCES
    joint, weight = np.zeros((len(found), width), "<u2"), np.zeros((len(found), width))
    for vertex, influences in enumerate(found):
        for place, (lightness, number) in enumerate(influences[:width]):
            joint[vertex, place], weight[vertex, place] = number, -lightness
    total = weight.sum(axis=1, keepdims=True)
    # A vertex that nothing moves stays with the first joint, as glTF has no other way to say it.
    weight[total[:, 0] == 0, 0] = 1
    return joint, (weight / np.where(total == 0, 1, total)).astype("<f4")


def _inverse(affine: Doubles) -> Doubles:
    """Invert an affine matrix; one that flattens everything has no inverse and gives itself."""
    size = float(determinant(affine))
    if not size:
        return affine
    inverse = np.eye(4)
    inverse[:3, :3] = cofactor(affine).T / size
    moved = multiply(inverse, affine)
    inverse[:3, 3] = -moved[:3, 3]
    return inverse
