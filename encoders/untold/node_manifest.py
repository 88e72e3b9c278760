"""Node encoder of the scene's manifest: every tile with its levels, bounds and distances.

The engine rejects a manifest that lacks a required key, so all of them are always written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.untold.scene.grid import SHARED
from encoders.untold.scene.streaming_distance import (
    PRIORITY,
    Radii,
    half_diagonal,
    hlod_distance,
    lod_distances,
    shared_radii,
    tile_radii,
)

# 3 is a uniform grid; 4 would be a tree of tiles.
VERSION = 3
HASH_DIGITS = 16
# Fewer tiles than this part of all do not make a view of the scene slower by having some triangles
# too many, so they are no reason for a warning.
HELD_PART = 0.25
UNREAD_ZSTD = (
    'engines released so far refuse files with `compression = "zstd"`; all since 0.12.1 read "lz4"'
)

# What a level says about its file; see `node_level`.
Facts = dict[str, Any]


def encode_manifest(inputs: Inputs, params: Params) -> Outputs:
    """Encode the manifest of a scene; tiles without triangles are left out."""
    known: Any = params
    facts: dict[str, Facts] = {name: msgspec.json.decode(data) for name, data in inputs.items()}
    # NaN is not JSON, and the engine would reject the file.
    data = json.dumps(_document(facts, known), indent=1, allow_nan=False).encode() + b"\n"
    # Under both names: the plain one for local files, the hashed one for servers.
    outputs: Outputs = {"manifest": data}
    if known["hashed"]:
        outputs[f"hashed/{hashlib.sha256(data).hexdigest()[:HASH_DIGITS]}"] = data
    if warnings := _warnings(facts, known):
        outputs[WARNINGS] = "\n".join(warnings).encode()
    if known["shares"]:
        outputs[REPORT] = _kept_line(facts, known).encode()
    return outputs


def _kept_line(facts: dict[str, Facts], known: Any) -> str:
    """Say which share of the scene's triangles each level keeps, and what was asked for."""
    full = sum(facts[tile].get("triangles", 0) for tile in known["tiles"])
    kept = [
        sum(facts[tile + suffix].get("triangles", 0) for tile in known["tiles"]) / max(full, 1)
        for suffix in _level_suffixes(known)
    ]
    found, asked = (list_shares(shares) for shares in (kept, known["shares"]))
    word = "level keeps" if len(kept) == 1 else "levels keep"
    return f"{word} {found} of {full:,} triangles; asked for {asked}"


def list_shares(shares: Sequence[float]) -> str:
    """Write shares as percentages in a sentence: 50 %, 20 % and 10 %."""
    words = [f"{100 * one:.{0 if one >= 0.01 else 1}f} %" for one in shares]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _level_suffixes(known: Any) -> list[str]:
    """Return what the names of levels have behind those of their tiles, in the order of shares."""
    lods = [f"_lod{number}" for number in range(1, known["lods"] + 1)]
    return [*lods, "_hlod"] if known["hlod"] else lods


def _warnings(facts: dict[str, Facts], known: Any) -> list[str]:
    """Return what concerns the scene as a whole."""
    found = []
    if known["compression"] == "zstd":
        found.append(grouped("feature", UNREAD_ZSTD))
    levels = _level_suffixes(known)
    held = [
        tile
        for tile in known["tiles"]
        if any(facts.get(tile + level, {}).get("is_held_by_borders") for level in levels)
    ]
    if held and len(held) >= HELD_PART * len(known["tiles"]):
        found.append(
            grouped(
                "budget",
                f"levels of {len(held)} of {len(known['tiles'])} tiles keep more triangles than "
                "asked for, because those at the borders of tiles stay: make tiles larger",
            )
        )
    return found


def _document(facts: dict[str, Facts], known: Any) -> dict[str, Any]:
    # Bounds of objects reach into tiles that their triangles do not; those have no file.
    tiles = {name: place for name, place in known["tiles"].items() if facts[name]["bytes"]}
    shared = facts[SHARED] if facts.get(SHARED, {}).get("bytes") else None
    whole = [facts[name] for name in tiles] + ([shared] if shared else [])
    if not whole:
        raise EncodeError("the scene has no triangles", {"scene": known["scene"]})
    low, high = _union([one["bounds"] for one in whole])
    half = half_diagonal(high[0] - low[0], high[2] - low[2])
    side = max(known["tile_size"][0], known["tile_size"][2])
    radii = tile_radii(side, half, known["lods"], has_hlod=known["hlod"])
    # Names, axes, size mode and scene bounds are not read by the engine; its exporter writes them.
    return {
        "version": VERSION,
        "partitioning_mode": "uniform_grid",
        "source_scene_name": known["scene"],
        "payload_dir_relative_to_manifest": known["scene"],
        "axis_convention": {"up": "+Y", "forward": "+Z", "tile_plane": "XZ"},
        "tile_size": dict(zip("xyz", known["tile_size"], strict=True)),
        "tile_size_mode": known["tile_size_mode"],
        "scene_bounds": {"min": low, "max": high},
        "streaming_defaults": {**_radii(radii), "priority": PRIORITY},
        "shared_bucket": _shared(known["scene"], shared, half) if shared else None,
        "tiles": [_tile(name, place, facts, radii, known) for name, place in sorted(tiles.items())],
    }


def _union(boxes: Sequence[dict[str, list[float]]]) -> tuple[list[float], list[float]]:
    low = [min(axis) for axis in zip(*(box["min"] for box in boxes), strict=True)]
    high = [max(axis) for axis in zip(*(box["max"] for box in boxes), strict=True)]
    return low, high


def _radii(radii: Radii) -> dict[str, float]:
    return {
        "streaming_radius": round(radii.streaming, 3),
        "unload_radius": round(radii.unload, 3),
    }


def _entry(scene: str, name: str, fact: Facts) -> dict[str, Any]:
    """Return the keys that tiles and the shared bucket have in common."""
    low, high = fact["bounds"]["min"], fact["bounds"]["max"]
    return {
        "tile_id": name,
        "path_relative_to_manifest": f"{scene}/{fact['file']}",
        "file_size_bytes": fact["bytes"],
        "bounds": {"min": low, "max": high},
        "center": [(one + other) / 2 for one, other in zip(low, high, strict=True)],
    }


def _shared(scene: str, fact: Facts, half: float) -> dict[str, Any]:
    entry = _entry(scene, f"{scene}_shared", fact)
    return {**entry, **_radii(shared_radii(half)), "priority": PRIORITY}


def _tile(
    name: str, place: list[int], facts: dict[str, Facts], radii: Radii, known: Any
) -> dict[str, Any]:
    fact, scene = facts[name], known["scene"]
    hlod = hlod_distance(radii, known["lods"]) if known["hlod"] else None
    lods = lod_distances(radii, known["lods"], hlod)
    levels = [(f"{name}_lod{number}", distance) for number, distance in enumerate(lods, 1)]
    hlods = [] if hlod is None else [(f"{name}_hlod", hlod)]
    return {
        **_entry(scene, name, fact),
        "grid_coord": dict(zip("xyz", place, strict=True)),
        "hlod_levels": [_level(scene, facts[one], distance) for one, distance in hlods],
        "lod_levels": [_level(scene, facts[one], distance) for one, distance in levels],
    }


def _level(scene: str, fact: Facts, distance: float) -> dict[str, Any]:
    return {"path": f"{scene}/{fact['file']}", "switch_distance": distance}
