"""Clips of a source as the engine samples them: keys of joints relative to their parents.

The engine interpolates linearly, keeps each joint's scale at rest, and treats tracks badly that do
not reach from 0 to the end of the clip. So clips are sampled at a fixed rate, begin at 0, and every
track has a key at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from encoders.kit.source.gltf.animation import Clip, frame_times
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.geometry.matrix import Doubles, decompose, multiply
from encoders.kit.source.gltf.pose import Floats, Pose, sample_local
from encoders.kit.warning import grouped
from encoders.untold.format.rig_record import ChannelRecord, ClipRecord
from encoders.untold.rig.joint_forest import Joint, JointForest, rest_matrix
from encoders.untold.rig.key_reduction import Interpolation, kept_keys, lerp, same_side, turn

# The largest error of a reduced track: parts of the longest bone, and of a quaternion's length
# (a fiftieth of a degree).
OFFSET_TOLERANCE, TURN_TOLERANCE = 1e-4, 1.75e-4
# The part by which a scale may change without a warning.
SCALE_TOLERANCE = 1e-2
SHOWN = 4


@dataclass(frozen=True, eq=False)
class _Track:
    """What a clip does to one joint, with the paths that the clip moves."""

    joint: Joint
    paths: set[str]
    translation: Doubles
    rotation: Doubles
    scale: Doubles


def clip_record(gltf: Gltf, forest: JointForest, clip: Clip, rate: float) -> ClipRecord:
    """Return a clip as it is stored; what the engine cannot show is a warning."""
    _warn_of_still_nodes(gltf, forest, clip)
    times = _sample_times(gltf, clip, rate)
    start = times[0]
    tracks = _sample(gltf, forest, clip, times)
    if not tracks:
        gltf.warn(grouped("animation", f'clip "{clip.name}" moves no joint'))
    _warn_of_scale(gltf, clip, tracks)
    seconds = (times - start).astype(np.float32)
    longest = max((float(np.abs(one.translation).max()) for one in tracks), default=0.0)
    channels = [_channel(one, seconds, OFFSET_TOLERANCE * longest) for one in tracks]
    return ClipRecord(clip.name, float(seconds[-1]), tuple(channels))


def _sample_times(gltf: Gltf, clip: Clip, rate: float) -> Floats:
    """Return the times of all frames and the end; at least two, from the clip's first key on."""
    start = min((channel.times[0] for channel in clip.channels), default=np.float32(0))
    start = max(start, np.float32(0))
    duration = np.float32(clip.duration - start)
    # A pose has no duration, but the engine divides by it.
    end = duration if duration > 0 else np.float32(1.0 / rate)
    frames = frame_times(end, rate, gltf.name)
    # The last frame may lie so near to the end that float32 cannot tell them apart.
    inner = frames[frames < end - np.float32(1e-3 / rate)]
    return (start + np.append(inner, end)).astype(np.float32)


def _moved_paths(clip: Clip) -> dict[int, set[str]]:
    moved: dict[int, set[str]] = {}
    for channel in clip.channels:
        moved.setdefault(channel.node, set()).add(channel.path)
    return moved


def _sample(gltf: Gltf, forest: JointForest, clip: Clip, times: Floats) -> list[_Track]:
    """Sample the joints that a clip moves, by themselves or by nodes between them."""
    moved = _moved_paths(clip)
    joints = [one for one in forest.joints.values() if any(node in moved for node in one.chain)]
    nodes = list(dict.fromkeys(node for one in joints for node in one.chain))
    if not nodes:
        return []
    pose = sample_local(gltf, clip, nodes, times)
    columns = {node: column for column, node in enumerate(nodes)}
    return [_track(gltf, joint, pose, columns, moved) for joint in joints]


def _track(
    gltf: Gltf, joint: Joint, pose: Pose, columns: dict[int, int], moved: dict[int, set[str]]
) -> _Track:
    chain = [columns[node] for node in joint.chain]
    paths = set().union(*(moved.get(node, set()) for node in joint.chain))
    translation, rotation, scale = (
        part[:, chain].astype(np.float64) for part in (pose.translation, pose.rotation, pose.scale)
    )
    # The engine's rest pose has no negative scale: two of them are a rotation there.
    if len(chain) == 1 and (scale > 0).all():
        return _Track(joint, paths, translation[:, 0], rotation[:, 0], scale[:, 0])
    matrices = Pose(*(part.astype(np.float32) for part in (translation, rotation, scale)))
    local = matrices.matrices()
    gltf.charge(local.nbytes, joint.path)
    product = local[:, 0]
    for column in range(1, len(chain)):
        product = multiply(product, local[:, column])
    # Nodes between joints move a joint in all ways.
    return _Track(joint, {"translation", "rotation", *paths}, *decompose(product))


def _channel(track: _Track, seconds: Floats, tolerance: float) -> ChannelRecord:
    moves = _keys(track, "translation", seconds, track.translation, lerp, tolerance)
    turns = _keys(track, "rotation", seconds, same_side(track.rotation), turn, TURN_TOLERANCE)
    return ChannelRecord(track.joint.path, *moves, *turns)


def _keys(
    track: _Track,
    path: str,
    seconds: Floats,
    values: Doubles,
    between: Interpolation,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """Return times and values of a reduced track; none where the clip does not move this path."""
    if path not in track.paths:
        return np.zeros(0, np.float32), np.zeros((0, values.shape[1]), np.float32)
    kept = kept_keys(seconds.astype(np.float64), values, between, tolerance)
    return seconds[kept], values[kept].astype(np.float32) + np.float32(0)


def _warn_of_scale(gltf: Gltf, clip: Clip, tracks: list[_Track]) -> None:
    """Warn of joints whose scale changes: the engine keeps the scale at rest."""
    found = []
    for one in tracks:
        rest = decompose(rest_matrix(gltf, one.joint))[2]
        off = np.abs(np.abs(one.scale) - np.abs(rest)).max(initial=0.0)
        if off > SCALE_TOLERANCE * max(float(np.abs(rest).max()), 1e-6):
            found.append(one.joint.path)
    if found:
        names = ", ".join(found[:SHOWN]) + (" and others" if len(found) > SHOWN else "")
        gltf.warn(
            grouped(
                "feature",
                f'clip "{clip.name}" scales joints ({names}), which the engine does not animate',
            )
        )


def _warn_of_still_nodes(gltf: Gltf, forest: JointForest, clip: Clip) -> None:
    """Warn of nodes that a clip moves although no joint follows them."""
    followed = {node for joint in forest.joints.values() for node in joint.chain}
    still = sorted({channel.node for channel in clip.channels} - followed)
    if still:
        names = ", ".join(gltf.document.nodes[node].name or f"nodes[{node}]" for node in still)
        text = f'clip "{clip.name}" moves nodes that are no joints, and these stand still: {names}'
        gltf.warn(grouped("animation", text[:400]))
