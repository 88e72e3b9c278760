"""Node encoder that simplifies a tile: one run makes all its levels, each from the one before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.untold.mesh.level_goal import miss
from encoders.untold.mesh.simplify_tile import simplify_tile
from encoders.untold.mesh.tile_mesh import pack_tile, unpack_tile


def encode_levels(inputs: Inputs, params: Params) -> Outputs:
    """Return the tile for each level; the last one notes which of them kept more than asked for."""
    levels: Any = params["levels"]
    tile_size: Any = params["tile_size"]
    tile = unpack_tile(inputs["tile"])
    if not tile.meshes:
        return dict.fromkeys((name for name, _ in levels), b"")
    outputs, missed = {}, []
    found = simplify_tile(tile, [share for _, share in levels], tile_size)
    for (name, share), level in zip(levels, found, strict=True):
        if miss(level, share) == "shapes":
            kept = level.triangle_count / level.full_count
            missed.append(f"{name} {kept:.1%} (asked: {share:.1%})")
        is_last = name == levels[-1][0]
        outputs[name] = pack_tile(replace(level, missed=tuple(missed)) if is_last else level)
    return outputs
