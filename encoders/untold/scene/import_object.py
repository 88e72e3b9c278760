"""What the options on import do to the objects of a scene, as far as planning must know it.

Tiles are planned from declared bounds, so these are turned, moved and counted here just as the
meshes are when they are decoded. The pivot is one point for the whole scene: sources keep their
places to each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.mesh.import_option import KEEP
from encoders.kit.plan import Asset
from encoders.untold.scene.grid import Box, Point
from encoders.untold.scene.scene_source import SceneObject


def import_objects(
    objects: Sequence[SceneObject], asset: Asset
) -> tuple[list[SceneObject], Point | None]:
    """Return the objects as they are after import, and the point that becomes the origin."""
    if asset.options["up"] == "z":
        objects = [
            one if one.box is None else replace(one, box=one.box.turned_z_up()) for one in objects
        ]
    pivot = _pivot(objects, asset)
    if pivot is not None:
        objects = [
            one if one.box is None else replace(one, box=one.box.moved(pivot)) for one in objects
        ]
    shares = _kept_shares(objects, asset)
    kept = [
        replace(one, triangles=math.ceil(one.triangles * shares[one.source])) for one in objects
    ]
    return kept, pivot


def _pivot(objects: Sequence[SceneObject], asset: Asset) -> Point | None:
    wanted: Any = asset.options["pivot"]
    if wanted == KEEP:
        return None
    if isinstance(wanted, list):
        return float(wanted[0]), float(wanted[1]), float(wanted[2])
    boxes = [one.box for one in objects if one.box is not None]
    if not boxes:
        facts = {"scene": asset.id, "pivot": wanted}
        hint = "Give the pivot as [x, y, z], or export the models with `min` and `max`."
        raise EncodeError("the bounds of the scene are not known", facts, hint)
    return _middle(boxes, at_bottom=wanted == "bottom")


def _middle(boxes: Sequence[Box], *, at_bottom: bool) -> Point:
    low = [min(box.low[axis] for box in boxes) for axis in range(3)]
    high = [max(box.high[axis] for box in boxes) for axis in range(3)]
    x, y, z = (one / 2 + other / 2 for one, other in zip(low, high, strict=True))
    return x, low[1] if at_bottom else y, z


def _kept_shares(objects: Sequence[SceneObject], asset: Asset) -> dict[int, float]:
    """Return which part of its triangles each source keeps; the options count for each source."""
    most: Any = asset.options["triangles"]
    share: Any = asset.options["simplify"]
    counts: dict[int, int] = {}
    for one in objects:
        counts[one.source] = counts.get(one.source, 0) + one.triangles
    if most is not None:
        return {source: min(most / max(count, 1), 1.0) for source, count in counts.items()}
    return dict.fromkeys(counts, 1.0 if share is None else share)
