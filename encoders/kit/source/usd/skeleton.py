"""The skeletons of a stage as glTF's skins: joints as nodes, bind poses, weights of points.

A skeleton's joints stand at the root with the skeleton's place in the world, wherever the skeleton
is: skeletons are often hidden or marked as guides, and glTF does not care.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdSkel

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.geometry.matrix import decompose, invert, multiply
from encoders.kit.source.shared.polygon_mesh import Weights
from encoders.kit.source.usd.frame import Doubles, Frame, fits_single
from encoders.kit.source.usd.part import Part
from encoders.kit.source.usd.stage import Opened, read_value

# Weights of a vertex that glTF's two sets of joints hold; lighter ones are left out.
INFLUENCES = 8
MAX_JOINTS = 1 << 16


@dataclass(frozen=True, eq=False)
class Rig:
    """A skeleton: its node, its joints' nodes by name, and its inverse bind matrices."""

    path: str
    root: Part
    joints: dict[str, Part]
    inverse: Doubles
    animation: Any


class Skeletons:
    """The skeletons so far, in order of first use."""

    def __init__(self, opened: Opened, frame: Frame) -> None:
        self.rigs: list[Rig] = []
        self.cache = UsdSkel.Cache()
        self._opened, self._frame = opened, frame
        self._numbers: dict[str, int | None] = {}
        self._has_roots = False

    def populate(self, prim: Any) -> None:
        """Find the bindings below a skeleton root, and all its skeletons."""
        self._has_roots = True
        every = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
        self.cache.Populate(UsdSkel.Root(prim), every)
        for below in Usd.PrimRange(prim, every):
            if below.IsA(UsdSkel.Skeleton):
                self.number(UsdSkel.Skeleton(below))

    def bound(self, prim: Any) -> tuple[int, Any] | None:
        """Return the number of a mesh's skin, and the library's query of its weights."""
        if not self._has_roots:  # the question takes long, and most stages have no skeletons
            return None
        query = self.cache.GetSkinningQuery(prim)
        if not query or not query.HasJointInfluences():
            return None
        skeleton = UsdSkel.BindingAPI(prim).GetInheritedSkeleton()
        number = self.number(skeleton) if skeleton else None
        return None if number is None else (number, query)

    def number(self, skeleton: Any) -> int | None:
        """Return the number of a skeleton, None where it has no joints."""
        path = str(skeleton.GetPath())
        if path not in self._numbers:
            rig = self._rig(skeleton, path)
            self._numbers[path] = None if rig is None else len(self.rigs)
            self.rigs += [] if rig is None else [rig]
        return self._numbers[path]

    def _rig(self, skeleton: Any, path: str) -> Rig | None:
        query = self.cache.GetSkelQuery(skeleton)
        if not query:
            return None
        names = [str(one) for one in query.GetJointOrder()]
        if not names or len(names) > MAX_JOINTS:
            return None
        parents = list(query.GetTopology().GetParentIndices())
        bind, rest = self._poses(skeleton, path, parents)
        parts = _joint_parts(names, rest)
        prim = skeleton.GetPrim()
        placed = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(self._opened.time)
        root = Part(prim.GetName(), self._frame.matrix(placed, self._facts(path)))
        for part, parent in zip(parts, parents, strict=True):
            (root if parent < 0 else parts[parent]).children.append(part)
        animation = query.GetAnimQuery()
        joints = dict(zip(names, parts, strict=True))
        return Rig(path, root, joints, invert(bind), animation or None)

    def _poses(self, skeleton: Any, path: str, parents: list[int]) -> tuple[Doubles, Doubles]:
        """Return the bind pose by joint, and the rest pose by joint relative to its parent."""
        count = len(parents)
        bind = self._matrices(skeleton.GetBindTransformsAttr(), path, count)
        rest = self._matrices(skeleton.GetRestTransformsAttr(), path, count)
        if bind is None and rest is None:
            facts = {**self._facts(path), "joints": count}
            raise EncodeError("a skeleton has neither a bind pose nor a rest pose", facts)
        if bind is None:
            assert rest is not None
            bind = np.empty_like(rest)
            for joint, parent in enumerate(parents):
                bind[joint] = rest[joint] if parent < 0 else multiply(bind[parent], rest[joint])
        if rest is None:
            above = [bind[parent] if parent >= 0 else np.eye(4) for parent in parents]
            rest = multiply(invert(np.array(above)), bind)
        if not (fits_single(rest) and fits_single(invert(bind))):
            raise EncodeError("a joint's transform has no inverse", self._facts(path))
        return bind, rest

    def _facts(self, path: str) -> dict[str, object]:
        return {"file": self._opened.name, "skeleton": path}

    def _matrices(self, attribute: Any, path: str, count: int) -> Doubles | None:
        values = read_value(self._opened, attribute)
        if values is None or len(values) != count:
            return None
        return np.array([self._frame.matrix(one, self._facts(path)) for one in values])

    def bind_matrix(self, query: Any) -> Doubles | None:
        """Return what moves a mesh to where it was bound, None where nothing does."""
        facts = {"file": self._opened.name, "prim": query.GetPrim().GetPath()}
        found = self._frame.matrix(query.GetGeomBindTransform(self._opened.time), facts)
        return None if np.array_equal(found, np.eye(4)) else found

    def weights(self, query: Any, skin: int, count: int) -> Weights | None:
        """Return joints and weights of points, the heaviest first, with a sum of one."""
        found = query.ComputeVaryingJointInfluences(count, self._opened.time)
        if not found or not len(found[0]) or len(found[0]) % count:
            return None
        joint = np.array(found[0], np.int64).reshape(count, -1)
        weight = np.array(found[1], np.float64).reshape(count, -1)
        joint = self._in_skeleton(joint, query, skin)
        weight = np.where((joint >= 0) & np.isfinite(weight) & (weight > 0), weight, 0.0)
        return heaviest(joint, weight)

    def _in_skeleton(self, joint: Any, query: Any, skin: int) -> Any:
        """Return joints by the numbers that the skeleton gives them; -1 is none."""
        rig = self.rigs[skin]
        order = query.GetJointOrder()
        numbers = {name: number for number, name in enumerate(rig.joints)}
        known = range(len(numbers)) if order is None else [numbers.get(str(o), -1) for o in order]
        table = np.array([*known, -1], np.int64)
        return table[np.where((joint >= 0) & (joint < len(known)), joint, len(known))]

    def store(self, glb: GlbBuilder, numbers: dict[int, int]) -> tuple[spec.Skin, ...]:
        """Store the skins; `numbers` are those of nodes by the `id` of their part."""
        skins = []
        for rig in self.rigs:
            columns = rig.inverse.transpose(0, 2, 1).reshape(len(rig.joints), 16)
            matrices = glb.accessor(columns.astype("<f4"))
            joints = tuple(numbers[id(part)] for part in rig.joints.values())
            skins.append(
                spec.Skin(name=rig.root.name, joints=joints, inverse_bind_matrices=matrices)
            )
        return tuple(skins)


def pick_heaviest(joint: Any, weight: Any) -> tuple[Any, Any]:
    """Return the joints and weights of each point that glTF has room for, the heaviest first."""
    # By weight, then by joint, so that the order in the file does not matter.
    order = np.lexsort((joint, -weight), axis=1)[:, :INFLUENCES]
    return np.take_along_axis(joint, order, axis=1), np.take_along_axis(weight, order, axis=1)


def heaviest(joint: Any, weight: Any) -> Weights:
    """Return the heaviest joints of each point, with weights that add up to one."""
    joint, weight = pick_heaviest(joint, weight)
    width = 4 if not weight[:, 4:].any() else INFLUENCES
    return _padded(joint, weight, width)


def _joint_parts(names: list[str], rest: Doubles) -> list[Part]:
    translation, rotation, scale = decompose(rest)
    poses = zip(translation.tolist(), rotation.tolist(), scale.tolist(), strict=True)
    return [
        # The name of a joint is its path from the root joint.
        Part(name.rpartition("/")[2], pose=(tuple(moved), tuple(turned), tuple(scaled)))
        for name, (moved, turned, scaled) in zip(names, poses, strict=True)
    ]


def _padded(joint: Any, weight: Any, width: int) -> Weights:
    missing = max(width - joint.shape[1], 0)
    joint = np.pad(joint[:, :width], ((0, 0), (0, missing)))
    weight = np.pad(weight[:, :width], ((0, 0), (0, missing)))
    total = weight.sum(axis=1, keepdims=True)
    # A point that nothing moves stays with the first joint, as glTF has no other way to say it.
    weight[total[:, 0] == 0, 0] = 1
    joint = np.where(weight > 0, joint, 0)
    joint[total[:, 0] == 0] = 0
    return joint.astype("<u2"), (weight / np.where(total == 0, 1, total)).astype("<f4")
