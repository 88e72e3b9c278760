"""The lights and cameras of a stage.

UsdLux counts the luminance of a light's surface in nits, so what a light gives depends on its size:
candela are nits times the area that is seen, lux are nits times the part of the sky.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pxr import Gf, UsdGeom, UsdLux

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.shared.lit_scene import ORTHOGRAPHIC, Json, LitScene, cone
from encoders.kit.source.usd.frame import Frame, flat_matrix
from encoders.kit.source.usd.stage import Opened, read_value


def is_light(prim: Any) -> bool:
    """Tell whether a prim is of a type that shines by itself."""
    bases = UsdLux.BoundableLightBase, UsdLux.NonboundableLightBase
    return any(prim.IsA(base) for base in bases)


class Lights:
    """The lights and cameras of a stage so far."""

    def __init__(self, opened: Opened, frame: Frame) -> None:
        self.scene = LitScene()
        self._opened, self._scale = opened, frame.scale
        # In glTF's axes a prim's own -z is elsewhere, unless y is up in both.
        turn = np.eye(4)
        turn[:3, :3] = frame.turn
        self._node = spec.Node(matrix=flat_matrix(turn))

    def light(self, prim: Any) -> spec.Node | None:
        """Return the node of a light, None where glTF has no such light."""
        known: Json = {"name": prim.GetName()}
        if prim.IsA(UsdLux.DistantLight):
            known["type"], factor = "directional", self._sky(prim)
        elif prim.IsA(UsdLux.SphereLight):
            known |= self._shape(prim)
            factor = self._surface(prim)
        else:
            self.scene.left_out[str(prim.GetTypeName())] += 1
            return None
        emission = [channel * factor for channel in self._emission(prim)]
        return self.scene.light(known, emission, self._node)

    def camera(self, prim: Any) -> spec.Node | None:
        """Return the node of a camera, None for one that glTF cannot say."""
        camera = UsdGeom.Camera(prim).GetCamera(self._opened.time)
        if camera.projection != Gf.Camera.Perspective:
            self.scene.left_out[ORTHOGRAPHIC] += 1
            return None
        lens = {
            "yfov": math.radians(camera.GetFieldOfView(Gf.Camera.FOVVertical)),
            "aspectRatio": camera.aspectRatio,
            "znear": camera.clippingRange.min * self._scale,
            "zfar": camera.clippingRange.max * self._scale,
        }
        return self.scene.camera(prim.GetName(), lens, self._node)

    def _number(self, prim: Any, name: str) -> float:
        """Return a number; a file can give an attribute another type than its schema."""
        attribute = prim.GetAttribute(name)
        value = read_value(self._opened, attribute)
        if not isinstance(value, (int, float)):
            facts = {"file": self._opened.name, "attribute": attribute.GetPath()}
            raise EncodeError("an attribute of a light is no number", facts)
        return float(value)

    def _emission(self, prim: Any) -> list[float]:
        """Return nits by channel, before the size of the light counts."""
        found = read_value(self._opened, prim.GetAttribute("inputs:color"))
        color = np.array(found if isinstance(found, Gf.Vec3f) else (1, 1, 1), np.float64)
        if self._number(prim, "inputs:enableColorTemperature"):
            kelvin = self._number(prim, "inputs:colorTemperature")
            color = color * np.array(UsdLux.BlackbodyTemperatureAsRgb(kelvin))
        with np.errstate(over="ignore", invalid="ignore"):
            stops = np.exp2(self._number(prim, "inputs:exposure"))
            nits = color * (self._number(prim, "inputs:intensity") * stops)
        return [float(one) for one in nits]

    def _sky(self, prim: Any) -> float:
        """Return lux for each nit of a distant light."""
        # A light that is normalised, or has no size, gives what its intensity says.
        half = math.radians(self._number(prim, "inputs:angle")) / 2
        if self._number(prim, "inputs:normalize") or half <= 0:
            return 1.0
        return math.pi * math.sin(min(half, math.pi / 2)) ** 2

    def _surface(self, prim: Any) -> float:
        """Return candela for each nit of a sphere: the disk that is seen, in square metres."""
        radius = self._number(prim, "inputs:radius") * self._world_scale(prim)
        is_point = self._number(prim, "treatAsPoint") or radius <= 0
        if self._number(prim, "inputs:normalize") or is_point:
            # Normalised by its surface, of which a fourth is seen as a disk.
            return self._scale**2 / 4
        return math.pi * float(radius * self._scale) ** 2

    def _world_scale(self, prim: Any) -> float:
        world = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(self._opened.time)
        return float(abs(world.GetDeterminant3()) ** (1 / 3))

    def _shape(self, prim: Any) -> Json:
        """Return a spot for a sphere that is shaped to a cone, else a point."""
        if not prim.HasAPI(UsdLux.ShapingAPI):
            return {"type": "point"}
        angle = self._number(prim, "inputs:shaping:cone:angle")
        if angle > 90:
            return {"type": "point"}
        softness = min(max(self._number(prim, "inputs:shaping:cone:softness"), 0.0), 1.0)
        # As UsdLux has it: light fades from here to the angle.
        return {"type": "spot", "spot": cone(angle * (1 - softness), angle)}
