"""Triangles as KAC holds them: three arrays, each without what is unused or there twice.

The rule: positions, normals and UVs are never joined into one list of vertices, because the limit
of 65,536 holds for each array by itself. Equal means equal bits, with -0 as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kac.material import texture_slot
from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Attribute, Mesh, compact
from encoders.kit.mesh.normal import Shading, drop_degenerate, fill_normals, normalise
from encoders.kit.mesh.texcoord import transform_uv
from encoders.kit.source.material import Material, Texture

Array = Attribute[np.float32]


@dataclass(frozen=True, eq=False)
class Geometry:
    """Compact arrays, and the material and the shading of each triangle."""

    position: Array
    normal: Array
    uv: Array
    material: npt.NDArray[np.intp]
    materials: tuple[Material, ...]
    is_smooth: npt.NDArray[np.bool_]
    warnings: tuple[str, ...]


def build_geometry(mesh: Mesh, source: str, shading: Shading, *, mirror: bool) -> Geometry:
    """Give every corner a normal and a UV, every triangle a material, and prune the arrays."""
    mesh, flat_count = drop_degenerate(mesh)
    if not mesh.triangle_count:
        facts = {"asset": source, "triangles without an area": flat_count}
        raise EncodeError("no triangle has an area", facts, "Check the scale of the model.")
    warnings = []
    if flat_count:
        warnings.append(f"{source}: triangles without an area were left out ({flat_count})")
    if mesh.color is not None:
        warnings.append(f"{source}: vertex colours were left out, as KAC has none")
    mesh = _with_normals(mesh, shading)
    materials, material = _used_materials(mesh)
    uv, bare = _uv(mesh, materials, material)
    warnings += [
        f'{source}: material "{materials[number].name}" has a texture, but not all of its '
        "triangles have UVs"
        for number in bare
    ]
    position, normal = mesh.position, mesh.normal
    assert normal is not None
    if mirror:
        position, normal, uv = _mirrored(position), _mirrored(normal), _turned(uv)
    normal = compact(normal)
    return Geometry(
        position=compact(position),
        normal=normal,
        uv=compact(uv),
        material=material,
        materials=materials,
        is_smooth=_is_smooth(mesh, normal, shading),
        warnings=tuple(warnings),
    )


def _with_normals(mesh: Mesh, shading: Shading) -> Mesh:
    """Give all corners unit normals: the source's where they are wanted, else computed ones."""
    if shading != "auto":
        mesh = replace(mesh, normal=None)
    mesh = fill_normals(mesh, shading)
    assert mesh.normal is not None
    unit = normalise(mesh.normal.values).astype(np.float32)
    return replace(mesh, normal=Attribute(unit, mesh.normal.corner))


def _is_smooth(mesh: Mesh, normal: Array, shading: Shading) -> npt.NDArray[np.bool_]:
    """Tell for each triangle whether it is to be shaded smoothly.

    An OBJ file says it by its smoothing groups. glTF says it by its normals alone: a triangle
    whose corners agree looks the same either way, and must not decide for its material.
    """
    count = mesh.triangle_count
    if shading != "auto":
        return np.full(count, shading == "smooth")
    is_smooth: npt.NDArray[np.bool_] = mesh.smoothing != 0
    if mesh.has_v_up:
        return is_smooth
    varies = (normal.corner[:, 0] != normal.corner[:, 1]) | (
        normal.corner[:, 0] != normal.corner[:, 2]
    )
    has_smooth = np.bincount(mesh.material + 1, varies & is_smooth, len(mesh.materials) + 1) > 0
    result: npt.NDArray[np.bool_] = is_smooth & has_smooth[mesh.material + 1]
    return result


def _used_materials(mesh: Mesh) -> tuple[tuple[Material, ...], npt.NDArray[np.intp]]:
    """Keep the materials in use, in the order of the source; triangles without one get white."""
    numbers, material = np.unique(mesh.material, return_inverse=True)
    table = [mesh.materials[number] if number >= 0 else Material() for number in numbers.tolist()]
    return tuple(table), material


def _uv(
    mesh: Mesh, materials: Sequence[Material], material: npt.NDArray[np.intp]
) -> tuple[Array, list[int]]:
    """Give each corner the UV that its material reads its texture at, (0, 0) where there is none.

    Also lists the materials that have a texture and lack UVs.
    """
    placements = [_placement(one) for one in materials]
    numbers = {placement: number for number, placement in enumerate(dict.fromkeys(placements))}
    kind = np.array([numbers[placement] for placement in placements])[material]
    values, corner = [np.zeros((1, 2), np.float32)], np.zeros_like(mesh.position.corner)
    start = 1
    for placement, number in numbers.items():
        if placement.uv_set >= len(mesh.uv):
            continue
        source = mesh.uv[placement.uv_set]
        chosen = np.flatnonzero(kind == number)
        rows = source.corner[chosen]
        has_uv = rows >= 0
        used, place = np.unique(rows[has_uv], return_inverse=True)
        rows[has_uv], rows[~has_uv] = place + start, 0
        corner[chosen] = rows
        with np.errstate(over="ignore", invalid="ignore"):  # the writer refuses what overflows
            values.append(transform_uv(placement, source.values[used]))
        start += len(used)
    has_texture = np.array([texture_slot(one) is not None for one in materials])
    lacks = np.unique(material[(corner == 0).any(axis=1)])
    return Attribute(np.concatenate(values), corner), lacks[has_texture[lacks]].tolist()


def _placement(material: Material) -> Texture:
    """Give what decides about a material's UVs: its texture's set and transform, no more."""
    slot = texture_slot(material)
    if slot is None:
        return Texture()
    found = material.textures[slot]
    return Texture(
        uv_set=found.uv_set, scale=found.scale, rotation=found.rotation, offset=found.offset
    )


def _mirrored(attribute: Array) -> Array:
    """Turn z around."""
    values = attribute.values * np.array([1, 1, -1], np.float32)
    return _turned(Attribute(values, attribute.corner))


def _turned(attribute: Array) -> Array:
    """Swap the last two corners of each triangle; Kelpo culls by the first corner's normal."""
    return Attribute(attribute.values, attribute.corner[:, [0, 2, 1]])
