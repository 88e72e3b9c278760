"""The lights and cameras of a source that is converted to GLB, in glTF's words.

Each has a node of its own below that of its source, because formats disagree on which way a light
shines. What glTF has no word for is counted, and told to targets that take lights: the others
would be warned of a loss that is none of theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.light import LEFT_OUT, LIGHTS

Json = dict[str, object]
LARGEST = float(np.finfo(np.float32).max)
ORTHOGRAPHIC, BLIND, DAMAGED = "orthographic camera", "camera that sees nothing", "damaged light"


class LitNode(spec.Node, frozen=True, kw_only=True):
    """A node with a camera, which those that only read meshes skip."""

    camera: spec.Count


class LitAsset(spec.Asset, frozen=True, kw_only=True):
    """`asset` with what was left out."""

    extras: dict[str, dict[str, int]]


class LitDocument(spec.Document, frozen=True, kw_only=True):
    """A document with cameras."""

    cameras: tuple[Json, ...]


@dataclass
class LitScene:
    """Lights and cameras so far, as JSON, and how many of which kind were left out."""

    lights: list[Json] = field(default_factory=list)
    cameras: list[Json] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def light(self, light: Json, emission: Sequence[float], node: spec.Node) -> spec.Node | None:
        """Add a light of candela or lux by channel; return the node as its own."""
        strength = max(emission)
        if not all(abs(one) <= LARGEST for one in emission) or not _is_finite(light):
            self.left_out[DAMAGED] += 1
            return None
        # glTF's colours end at 1, those of other formats do not: the strength has the rest.
        color = [max(one / strength, 0.0) for one in emission] if strength > 0 else [1.0, 1.0, 1.0]
        self.lights.append({**light, "color": color, "intensity": max(strength, 0.0)})
        place = msgspec.Raw(msgspec.json.encode({"light": len(self.lights) - 1}))
        return msgspec.structs.replace(node, extensions={LIGHTS: place})

    def camera(self, name: str, lens: Mapping[str, float], node: spec.Node) -> spec.Node | None:
        """Add a perspective camera; return the node as its own."""
        near, far = lens["znear"], lens["zfar"]
        if not (0 < near < far <= LARGEST and 0 < lens["yfov"] < math.pi):
            self.left_out[BLIND] += 1
            return None
        if not 0 < lens["aspectRatio"] <= LARGEST:
            self.left_out[BLIND] += 1
            return None
        self.cameras.append({"type": "perspective", "name": name, "perspective": dict(lens)})
        known = {key: getattr(node, key) for key in node.__struct_fields__}
        return LitNode(**known, camera=len(self.cameras) - 1)

    def complete(self, document: spec.Document) -> spec.Document:
        """Return the document with the lights and cameras; without any it stays as it is."""
        if not (self.lights or self.cameras or self.left_out):
            return document
        known = {key: getattr(document, key) for key in document.__struct_fields__}
        if self.lights:
            text = msgspec.Raw(msgspec.json.encode({"lights": self.lights}))
            known["extensions"] = {**document.extensions, LIGHTS: text}
            known["extensions_used"] = (*document.extensions_used, LIGHTS)
        if self.left_out:
            left_out = dict(sorted(self.left_out.items()))
            known["asset"] = LitAsset(version="2.0", extras={LEFT_OUT: left_out})
        return LitDocument(**known, cameras=tuple(self.cameras))


def cone(inner: float, outer: float) -> Json:
    """Return the half angles, in degrees, of a spot light as glTF allows them."""
    widest = min(max(outer, 0.01), 90.0)
    # The inner one must be smaller.
    narrow = min(max(inner, 0.0), widest * 0.999)
    return {"innerConeAngle": math.radians(narrow), "outerConeAngle": math.radians(widest)}


def _is_finite(light: Mapping[str, object]) -> bool:
    spot: Any = light.get("spot", {})
    found: Any = light.get("range", 1.0)
    return 0 < found <= LARGEST and all(map(math.isfinite, spot.values()))
