"""The animation node: a clip as `.ewzanim`, the skin's joints sampled at a fixed rate.

The console has no hierarchy: it multiplies each transform by the bone's inverse bind matrix, and
that is all. So transforms are written in model space, with parents composed; `space = "local"` is
for games that compose the hierarchy themselves.
"""

from __future__ import annotations

import numpy as np

from encoders.emberware.codec.half_float import HALF_MAX, exceeds_half
from encoders.emberware.format.clip import (
    FRAME_LIMIT,
    Floats,
    Transforms,
    pack_clip,
)
from encoders.emberware.rig.bone_match import Skeleton, match_clip
from encoders.emberware.rig.model import open_part
from encoders.emberware.rig.rig import check_bone_count, skin_of_part
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.animation import Clip, decode_clip, frame_times
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.geometry.skin import Skin
from encoders.kit.source.gltf.pose import Pose, sample_local, sample_model, to_pose
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.warning import grouped

# The input that holds the skin of another file.
SKELETON = "skeleton"
# Part of the largest scale: rounding stays far below it, and a shear of one degree is above it.
SHEAR_TOLERANCE = 1e-3


def encode_animation(inputs: Inputs, params: Params) -> Outputs:
    """Encode the part's only clip for its bones, or for the joints of another file's skin."""
    gltf = open_part(inputs, params)
    clip = decode_clip(gltf, 0)
    facts: dict[str, object] = {"file": gltf.name, "clip": clip.name}
    # The file whose nodes and bones the clip moves.
    base = open_skeleton(inputs, params) if SKELETON in inputs else gltf
    skin = skin_of_part(base, inputs, params)
    if base is not gltf:
        clip = match_clip(gltf, clip, Skeleton(base, skin, str(params["bone_prefix"])))
    if not moves_bones(base, clip, skin):
        text = f'clip "{clip.name}" moves no bone, nor anything above one'
        gltf.warn(grouped("animation", text))
    # A clip always has all joints of its skin: for a missing one the shader would read the matrix
    # of another clip.
    check_bone_count(skin, "clip has too many bones", facts)
    times = sample_times(clip, params, facts)
    if params["space"] == "model":
        # Composed matrices may hold shear, which rotation and scale cannot express.
        pose, difference = to_pose(sample_model(base, clip, skin.joints, times))
        warn_of_shear(gltf, clip, pose, difference)
    else:
        pose = sample_local(base, clip, skin.joints, times)
    check_range(pose, skin, facts)
    data = pack_clip(Transforms(pose.rotation, pose.translation, pose.scale))
    return {"file": data, WARNINGS: "\n".join(gltf.warnings).encode()}


def open_skeleton(inputs: Inputs, params: Params) -> Gltf:
    """Parse the part of another file that holds the skin."""
    return decode_gltf(inputs[SKELETON], str(params["skeleton"]), {}, with_materials=False)


def moves_bones(gltf: Gltf, clip: Clip, skin: Skin) -> bool:
    """Tell whether a clip moves a bone or a node above one."""
    moved = {channel.node for channel in clip.channels}
    for joint in skin.joints:
        node = joint
        while node >= 0 and node not in moved:
            node = gltf.parents[node]
        if node >= 0:
            return True
    return False


def sample_times(clip: Clip, params: Params, facts: dict[str, object]) -> Floats:
    """Return the times of the frames, or refuse more frames than a clip can count."""
    rate = params["frame_rate"]
    assert isinstance(rate, int | float)
    over = EncodeError(
        "clip has too many frames",
        {**facts, "seconds": clip.duration, "frame rate": rate, "allowed": FRAME_LIMIT},
        "Lower `frame_rate`, or cut the clip.",
    )
    # Before any time is computed: a damaged duration must not allocate all memory.
    if float(clip.duration) * rate > FRAME_LIMIT:
        raise over
    include_last = bool(params["include_last_frame"])
    times = frame_times(clip.duration, rate, str(facts["file"]), include_last=include_last)
    if len(times) > FRAME_LIMIT:
        raise over
    return times


def warn_of_shear(gltf: Gltf, clip: Clip, pose: Pose, difference: float) -> None:
    """Warn where a parent's scale shears its children: a file has no shear."""
    size = float(np.abs(pose.scale).max(initial=0.0))
    if difference > SHEAR_TOLERANCE * max(size, 1e-6):
        gltf.warn(
            grouped(
                "feature",
                f'clip "{clip.name}": uneven scales above rotated bones shear them; the shear is '
                "lost",
            )
        )


def check_range(pose: Pose, skin: Skin, facts: dict[str, object]) -> None:
    """Refuse a position or scale that a half float cannot hold."""
    for label, values in (("position", pose.translation), ("scale", pose.scale)):
        bad = exceeds_half(values)
        if bad.any():
            frame, bone, axis = (int(index) for index in np.argwhere(bad)[0])
            raise EncodeError(
                f"bone's {label} is too large for a half float",
                {**facts, "bone": skin.joint_names[bone] or f"joint {bone}", "frame": frame}
                | {"found": f"{'xyz'[axis]} = {values[frame, bone, axis]}"}
                | {"allowed": f"-{HALF_MAX} to {HALF_MAX}"},
                "Scale the model down, or move it nearer to the origin.",
            )
