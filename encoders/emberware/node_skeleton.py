"""The skeleton node: a model's skin as `.ewzskel`."""

from __future__ import annotations

from encoders.emberware.format.skeleton import pack_skeleton
from encoders.emberware.rig.model import open_part
from encoders.emberware.rig.rig import check_bone_count, skin_of_part
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params


def encode_skeleton(inputs: Inputs, params: Params) -> Outputs:
    """Encode the bones of a part.

    The limit is that of a clip, not the console's own 256: no clip could move the last bone.
    """
    gltf = open_part(inputs, params)
    skin = skin_of_part(gltf, inputs, params)
    check_bone_count(skin, "skeleton has too many bones", {"file": gltf.name, "skin": skin.name})
    return {
        "file": pack_skeleton(skin.inverse_bind),
        WARNINGS: "\n".join(gltf.warnings).encode(),
    }
