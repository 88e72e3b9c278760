"""The triangles of a source with all that they show: tints, back sides, UVs within textures.

They are in the order of the objects and, within an object, of its parts. The winding is reversed
here, because front faces are clockwise on the console and counter-clockwise in sources.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.back_side import REVERSED, has_back
from encoders.kit.mesh.import_option import SOURCE
from encoders.kit.mesh.mesh import Mesh
from encoders.kit.mesh.normal import normalise
from encoders.kit.mesh.texcoord import transform_uv
from encoders.kit.plan import Params
from encoders.kit.source.material import Material
from encoders.kit.source.model import Model
from encoders.kit.warning import grouped
from encoders.splashpack.intermediate import UNTEXTURED
from encoders.splashpack.scene.material import (
    SLOTS,
    describe_losses,
    exceeds_tints,
    sampler_of,
    texture_of,
    texture_request_of,
    tint_of,
)
from encoders.splashpack.scene.scene_object import DecodedObjects
from encoders.splashpack.scene.texture_request import TextureRequest
from encoders.splashpack.scene.uv_wrap import (
    Corners,
    count_repeats,
    find_outside,
    join_corners,
    snapped,
    wrap_triangles,
)

Ints = npt.NDArray[np.int64]

# More pieces of 52 bytes than the memory of the console has room for.
MAX_PIECES = 1 << 16
MATERIALS_SHOWN = 3


@dataclass(frozen=True, eq=False)
class MaterialTextures:
    """The texture of each material, as an index of `keys`; row -1 is for triangles without one."""

    keys: tuple[str, ...]
    texture: Ints


def find_textures(model: Model, missing: Collection[str]) -> MaterialTextures:
    """Find the texture of each material in use; refuse a material whose image is missing."""
    mesh = model.mesh
    # The additional last row is found by the index -1, which triangles without a material have.
    texture = np.full(len(mesh.materials) + 1, UNTEXTURED, np.int64)
    requests: dict[int, TextureRequest] = {}
    for number in np.unique(mesh.material[mesh.material >= 0]).tolist():
        request = texture_request_of(model, mesh.materials[number])
        if request is not None:
            _refuse_missing(model, mesh.materials[number], missing)
            requests[number] = request
    keys = sorted({request.key for request in requests.values()})
    for number, request in requests.items():
        texture[number] = keys.index(request.key)
    return MaterialTextures(tuple(keys), texture)


def _refuse_missing(model: Model, material: Material, missing: Collection[str]) -> None:
    for slot in SLOTS:
        if slot in material.textures and model.image_name(material, slot) in missing:
            model.image_data(material, slot)  # raises the error that names the file


def gather_corners(
    decoded: DecodedObjects, textures: MaterialTextures, params: Params, warnings: list[str]
) -> Corners:
    """Return all triangles, front and back, in the order in which they are written."""
    model, tile_limit = decoded.model, int(str(params["tile_limit"]))
    mesh = model.mesh
    materials = [*mesh.materials, Material()]
    for number in np.unique(mesh.material).tolist():
        warnings += describe_losses(materials[number])
    flat = np.arange(3 * mesh.triangle_count).reshape(-1, 3)[:, REVERSED]
    assert mesh.normal is not None
    normal = normalise(mesh.normal.at(flat.reshape(-1))).astype(np.float32)
    corners = Corners(
        uv=np.zeros((*flat.shape, 2), np.float32),
        position=mesh.position.at(flat),
        normal=normal.reshape(-1, 3, 3),
        color=_colors(mesh, materials, flat, model.source, warnings),
        source=np.arange(len(flat)),
    )
    parts = []
    pieces: dict[str, int] = {}  # of each textured material, by its name
    for number in np.unique(mesh.material).tolist():
        rows = np.flatnonzero(mesh.material == number)
        if textures.texture[number] == UNTEXTURED:
            parts.append(corners.take(rows))
            continue
        parts.append(_textured(model, corners, flat, number, tile_limit, warnings))
        name = materials[number].name
        pieces[name] = pieces.get(name, 0) + len(parts[-1].source)
        if sum(len(part.source) for part in parts) > mesh.triangle_count + MAX_PIECES:
            raise _too_many_pieces(model, pieces, mesh.triangle_count + MAX_PIECES)
    has_backs = has_back(mesh, params.get("double_sided", SOURCE))
    return _with_backs(_in_order(decoded, join_corners(parts)), has_backs)


def _colors(
    mesh: Mesh, materials: Sequence[Material], flat: Ints, source: str, warnings: list[str]
) -> npt.NDArray[np.float32]:
    """Return the tint of every corner: the material's colour times the vertex's."""
    base = np.array([material.rgba[:3] for material in materials], np.float64)
    shares = np.repeat(base[mesh.material][:, None], 3, axis=1)
    if mesh.color is not None:
        shares = shares * mesh.color.at(flat, 1)[..., :3].astype(np.float64)
    if exceeds_tints(shares, is_linear=mesh.has_linear_color):
        lost = "colours below black or brighter than twice a texture were cut off"
        warnings.append(grouped("color", f"{source}: {lost}"))
    return tint_of(shares, is_linear=mesh.has_linear_color)


def _textured(
    model: Model, corners: Corners, flat: Ints, number: int, tile_limit: int, warnings: list[str]
) -> Corners:
    """Return the triangles of a textured material, with UVs inside of its texture."""
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
    return join_corners(
        [chosen.take(np.flatnonzero(~outside)), wrap_triangles(far, sampler_of(material))]
    )


def _uv(
    model: Model, material: Material, corners: Ints, warnings: list[str]
) -> npt.NDArray[np.float32]:
    """Return the coordinates at which a material's texture is read, v downwards."""
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
        warnings.append(
            grouped("missing", f"{who} has a texture, but not all of its triangles have UVs")
        )
    # Overflows become infinite here, and are refused below.
    with np.errstate(over="ignore", invalid="ignore"):
        uv = transform_uv(texture, uv)
        uv = np.stack([uv[:, 0], 1 - uv[:, 1]], axis=1) if mesh.has_v_up else uv
    if not np.isfinite(uv).all():
        facts = {"asset": f'{model.source}, material "{material.name}"'}
        raise EncodeError("texture coordinates are too large to be numbers", facts)
    return snapped(uv)


def _refuse_many(model: Model, material: Material, far: Corners, tile_limit: int) -> None:
    sampler = sampler_of(material)
    repeats = count_repeats(far.uv)
    for axis, wrap in enumerate((sampler.wrap_u, sampler.wrap_v)):
        # A clamped axis has three parts: before, in and behind the texture.
        if wrap == "clamp":
            repeats[:, axis] = np.minimum(repeats[:, axis], 3)
    pieces = repeats[:, 0] * repeats[:, 1]
    worst = int(np.argmax(pieces))
    if pieces[worst] <= tile_limit and pieces.sum() > MAX_PIECES + len(pieces):
        found = {material.name: int(pieces.sum())}
        raise _too_many_pieces(model, found, MAX_PIECES + len(pieces))
    if pieces[worst] > tile_limit:
        raise EncodeError(
            "a triangle repeats its texture too often",
            {
                "asset": f'{model.source}, material "{material.name}"',
                "repeats": f"{repeats[worst, 0]:g} x {repeats[worst, 1]:g} in one triangle",
                "allowed": f"{tile_limit} pieces",
            },
            "Cut the surface up where it was modelled, repeat less, or raise `tile_limit`.",
        )


def _too_many_pieces(model: Model, pieces: Mapping[str, int], allowed: int) -> EncodeError:
    """Say which materials of those cut so far have the most pieces, and how many are allowed."""
    most = sorted(pieces.items(), key=lambda one: (-one[1], one[0]))[:MATERIALS_SHOWN]
    facts = {
        "asset": model.source,
        "pieces": f"{sum(pieces.values()):,}",
        "allowed": f"{allowed:,}",
        "most of them": ", ".join(f'{count:,} of material "{name}"' for name, count in most),
    }
    hint = "Repeat textures less, or put more of the pattern into the image."
    return EncodeError("triangles repeat their textures too often", facts, hint)


def _in_order(decoded: DecodedObjects, corners: Corners) -> Corners:
    """Sort triangles by object, then by part (glTF) or material (OBJ); the sort is stable."""
    mesh = decoded.model.mesh
    part = mesh.part[corners.source]
    # Of these sources only OBJ has v upwards, and it may change materials back and forth.
    run = mesh.material[corners.source] if mesh.has_v_up else part
    return corners.take(np.lexsort((run, decoded.object_of_part[part])))


def _with_backs(corners: Corners, has_backs: npt.NDArray[np.bool_]) -> Corners:
    """Add a reversed triangle behind each one whose source has a back side."""
    rows = np.flatnonzero(has_backs[corners.source])
    if not len(rows):
        return corners
    front = corners.take(rows)
    columns = [
        np.concatenate([whole, back])
        for whole, back in (
            (corners.uv, front.uv[:, REVERSED]),
            (corners.position, front.position[:, REVERSED]),
            (corners.normal, -front.normal[:, REVERSED]),
            (corners.color, front.color[:, REVERSED]),
            (corners.source, front.source),
        )
    ]
    # Stable, so that each back follows its front.
    order = np.argsort(np.concatenate([np.arange(len(corners.source)), rows]), kind="stable")
    return Corners(*columns).take(order)
