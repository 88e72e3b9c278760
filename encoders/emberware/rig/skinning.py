"""Bind the primitives of a scene to the bones of a rig.

Skinned vertices keep their joints and stay where they were bound. A part that hangs on a joint
without a skin of its own (a weapon, a hat) is bound to that joint with weight 1, at the place in
bind space from which the resting joint carries it to where the scene shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.emberware.ember_mesh import INFLUENCES
from encoders.emberware.rig.rig import Rig, bone_above, check_bone_count
from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.geometry.bake import bake
from encoders.kit.source.gltf.geometry.matrix import invert, multiply
from encoders.kit.source.gltf.geometry.mesh import decode_primitive
from encoders.kit.source.gltf.geometry.primitive import Primitive
from encoders.kit.source.gltf.geometry.scene import PlacedPrimitive, place_primitives

# Joint numbers are bytes.
JOINT_LIMIT = 256
Numbers = npt.NDArray[np.int64]


def placed_primitives(
    gltf: Gltf, rig: Rig | None, nodes: Sequence[int] | None = None
) -> list[Primitive]:
    """Return the primitives of the scene, or of some of its nodes, bound to the rig.

    Without a rig they come in world space.
    """
    places = [one for one in place_primitives(gltf) if nodes is None or one.node in nodes]
    if rig is None:
        return [_without_joints(bake(gltf, replace(one, skin=None))) for one in places]
    return [bind(gltf, rig, one) for one in places]


def first_mesh_primitives(gltf: Gltf, rig: Rig | None) -> list[Primitive]:
    """Return the primitives of the first mesh as they are, bound to the rig where some are."""
    record = gltf.document.meshes[0]
    read = (decode_primitive(gltf, 0, number) for number in range(len(record.primitives)))
    found = [one for one in read if one is not None]
    for one in found:
        _check_weights(gltf, one)
    if all(one.joints is None for one in found):
        return found
    if rig is None:  # only the width of joint numbers limits them
        return [_with_bones(gltf, np.arange(JOINT_LIMIT), one) for one in found]
    shown = [node for node, one in enumerate(gltf.document.nodes) if one.mesh == 0]
    node = next((one for one in shown if gltf.document.nodes[one].skin is not None), -1)
    return [bind(gltf, rig, _placed(gltf, node, one)) for one in found]


def _placed(gltf: Gltf, node: int, primitive: Primitive) -> PlacedPrimitive:
    name = gltf.document.meshes[0].name or "mesh 0"
    return PlacedPrimitive(node, name, name, np.eye(4), primitive, 0)


def bind(gltf: Gltf, rig: Rig, place: PlacedPrimitive) -> Primitive:
    """Return a primitive in bind space, with bones and weights at every vertex."""
    if place.skin is not None and place.primitive.joints is not None:
        return _with_bones(gltf, rig.number, place.primitive)
    found = bone_above(gltf, rig.skin, place.node)
    if found is None:
        raise EncodeError(
            "mesh is skinned in part only",
            {"file": gltf.name, "without a skin": place.node_name or f"nodes[{place.node}]"},
            "Bind that part to a joint, or choose one mesh of the file with `mesh`.",
        )
    bone, below = found
    check_bone_count(rig.skin, "skin has too many joints to hang parts on", {"file": gltf.name})
    bound = invert(rig.skin.inverse_bind[bone].astype(np.float64))
    if not np.isfinite(bound).all():
        name = rig.skin.joint_names[bone] or f"joint {bone}"
        facts = {"file": gltf.name, "joint": name, "part": place.node_name}
        raise EncodeError("inverse bind matrix is flat, so nothing can hang on the joint", facts)
    moved = bake(gltf, replace(place, matrix=multiply(bound, below), skin=None))
    count = len(moved.position)
    joints = np.zeros((count, INFLUENCES), np.uint16)
    weights = np.zeros((count, INFLUENCES), np.float32)
    joints[:, 0], weights[:, 0] = bone, 1
    return replace(moved, joints=joints, weights=weights)


def _without_joints(primitive: Primitive) -> Primitive:
    return replace(primitive, joints=None, weights=None)


def _check_weights(gltf: Gltf, primitive: Primitive) -> None:
    joints, weights = primitive.joints, primitive.weights
    if (joints is None) != (weights is None):
        facts = {"file": gltf.name, "missing": "weights" if weights is None else "joints"}
        raise EncodeError("vertices have joints or weights, but not both", facts)
    if weights is not None and (weights < 0).any():
        raise EncodeError("vertex weight is negative", {"file": gltf.name, "found": weights.min()})


def _with_bones(gltf: Gltf, number: Numbers, primitive: Primitive) -> Primitive:
    """Replace joints by bones; an unused slot (weight 0) without a bone gets bone 0."""
    _check_weights(gltf, primitive)
    joints, weights = primitive.joints, primitive.weights
    if joints is None or weights is None:
        return primitive
    count = len(number)
    # Exporters leave arbitrary numbers in unused slots.
    is_used = weights != 0
    bones = np.where(joints < count, number[np.minimum(joints, count - 1)], -1)
    if (is_used & (bones >= JOINT_LIMIT)).any():
        facts = {"file": gltf.name, "joints": int(bones[is_used].max()) + 1, "allowed": JOINT_LIMIT}
        hint = "Cut the model in parts that follow fewer joints."
        raise EncodeError("vertices follow more joints than a byte can number", facts, hint)
    bones = np.where(bones < JOINT_LIMIT, bones, -1)
    if joints.shape != weights.shape or (is_used & (bones < 0)).any():
        facts = {"file": gltf.name, "found": joints.max(), "joints": count}
        raise EncodeError("vertex joint is not in the skin", facts)
    return replace(primitive, joints=np.maximum(bones, 0).astype(np.uint16))
