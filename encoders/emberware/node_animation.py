"""The animation node: a clip as `.ewzanim`, the skin's joints sampled at a fixed rate.

The console has no hierarchy: it multiplies each transform by the bone's inverse bind matrix, and
that is all. So transforms are written in model space, with parents composed; `space = "local"` is
for games that compose the hierarchy themselves.
"""

from __future__ import annotations

import numpy as np

from encoders.emberware.codec.half_float import HALF_MAX, exceeds_half
from encoders.emberware.format.clip import (
    BONE_LIMIT,
    FRAME_LIMIT,
    Floats,
    Transforms,
    pack_clip,
)
from encoders.emberware.model import open_part
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.animation import Clip, decode_clip, frame_times
from encoders.kit.source.gltf.pose import Pose, sample_local, sample_model, to_pose
from encoders.kit.source.gltf.skin import Skin, decode_skin
from encoders.kit.source.gltf.source import Gltf
from encoders.kit.warning import grouped

# Part of the largest scale: rounding stays far below it, and a shear of one degree is above it.
SHEAR_TOLERANCE = 1e-3


def encode_animation(inputs: Inputs, params: Params) -> Outputs:
    """Encode the model's only clip for the joints of its only skin."""
    gltf = open_part(inputs, params)
    clip, skin = decode_clip(gltf, 0), decode_skin(gltf, 0)
    facts: dict[str, object] = {"file": gltf.name, "clip": clip.name}
    # A clip always has all joints of its skin: for a missing one the shader would read the matrix
    # of another clip.
    check_bones(skin, facts)
    times = sample_times(clip, params, facts)
    if params["space"] == "model":
        # Composed matrices may hold shear, which rotation and scale cannot express.
        pose, difference = to_pose(sample_model(gltf, clip, skin.joints, times))
        warn_of_shear(gltf, clip, pose, difference)
    else:
        pose = sample_local(gltf, clip, skin.joints, times)
    check_range(pose, skin, facts)
    data = pack_clip(Transforms(pose.rotation, pose.translation, pose.scale))
    return {"file": data, WARNINGS: "\n".join(gltf.warnings).encode()}


def check_bones(skin: Skin, facts: dict[str, object]) -> None:
    """Refuse a skin with more joints than a clip can count."""
    if len(skin.joints) > BONE_LIMIT:
        extra = skin.joint_names[BONE_LIMIT] or f"joint {BONE_LIMIT}"
        raise EncodeError(
            "clip has too many bones",
            {**facts, "bones": len(skin.joints), "allowed": BONE_LIMIT, "first too many": extra},
            "Take joints out of the skin that no vertex needs.",
        )


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
