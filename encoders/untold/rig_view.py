"""What `doit inspect` shows of skeletons, skins, clips, lights and cameras."""

from __future__ import annotations

from typing import Any

from encoders.untold.format.layout import LIGHT_TYPES, NONE
from encoders.untold.format.light_record import CameraRecord, LightRecord
from encoders.untold.format.rig_record import ChannelRecord, ClipRecord, JointRecord, SkinRecord
from encoders.untold.format.untold_file import UntoldFile


def describe_rig(file: UntoldFile) -> dict[str, Any]:
    """Describe the rig, lights and cameras of a file; what it does not have is left out."""
    skeletons = [
        {
            "entity": one.entity_id,
            "name": one.name,
            "joints": [_describe_joint(joint) for joint in one.joints],
        }
        for one in file.skeletons
    ]
    found = {
        "skeletons": skeletons,
        "skins": [_describe_skin(one) for one in file.skins],
        "clips": [_describe_clip(one) for one in file.clips],
        "lights": [_describe_light(one) for one in file.lights],
        "cameras": [_describe_camera(one) for one in file.cameras],
    }
    return {key: values for key, values in found.items() if values}


def _describe_joint(joint: JointRecord) -> dict[str, Any]:
    return {
        "path": joint.path,
        "parent": None if joint.parent == NONE else joint.parent,
        "bind": joint.bind.tolist(),
        "rest": joint.rest.tolist(),
    }


def _describe_skin(skin: SkinRecord) -> dict[str, Any]:
    return {
        "entity": skin.entity_id,
        "mesh": skin.mesh,
        "skeleton": skin.skeleton,
        "joints": list(skin.mapping),
        "vertices": len(skin.slots),
        "slots": skin.slots.tolist(),
        "weights": skin.weights.tolist(),
    }


def _describe_light(light: LightRecord) -> dict[str, Any]:
    return {
        "name": light.name,
        "type": LIGHT_TYPES[light.light_type],
        "flags": light.flags,
        "color": light.color.tolist(),
        "intensity": light.intensity,
        "position": light.place.position.tolist(),
        "direction": light.place.forward.tolist(),
        "range": light.range,
        "cones": list(light.cones),
    }


def _describe_camera(camera: CameraRecord) -> dict[str, Any]:
    return {
        "name": camera.name,
        "position": camera.place.position.tolist(),
        "forward": camera.place.forward.tolist(),
        "up": camera.place.up.tolist(),
        "fov_y_degrees": camera.fov_y_degrees,
        "clip": list(camera.clip),
        "aspect_ratio": camera.aspect_ratio,
    }


def _describe_clip(clip: ClipRecord) -> dict[str, Any]:
    return {
        "name": clip.name,
        "duration": clip.duration,
        "channels": [_describe_channel(one) for one in clip.channels],
    }


def _describe_channel(channel: ChannelRecord) -> dict[str, Any]:
    return {
        "path": channel.path,
        "translation": {
            "times": channel.translation_times.tolist(),
            "values": channel.translations.tolist(),
        },
        "rotation": {
            "times": channel.rotation_times.tolist(),
            "values": channel.rotations.tolist(),
        },
    }
