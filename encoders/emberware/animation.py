"""Clips of a glTF file as `.ewzanim`: the skin's joints, sampled at a steady rate.

The console has no hierarchy: it multiplies each transform with the bone's inverse bind matrix and
nothing else. So transforms are the joints' in the model's space, parents included; a game that
composes its hierarchy itself asks for local ones.
"""

from __future__ import annotations

import numpy as np

from encoders.emberware.clip import BONE_LIMIT, FRAME_LIMIT, HALF_MAX, Floats, Transforms, pack_clip
from encoders.emberware.model import open_part
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.animation import Clip, decode_clip, frame_times
from encoders.kit.source.gltf.pose import Pose, sample_local, sample_model, to_pose
from encoders.kit.source.gltf.skin import Skin, decode_skin
from encoders.kit.source.gltf.source import Gltf

# Relative to the size of the matrix; rounding stays far below, and shear of a degree above.
SHEAR_TOLERANCE = 1e-3


def encode_animation(inputs: Inputs, params: Params) -> Outputs:
    """Encode the one clip of the one skin that the model has."""
    gltf = open_part(inputs, params)
    clip, skin = decode_clip(gltf, 0), decode_skin(gltf, 0)
    facts: dict[str, object] = {"file": gltf.name, "clip": clip.name}
    check_bones(skin, facts)
    times = sample_times(clip, params, facts)
    if params["space"] == "model":
        pose, difference = to_pose(sample_model(gltf, clip, skin.joints, times))
        warn_of_shear(gltf, clip, pose, difference)
    else:
        pose = sample_local(gltf, clip, skin.joints, times)
    check_range(pose, skin, facts)
    data = pack_clip(Transforms(pose.rotation, pose.translation, pose.scale))
    return {"file": data, WARNINGS: "\n".join(gltf.warnings).encode()}


def check_bones(skin: Skin, facts: dict[str, object]) -> None:
    """Refuse more joints than a clip can count."""
    if len(skin.joints) > BONE_LIMIT:
        extra = skin.joint_names[BONE_LIMIT] or f"joint {BONE_LIMIT}"
        raise EncodeError(
            "clip has too many bones",
            {**facts, "bones": len(skin.joints), "allowed": BONE_LIMIT, "first too many": extra},
            "Take joints out of the skin that no vertex needs.",
        )


def sample_times(clip: Clip, params: Params, facts: dict[str, object]) -> Floats:
    """Return the times of the frames, refusing more of them than a clip can count."""
    rate = params["frame_rate"]
    assert isinstance(rate, int | float)
    over = EncodeError(
        "clip has too many frames",
        {**facts, "seconds": clip.duration, "frame rate": rate, "allowed": FRAME_LIMIT},
        "Lower `frame_rate`, or cut the clip.",
    )
    if float(clip.duration) * rate > FRAME_LIMIT:
        raise over
    include_last = bool(params["include_last_frame"])
    times = frame_times(clip.duration, rate, str(facts["file"]), include_last=include_last)
    if len(times) > FRAME_LIMIT:
        raise over
    return times


def warn_of_shear(gltf: Gltf, clip: Clip, pose: Pose, difference: float) -> None:
    """Warn where parents' scales shear their children, which the file cannot hold."""
    size = float(np.abs(pose.scale).max(initial=0.0))
    if difference > SHEAR_TOLERANCE * max(size, 1e-6):
        gltf.warn(
            f'clip "{clip.name}": uneven scales above rotated bones shear them; the shear is lost'
        )


def check_range(pose: Pose, skin: Skin, facts: dict[str, object]) -> None:
    """Refuse positions and scales that half floats cannot hold, naming the bone."""
    for label, values in (("position", pose.translation), ("scale", pose.scale)):
        with np.errstate(over="ignore"):
            bad = np.isinf(values.astype(np.float16))
        if bad.any():
            frame, bone, axis = (int(index) for index in np.argwhere(bad)[0])
            raise EncodeError(
                f"bone's {label} is too large for a half float",
                {**facts, "bone": skin.joint_names[bone] or f"joint {bone}", "frame": frame}
                | {"found": f"{'xyz'[axis]} = {values[frame, bone, axis]}"}
                | {"allowed": f"-{HALF_MAX} to {HALF_MAX}"},
                "Scale the model down, or move it nearer to the origin.",
            )
