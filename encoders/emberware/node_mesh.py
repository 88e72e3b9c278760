"""The mesh nodes: a model of any format as `.ewzmesh`.

Axes, winding and v are those of glTF. OBJ files have v = 0 at the bottom, so their v is flipped
unless the manifest's `flip_v` says otherwise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.emberware.ember_mesh import MeshOptions, build_mesh, keep_influences
from encoders.emberware.format.mesh import pack_mesh
from encoders.emberware.format.vertex import FLAG_NAMES
from encoders.emberware.model import open_part
from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Mesh, Part
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.bake import bake
from encoders.kit.source.gltf.mesh import Primitive, decode_primitive
from encoders.kit.source.gltf.scene import place_primitives
from encoders.kit.source.gltf.source import Gltf
from encoders.kit.source.gltf.world import join_primitives
from encoders.kit.source.model import open_model

# Joint numbers are bytes.
JOINT_LIMIT = 256


def encode_model_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode the meshes of a glTF model as one mesh."""
    gltf = open_part(inputs, params)
    primitives = model_primitives(gltf, placed=bool(params["placed"]))
    parts = tuple(Part() for _ in primitives)
    mesh = keep_influences(join_primitives(gltf, primitives, parts), gltf.warn)
    options = MeshOptions(_vertex_format(params), _flips_v(params, mesh))
    built = build_mesh(mesh, options, gltf.warn, gltf.name)
    return {"file": pack_mesh(built), WARNINGS: "\n".join(gltf.warnings).encode()}


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a model of a format that has meshes only, such as OBJ."""
    name = str(params["source"])
    model = open_model(inputs, name, with_materials=False)
    mesh, warnings = model.mesh, dict.fromkeys(model.warnings)
    options = MeshOptions(_vertex_format(params), _flips_v(params, mesh), bool(params["weld"]))
    built = build_mesh(mesh, options, warnings.setdefault, name)
    return {"file": pack_mesh(built), WARNINGS: "\n".join(warnings).encode()}


def _vertex_format(params: Params) -> int | None:
    """Return the flags of `vertex_format`; None for "auto"."""
    text = str(params["vertex_format"])
    if text == "auto":
        return None
    return sum(FLAG_NAMES[word] for word in text.split("_")[1:])


def _flips_v(params: Params, mesh: Mesh) -> bool:
    flip = params["flip_v"]
    return mesh.has_v_up if flip == "auto" else bool(flip)


def model_primitives(gltf: Gltf, placed: bool) -> list[Primitive]:
    """Return the scene's primitives in world space, or those of the first mesh as they are.

    Skinned primitives are never transformed: their joints place them.
    """
    if placed:
        places = place_primitives(gltf)
        is_skinned = [one.skin is not None and one.primitive.joints is not None for one in places]
        found = [
            _with_checked_joints(gltf, one.primitive)
            if skinned
            else _without_joints(bake(gltf, one))
            for one, skinned in zip(places, is_skinned, strict=True)
        ]
        names = [one.node_name for one in places]
    else:
        record = gltf.document.meshes[0]
        read = (decode_primitive(gltf, 0, number) for number in range(len(record.primitives)))
        found = [_with_checked_joints(gltf, one) for one in read if one is not None]
        is_skinned = [one.joints is not None for one in found]
        names = [f"{record.name or 'mesh 0'}, part {number}" for number in range(len(found))]
    if any(is_skinned) and not all(is_skinned):
        raise EncodeError(
            "mesh is skinned in part only",
            {"file": gltf.name, "without a skin": names[is_skinned.index(False)]},
            "Bind that part to a joint, or choose one mesh of the file with `mesh`.",
        )
    return found


def _without_joints(primitive: Primitive) -> Primitive:
    return replace(primitive, joints=None, weights=None)


def _with_checked_joints(gltf: Gltf, primitive: Primitive) -> Primitive:
    """Refuse joints outside the skin; an unused joint (weight 0) outside it becomes joint 0."""
    joints, weights = primitive.joints, primitive.weights
    if joints is None or weights is None:
        return _without_joints(primitive)
    # A part has at most one skin; without one, only the width of the joint numbers limits them.
    count = len(gltf.document.skins[0].joints) if gltf.document.skins else JOINT_LIMIT
    # Exporters leave arbitrary numbers in unused slots.
    is_used = weights != 0
    if joints.shape != weights.shape or int(np.where(is_used, joints, 0).max(initial=0)) >= min(
        count, JOINT_LIMIT
    ):
        facts = {"file": gltf.name, "found": joints.max(), "joints": count}
        raise EncodeError("vertex joint is not in the skin", facts | {"allowed": JOINT_LIMIT - 1})
    if (weights < 0).any():
        raise EncodeError("vertex weight is negative", {"file": gltf.name, "found": weights.min()})
    return replace(primitive, joints=np.where(is_used | (joints < count), joints, 0))
