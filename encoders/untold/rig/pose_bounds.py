"""Bounds of a skinned mesh over its rest pose and all clips.

The engine culls by the bounds that are stored and does not widen them. A vertex lies between the
places to which its joints take it, so the boxes of each joint's vertices hold all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.geometry.matrix import (
    Doubles,
    compose,
    decompose,
    invert,
    multiply,
)
from encoders.kit.source.gltf.geometry.rotation import normalise, slerp
from encoders.untold.format.layout import NONE
from encoders.untold.format.rig_record import ChannelRecord, ClipRecord, Floats, SkeletonRecord

# So many poses at once; each has two matrices a joint.
FRAMES_AT_ONCE = 256
# How finely poses are sampled: keys are less than a third of a turn apart, so steps are at most
# 15 degrees, and a joint reaches less than 1 % further than at their ends.
STEPS_A_SECOND, STEPS_BETWEEN_KEYS = 60, 8
# By this part of its size the box is made larger on each side where clips move it.
MARGIN = 0.01


class Poses:
    """The poses of a skeleton, at rest, at all keys of all clips and between them."""

    def __init__(self, skeleton: SkeletonRecord, clips: Sequence[ClipRecord]) -> None:
        self.skeleton, self.clips = skeleton, clips
        self.rest = np.stack([_matrix(joint.rest) for joint in skeleton.joints])
        self.away = invert(np.stack([_matrix(joint.bind) for joint in skeleton.joints]))

    def skinning(self) -> Iterator[Doubles]:
        """Yield matrices (frames, joints, 4, 4) that take bound vertices to their places."""
        yield multiply(self._world(self.rest[None]), self.away)
        numbers = {joint.path: number for number, joint in enumerate(self.skeleton.joints)}
        parts = decompose(self.rest)
        for clip in self.clips:
            moved = {numbers[one.path]: one for one in clip.channels if one.path in numbers}
            keys = [track for one in moved.values() for track in _times(one)]
            times = _with_times_between(np.unique(np.concatenate([np.zeros(1), *keys])))
            for start in range(0, len(times) if moved else 0, FRAMES_AT_ONCE):
                now = times[start : start + FRAMES_AT_ONCE].astype(np.float64)
                local = np.repeat(self.rest[None], len(now), axis=0)
                for number, channel in moved.items():
                    rest = (parts[0][number], parts[1][number], parts[2][number])
                    local[:, number] = _sampled(channel, now, rest)
                yield multiply(self._world(local), self.away)

    def _world(self, local: Doubles) -> Doubles:
        """Compose matrices with those of their parents, which come first."""
        world = local.copy()
        for number, joint in enumerate(self.skeleton.joints):
            if joint.parent != NONE:
                world[:, number] = multiply(world[:, joint.parent], local[:, number])
        return world


def _with_times_between(keys: Doubles) -> Doubles:
    """Add times between keys: joints go along arcs there, which reach further than their ends."""
    parts = np.clip(np.ceil(np.diff(keys) * STEPS_A_SECOND), 1, STEPS_BETWEEN_KEYS).astype(int)
    steps = [
        np.linspace(start, end, count, endpoint=False)
        for start, end, count in zip(keys[:-1], keys[1:], parts.tolist(), strict=True)
    ]
    return np.concatenate([*steps, keys[-1:]])


def _matrix(flat: Floats) -> Doubles:
    return flat.astype(np.float64).reshape(4, 4).T


def _times(channel: ChannelRecord) -> tuple[Floats, Floats]:
    return channel.translation_times, channel.rotation_times


def _sampled(
    channel: ChannelRecord, times: Doubles, rest: tuple[Doubles, Doubles, Doubles]
) -> Doubles:
    """Return a joint's matrices as the engine computes them: a missing track is at rest."""
    shape = len(times)
    translation = np.repeat(rest[0][None], shape, axis=0)
    rotation = np.repeat(rest[1][None], shape, axis=0)
    if len(channel.translation_times):
        low, factor = _place(channel.translation_times, times)
        before, after = _around(channel.translations, low)
        translation = before + (after - before) * factor[:, None]
    if len(channel.rotation_times):
        low, factor = _place(channel.rotation_times, times)
        before, after = _around(channel.rotations, low)
        rotation = slerp(normalise(before), normalise(after), factor)
    return compose(translation, rotation, np.repeat(rest[2][None], shape, axis=0))


def _place(keys: Floats, times: Doubles) -> tuple[npt.NDArray[np.intp], Doubles]:
    """Return the key before each time, and how far it is to the next one."""
    low = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
    span = keys[low + 1].astype(np.float64) - keys[low]
    return low, np.clip((times - keys[low]) / span, 0.0, 1.0)


def _around(values: Floats, low: npt.NDArray[np.intp]) -> tuple[Doubles, Doubles]:
    return values[low].astype(np.float64), values[low + 1].astype(np.float64)


@dataclass(frozen=True, eq=False)
class SkinnedPoints:
    """Vertices in the bind pose with the numbers and weights of their joints."""

    position: Floats
    joints: npt.NDArray[np.integer]
    weights: Floats


def posed_bounds(meshes: Sequence[SkinnedPoints], poses: Poses) -> list[Floats]:
    """Return a box (2, 3) around each mesh in the bind pose, at rest and in all clips."""
    boxes = [_Box(mesh) for mesh in meshes]
    # All meshes in one pass: a model may have dozens of clips, and poses take most of the time.
    for matrices in poses.skinning():
        for box in boxes:
            box.widen(matrices)
    return [box.bounds for box in boxes]


class _Box:
    """The box of a mesh while it grows."""

    def __init__(self, mesh: SkinnedPoints) -> None:
        self.least, self.most = mesh.position.min(axis=0), mesh.position.max(axis=0)
        self.low, self.high = self.least.astype(np.float64), self.most.astype(np.float64)
        self.used = np.unique(mesh.joints[mesh.weights > 0])
        self.corners = np.stack(
            [_corners(mesh.position[_follows(mesh.joints, mesh.weights, k)]) for k in self.used]
        )

    def widen(self, matrices: Doubles) -> None:
        """Take in where matrices (frames, joints, 4, 4) put the vertices of each joint."""
        chosen = matrices[:, self.used]
        moved = (chosen[:, :, None, :3, :3] * self.corners[None, :, :, None, :]).sum(axis=-1)
        moved = (moved + chosen[:, :, None, :3, 3]).reshape(-1, 3)
        least, most = moved.min(axis=0), moved.max(axis=0)
        margin = MARGIN * (most - least) if len(matrices) > 1 else 0.0
        self.low = np.minimum(self.low, least - margin)
        self.high = np.maximum(self.high, most + margin)

    @property
    def bounds(self) -> Floats:
        """The box; rounding to float32 must not make it smaller than the vertices."""
        box = np.stack([self.low, self.high]).astype(np.float32)
        return np.stack([np.minimum(box[0], self.least), np.maximum(box[1], self.most)])


def _follows(joints: npt.NDArray[np.integer], weights: Floats, joint: int) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = ((joints == joint) & (weights > 0)).any(axis=1)
    return found


def _corners(points: Floats) -> Doubles:
    """Return the eight corners of the box around points."""
    ends = np.stack([points.min(axis=0), points.max(axis=0)]).astype(np.float64)
    return np.array([[ends[x, 0], ends[y, 1], ends[z, 2]] for x, y, z in np.ndindex(2, 2, 2)])
