"""Bind the primitives of a model to its skeletons.

A skinned primitive keeps its joints. A part that hangs on a joint without a skin of its own (a
weapon, a door) follows that joint alone. Everything else is placed in the world and stays there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.geometry.bake import bake
from encoders.kit.source.gltf.geometry.matrix import invert, multiply
from encoders.kit.source.gltf.geometry.primitive import Primitive
from encoders.kit.source.gltf.geometry.scene import PlacedPrimitive
from encoders.kit.warning import grouped
from encoders.untold.rig.joint_forest import JointForest
from encoders.untold.rig.skeleton import BoundSkin, Skeleton, SkeletonFinder, world_matrix

INFLUENCES = 4
# The part of a vertex's weights that may be lost without a warning.
LOST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class BoundPrimitive:
    """A primitive in the space that is written, with nodes of joints in `joints`.

    `skeleton` is None for a part that no joint moves; it has no joints then.
    """

    primitive: Primitive
    skeleton: Skeleton | None


def bind_primitives(
    gltf: Gltf, forest: JointForest, placed: list[PlacedPrimitive]
) -> tuple[list[BoundPrimitive], SkeletonFinder]:
    """Bind all primitives; also return their skeletons."""
    finder = SkeletonFinder(gltf, forest)
    skins = {index: finder.bind_skin(index, used) for index, used in _used_joints(placed).items()}
    bound = [_bind(gltf, finder, skins, place) for place in placed]
    finder.finish()
    return [_with_numbers(one) for one in bound], finder


def _used_joints(placed: list[PlacedPrimitive]) -> dict[int, set[int]]:
    """Return the joints that vertices use of each skin, by their numbers in the skin."""
    found: dict[int, set[int]] = {}
    for place in placed:
        joints, weights = place.primitive.joints, place.primitive.weights
        if place.skin is None or joints is None or weights is None:
            continue
        used = found.setdefault(place.skin, set())
        used.update(np.unique(joints[weights != 0]).tolist())
    # A skin whose vertices all lack weights still needs a joint to hold them.
    return {skin: used or {0} for skin, used in found.items()}


def _bind(
    gltf: Gltf, finder: SkeletonFinder, skins: dict[int, BoundSkin], place: PlacedPrimitive
) -> BoundPrimitive:
    if place.skin is not None and place.primitive.joints is not None:
        return _bind_skinned(gltf, skins[place.skin], place)
    joint = finder.forest.above(place.node, gltf.parents)
    if joint < 0 and place.skin is not None:
        facts = {"file": gltf.name, "mesh": place.node_name or f"nodes[{place.node}]"}
        raise EncodeError("mesh is skinned in part only", facts, "Give all of it weights.")
    if joint < 0:
        moved = bake(gltf, replace(place, skin=None))
        return BoundPrimitive(replace(moved, joints=None, weights=None), None)
    skeleton = finder.bind_node(joint)
    away = invert(world_matrix(gltf, joint))
    if not np.isfinite(away).all():
        path = finder.forest.joints[joint].path
        facts = {"file": gltf.name, "joint": path, "part": place.node_name}
        raise EncodeError("a joint has no size at rest, so nothing can hang on it", facts)
    matrix = multiply(multiply(skeleton.bind[joint], away), place.matrix)
    moved = bake(gltf, replace(place, matrix=matrix, skin=None))
    count = len(moved.position)
    nodes = np.full((count, 1), joint)
    shares = np.ones((count, 1), np.float32)
    return BoundPrimitive(_with_influences(moved, nodes, shares), skeleton)


def _bind_skinned(gltf: Gltf, skin: BoundSkin, place: PlacedPrimitive) -> BoundPrimitive:
    primitive = place.primitive
    assert primitive.joints is not None
    assert primitive.weights is not None
    if (primitive.weights < 0).any():
        facts = {"file": gltf.name, "mesh": place.mesh_name, "found": primitive.weights.min()}
        raise EncodeError("vertex weight is negative", facts)
    moved = bake(gltf, replace(place, matrix=skin.matrix, skin=None))
    # Unused places may hold any number; they follow the first joint with no weight.
    is_used = primitive.weights != 0
    numbers = np.where(is_used, primitive.joints, 0).astype(np.intp)
    nodes = np.array(skin.nodes)[numbers]
    nodes, weights, lost = _largest(nodes, primitive.weights.astype(np.float64))
    if lost > LOST_SHARE:
        what = f"{place.mesh_name or place.node_name}: vertices follow more than {INFLUENCES}"
        gltf.warn(grouped("feature", f"{what} joints; {lost:.0%} of a vertex's weight was lost"))
    is_loose = ~weights.any(axis=1)
    if is_loose.any():
        what = f"{place.mesh_name or place.node_name}: {int(is_loose.sum())} vertices"
        gltf.warn(grouped("missing", f"{what} have no weights; they follow the first joint"))
        # With no weight at all a vertex would collapse to the origin.
        weights[is_loose, 0] = 1.0
    # A joint without weight must be one that the skeleton has.
    held = next(node for node in skin.nodes if node in skin.skeleton.bind)
    nodes = np.where(weights != 0, nodes, held)
    nodes[is_loose, 0] = held
    return BoundPrimitive(_with_influences(moved, nodes, weights.astype(np.float32)), skin.skeleton)


def _largest(
    nodes: npt.NDArray[np.intp], weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64], float]:
    """Keep the largest weights of each vertex with a sum of 1; also return the share lost."""
    # Stable, so that equal weights keep the order of the source.
    order = np.argsort(-weights, axis=1, kind="stable")[:, :INFLUENCES]
    kept = np.take_along_axis(weights, order, axis=1)
    total, rest = weights.sum(axis=1), kept.sum(axis=1)
    divisor = np.where(rest > 0, rest, 1.0)
    lost = float(((total - rest) / np.where(total > 0, total, 1.0)).max(initial=0.0))
    return np.take_along_axis(nodes, order, axis=1), kept / divisor[:, None], lost


def _with_influences(
    primitive: Primitive, nodes: npt.NDArray[np.intp], weights: npt.NDArray[np.float32]
) -> Primitive:
    """Return the primitive with four joints at every vertex."""
    missing = INFLUENCES - nodes.shape[1]
    if missing:
        # The first joint again, with no weight.
        nodes = np.concatenate([nodes, np.repeat(nodes[:, :1], missing, axis=1)], axis=1)
        weights = np.pad(weights, ((0, 0), (0, missing)))
    if nodes.max(initial=0) > np.iinfo(np.uint16).max:
        facts = {"found": int(nodes.max()), "allowed": np.iinfo(np.uint16).max}
        raise EncodeError("the model has too many nodes", facts)
    return replace(primitive, joints=nodes.astype(np.uint16), weights=weights)


def _with_numbers(one: BoundPrimitive) -> BoundPrimitive:
    """Replace nodes by the numbers of joints in the skeleton, which is complete by now."""
    primitive, skeleton = one.primitive, one.skeleton
    if skeleton is None or primitive.joints is None:
        return one
    number = np.zeros(max(skeleton.joints) + 1, np.uint16)
    number[skeleton.joints] = np.arange(len(skeleton.joints))
    return BoundPrimitive(replace(primitive, joints=number[primitive.joints]), skeleton)
