"""The joints of a file: their parents, their paths, and the nodes between them.

Joints are the nodes that skins name. In a file without skins they are the nodes that clips move, so
that doors and wheels turn. The engine finds the joint of a channel by its path alone, so models and
clips take their paths from here, and a file of clips fits a model whose joints have the same names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.node import local_matrix
from encoders.kit.source.gltf.document.spec import node_place
from encoders.kit.source.gltf.geometry.matrix import Doubles, multiply

MOVING = ("translation", "rotation", "scale")
NO_NAME = "joint"


@dataclass(frozen=True)
class Joint:
    """A joint: its path, its parent (-1 for a root), and its chain.

    The chain has the nodes from below the parent, or from the top, down to the joint itself.
    """

    node: int
    path: str
    parent: int
    chain: tuple[int, ...]


@dataclass(frozen=True)
class JointForest:
    """All joints of a file by their nodes, each after its parent."""

    joints: dict[int, Joint]
    has_skins: bool

    def above(self, node: int, parents: list[int]) -> int:
        """Return the nearest joint at or above a node, -1 where there is none."""
        while node >= 0 and node not in self.joints:
            node = parents[node]
        return node

    def with_ancestors(self, nodes: Iterable[int]) -> list[int]:
        """Return joints and all joints above them, each after its parent."""
        wanted: set[int] = set()
        for one in nodes:
            node = one
            while node >= 0 and node not in wanted:
                wanted.add(node)
                node = self.joints[node].parent
        return [node for node in self.joints if node in wanted]


def find_joints(gltf: Gltf) -> JointForest:
    """Return the joints of a file."""
    document = gltf.document
    nodes = list(dict.fromkeys(joint for skin in document.skins for joint in skin.joints))
    if not nodes:
        nodes = _moved_nodes(gltf)
    chosen = set(nodes)
    joints: dict[int, Joint] = {}
    taken: set[str] = set()
    for node in _parents_first(gltf, nodes):
        chain = [node]
        parent = gltf.parents[node]
        while parent >= 0 and parent not in chosen:
            chain.append(parent)
            parent = gltf.parents[parent]
        prefix = joints[parent].path if parent >= 0 else ""
        path = _unique(f"{prefix}/{_plain_name(document.nodes[node].name)}", taken)
        joints[node] = Joint(node, path, parent, tuple(reversed(chain)))
    return JointForest(joints, bool(document.skins))


def _moved_nodes(gltf: Gltf) -> list[int]:
    """Return the nodes that clips move, in the order of the file."""
    moved = {
        channel.target.node
        for clip in gltf.document.animations
        for channel in clip.channels
        if channel.target.path in MOVING and channel.target.node is not None
    }
    return [node for node in range(len(gltf.document.nodes)) if node in moved]


def _parents_first(gltf: Gltf, nodes: list[int]) -> list[int]:
    wanted, found = set(nodes), dict[int, None]()
    for joint in nodes:
        line, node = [], joint
        while node >= 0 and node not in found:
            line += [node] if node in wanted else []
            node = gltf.parents[node]
        found.update(dict.fromkeys(reversed(line)))
    return list(found)


def _plain_name(name: str) -> str:
    # A slash would look like another joint, and a NUL would end the string.
    return name.replace("/", "_").replace("\0", "_") or NO_NAME


def _unique(path: str, taken: set[str]) -> str:
    chosen, count = path, 1
    while chosen in taken:
        count += 1
        chosen = f"{path}_{count}"
    taken.add(chosen)
    return chosen


def rest_matrix(gltf: Gltf, joint: Joint) -> Doubles:
    """Return the matrix of a joint at rest, relative to its parent joint."""
    matrix: Doubles = np.eye(4)
    for node in joint.chain:
        where = node_place(gltf.document, node)
        local = np.array(local_matrix(gltf.document.nodes[node], gltf.name, where)).reshape(4, 4)
        matrix = multiply(matrix, local)
    return matrix
