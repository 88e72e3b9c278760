"""Node encoder of a source: decode it once, split it at the tile borders, pack each tile's part.

A triangle is cut by the planes between the tiles of its object, in one order whatever the tile, so
that the meshes on both sides of a plane have the same vertices there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.mesh.import_mesh import flip_v, import_mesh
from encoders.kit.mesh.mesh import Attribute
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.model import Model, open_model
from encoders.kit.warning import grouped
from encoders.untold.mesh.component import ObjectTriangles, describe_components
from encoders.untold.mesh.material import describe_losses, describe_material
from encoders.untold.mesh.object_mesh import ObjectMesh, build_object_meshes
from encoders.untold.mesh.split_tiles import TileSplitter
from encoders.untold.mesh.tangents import with_tangents
from encoders.untold.mesh.tile_mesh import TileMesh, pack_meshes
from encoders.untold.scene.grid import SHARED, tile_name

# The tiles of each object by its key, as the plan has them; None is the shared bucket.
Spans = dict[str, list[int] | None]


def encode_source(inputs: Inputs, params: Params) -> Outputs:
    """Encode the meshes of each tile, each material, and the images embedded in the source."""
    known: Any = params
    model, lost = import_model(open_model(inputs, known["source"]), known)
    objects, warnings = build_object_meshes(model, known.get("shading", "auto"))
    # The objects have all geometry now; the mesh it came from would double the memory needed.
    model = without_geometry(model)
    used = sorted(set(model.mesh.material.tolist()) - {-1})
    warnings += [*lost, *describe_all_losses(model, used, known)]
    warnings += shared_warnings(model, objects, known["shared"])
    return {
        **encode_tiles(objects, model, known),
        **encode_surfaces(model, known),
        **({WARNINGS: "\n".join(warnings).encode()} if warnings else {}),
    }


def encode_tiles(objects: Sequence[ObjectMesh], model: Model, known: Any) -> Outputs:
    """Encode the meshes that objects give to each tile."""
    spans: Spans = dict(known["objects"])
    splitter = TileSplitter(
        known["tile_size"], known["floor"], clips=known["clip"], pivot=known.get("pivot", ())
    )
    tiles: dict[str, list[TileMesh]] = {name: [] for name in known["tiles"]}
    # Counted in each tile, so that an object elsewhere changes nothing in it.
    owners: dict[str, dict[str, int]] = {name: {} for name in known["tiles"]}
    numbers = _material_numbers(model, known)
    described = _with_components(objects, spans, splitter)
    for one, parts in zip(objects, _split(described, spans, splitter, numbers, model), strict=True):
        for tile, mesh in parts:
            owner = owners[tile].setdefault(one.key, len(owners[tile]))
            tiles[tile].append(replace(mesh, owner=owner))
    return {tile: pack_meshes(meshes) for tile, meshes in tiles.items()}


def encode_surfaces(model: Model, known: Any) -> Outputs:
    """Encode the materials of a source, and the images inside of it."""
    return {
        **_materials(model, known["materials"], _material_numbers(model, known)),
        **{f"image_{index}": _image(model, index) for index in known["images"]},
    }


def _material_numbers(model: Model, known: Any) -> list[int]:
    """Return the plan's number of each of the model's materials."""
    return [known["material_keys"].index(key) for key in model.material_keys]


def _with_components(
    objects: Sequence[ObjectMesh], spans: Spans, splitter: TileSplitter
) -> list[ObjectMesh]:
    """Add the column `component`; components reach over all materials of an object."""
    keys = list(dict.fromkeys(one.key for one in objects))
    owners = {key: number for number, key in enumerate(keys)}
    parts = [
        ObjectTriangles(owners[one.key], one.vertices["position"], one.triangles) for one in objects
    ]
    flat = [spans.get(key) for key in keys]
    planes = [[] if one is None else splitter.planes(one) for one in flat]
    columns = describe_components(parts, planes, splitter.longest_side)
    return [
        replace(one, vertices={**one.vertices, "component": column})
        for one, column in zip(objects, columns, strict=True)
    ]


def _split(
    objects: Sequence[ObjectMesh],
    spans: Spans,
    splitter: TileSplitter,
    numbers: Sequence[int],
    model: Model,
) -> list[list[tuple[str, TileMesh]]]:
    """Return for each object mesh the meshes that it gives to its tiles, with the tiles' names."""
    meshes = [_tile_mesh(one, spans, splitter, numbers, model) for one in objects]
    flat = [spans[one.key] for one in objects]
    inside = [number for number, one in enumerate(flat) if one is not None]
    parts = splitter.split([meshes[n] for n in inside], [flat[n] or [] for n in inside])
    found = [[(SHARED, mesh)] for mesh in meshes]
    for number, own in zip(inside, parts, strict=True):
        found[number] = [(tile_name(tile), part) for tile, part in own]
    return found


def _tile_mesh(
    one: ObjectMesh,
    spans: Spans,
    splitter: TileSplitter,
    numbers: Sequence[int],
    model: Model,
) -> TileMesh:
    """Return the uncut mesh of an object, checked against its tiles."""
    material = model.mesh.materials[one.material] if one.material >= 0 else None
    mesh = one.tile_mesh(-1 if material is None else numbers[one.material])
    if one.key not in spans:
        facts = {"file": model.source, "object": one.name}
        raise EncodeError("an object was not expected", facts)
    flat = spans[one.key]
    if flat is None:
        return mesh
    # Uncut objects may reach out of their tile; cut ones are in the tiles of their bounds only.
    if splitter.clips:
        splitter.check_bounds(mesh, flat, model.source)
    # A normal map shows tangents, so they are computed before the cut: then both sides agree.
    if flat[0::2] != flat[1::2] and material is not None and "normal" in material.textures:
        return with_tangents(mesh)
    return mesh


def _materials(model: Model, count: int, numbers: list[int]) -> Outputs:
    """Encode each material as JSON; one that no triangle uses has no bytes."""
    # The plan promises an output for each material, so unused ones exist too.
    found = dict.fromkeys((f"material_{number}" for number in range(count)), b"")
    for number, material in zip(numbers, model.mesh.materials, strict=True):
        found[f"material_{number}"] = msgspec.json.encode(describe_material(model, material))
    return found


def import_model(model: Model, known: Any) -> tuple[Model, list[str]]:
    """Apply the options on import; also return warnings."""
    warnings: list[str] = []
    # A skin stands in its rest pose, so joints mean nothing here and need not be turned.
    mesh = replace(model.mesh, joints=None, weights=None)
    mesh = import_mesh(mesh, known, model.source, warnings.append)
    mesh = flip_v(mesh) if known.get("flip_v") else mesh
    return replace(model, mesh=mesh), warnings


def without_geometry(model: Model) -> Model:
    """Return the model with its materials, and which of them its triangles have, but no vertex."""
    none = Attribute(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32))
    mesh = replace(model.mesh, position=none, normal=None, uv=(), color=None, tangent=None)
    return replace(model, mesh=mesh)


def describe_all_losses(model: Model, used: Iterable[int], known: Any) -> list[str]:
    """Return warnings about the materials with these numbers."""
    return [
        text
        for number in used
        for text in describe_losses(
            model.mesh.materials[number],
            shows_emissive=known["shows_emissive"],
            asks_for_sides=known.get("asks_for_sides", False),
        )
    ]


def shared_warnings(
    model: Model, objects: Sequence[ObjectMesh], advice: dict[str, str]
) -> list[str]:
    """Return a warning for each object in the shared bucket."""
    names = {one.key: one.name for one in objects if one.key in advice}
    return [
        grouped(
            "budget",
            f'{model.source}: "{name}" went to the shared bucket, which has no levels and is not '
            f"streamed from a server: it {advice[key]}",
        )
        for key, name in names.items()
    ]


def _image(model: Model, index: int) -> bytes:
    assert model.inner_image is not None
    return model.inner_image(index)
