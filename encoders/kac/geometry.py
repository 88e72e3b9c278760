"""The geometry of a KAC file: positions, normals and UVs in three arrays without duplicates.

The arrays are never joined into one vertex list: the limit of 65,536 entries holds for each array,
so separate arrays hold larger models. Duplicates are values with equal bits, -0 counting as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kac.material import texture_slot
from encoders.kit.error import EncodeError
from encoders.kit.mesh.back_side import add_backs
from encoders.kit.mesh.mesh import Attribute, Mesh, compact
from encoders.kit.mesh.normal import Shading, drop_degenerate, normalise, shade_mesh
from encoders.kit.mesh.texcoord import transform_uv
from encoders.kit.option import Value
from encoders.kit.source.material import Material, Texture
from encoders.kit.warning import grouped

Array = Attribute[np.float32]


@dataclass(frozen=True, eq=False)
class KacGeometry:
    """Arrays without duplicates, and the material and the shading of each triangle."""

    position: Array
    normal: Array
    uv: Array
    material: npt.NDArray[np.intp]
    materials: tuple[Material, ...]
    is_smooth: npt.NDArray[np.bool_]
    warnings: tuple[str, ...]


def build_geometry(
    mesh: Mesh, source: str, shading: Shading, *, mirror: bool, double_sided: Value = None
) -> KacGeometry:
    """Build arrays in which every corner has a normal and a UV and every triangle a material."""
    # Degenerate triangles have no normal, and Kelpo culls by normals.
    mesh, flat_count = drop_degenerate(mesh)
    # A KAC material is flat unless a smoothing group says otherwise.
    mesh = replace(mesh, smoothing=np.maximum(mesh.smoothing, 0))
    if not mesh.triangle_count:
        facts = {"asset": source, "triangles without an area": flat_count}
        raise EncodeError("no triangle has an area", facts, "Check the scale of the model.")
    warnings = _loss_warnings(mesh, flat_count, source)
    mesh = add_backs(_with_normals(mesh, shading), double_sided)
    materials, material = _used_materials(mesh)
    uv, bare = _uv(mesh, materials, material)
    warnings += [
        grouped(
            "missing",
            f'{source}: material "{materials[number].name}" has a texture, but not all of its '
            "triangles have UVs",
        )
        for number in bare
    ]
    position, normal = mesh.position, mesh.normal
    assert normal is not None
    if mirror:
        position, normal, uv = _mirror_z(position), _mirror_z(normal), _reverse_winding(uv)
    normal = compact(normal)
    return KacGeometry(
        position=compact(position),
        normal=normal,
        uv=compact(uv),
        material=material,
        materials=materials,
        is_smooth=_is_smooth(mesh, normal, shading),
        warnings=tuple(warnings),
    )


def _loss_warnings(mesh: Mesh, flat_count: int, source: str) -> list[str]:
    warnings = []
    if flat_count:
        warnings.append(
            grouped(
                "degenerate", f"{source}: triangles without an area were left out ({flat_count})"
            )
        )
    if mesh.color is not None:
        warnings.append(
            grouped("feature", f"{source}: vertex colours were left out, as KAC has none")
        )
    return warnings


def _with_normals(mesh: Mesh, shading: Shading) -> Mesh:
    """Give every corner a unit normal: the source's with "auto" shading, else a computed one."""
    mesh = shade_mesh(mesh, shading)
    assert mesh.normal is not None
    unit = normalise(mesh.normal.values).astype(np.float32)
    return replace(mesh, normal=Attribute(unit, mesh.normal.corner))


def _is_smooth(mesh: Mesh, normal: Array, shading: Shading) -> npt.NDArray[np.bool_]:
    """Tell for each triangle whether it is shaded smoothly.

    An OBJ file says so by smoothing groups. glTF has only normals: a material is smooth if any of
    its triangles has corners with different normals. Triangles whose corners agree look the same
    either way, so they do not decide.
    """
    count = mesh.triangle_count
    if shading != "auto":
        return np.full(count, shading != "flat")
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
    """Return the used materials in source order, white for "none", and each triangle's index."""
    numbers, material = np.unique(mesh.material, return_inverse=True)
    table = [mesh.materials[number] if number >= 0 else Material() for number in numbers.tolist()]
    return tuple(table), material


def _uv(
    mesh: Mesh, materials: Sequence[Material], material: npt.NDArray[np.intp]
) -> tuple[Array, list[int]]:
    """Return the UV at which each corner's texture is sampled, (0, 0) where there is none.

    Also return the materials that have a texture and at least one corner without a UV.
    """
    # Materials that place their textures alike share one pass.
    placements = [_placement(one) for one in materials]
    numbers = {placement: number for number, placement in enumerate(dict.fromkeys(placements))}
    kind = np.array([numbers[placement] for placement in placements])[material]
    # Row 0 is (0, 0), for corners without a UV.
    values, corner = [np.zeros((1, 2), np.float32)], np.zeros_like(mesh.position.corner)
    start = 1
    for placement, number in numbers.items():
        if placement.uv_set >= len(mesh.uv):
            continue
        source = mesh.uv[placement.uv_set]
        chosen = np.flatnonzero(kind == number) if len(numbers) > 1 else slice(None)
        rows = source.corner[chosen]
        # The additional last entry is found by -1, a corner without a UV.
        is_used = np.zeros(len(source.values) + 1, np.bool_)
        is_used[rows] = True
        is_used[-1] = False
        used = np.flatnonzero(is_used)
        place = np.cumsum(is_used, dtype=rows.dtype) + (start - 1)
        place[-1] = 0
        corner[chosen] = place[rows]
        with np.errstate(over="ignore", invalid="ignore"):  # the writer refuses what overflows
            values.append(transform_uv(placement, source.values[used]))
        start += len(used)
    has_texture = np.array([texture_slot(one) is not None for one in materials])
    lacks = np.flatnonzero(np.bincount(material[np.flatnonzero(corner == 0) // 3]))
    return Attribute(np.concatenate(values), corner), lacks[has_texture[lacks]].tolist()


def _placement(material: Material) -> Texture:
    """Return a texture with only what decides about UVs: the UV set and the transform."""
    slot = texture_slot(material)
    if slot is None:
        return Texture()
    found = material.textures[slot]
    return Texture(
        uv_set=found.uv_set, scale=found.scale, rotation=found.rotation, offset=found.offset
    )


def _mirror_z(attribute: Array) -> Array:
    """Negate z, and reverse the winding so that triangles still face outwards."""
    values = attribute.values * np.array([1, 1, -1], np.float32)
    return _reverse_winding(Attribute(values, attribute.corner))


def _reverse_winding(attribute: Array) -> Array:
    """Swap the last two corners; the first one stays because Kelpo culls by its normal."""
    return Attribute(attribute.values, attribute.corner[:, [0, 2, 1]])
