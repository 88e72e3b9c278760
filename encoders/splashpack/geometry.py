"""Triangles corner by corner, as they look: with tints, second sides, and UVs in their textures.

The order is that of the objects and, within one, of its parts. The winding is turned over here,
because the console shows what is clockwise and sources what is counter-clockwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Mesh
from encoders.kit.mesh.normal import fill_normals, normalise
from encoders.kit.mesh.texcoord import transform_uv
from encoders.kit.source.material import Material
from encoders.kit.source.model import Model
from encoders.splashpack.intermediate import UNTEXTURED
from encoders.splashpack.material import (
    SLOTS,
    are_cut_off,
    describe_losses,
    reading_of,
    sampler_of,
    texture_of,
    tint_of,
)
from encoders.splashpack.scene_object import Bodies
from encoders.splashpack.texture_request import Reading
from encoders.splashpack.uv_wrap import Corners, count_tiles, find_outside, fold, join, snapped

BACK = [0, 2, 1]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Surfaces:
    """The textures that materials come to; row -1 stands for triangles without a material."""

    keys: tuple[str, ...]
    texture: Ints


def find_surfaces(model: Model, missing: Collection[str]) -> Surfaces:
    """Find the texture of each material in use, or say which image is missing."""
    mesh = model.mesh
    texture = np.full(len(mesh.materials) + 1, UNTEXTURED, np.int64)
    readings: dict[int, Reading] = {}
    for number in np.unique(mesh.material[mesh.material >= 0]).tolist():
        reading = reading_of(model, mesh.materials[number])
        if reading is not None:
            _refuse_missing(model, mesh.materials[number], missing)
            readings[number] = reading
    keys = sorted({reading.key for reading in readings.values()})
    for number, reading in readings.items():
        texture[number] = keys.index(reading.key)
    return Surfaces(tuple(keys), texture)


def _refuse_missing(model: Model, material: Material, missing: Collection[str]) -> None:
    for slot in SLOTS:
        if slot in material.textures and model.image_name(material, slot) in missing:
            model.image_data(material, slot)


def gather_corners(
    bodies: Bodies, surfaces: Surfaces, tile_limit: int, warnings: list[str]
) -> Corners:
    """Give all triangles, front and back, in the order in which they are written."""
    model = bodies.model
    mesh = fill_normals(model.mesh)
    materials = [*mesh.materials, Material()]
    for number in np.unique(mesh.material).tolist():
        warnings += describe_losses(materials[number])
    flat = np.arange(3 * mesh.triangle_count).reshape(-1, 3)[:, BACK]
    assert mesh.normal is not None
    normal = normalise(mesh.normal.at(flat.reshape(-1))).astype(np.float32)
    corners = Corners(
        uv=np.zeros((*flat.shape, 2), np.float32),
        position=mesh.position.at(flat),
        normal=normal.reshape(-1, 3, 3),
        color=_colors(mesh, materials, flat, model.source, warnings),
        source=np.arange(len(flat)),
    )
    parts = [
        _textured(model, corners, flat, number, tile_limit, warnings)
        if surfaces.texture[number] != UNTEXTURED
        else corners.take(np.flatnonzero(mesh.material == number))
        for number in np.unique(mesh.material).tolist()
    ]
    return _with_backs(_in_order(bodies, join(parts)), mesh, materials)


def _colors(
    mesh: Mesh, materials: Sequence[Material], flat: Ints, source: str, warnings: list[str]
) -> npt.NDArray[np.float32]:
    """Give every corner its tint: the material's colour times the vertex's."""
    base = np.array([material.rgba[:3] for material in materials], np.float64)
    shares = np.repeat(base[mesh.material][:, None], 3, axis=1)
    if mesh.color is not None:
        shares = shares * mesh.color.at(flat, 1)[..., :3].astype(np.float64)
    if are_cut_off(shares, is_linear=mesh.has_linear_color):
        lost = "colours below black or brighter than twice a texture were cut off"
        warnings.append(f"{source}: {lost}")
    return tint_of(shares, is_linear=mesh.has_linear_color)


def _textured(
    model: Model, corners: Corners, flat: Ints, number: int, tile_limit: int, warnings: list[str]
) -> Corners:
    """Give the triangles of a textured material with UVs inside of its texture."""
    mesh, material = model.mesh, model.mesh.materials[number]
    rows = np.flatnonzero(mesh.material == number)
    uv = _uv(model, material, flat[rows].reshape(-1), warnings).reshape(-1, 3, 2)
    chosen = corners.take(rows)
    chosen = Corners(uv, chosen.position, chosen.normal, chosen.color, chosen.source)
    outside = find_outside(uv)
    if not outside.any():
        return chosen
    far = chosen.take(np.flatnonzero(outside))
    _refuse_many(model, material, far, tile_limit)
    return join([chosen.take(np.flatnonzero(~outside)), fold(far, sampler_of(material))])


def _uv(
    model: Model, material: Material, corners: Ints, warnings: list[str]
) -> npt.NDArray[np.float32]:
    """Read the coordinates of a material's texture, v downwards."""
    mesh, texture = model.mesh, texture_of(material)
    uv = np.zeros((len(corners), 2), np.float32)
    if texture.uv_set < len(mesh.uv):
        found = mesh.uv[texture.uv_set]
        has_uv = bool((found.corner.reshape(-1)[corners] >= 0).all())
        uv = found.at(corners)
    else:
        has_uv = False
    if not has_uv:
        who = f'{model.source}: material "{material.name}"'
        warnings.append(f"{who} has a texture, but not all of its triangles have UVs")
    with np.errstate(over="ignore", invalid="ignore"):
        uv = transform_uv(texture, uv)
        uv = np.stack([uv[:, 0], 1 - uv[:, 1]], axis=1) if mesh.has_v_up else uv
    if not np.isfinite(uv).all():
        facts = {"asset": f'{model.source}, material "{material.name}"'}
        raise EncodeError("texture coordinates are too large to be numbers", facts)
    return snapped(uv)


def _refuse_many(model: Model, material: Material, far: Corners, tile_limit: int) -> None:
    sampler = sampler_of(material)
    tiles = count_tiles(far.uv)
    for axis, wrap in enumerate((sampler.wrap_u, sampler.wrap_v)):
        if wrap == "clamp":
            tiles[:, axis] = np.minimum(tiles[:, axis], 3)
    worst = int(np.argmax(tiles[:, 0] * tiles[:, 1]))
    if tiles[worst, 0] * tiles[worst, 1] > tile_limit:
        raise EncodeError(
            "a triangle repeats its texture too often",
            {
                "asset": f'{model.source}, material "{material.name}"',
                "repeats": f"{tiles[worst, 0]:g} x {tiles[worst, 1]:g} in one triangle",
                "allowed": f"{tile_limit} pieces",
            },
            "Cut the surface up where it was modelled, repeat less, or raise `tile_limit`.",
        )


def _in_order(bodies: Bodies, corners: Corners) -> Corners:
    """Sort triangles by object, then by part (glTF) or material (OBJ), keeping their order."""
    mesh = bodies.model.mesh
    part = mesh.part[corners.source]
    run = mesh.material[corners.source] if mesh.has_v_up else part
    return corners.take(np.lexsort((run, bodies.number[part])))


def _with_backs(corners: Corners, mesh: Mesh, materials: Sequence[Material]) -> Corners:
    """Add a second triangle, turned over, behind each that is seen from both sides."""
    is_double = np.array([material.double_sided for material in materials])
    rows = np.flatnonzero(is_double[mesh.material[corners.source]])
    if not len(rows):
        return corners
    front = corners.take(rows)
    columns = [
        np.concatenate([whole, back])
        for whole, back in (
            (corners.uv, front.uv[:, BACK]),
            (corners.position, front.position[:, BACK]),
            (corners.normal, -front.normal[:, BACK]),
            (corners.color, front.color[:, BACK]),
            (corners.source, front.source),
        )
    ]
    order = np.argsort(np.concatenate([np.arange(len(corners.source)), rows]), kind="stable")
    return Corners(*columns).take(order)
