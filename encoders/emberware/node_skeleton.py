"""The skeleton node: a model's skin as `.ewzskel`."""

from __future__ import annotations

from encoders.emberware.format.clip import BONE_LIMIT
from encoders.emberware.format.skeleton import pack_skeleton
from encoders.emberware.model import open_part
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.skin import decode_skin


def encode_skeleton(inputs: Inputs, params: Params) -> Outputs:
    """Encode the model's only skin.

    The limit is that of a clip, not the console's own 256: no clip could move the last bone.
    """
    gltf = open_part(inputs, params)
    skin = decode_skin(gltf, 0)
    if len(skin.joints) > BONE_LIMIT:
        extra = skin.joint_names[BONE_LIMIT] or f"joint {BONE_LIMIT}"
        raise EncodeError(
            "skeleton has too many bones",
            {"file": gltf.name, "skin": skin.name, "bones": len(skin.joints)}
            | {"allowed": BONE_LIMIT, "first too many": extra},
            "Take joints out of the skin that no vertex needs.",
        )
    return {
        "file": pack_skeleton(skin.inverse_bind),
        WARNINGS: "\n".join(gltf.warnings).encode(),
    }
