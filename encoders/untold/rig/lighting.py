"""Convert lights and cameras of a source to records.

glTF measures light as it is seen (candela, lux), the engine as power (watts): one watt is taken for
683 lumens, as Blender's exporter does it.
"""

from __future__ import annotations

import math

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.node import Matrix
from encoders.kit.source.gltf.geometry.matrix import decompose
from encoders.kit.source.gltf.geometry.rotation import to_matrix
from encoders.kit.source.gltf.light import Camera, Light, decode_lights
from encoders.kit.warning import grouped
from encoders.untold.format.layout import (
    CASTS_SHADOW,
    CUSTOM_DISTANCE,
    DIRECTIONAL,
    POINT,
    RADIOMETRIC,
    SPOT,
)
from encoders.untold.format.light_record import CameraRecord, LightRecord, Placement
from encoders.untold.rig.skeleton import flat_matrix

LIGHT_NUMBERS = {"directional": DIRECTIONAL, "point": POINT, "spot": SPOT}
LUMENS_A_WATT = 683.0
# Where a camera's far plane is that the source puts at infinity, and its shape if it gives none.
FAR, ASPECT = 10_000.0, 16 / 9


def light_records(
    gltf: Gltf, data: bytes, first_id: int
) -> tuple[list[LightRecord], list[CameraRecord]]:
    """Return the lights and cameras of the scene; their ids count from `first_id`."""
    lights: list[LightRecord] = []
    cameras: list[CameraRecord] = []
    for one in decode_lights(gltf, data):
        entity, place = first_id + len(lights) + len(cameras), _placement(one.world)
        if isinstance(one.item, Light):
            lights.append(_light(one.item, entity, one.name, place))
        elif one.item.perspective is None:
            text = f'camera "{one.name}" is orthographic, which the format cannot say'
            gltf.warn(grouped("feature", text))
        else:
            cameras.append(_camera(gltf, one.item, entity, one.name, place))
    return lights, cameras


def _placement(world: Matrix) -> Placement:
    """Return position and axes; both lights and cameras look along -z."""
    translation, rotation, _ = decompose(np.array(world).reshape(4, 4))
    matrix = np.eye(4)
    matrix[:3, :3] = to_matrix(rotation)
    matrix[:3, 3] = translation
    right, up, back, position = (matrix[:3, k].astype(np.float32) for k in range(4))
    return Placement(position, -back, right, up, flat_matrix(matrix))


def _light(light: Light, entity: int, name: str, place: Placement) -> LightRecord:
    flags = RADIOMETRIC
    power = light.intensity / LUMENS_A_WATT
    if light.type == "directional":
        # The engine's own default: the sun alone casts a shadow.
        flags |= CASTS_SHADOW
    else:
        power *= 4 * math.pi
    if light.range is not None:
        flags |= CUSTOM_DISTANCE
    cones = (math.degrees(light.spot.inner_cone_angle), math.degrees(light.spot.outer_cone_angle))
    return LightRecord(
        entity,
        name,
        LIGHT_NUMBERS[light.type],
        flags,
        np.array(light.color, np.float32),
        power,
        place,
        range=light.range or 0.0,
        cones=cones,
    )


def _camera(gltf: Gltf, camera: Camera, entity: int, name: str, place: Placement) -> CameraRecord:
    lens = camera.perspective
    assert lens is not None
    far = FAR if lens.zfar is None else lens.zfar
    if not 0 < lens.znear < far or not 0 < lens.yfov < math.pi:
        facts = {"file": gltf.name, "camera": name, "near": lens.znear, "far": far}
        raise EncodeError("a camera sees nothing", {**facts, "yfov": lens.yfov})
    fov, aspect = math.degrees(lens.yfov), lens.aspect or ASPECT
    return CameraRecord(entity, name, place, fov, (lens.znear, far), aspect)
