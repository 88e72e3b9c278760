"""The skins of an FBX file: joints, inverse bind matrices, and the weights of vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from encoders.kit.source.fbx.library import Doubles, items, matrix
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.geometry.matrix import cofactor, determinant, multiply
from encoders.kit.source.polygon_mesh import Weights

# Weights of a vertex that glTF's two sets of joints hold; lighter ones are left out.
INFLUENCES = 8


class Skins:
    """The skins so far; a file without any has one of all its bones, at rest."""

    def __init__(self, scene: Any, glb: GlbBuilder) -> None:
        self.skins: list[spec.Skin] = []
        self._glb = glb
        self._numbers: dict[int, int] = {}
        self._joints: dict[int, dict[int, int]] = {}
        for deformer in items(scene.skin_deformers):
            self._add(deformer)
        # A file of animations alone has bones and no mesh; targets ask for joints by skin.
        if not self.skins:
            bones = [node for node in items(scene.nodes) if node.bone is not None]
            matrices = [_inverse(matrix(node.node_to_world)) for node in bones]
            self._store("bones", [node.typed_id for node in bones], matrices)

    def _add(self, deformer: Any) -> None:
        clusters = enumerate(items(deformer.clusters))
        # A cluster whose bone is missing has no node to follow.
        bound = {number: one for number, one in clusters if one.bone_node is not None}
        if bound:
            self._numbers[deformer.typed_id] = len(self.skins)
            self._joints[deformer.typed_id] = {number: joint for joint, number in enumerate(bound)}
            joints = [one.bone_node.typed_id for one in bound.values()]
            matrices = [matrix(one.geometry_to_bone) for one in bound.values()]
            self._store(deformer.name, joints, matrices)

    def _store(self, name: str, joints: Sequence[int], matrices: Sequence[Doubles]) -> None:
        if joints:
            # glTF stores matrices column by column.
            columns = np.array(matrices).transpose(0, 2, 1).reshape(len(joints), 16)
            stored = self._glb.accessor(columns.astype("<f4"))
            skin = spec.Skin(name=name, joints=tuple(joints), inverse_bind_matrices=stored)
            self.skins.append(skin)

    def of(self, mesh: Any) -> tuple[int, Weights] | None:
        """Return the number of a mesh's skin, and joints and weights of its vertices."""
        bound = [one for one in items(mesh.skin_deformers) if one.typed_id in self._numbers]
        if not bound:
            return None
        # A glTF node has one skin; FBX can blend several.
        deformer = bound[0]
        joints = self._joints[deformer.typed_id]
        weights = _weights(deformer, mesh.num_vertices, joints)
        return self._numbers[deformer.typed_id], weights


def _weights(deformer: Any, count: int, joints: dict[int, int]) -> Weights:
    """Return joints and weights (vertices, 4 or 8), the heaviest first, with a sum of one."""
    found: list[list[tuple[float, int]]] = [[] for _ in range(count)]
    for number, cluster in enumerate(items(deformer.clusters)):
        if number not in joints:
            continue
        vertices, weights = cluster.vertices, cluster.weights
        for place in range(len(vertices)):
            if weights[place] > 0 and vertices[place] < count:
                # Negative, so that plain sorting puts the heaviest first and breaks ties by joint
                # number.
                found[vertices[place]].append((-weights[place], joints[number]))
    most = max((len(one) for one in found), default=0)
    width = INFLUENCES // 2 if most <= INFLUENCES // 2 else INFLUENCES
    joint, weight = np.zeros((count, width), "<u2"), np.zeros((count, width))
    for vertex, influences in enumerate(found):
        for place, (lightness, number) in enumerate(sorted(influences)[:width]):
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
