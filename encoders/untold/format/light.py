"""Lights and cameras of a file: writer, reader and validation.

The engine adds them to the scene when it loads a file as a whole scene. Their ids are not those of
entities, but may not be the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from encoders.kit.error import EncodeError
from encoders.untold.format.layout import (
    CAMERA,
    CAMERA_TABLE,
    LIGHT,
    LIGHT_TABLE,
    LIGHT_TYPES,
)
from encoders.untold.format.light_record import CameraRecord, LightRecord, Placement
from encoders.untold.format.record import Row, Strings, Tables
from encoders.untold.format.rig_writer import Payloads
from encoders.untold.format.string_table import StringTable

UNIT_TOLERANCE = 1e-3


def pack_lights(lights: Sequence[LightRecord], strings: StringTable) -> Payloads:
    """Encode the light table; no chunk without lights."""
    rows = [
        LIGHT.pack(
            {
                "entity_id": one.entity_id,
                "name_offset": strings.offset(one.name),
                "light_type": one.light_type,
                "flags": one.flags,
                "color": one.color,
                "intensity": one.intensity,
                "position": one.place.position,
                "radius": one.radius,
                "direction": one.place.forward,
                "falloff": one.range,
                "right": one.place.right,
                "inner_cone": one.cones[0],
                "up": one.place.up,
                "outer_cone": one.cones[1],
                "area_size": np.ones(2),
                "source_power": one.intensity,
                "source_exposure": 0.0,
                "local_transform": one.place.transform,
            }
        )
        for one in lights
    ]
    return {LIGHT_TABLE: (b"".join(rows), len(rows))} if rows else {}


def pack_cameras(cameras: Sequence[CameraRecord], strings: StringTable) -> Payloads:
    """Encode the camera table; no chunk without cameras."""
    rows = [
        CAMERA.pack(
            {
                "entity_id": one.entity_id,
                "name_offset": strings.offset(one.name),
                "position": one.place.position,
                "fov_y_degrees": one.fov_y_degrees,
                "forward": one.place.forward,
                "near_clip": one.clip[0],
                "up": one.place.up,
                "far_clip": one.clip[1],
                "right": one.place.right,
                "aspect_ratio": one.aspect_ratio,
                "local_transform": one.place.transform,
            }
        )
        for one in cameras
    ]
    return {CAMERA_TABLE: (b"".join(rows), len(rows))} if rows else {}


def _place(row: Row, forward: str) -> Placement:
    return Placement(row["position"], row[forward], row["right"], row["up"], row["local_transform"])


def read_lights(tables: Tables, strings: Strings) -> tuple[LightRecord, ...]:
    """Decode the light table."""
    return tuple(
        LightRecord(
            row["entity_id"],
            strings.at(row, "name_offset"),
            row["light_type"],
            row["flags"],
            row["color"],
            row["intensity"],
            _place(row, "direction"),
            row["radius"],
            row["falloff"],
            (row["inner_cone"], row["outer_cone"]),
        )
        for row in tables[LIGHT_TABLE].rows(LIGHT)
    )


def read_cameras(tables: Tables, strings: Strings) -> tuple[CameraRecord, ...]:
    """Decode the camera table."""
    return tuple(
        CameraRecord(
            row["entity_id"],
            strings.at(row, "name_offset"),
            _place(row, "forward"),
            row["fov_y_degrees"],
            (row["near_clip"], row["far_clip"]),
            row["aspect_ratio"],
        )
        for row in tables[CAMERA_TABLE].rows(CAMERA)
    )


def validate_lights(
    lights: Sequence[LightRecord], cameras: Sequence[CameraRecord], taken: set[int], name: str
) -> None:
    """Refuse lights and cameras that share an id, or that show nothing."""
    seen = set(taken)
    records: list[LightRecord | CameraRecord] = [*lights, *cameras]
    for one in records:
        facts: dict[str, object] = {"file": name, "light or camera": one.name or one.entity_id}
        if one.entity_id in seen:
            raise EncodeError("an id is there twice", {**facts, "found": one.entity_id})
        seen.add(one.entity_id)
        _check_axes(one.place, facts)
    for light in lights:
        _check_light(light, {"file": name, "light": light.name or light.entity_id})
    for camera in cameras:
        _check_camera(camera, {"file": name, "camera": camera.name or camera.entity_id})


def _check_axes(place: Placement, facts: dict[str, object]) -> None:
    for axis in (place.forward, place.right, place.up):
        length = float(np.sqrt((axis.astype(np.float64) ** 2).sum()))
        if abs(length - 1.0) > UNIT_TOLERANCE:
            raise EncodeError("an axis is not of unit length", {**facts, "found": length})


def _check_light(light: LightRecord, facts: dict[str, object]) -> None:
    # The loader refuses the whole file for an unknown type.
    if light.light_type not in LIGHT_TYPES:
        raise EncodeError("unknown light type", {**facts, "found": light.light_type})
    if light.intensity < 0 or light.range < 0 or (light.color < 0).any():
        raise EncodeError("a light takes light away", facts)


def _check_camera(camera: CameraRecord, facts: dict[str, object]) -> None:
    near, far = camera.clip
    if not (0 < camera.fov_y_degrees < 180 and 0 < near < far and camera.aspect_ratio > 0):
        raise EncodeError("a camera sees nothing", facts)
