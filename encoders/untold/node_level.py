"""The node of a level: a tile with all its triangles, or with fewer, as a file.

The rule: a level is made from the tile as it was put together, and looks at the level before, which
hands on its triangles, so as not to have more.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from encoders.kit.mesh.vertex_cache import order_mesh
from encoders.kit.mesh.weld import weld_vertices
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.untold.format import NONE, SLOTS, VERTEX_SIZE
from encoders.untold.simplify_tile import reduce_cut
from encoders.untold.tile_mesh import Cut, Piece, pack_cut, unpack_cut
from encoders.untold.untold_file import Content, Entity, Floats, Material, Mesh, Texture, union
from encoders.untold.vertex import pack_vertices
from encoders.untold.writer import pack_untold

HASH_DIGITS = 16
# Where a cell has more the engine gives up batching it.
VERTEX_LIMIT = 160_000
# A level is as asked for up to so many times its triangles, and as many more as a box has.
MISSED, SPARE_TRIANGLES = 1.1, 12
# What is said of a texture or a material beside what a record holds.
OPAQUE = "is_opaque"
NOT_STORED = ("slots", "name", "is_alpha_in_image")


def encode_level(inputs: Inputs, params: Params) -> Outputs:
    """Write one level of a tile, and say what the manifest has to know of it."""
    known: Any = params
    cut = unpack_cut(inputs["cut"])
    handed = {"cut": b""} if known["hands_on"] else {}
    if not cut.pieces:
        return {"facts": msgspec.json.encode({"bytes": 0}), **handed}
    name = known["file"]
    if known["share"] < 1.0 or "before" in inputs:
        cut = _reduced(cut, unpack_cut(inputs.get("before", b"")), known)
    content = _content(cut, _textures(inputs), known)
    data = pack_untold(content, f"{name}.untold", compress=known["compression"] == "lz4")
    digest = hashlib.sha256(data).hexdigest()[:HASH_DIGITS] if known["hashed"] else ""
    bounds = content.world_bounds.tolist()
    facts = {
        "file": f"{name}_{digest}.untold" if digest else f"{name}.untold",
        "bytes": len(data),
        "bounds": {"min": bounds[0], "max": bounds[1]},
        "vertices": content.vertex_count,
        "triangles": content.triangle_count,
    }
    outputs = {f"file/{digest}" if digest else "file": data, "facts": msgspec.json.encode(facts)}
    if known["hands_on"]:
        outputs["cut"] = pack_cut(cut)
    if warnings := _warnings(cut, content, known):
        outputs[WARNINGS] = "\n".join(warnings).encode()
    return outputs


def _reduced(cut: Cut, before: Cut, known: Any) -> Cut:
    """Take triangles away, and note what is kept where that is more than was asked for."""
    missed = before.missed
    cut = reduce_cut(cut, before, known["share"], known["tile_size"])
    if cut.triangle_count > MISSED * cut.whole * known["share"] + SPARE_TRIANGLES:
        level = known["file"].removeprefix(known["name"] + "_")
        kept = f"{level} {cut.triangle_count / cut.whole:.1%} (asked: {known['share']:.1%})"
        missed = (*missed, kept)
    return replace(cut, missed=missed)


def _textures(inputs: Inputs) -> dict[str, dict[str, Any]]:
    """Give what is known of each texture, by its key."""
    return {
        key.removeprefix("texture/"): msgspec.json.decode(data)
        for key, data in inputs.items()
        if key.startswith("texture/")
    }


def _warnings(cut: Cut, content: Content, known: Any) -> list[str]:
    """Say where a level is too large and, in the last of a tile, which shares were missed."""
    found = []
    if content.vertex_count > VERTEX_LIMIT:
        found.append(
            f"{known['file']}: {content.vertex_count:,} vertices; the engine batches at most "
            f"{VERTEX_LIMIT:,} in a tile: make tiles smaller"
        )
    if cut.missed and not known["hands_on"]:
        found.append(
            f"{known['name']}: of {cut.whole:,} triangles {', '.join(cut.missed)} are kept: the "
            "rest is borders, open edges and shapes that fewer would change too much"
        )
    return found


def _content(cut: Cut, textures: dict[str, dict[str, Any]], known: Any) -> Content:
    """Put a file together: one entity for all merged meshes, one for each object of its own."""
    pieces = sorted(cut.pieces, key=lambda piece: piece.object)
    owners = list(dict.fromkeys(piece.object for piece in pieces))
    used = sorted({piece.material for piece in pieces} - {-1})
    table = _Table(textures)
    materials = [_material(cut.materials[number], table) for number in used]
    places = {-1: NONE, **{number: place for place, number in enumerate(used)}}
    labels = [materials[places[one.material]].name if one.material >= 0 else "" for one in pieces]
    meshes = [
        _mesh(piece, owners.index(piece.object), places[piece.material], known["name"], label or "")
        for piece, label in zip(pieces, labels, strict=True)
    ]
    entities = [_entity(number, own or known["name"], meshes) for number, own in enumerate(owners)]
    return Content(
        known["file_type"],
        tuple(entities),
        tuple(meshes),
        tuple(materials),
        tuple(table.textures),
        known["format_version"],
    )


class _Table:
    """The textures of a file, each once, in the order in which materials name them."""

    def __init__(self, facts: dict[str, dict[str, Any]]) -> None:
        self.facts = facts
        self.textures: list[Texture] = []

    def index(self, key: str) -> int:
        """Return the number of a texture; those of one file are one, with the flags of all."""
        texture = Texture(**{name: one for name, one in self.facts[key].items() if name != OPAQUE})
        for number, other in enumerate(self.textures):
            if other.uri == texture.uri:
                self.textures[number] = replace(other, flags=other.flags | texture.flags)
                return number
        self.textures.append(texture)
        return len(self.textures) - 1


def _material(record: dict[str, Any], table: _Table) -> Material:
    slots = record["slots"]
    indices = tuple(table.index(slots[slot]) if slot in slots else NONE for slot in SLOTS)
    values = {key: value for key, value in record.items() if key not in NOT_STORED}
    # An MTL file does not say whether its image has holes; the image does.
    base = slots.get("base_color")
    if record["is_alpha_in_image"] and base is not None and table.facts[base][OPAQUE]:
        values["alpha_mode"] = 0
    for key in ("base_color_factor", "emissive_factor"):
        values[key] = tuple(values[key])
    return Material(name=record["name"] or None, textures=indices, **values)


def _mesh(piece: Piece, entity: int, material: int, name: str, label: str) -> Mesh:
    """Order a mesh for the vertex cache and pack it; vertices equal as stored become one."""
    packed = np.frombuffer(pack_vertices(piece, name), np.uint8).reshape(-1, VERTEX_SIZE)
    weld = weld_vertices([packed])
    used, triangles = order_mesh(weld.number[piece.triangles], len(weld.first))
    vertices = packed[weld.first[used]]
    position = piece.position[weld.first[used]]
    bounds: Floats = np.stack([position.min(axis=0), position.max(axis=0)])
    title = "_".join(one for one in (piece.object or name, label) if one)
    indices = triangles.reshape(-1).astype(np.uint32)
    return Mesh(title, entity, material, vertices.tobytes(), indices, bounds)


def _entity(number: int, name: str, meshes: list[Mesh]) -> Entity:
    own = [index for index, mesh in enumerate(meshes) if mesh.entity_id == number]
    bounds = union([meshes[index].bounds for index in own])
    return Entity(number, name, own[0], len(own), bounds, bounds)
