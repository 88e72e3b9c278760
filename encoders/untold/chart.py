"""The chart of a scene: its tiles from above, with the triangles of every level."""

from __future__ import annotations

from typing import Any

import msgspec

from encoders.kit.chart import Chart, MapTile, TileLevel, tile_chart
from encoders.kit.plan import Inputs, Params


def chart_manifest(inputs: Inputs, params: Params, outputs: Inputs) -> Chart:
    """Return the map of tiles on the ground (x and z); tiles without a file are left out."""
    del outputs
    facts: dict[str, Any] = {name: msgspec.json.decode(data) for name, data in inputs.items()}
    known: Any = params
    tiles = [_tile(name, facts, known) for name in known["tiles"] if facts[name]["bytes"]]
    return tile_chart(f"Tiles of {known['scene']}", tiles)


def _tile(name: str, facts: dict[str, Any], known: Any) -> MapTile:
    low, high = facts[name]["bounds"]["min"], facts[name]["bounds"]["max"]
    names = {"": "full", **{f"_lod{n}": f"LOD {n}" for n in range(1, known["lods"] + 1)}}
    names["_hlod"] = "HLOD"
    levels = tuple(
        TileLevel(label, facts[name + suffix]["triangles"], facts[name + suffix]["bytes"])
        for suffix, label in names.items()
        if facts.get(name + suffix, {}).get("bytes")
    )
    return MapTile(name, (low[0], low[2]), (high[0], high[2]), levels)
