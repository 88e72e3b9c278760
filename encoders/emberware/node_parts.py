"""Split a glTF model into its meshes, its skins and its clips, each a small model of its own.

The other nodes of a model read one part each. An edit of one clip changes that clip's part alone,
so only its node runs again.
"""

from __future__ import annotations

import json
from typing import Any

from encoders.emberware.profile import BONE_LIMIT
from encoders.emberware.rig.model import open_part
from encoders.emberware.rig.rig import used_joints
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.subset import write_subset
from encoders.kit.warning import grouped


def encode_parts(inputs: Inputs, params: Params) -> Outputs:
    """Write each part that `params["parts"]` describes, by its role.

    `params["kept_joints"]` has the skins of which only the joints that vertices use are bones.
    """
    gltf = open_part(inputs, params)
    parts: Any = params["parts"]
    kept: Any = params.get("kept_joints", {})
    outputs = {role: write_subset(gltf, **part) for role, part in parts.items()}
    outputs |= {role: kept_joints(gltf, skin) for role, skin in kept.items()}
    return outputs | {WARNINGS: "\n".join(gltf.warnings).encode()}


def kept_joints(gltf: Gltf, skin: int) -> bytes:
    """List the joints of a skin that are bones: all where a clip can count them."""
    record = gltf.document.skins[skin]
    joints = list(range(len(record.joints)))
    if len(joints) > BONE_LIMIT:
        joints = used_joints(gltf, skin)
    if len(joints) < len(record.joints):
        had = f'skin "{record.name}" has {len(record.joints)} joints, more than {BONE_LIMIT}'
        gltf.warn(grouped("ignored", f"{had}; the {len(joints)} that vertices use were kept"))
    return json.dumps(joints).encode()


def encode_skeleton_part(inputs: Inputs, params: Params) -> Outputs:
    """Write the skin of a file that clips of another file are for, and its joints to keep."""
    if "model" not in inputs:
        hint = "Mend `skeleton` of the animation."
        raise EncodeError("skeleton not found", {"file": params["source"]}, hint)
    gltf = open_part(inputs, params)
    skin = find_skin(gltf, params["skin"])
    return {
        "skin": write_subset(gltf, skin=skin),
        "joints": kept_joints(gltf, skin),
        WARNINGS: "\n".join(gltf.warnings).encode(),
    }


def find_skin(gltf: Gltf, wanted: object) -> int:
    """Return the skin of a name or index, the first where none is asked for."""
    names = [skin.name for skin in gltf.document.skins]
    if wanted == "" and names:
        return 0
    if isinstance(wanted, int) and wanted < len(names):
        return wanted
    if wanted in names:
        return names.index(str(wanted))
    known = ", ".join(name or f"{number} (no name)" for number, name in enumerate(names))
    facts = {"file": gltf.name, "asked for": wanted or "any", "there are": known or "none"}
    raise EncodeError("skeleton file has no such skin", facts)
