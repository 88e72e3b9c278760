"""Node encoder of a tile: merge what all sources have in it to one mesh for each material.

All levels of the tile are made from its result, so this is done once for each tile. Objects whose
names begin with NM_ are never merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.untold.mesh.tangents import with_tangents
from encoders.untold.mesh.tile_mesh import (
    GROUP,
    NUMBER,
    Tile,
    TileMesh,
    join_meshes,
    pack_tile,
    unpack_meshes,
    weld_tile_mesh,
)
from encoders.untold.mesh.uv_rebase import rebase_uv
from encoders.untold.mesh.vertex import HALF_LIMIT

UNMERGED = "NM_"
# Half floats have steps of 1/64 from 32 on.
UV_WARNING = 32.0


# What meshes must have in common to become one: the material's bytes, and for an object that is
# not merged its name and number.
GroupKey = tuple[bytes, str, int]


@dataclass(frozen=True, eq=False)
class _Part:
    """A mesh of the tile and the file that it comes from."""

    mesh: TileMesh
    file: str


def encode_tile(inputs: Inputs, params: Params) -> Outputs:
    """Merge the meshes of a tile, weld their vertices and give each a tangent."""
    groups = _group_meshes(inputs, params)
    materials = sorted({material for material, _, _ in groups if material})
    numbers = {b"": -1, **{material: number for number, material in enumerate(materials)}}
    warnings: list[str] = []
    merged = []
    for material, own, owner in sorted(groups):
        mesh = _merge(groups[material, own, owner], str(params["tile"]), warnings)
        merged.append(replace(mesh, object=own, material=numbers[material], owner=owner))
    count = sum(len(mesh.triangles) for mesh in merged)
    tile = Tile(tuple(merged), tuple(msgspec.json.decode(one) for one in materials), count)
    return {
        "tile": pack_tile(tile),
        **({WARNINGS: "\n".join(warnings).encode()} if warnings else {}),
    }


def _group_meshes(inputs: Inputs, params: Params) -> dict[GroupKey, list[_Part]]:
    """Group the meshes of all sources by what they have in common."""
    files: Any = params["sources"]
    groups: dict[GroupKey, list[_Part]] = {}
    components: dict[tuple[str, int, int], int] = {}
    unmerged: dict[tuple[str, int], int] = {}
    materials = _with_shared_textures(inputs, params)
    for name in sorted(name for name in inputs if name.startswith("mesh/")):
        # A source that was cut into parts has an input for each of them.
        part = name.removeprefix("mesh/")
        source = part.split("/")[0]
        for mesh in unpack_meshes(inputs[name]):
            own, owner = "", 0
            if mesh.object.startswith(UNMERGED):
                own = mesh.object
                owner = unmerged.setdefault((part, mesh.owner), len(unmerged))
            # By content, so that equal materials of several sources are one.
            material = materials.get(f"material/{source}/{mesh.material:06}", b"")
            piece = _Part(_renumbered(mesh, part, components), files[source])
            groups.setdefault((material, own, owner), []).append(piece)
    return groups


def _with_shared_textures(inputs: Inputs, params: Params) -> dict[str, bytes]:
    """Return the materials, with one key for all textures that have the same content."""
    shared: Any = params["textures"]
    found = {}
    for name, data in inputs.items():
        if not name.startswith("material/"):
            continue
        found[name] = data
        if data and shared:
            record = msgspec.json.decode(data)
            slots = {slot: shared.get(key, key) for slot, key in record["slots"].items()}
            found[name] = msgspec.json.encode({**record, "slots": slots})
    return found


def _renumbered(mesh: TileMesh, part: str, components: dict[tuple[str, int, int], int]) -> TileMesh:
    """Give components numbers within the tile, the same in all materials of an object."""
    component = mesh.component.copy()
    for column in (NUMBER, GROUP):
        found, owner = np.unique(component[:, column], return_inverse=True)
        # By the object's number, not by its name: names are missing or repeated in many files.
        keys = [(part, mesh.owner, int(one)) for one in found.tolist()]
        numbers = [components.setdefault(key, len(components)) for key in keys]
        component[:, column] = np.array(numbers, np.float32)[owner]
    return replace(mesh, component=component)


def _merge(parts: Sequence[_Part], tile: str, warnings: list[str]) -> TileMesh:
    """Merge meshes of one material into one with tangents."""
    meshes = [part.mesh for part in parts]
    # Where some meshes bring tangents the others get theirs before they are joined: computed
    # afterwards, they would replace those of the source.
    if any(len(mesh.tangent) for mesh in meshes):
        meshes = [with_tangents(mesh) for mesh in meshes]
    mesh = rebase_uv(weld_tile_mesh(join_meshes(meshes)))
    _check_coordinates(mesh, parts, tile)
    reach = float(np.abs(mesh.uv).max(initial=0.0))
    if reach > UV_WARNING:
        warnings.append(
            grouped(
                "budget",
                f"{tile}: a texture repeats {reach:.0f} times in one piece, which half floats "
                "blur; split the surface or its coordinates",
            )
        )
    return with_tangents(mesh)


def _check_coordinates(merged: TileMesh, parts: Sequence[_Part], tile: str) -> None:
    """Refuse texture coordinates that half floats cannot hold, and name the object with them."""
    for name in ("uv", "uv1"):
        reach = float(np.abs(getattr(merged, name)).max(initial=0.0))
        if reach <= HALF_LIMIT:
            continue
        worst = max(parts, key=lambda one: np.abs(getattr(one.mesh, name)).max(initial=0.0))
        facts = {
            "file": worst.file,
            "object": worst.mesh.object or "without a name",
            "tile": tile,
            "field": "uv0" if name == "uv" else name,
            "found": f"{reach:.6g}",
            "allowed": f"-{HALF_LIMIT:.0f} to {HALF_LIMIT:.0f}, which half floats hold",
        }
        hint = "Scale the coordinates down, or cut the surface: whole repeats need not be stored."
        raise EncodeError("a texture coordinate does not fit half floats", facts, hint)
