"""The bones of a model: the joints of its skin, or nodes that stand in for joints.

Meshes, skeletons and clips of one asset take their bones from here, so that bone numbers agree. Of
a skin with more joints than a clip can count, only those that vertices need are bones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.emberware.profile import BONE_LIMIT
from encoders.emberware.rig.model import whole_numbers
from encoders.kit.error import EncodeError
from encoders.kit.plan import Inputs, Params
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.node import local_matrix
from encoders.kit.source.gltf.document.spec import node_place
from encoders.kit.source.gltf.geometry.matrix import Doubles, invert, multiply
from encoders.kit.source.gltf.geometry.scene import place_primitives
from encoders.kit.source.gltf.geometry.skin import Skin, decode_skin

# The input that lists the joints to keep.
KEPT = "joints"


@dataclass(frozen=True, eq=False)
class Rig:
    """Bones as a skin; `number` is the bone of each joint of the source's skin, -1 for none."""

    skin: Skin
    number: npt.NDArray[np.int64]


def open_rig(gltf: Gltf, inputs: Inputs, params: Params) -> Rig | None:
    """Return the bones of a part; None where it has neither a skin nor nodes as bones."""
    nodes = whole_numbers(params.get("bone_nodes"))
    if nodes is not None:
        return node_rig(gltf, nodes)
    if not gltf.document.skins:
        return None
    skin = decode_skin(gltf, 0)
    kept = range(len(skin.joints)) if KEPT not in inputs else json.loads(inputs[KEPT])
    number = np.full(len(skin.joints), -1)
    number[list(kept)] = np.arange(len(kept))
    return Rig(pick_joints(skin, kept), number)


def skin_of_part(gltf: Gltf, inputs: Inputs, params: Params) -> Skin:
    """Return the bones of a part that has some."""
    rig = open_rig(gltf, inputs, params)
    assert rig is not None
    return rig.skin


def pick_joints(skin: Skin, kept: Sequence[int]) -> Skin:
    """Return the skin with only these of its joints."""
    return replace(
        skin,
        joints=tuple(skin.joints[joint] for joint in kept),
        joint_names=tuple(skin.joint_names[joint] for joint in kept),
        inverse_bind=skin.inverse_bind[list(kept)],
    )


def node_rig(gltf: Gltf, nodes: Sequence[int]) -> Rig:
    """Return nodes as bones that are bound where they rest.

    A node that is flat at rest has no inverse; its vertices stay in its own space instead.
    """
    inverse = invert(rest_matrices(gltf, nodes))
    is_flat = ~np.isfinite(inverse).all(axis=(1, 2))
    inverse[is_flat] = np.eye(4)
    names = tuple(gltf.document.nodes[node].name for node in nodes)
    skin = Skin("nodes", tuple(nodes), names, inverse.astype(np.float32))
    return Rig(skin, np.arange(len(nodes)))


def rest_matrices(gltf: Gltf, nodes: Sequence[int]) -> Doubles:
    """Return the world matrices of nodes at rest."""
    return np.array([gltf.world[node] for node in nodes]).reshape(-1, 4, 4)


def bone_above(gltf: Gltf, skin: Skin, node: int) -> tuple[int, Doubles] | None:
    """Return the nearest bone at or above a node, and the node's rest matrix relative to it."""
    bones = {joint: number for number, joint in enumerate(skin.joints)}
    matrix: Doubles = np.eye(4)
    while node >= 0 and node not in bones:
        local = local_matrix(gltf.document.nodes[node], gltf.name, node_place(gltf.document, node))
        matrix = multiply(np.array(local).reshape(4, 4), matrix)
        node = gltf.parents[node]
    return (bones[node], matrix) if node >= 0 else None


def used_joints(gltf: Gltf, skin: int) -> list[int]:
    """Return the joints of a skin that vertices of the scene need, in the skin's order."""
    record = decode_skin(gltf, skin)
    used: set[int] = set()
    for place in place_primitives(gltf):
        primitive = place.primitive
        if place.skin == skin and primitive.joints is not None and primitive.weights is not None:
            used.update(np.unique(primitive.joints[primitive.weights != 0]).tolist())
        elif place.skin is None or place.skin == skin:
            found = bone_above(gltf, record, place.node)
            used.update(() if found is None else [found[0]])
    return sorted(used)


def check_bone_count(skin: Skin, problem: str, facts: dict[str, object]) -> None:
    """Refuse more bones than a clip can count."""
    if len(skin.joints) > BONE_LIMIT:
        extra = skin.joint_names[BONE_LIMIT] or f"joint {BONE_LIMIT}"
        raise EncodeError(
            problem,
            {**facts, "bones": len(skin.joints), "allowed": BONE_LIMIT, "first too many": extra},
            "Take joints out of the skin that no vertex needs.",
        )
