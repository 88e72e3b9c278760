"""Node encoder of a clip: an `.untoldanim` file with one clip."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.animation import decode_clip
from encoders.kit.source.gltf.light import LIGHTS
from encoders.kit.source.gltf.source import open_gltf
from encoders.untold.format.layout import ANIMATION
from encoders.untold.format.untold_file import UntoldFile
from encoders.untold.format.writer import pack_untold
from encoders.untold.rig.clip import clip_record
from encoders.untold.rig.joint_forest import find_joints


def encode_clip(inputs: Inputs, params: Params) -> Outputs:
    """Encode one clip of a source for all joints that it moves."""
    known: Any = params
    # The model's own node reads the lights, or says that they are left out.
    gltf = open_gltf(inputs, known["source"], with_materials=False, also_read=[LIGHTS])
    clip = decode_clip(gltf, known["clip"])
    record = clip_record(gltf, find_joints(gltf), clip, known["frame_rate"])
    # The engine plays a clip by a name of the game's own; a missing one would be empty.
    record = replace(record, name=known["name"])
    file = UntoldFile(ANIMATION, (), (), version=known["format_version"], clips=(record,))
    data = pack_untold(file, f"{known['file']}.untoldanim")
    warnings = "\n".join(f"{gltf.name}: {text}" for text in gltf.warnings)
    return {"file": data, **({WARNINGS: warnings.encode()} if warnings else {})}
