"""The skeletal animations of a stage as glTF's clips.

USD turns and moves joints between two samples as glTF's linear keys do, so samples become keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Usd, UsdSkel

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.usd.frame import Frame, fits_single
from encoders.kit.source.usd.skeleton import Rig, Skeletons
from encoders.kit.source.usd.stage import Opened

PATHS = ("translation", "rotation", "scale")
Keys = tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]


def convert_clips(
    opened: Opened, frame: Frame, skeletons: Skeletons, glb: GlbBuilder, numbers: dict[int, int]
) -> tuple[spec.Animation, ...]:
    """Return a clip for each animation that fits a skeleton, whether it is bound to it or not."""
    clips: list[spec.Animation] = []
    for prim in _animations(opened):
        query = skeletons.cache.GetAnimQuery(UsdSkel.Animation(prim))
        if not query:
            continue
        joints = [str(one) for one in query.GetJointOrder()]
        rigs = _rigs_of(prim, joints, skeletons.rigs)
        keys = _keys(opened, frame, query, len(joints)) if rigs else None
        if keys is not None:
            targets = [[numbers[id(rig.joints[name])] for name in joints] for rig in rigs]
            clips.append(_clip(prim.GetName(), keys, targets, glb))
    return tuple(clips)


def _animations(opened: Opened) -> list[Any]:
    every = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
    prims = Usd.PrimRange.Stage(opened.stage, every)
    return [prim for prim in prims if prim.IsA(UsdSkel.Animation)]


def _rigs_of(prim: Any, joints: list[str], rigs: Iterable[Rig]) -> list[Rig]:
    """Return the skeletons that an animation is bound to, else the first that has its joints."""
    fitting = [rig for rig in rigs if joints and set(joints) <= rig.joints.keys()]
    bound = [rig for rig in fitting if rig.animation and rig.animation.GetPrim() == prim]
    return bound or fitting[:1]


def _keys(opened: Opened, frame: Frame, query: Any, count: int) -> Keys | None:
    """Return the times of keys in seconds, and for each path the values (keys, joints, width)."""
    times = list(query.GetJointTransformTimeSamples())
    parts = [
        query.ComputeJointLocalTransformComponents(time)
        for time in (times or [Usd.TimeCode.Default()])
    ]
    tables = []
    for column in zip(*parts, strict=True):
        if any(one is None or len(one) != count for one in column):
            return None
        tables.append(np.array([np.array(one, np.float64) for one in column]))
    moved, turned, scaled = tables
    rate = float(opened.stage.GetTimeCodesPerSecond()) or 24.0
    # A clip begins at 0, wherever its samples begin.
    seconds = (np.array(times or [0.0]) - (times[0] if times else 0.0)) / rate
    shape = moved.shape[:2]
    if not all(map(fits_single, (*tables, seconds))):
        facts = {"file": opened.name, "clip": query.GetPrim().GetPath()}
        raise EncodeError("a clip has values that are out of range", facts)
    length = np.sqrt((turned * turned).sum(axis=2, keepdims=True))
    turned = turned / np.where(length == 0, 1, length)
    return seconds.astype("<f4"), {
        "translation": frame.points(moved.reshape(-1, 3)).reshape(*shape, 3).astype("<f4"),
        "rotation": frame.rotations(turned.reshape(-1, 4)).reshape(*shape, 4).astype("<f4"),
        "scale": frame.scales(scaled.reshape(-1, 3)).reshape(*shape, 3).astype("<f4"),
    }


def _clip(name: str, keys: Keys, targets: list[list[int]], glb: GlbBuilder) -> spec.Animation:
    times, values = keys
    samplers: list[spec.AnimationSampler] = []
    channels: list[spec.Channel] = []
    every = glb.accessor(times, with_bounds=True)
    for joint in range(len(targets[0])):
        for path in PATHS:
            rows = np.ascontiguousarray(values[path][:, joint])
            for nodes in targets:
                target = spec.ChannelTarget(path=path, node=nodes[joint])
                channels.append(spec.Channel(sampler=len(samplers), target=target))
            samplers.append(spec.AnimationSampler(input=every, output=glb.accessor(rows)))
    return spec.Animation(name=name, channels=tuple(channels), samplers=tuple(samplers))
