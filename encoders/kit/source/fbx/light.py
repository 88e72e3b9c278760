"""The lights and cameras of an FBX file.

FBX has no unit of light: 100 % counts as a watt, and of the sun as a watt for each square metre, as
Blender writes and reads it. A watt is taken for 683 lumens, as targets do that count in watts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import ufbx

from encoders.kit.source.fbx.library import items, kept, vector
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.shared.lit_scene import ORTHOGRAPHIC, Json, LitScene, cone

LUMENS_A_WATT = 683.0
HALF = math.sqrt(0.5)
# What turns glTF's -z to where FBX's lights shine (-y) and cameras look (+x).
LIGHT_TURN, CAMERA_TURN = (-HALF, 0.0, 0.0, HALF), (0.0, -HALF, 0.0, HALF)
# The views of the program that wrote the file, in old files.
PRODUCER = "Producer "
KINDS = {
    ufbx.LightType.POINT: "point",
    ufbx.LightType.DIRECTIONAL: "directional",
    ufbx.LightType.SPOT: "spot",
}


def add_lights(scene: Any, nodes: Sequence[spec.Node], lit: LitScene) -> tuple[spec.Node, ...]:
    """Return the nodes of a file, in its order, and behind them those of lights and cameras."""
    found = list(nodes)
    unit = float(scene.settings.original_unit_meters)
    for record in items(scene.nodes):
        one = _light(record, lit, unit) or _camera(record, lit)
        if one is not None:
            above = found[record.typed_id]
            children = (*above.children, len(found))
            found[record.typed_id] = msgspec.structs.replace(above, children=children)
            found.append(one)
    return tuple(found)


def _light(node: Any, lit: LitScene, unit: float) -> spec.Node | None:
    light = node.light and kept(node.light)
    # One that is switched off is a light for nobody.
    if not light or not light.cast_light:
        return None
    kind = KINDS.get(light.type)
    if kind is None:
        lit.left_out[f"{ufbx.LightType(light.type).name.lower()} light"] += 1
        return None
    strength = light.intensity * LUMENS_A_WATT
    if kind != "directional":
        strength /= 4 * math.pi
    known: Json = {"type": kind, "name": node.name}
    if kind == "spot":
        # FBX has whole angles, glTF half ones.
        known["spot"] = cone(light.inner_angle / 2, light.outer_angle / 2)
    if kind != "directional" and light.props.find_bool("EnableFarAttenuation", False):
        known["range"] = light.props.find_real("FarAttenuationEnd", 0.0) * unit
    emission = [channel * strength for channel in vector(light.color)]
    return lit.light(known, emission, spec.Node(rotation=LIGHT_TURN))


def _camera(node: Any, lit: LitScene) -> spec.Node | None:
    camera = node.camera and kept(node.camera)
    if not camera or node.name.startswith(PRODUCER):
        return None
    if camera.projection_mode != ufbx.ProjectionMode.PERSPECTIVE:
        lit.left_out[ORTHOGRAPHIC] += 1
        return None
    tangent = camera.field_of_view_tan
    lens = {
        "yfov": 2 * math.atan(tangent.y),
        "aspectRatio": tangent.x / tangent.y if tangent.y else 0.0,
        # The library has them in metres.
        "znear": camera.near_plane,
        "zfar": camera.far_plane,
    }
    return lit.camera(node.name, lens, spec.Node(rotation=CAMERA_TURN))
