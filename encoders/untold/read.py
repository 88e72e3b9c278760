"""The node of a source: decoded once, cut at the tiles once, given out tile by tile.

The rule: a triangle is cut by the planes between the tiles of its object, in one order whatever
the tile, so that the pieces on both sides of a plane have the same vertices there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.model import Model, open_model
from encoders.untold.geometry import Group, build_groups
from encoders.untold.grid import tile_name
from encoders.untold.part import Shape, describe_parts
from encoders.untold.piece import Piece, pack_pieces
from encoders.untold.slice import Slicer
from encoders.untold.space import with_tangents
from encoders.untold.surface import describe_losses, describe_material

SHARED = "shared"


def encode_source(inputs: Inputs, params: Params) -> Outputs:
    """Give the pieces of each tile, each material as data, and the images inside of the source."""
    known: Any = params
    model = open_model(inputs, known["source"])
    groups, warnings = build_groups(model)
    spans = dict(known["objects"])
    slicer = Slicer(known["tile_size"], known["floor"], clips=known["clip"])
    tiles: dict[str, list[Piece]] = {name: [] for name in known["tiles"]}
    # The plan's number of each of the model's materials.
    numbers = [known["material_keys"].index(key) for key in model.material_keys]
    for group in _with_parts(groups, spans, slicer):
        for tile, piece in _pieces(group, spans, slicer, numbers, model):
            tiles[tile].append(piece)
    warnings += _losses(model, shows_emissive=known["shows_emissive"])
    warnings += _unplaced(model, groups, spans)
    return {
        **{tile: pack_pieces(pieces) for tile, pieces in tiles.items()},
        **_materials(model, known["materials"], numbers),
        **{f"image_{index}": _image(model, index) for index in known["images"]},
        **({WARNINGS: "\n".join(warnings).encode()} if warnings else {}),
    }


def _with_parts(
    groups: Sequence[Group], spans: dict[str, list[int] | None], slicer: Slicer
) -> list[Group]:
    """Give the groups with the parts of their objects, each seen over all its materials."""
    keys = list(dict.fromkeys(group.key for group in groups))
    owners = {key: number for number, key in enumerate(keys)}
    shapes = [
        Shape(owners[group.key], group.vertices["position"], group.triangles) for group in groups
    ]
    flat = [spans.get(key) for key in keys]
    planes = [[] if one is None else slicer.planes(one) for one in flat]
    return [
        replace(group, vertices={**group.vertices, "part": part})
        for group, part in zip(groups, describe_parts(shapes, planes, slicer.side), strict=True)
    ]


def _pieces(
    group: Group,
    spans: dict[str, list[int] | None],
    slicer: Slicer,
    numbers: Sequence[int],
    model: Model,
) -> Iterable[tuple[str, Piece]]:
    """Give a group's pieces with the names of their tiles."""
    material = model.mesh.materials[group.material] if group.material >= 0 else None
    piece = group.piece(-1 if material is None else numbers[group.material])
    if group.key not in spans:
        facts = {"file": model.source, "object": group.name}
        raise EncodeError("an object was not expected", facts)
    flat = spans[group.key]
    if flat is None:
        return [(SHARED, piece)]
    if slicer.clips:
        slicer.check(piece, flat, model.source)
    # Where a normal map shows them, tangents are those of the whole object on both sides of a cut.
    if flat[0::2] != flat[1::2] and material is not None and "normal" in material.textures:
        piece = with_tangents(piece)
    return [(tile_name(place), part) for place, part in slicer.slices(piece, flat)]


def _materials(model: Model, count: int, numbers: list[int]) -> Outputs:
    """Give each material as JSON; one that no triangle uses is no bytes."""
    found = dict.fromkeys((f"material_{number}" for number in range(count)), b"")
    for number, material in zip(numbers, model.mesh.materials, strict=True):
        found[f"material_{number}"] = msgspec.json.encode(describe_material(model, material))
    return found


def _losses(model: Model, *, shows_emissive: bool) -> list[str]:
    used = sorted(set(model.mesh.material.tolist()) - {-1})
    return [
        text
        for number in used
        for text in describe_losses(model.mesh.materials[number], shows_emissive=shows_emissive)
    ]


def _unplaced(
    model: Model, groups: Sequence[Group], spans: dict[str, list[int] | None]
) -> list[str]:
    """Say which objects went to the shared bucket, once each."""
    names = {group.key: group.name for group in groups if spans.get(group.key) is None}
    return [
        f'{model.source}: "{name}" spans too much for tiles, or its bounds are not known; it went '
        "to the shared bucket, which the engine does not stream from a server"
        for name in names.values()
    ]


def _image(model: Model, index: int) -> bytes:
    assert model.inner_image is not None
    return model.inner_image(index)
