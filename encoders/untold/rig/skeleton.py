"""Skeletons of a model, and the space in which its skinned vertices are written.

The engine shows a vertex at the sum of weight x world(joint) x inverse(bind(joint)) x position. So
vertices and bind matrices must share a space. Where one matrix C takes all bound vertices of a
skin to where they rest, C is baked into both: then the vertices lie where they are shown at rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.geometry.matrix import Doubles, determinant, invert, multiply
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.untold.format.layout import NONE
from encoders.untold.format.rig_record import JointRecord, SkeletonRecord
from encoders.untold.rig.joint_forest import JointForest, rest_matrix

# Matrices that differ by less than this part of their size are equal.
TOLERANCE = 1e-4


@dataclass(eq=False)
class Skeleton:
    """Joints that vertices share; `bind` has the matrix of each by its node.

    `spare` has those of joints that no vertex follows, on which a game may hang something.
    """

    name: str
    bind: dict[int, Doubles]
    spare: dict[int, Doubles] = field(default_factory=dict)
    joints: list[int] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class BoundSkin:
    """A skin of the source: its skeleton, the nodes of its joints, and what vertices take."""

    skeleton: Skeleton
    nodes: tuple[int, ...]
    matrix: Doubles


def world_matrix(gltf: Gltf, node: int) -> Doubles:
    """Return the world matrix of a node at rest."""
    return np.array(gltf.world[node]).reshape(4, 4)


class SkeletonFinder:
    """Collect the skeletons of a model while its parts are bound.

    Skins share a skeleton if they share joints and agree on where these were bound.
    """

    def __init__(self, gltf: Gltf, forest: JointForest) -> None:
        self.gltf, self.forest = gltf, forest
        self.skeletons: list[Skeleton] = []

    def bind_skin(self, index: int, used: Iterable[int]) -> BoundSkin:
        """Bind a skin of which vertices use some joints, by their numbers in the skin."""
        skin = decode_skin(self.gltf, index)
        found = [invert(one) for one in skin.inverse_bind.astype(np.float64)]
        every = dict(zip(skin.joints, found, strict=True))
        bind = {skin.joints[number]: found[number] for number in sorted(used)}
        self._check_bound(bind)
        rest = {node: world_matrix(self.gltf, node) for node in bind}
        matrix = _common_matrix(rest, bind)
        # Rounding alone is not worth moving vertices for.
        if matrix is None or _are_near(np.eye(4), matrix):
            matrix = np.eye(4)
        moved = {node: multiply(matrix, one) for node, one in every.items()}
        skeleton = self._shared(skin.name, {node: moved[node] for node in bind})
        skeleton.spare |= {node: one for node, one in moved.items() if node not in bind}
        return BoundSkin(skeleton, skin.joints, matrix)

    def _check_bound(self, bind: Mapping[int, Doubles]) -> None:
        for node, matrix in bind.items():
            if not np.isfinite(matrix).all():
                name = self.forest.joints[node].path
                facts = {"file": self.gltf.name, "joint": name}
                hint = "Bind the mesh again, or take the joint's weights away."
                raise EncodeError("an inverse bind matrix is flat", facts, hint)

    def bind_node(self, node: int) -> Skeleton:
        """Return a skeleton with this joint, for a part that hangs on it."""
        for skeleton in self.skeletons:
            if node in self.forest.with_ancestors(skeleton.bind):
                skeleton.bind.setdefault(node, world_matrix(self.gltf, node))
                return skeleton
        return self._shared("", {node: world_matrix(self.gltf, node)})

    def _shared(self, name: str, bind: Mapping[int, Doubles]) -> Skeleton:
        """Add bound joints to a skeleton that agrees with them, or to a new one."""
        nodes = set(self.forest.with_ancestors(bind))
        for skeleton in self.skeletons:
            is_related = nodes & set(self.forest.with_ancestors(skeleton.bind))
            shared = [node for node in bind if node in skeleton.bind]
            if is_related and all(_are_near(skeleton.bind[one], bind[one]) for one in shared):
                for node, matrix in bind.items():
                    skeleton.bind.setdefault(node, matrix)
                return skeleton
        root = self.forest.with_ancestors(bind)[0]
        title = name or self.gltf.document.nodes[root].name
        self.skeletons.append(Skeleton(title, dict(bind)))
        return self.skeletons[-1]

    def finish(self) -> None:
        """Give every skeleton all joints above its own and the spare ones, parents first."""
        for skeleton in self.skeletons:
            joints = dict.fromkeys(self.forest.with_ancestors(skeleton.bind))
            for node in joints:
                skeleton.bind.setdefault(node, world_matrix(self.gltf, node))
            for node in self.forest.with_ancestors(skeleton.spare):
                if node not in joints and self._is_spare(skeleton, node):
                    joints[node] = None
            skeleton.joints = [node for node in self.forest.joints if node in joints]

    def _is_spare(self, skeleton: Skeleton, node: int) -> bool:
        """Add the bind matrix of a joint that no vertex follows; False if it cannot be stored."""
        joint = self.forest.joints[node]
        if joint.parent >= 0 and joint.parent not in skeleton.bind:
            return False
        bind = skeleton.spare.get(node, world_matrix(self.gltf, node))
        found = (bind, rest_matrix(self.gltf, joint))
        # Written so that a number that is none is refused as well.
        if not all(float(determinant(one)) > 0 for one in found):
            return False
        skeleton.bind[node] = bind
        return True

    def record(self, skeleton: Skeleton, entity: int) -> SkeletonRecord:
        """Return a skeleton as it is stored."""
        numbers = {node: number for number, node in enumerate(skeleton.joints)}
        records = []
        for node in skeleton.joints:
            joint = self.forest.joints[node]
            rest = rest_matrix(self.gltf, joint)
            self._check_matrix(rest, joint.path)
            self._check_matrix(skeleton.bind[node], joint.path)
            parent = NONE if joint.parent < 0 else numbers[joint.parent]
            bind = flat_matrix(skeleton.bind[node])
            records.append(JointRecord(joint.path, bind, flat_matrix(rest), parent))
        return SkeletonRecord(entity, skeleton.name, tuple(records))

    def _check_matrix(self, matrix: Doubles, path: str) -> None:
        """Refuse what the engine cannot split into rotation and positive scale."""
        if not float(determinant(matrix)) > 0:
            facts = {"file": self.gltf.name, "joint": path}
            hint = "Apply the scale of the armature and of its joints before export."
            problem = "a joint is mirrored, or has no size in one direction"
            raise EncodeError(problem, facts, hint)


def flat_matrix(matrix: Doubles) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return a matrix as the file has it: column by column."""
    # Adding zero turns -0 into 0, so that equal poses give equal bytes.
    return np.ascontiguousarray(matrix.T.reshape(-1).astype(np.float32) + np.float32(0))


def _are_near(one: Doubles, other: Doubles) -> bool:
    size = max(float(np.abs(one).max()), 1e-6)
    return bool(np.abs(one - other).max() <= TOLERANCE * size)


def _common_matrix(rest: Mapping[int, Doubles], bind: Mapping[int, Doubles]) -> Doubles | None:
    """Return the one matrix that takes all bound joints to their rest; None if there is none."""
    found = [multiply(rest[node], invert(bind[node])) for node in bind]
    if not found or not all(_are_near(found[0], one) for one in found[1:]):
        return None
    return found[0]
