"""Validation of skeletons, skins and clips.

The loader checks only ranges of joints and of bytes. Everything else here would reach the GPU, stop
a game, or move vertices in ways that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.untold.format.layout import NONE
from encoders.untold.format.rig_record import ClipRecord, JointRecord, SkeletonRecord, SkinRecord

Facts = dict[str, object]
# How far the sum of a vertex's weights or the length of a quaternion may be from 1.
UNIT_TOLERANCE = 1e-3


def validate_skeletons(skeletons: Sequence[SkeletonRecord], entities: set[int], name: str) -> None:
    """Refuse skeletons that the engine cannot pose."""
    owners: set[int] = set()
    for number, skeleton in enumerate(skeletons):
        facts: Facts = {"file": name, "skeleton": number}
        # A second skeleton would silently replace the first one.
        if skeleton.entity_id not in entities or skeleton.entity_id in owners:
            problem = "a skeleton belongs to no entity, or to one that has another"
            raise EncodeError(problem, {**facts, "found": skeleton.entity_id})
        owners.add(skeleton.entity_id)
        if not skeleton.joints:
            raise EncodeError("a skeleton has no joints", facts)
        _check_paths([joint.path for joint in skeleton.joints], "joint", facts)
        for index, joint in enumerate(skeleton.joints):
            _check_joint(joint, index, {**facts, "joint": joint.path})


def _check_paths(paths: Sequence[str | None], what: str, facts: Facts) -> None:
    seen: set[str] = set()
    for path in paths:
        if not path or not path.startswith("/"):
            raise EncodeError(f"a {what} has no path", {**facts, "found": path})
        if path in seen:
            raise EncodeError(f"a {what} has the path of another", {**facts, "found": path})
        seen.add(path)


def _check_joint(joint: JointRecord, index: int, facts: Facts) -> None:
    # World matrices are computed in the order of the table.
    if joint.parent != NONE and joint.parent >= index:
        wrong = {"found": joint.parent, "allowed": f"below {index}"}
        raise EncodeError("the parent of a joint does not come before it", {**facts, **wrong})
    for field, flat in (("bind_transform", joint.bind), ("rest_transform", joint.rest)):
        matrix = flat.astype(np.float64).reshape(4, 4).T
        if not np.isfinite(matrix).all() or not np.array_equal(matrix[3], (0, 0, 0, 1)):
            raise EncodeError("a joint's matrix is not affine", {**facts, "field": field})
        x, y, z = matrix[:3, :3].T
        # The engine inverts the one and splits the other into rotation and positive scale.
        if not float((np.cross(x, y) * z).sum()) > 0:
            problem = "a joint's matrix is mirrored, or has no size in one direction"
            raise EncodeError(problem, {**facts, "field": field})


def validate_skins(
    skins: Sequence[SkinRecord],
    skeletons: Sequence[SkeletonRecord],
    meshes: Sequence[Any],
    name: str,
) -> None:
    """Refuse skins with dangling references, or with vertices that no joint holds."""
    joints = {skeleton.entity_id: len(skeleton.joints) for skeleton in skeletons}
    skinned: set[int] = set()
    for number, skin in enumerate(skins):
        facts: Facts = {"file": name, "skin": number, "mesh": skin.mesh}
        # Of two skins of one mesh the engine takes the first.
        if skin.mesh >= len(meshes) or skin.mesh in skinned:
            raise EncodeError("a skin has no mesh, or one that has another skin", facts)
        skinned.add(skin.mesh)
        mesh = meshes[skin.mesh]
        if skin.entity_id != mesh.entity_id:
            raise EncodeError("a skin is not on the entity of its mesh", facts)
        if skin.skeleton not in joints:
            raise EncodeError("a skin names no skeleton", {**facts, "found": skin.skeleton})
        if len(skin.slots) != mesh.vertex_count or len(skin.weights) != mesh.vertex_count:
            counts = {"found": len(skin.slots), "allowed": mesh.vertex_count}
            raise EncodeError("a skin has not the vertices of its mesh", {**facts, **counts})
        _check_mapping(skin, joints[skin.skeleton], facts)
        _check_weights(skin.weights, facts)


def _check_mapping(skin: SkinRecord, joints: int, facts: Facts) -> None:
    # Sorted, as the engine's exporter has it; thus no joint is there twice.
    if list(skin.mapping) != sorted(set(skin.mapping)) or not skin.mapping:
        raise EncodeError("the joints of a skin are not sorted, or there are none", facts)
    if skin.mapping[-1] >= joints:
        wrong = {"found": skin.mapping[-1], "allowed": f"below {joints}"}
        raise EncodeError("a joint of a skin is not in its skeleton", {**facts, **wrong})
    largest = int(skin.slots.max(initial=0))
    if largest >= len(skin.mapping):
        wrong = {"found": largest, "allowed": f"below {len(skin.mapping)}"}
        raise EncodeError("a vertex names a joint that the skin does not have", {**facts, **wrong})


def _check_weights(weights: npt.NDArray[np.float32], facts: Facts) -> None:
    total = weights.astype(np.float64).sum(axis=1)
    if (weights < 0).any() or (np.abs(total - 1.0) > UNIT_TOLERANCE).any():
        vertex = int(np.argmax((weights < 0).any(axis=1) | (np.abs(total - 1.0) > UNIT_TOLERANCE)))
        wrong = {"vertex": vertex, "found": weights[vertex].tolist()}
        raise EncodeError("weights are negative or their sum is not 1", {**facts, **wrong})


def validate_clips(clips: Sequence[ClipRecord], name: str) -> None:
    """Refuse clips that the engine samples in another way than they look."""
    for number, clip in enumerate(clips):
        facts: Facts = {"file": name, "clip": clip.name or number}
        # The engine takes the time modulo the duration.
        if not 0 < clip.duration < np.inf:
            raise EncodeError("a clip has no duration", {**facts, "found": clip.duration})
        _check_paths([channel.path for channel in clip.channels], "channel", facts)
        for one in clip.channels:
            where: Facts = {**facts, "channel": one.path}
            _check_times(one.translation_times, clip.duration, {**where, "keys": "translation"})
            _check_times(one.rotation_times, clip.duration, {**where, "keys": "rotation"})
            length = np.sqrt((one.rotations.astype(np.float64) ** 2).sum(axis=1))
            if (np.abs(length - 1.0) > UNIT_TOLERANCE).any():
                raise EncodeError("a rotation is no unit quaternion", where)


def _check_times(times: npt.NDArray[np.float32], duration: float, facts: Facts) -> None:
    """Refuse keys that the engine would repeat, extrapolate or ignore."""
    if not len(times):
        return
    if not (np.diff(times) > 0).all():
        raise EncodeError("times of keys do not rise", facts)
    # A track with one key shows its rest pose, one that ends early starts again, and one that
    # starts late is extrapolated backwards.
    if len(times) < 2 or times[0] != 0 or times[-1] != np.float32(duration):
        found = f"{len(times)} from {times[0]:.6g} to {times[-1]:.6g}"
        allowed = f"at least 2, from 0 to {duration:.6g}"
        raise EncodeError(
            "keys do not span their clip", {**facts, "found": found, "allowed": allowed}
        )
