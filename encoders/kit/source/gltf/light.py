"""Lights (KHR_lights_punctual) and cameras of the default scene, with the nodes that place them.

They are decoded from the JSON by themselves, so that a fault in them is none of a target that
takes meshes alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.container import decode_container
from encoders.kit.source.gltf.document.node import Matrix, scene_nodes
from encoders.kit.source.gltf.document.spec import decode_json, element
from encoders.kit.warning import grouped

LIGHTS = "KHR_lights_punctual"
# In `asset.extras`: what a conversion to glTF had to leave out, by kind.
LEFT_OUT = "lights_left_out"


class Spot(msgspec.Struct, frozen=True, rename="camel"):
    """`lights[].spot`: half angles in radians."""

    inner_cone_angle: float = 0.0
    outer_cone_angle: float = math.pi / 4


class Light(msgspec.Struct, frozen=True, rename="camel"):
    """`extensions.KHR_lights_punctual.lights[]`; intensity is in candela or lux."""

    type: Literal["directional", "point", "spot"]
    name: str = ""
    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    intensity: float = 1.0
    range: float | None = None
    spot: Spot = Spot()


class Perspective(msgspec.Struct, frozen=True, rename="lower"):
    """`cameras[].perspective`; the field of view is in radians."""

    yfov: float
    znear: float
    zfar: float | None = None
    aspect: float | None = msgspec.field(default=None, name="aspectRatio")


class Camera(msgspec.Struct, frozen=True):
    """`cameras[]`; one without perspective is orthographic."""

    name: str = ""
    perspective: Perspective | None = None


@dataclass(frozen=True)
class Placed:
    """A light or a camera with its node's name and world matrix, row by row."""

    item: Light | Camera
    name: str
    world: Matrix


class _Node(msgspec.Struct, frozen=True):
    camera: int | None = None
    extensions: dict[str, Any] = {}


class _Asset(msgspec.Struct, frozen=True):
    # Anything at all in files of others.
    extras: Any = None


class _Document(msgspec.Struct, frozen=True):
    asset: _Asset = _Asset()
    nodes: tuple[_Node, ...] = ()
    cameras: tuple[Camera, ...] = ()
    extensions: dict[str, msgspec.Raw] = {}


class _Lights(msgspec.Struct, frozen=True):
    lights: tuple[Light, ...] = ()


def decode_lights(gltf: Gltf, data: bytes) -> list[Placed]:
    """Return the lights and cameras of an opened file, whose bytes these are, in scene order."""
    text = decode_container(data, gltf.name).json
    document = decode_json(bytes(text).rstrip(b"\0"), _Document, gltf.name, "JSON")
    _warn_of_losses(gltf, document.asset.extras)
    raw = document.extensions.get(LIGHTS)
    lights: tuple[Light, ...] = ()
    if raw is not None:
        lights = decode_json(bytes(raw), _Lights, gltf.name, f"extensions.{LIGHTS}").lights
    found = []
    for index in scene_nodes(gltf.document, gltf.name):
        # Instances are nodes that were added behind those of the file.
        if index >= len(document.nodes):
            continue
        node, name = document.nodes[index], gltf.document.nodes[index].name
        number = node.extensions.get(LIGHTS, {}).get("light")
        if isinstance(number, int):
            light = element(lights, number, f"nodes[{index}].extensions.{LIGHTS}", gltf.name)
            found.append(Placed(light, name or light.name, gltf.world[index]))
        if node.camera is not None:
            camera = element(document.cameras, node.camera, f"nodes[{index}].camera", gltf.name)
            found.append(Placed(camera, name or camera.name, gltf.world[index]))
    return found


def _warn_of_losses(gltf: Gltf, extras: Any) -> None:
    """Warn of lights and cameras that the conversion of a source left out."""
    found = extras.get(LEFT_OUT) if isinstance(extras, dict) else None
    for kind, count in found.items() if isinstance(found, dict) else ():
        gltf.warn(grouped("feature", f"{count} of type {kind}, left out"))
