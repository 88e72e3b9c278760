"""The meshes of a source's objects: indexed triangles of one object and one material each.

They follow the engine's conventions: v points upwards, texture transforms are baked into the
coordinates, and every vertex has a normal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Attribute, Floats, Mesh, Part, first_use, select, weld
from encoders.kit.mesh.normal import Shading, drop_degenerate, shade_mesh
from encoders.kit.mesh.texcoord import place_uv
from encoders.kit.source.material import Material, Texture
from encoders.kit.source.model import Model
from encoders.kit.warning import grouped
from encoders.untold.mesh.material import uv_texture
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh

Triangles = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ObjectMesh:
    """The triangles of one object that have one material; -1 is none.

    `vertices` are the columns of a TileMesh; `component` is missing until it is added. `joints`
    and `weights` have no rows where the model has no skins.
    """

    key: str
    name: str
    material: int
    vertices: dict[str, Floats]
    triangles: Triangles
    joints: npt.NDArray[np.uint16]
    weights: Floats

    def tile_mesh(self, material: int) -> TileMesh:
        """Return the whole, uncut mesh with a material number of the plan."""
        border = np.zeros(len(self.vertices["position"]), np.bool_)
        return TileMesh(
            self.name,
            material,
            **self.vertices,
            is_border=border,
            triangles=self.triangles,
            owner=0,
        )


def build_object_meshes(
    model: Model, shading: Shading = "auto"
) -> tuple[list[ObjectMesh], list[str]]:
    """Split a model by object and material, in the source's order; also return warnings."""
    mesh, flat = drop_degenerate(model.mesh)
    if not mesh.triangle_count:
        facts = {"asset": model.source, "triangles without an area": flat}
        raise EncodeError("no triangle has an area", facts, "Check the scale of the model.")
    warnings = [*model.warnings]
    if flat:
        warnings.append(
            grouped(
                "degenerate", f"{model.source}: triangles without an area were left out ({flat})"
            )
        )
    # After degenerate triangles are gone: they have no direction to contribute.
    mesh = shade_mesh(mesh, shading)
    keys = [_key(part) for part in mesh.parts]
    objects = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    owner = np.array([objects[key] for key in keys], np.int64)[mesh.part]
    first, group = first_use([owner, mesh.material])
    parts = mesh.part[first].tolist()
    # Sorted by group, so that every group is a slice of the welded mesh.
    order = np.argsort(group, kind="stable")
    mesh = replace(select(mesh, order), part=group[order].astype(np.int32))
    return _split(mesh, [mesh.parts[part] for part in parts]), warnings


def _key(part: Part) -> str:
    """Return the key by which the plan knows an object; see `scene_source`."""
    return str(part.node) if part.node >= 0 else f"{part.object}\n{part.group}"


def _name(part: Part) -> str:
    if part.node >= 0:
        return part.object or part.group
    return "_".join(one for one in (part.object, part.group) if one)


def _split(mesh: Mesh, parts: list[Part]) -> list[ObjectMesh]:
    """Split a mesh whose triangles are sorted by group; `parts` names each group's object."""
    # Vertices are not shared between groups, so each slice has all of its own.
    welded = weld(mesh, across_parts=False)
    triangle = welded.corners // 3
    columns = _columns(mesh, welded.corners, mesh.material[triangle])
    joints, weights = _influences(mesh, welded.corners)
    numbers = np.arange(len(parts) + 1)
    vertex_ends = np.searchsorted(mesh.part[triangle], numbers)
    triangle_ends = np.searchsorted(mesh.part, numbers)
    meshes = []
    for number, ((start, end), (low, high)) in enumerate(
        zip(pairwise(vertex_ends.tolist()), pairwise(triangle_ends.tolist()), strict=True)
    ):
        vertices = {
            name: _given(column[start:end], name, has[start:end])
            for name, (column, has) in columns.items()
        }
        corners = welded.indices[low:high] - np.int32(start)
        material = int(mesh.material[low])
        part = parts[number]
        held = (joints[start:end], weights[start:end])
        meshes.append(ObjectMesh(_key(part), _name(part), material, vertices, corners, *held))
    return meshes


def _influences(mesh: Mesh, corners: Numbers) -> tuple[npt.NDArray[np.uint16], Floats]:
    """Return joints and weights of the vertices that `corners` name; no rows without skins."""
    if mesh.joints is None or mesh.weights is None:
        return np.zeros((0, 4), np.uint16), np.zeros((0, 4), np.float32)
    return mesh.joints.at(corners), mesh.weights.at(corners)


# The values of an attribute, and for which vertices the source gives them.
Column = tuple[Floats, npt.NDArray[np.bool_]]


def _given(column: Floats, name: str, has: npt.NDArray[np.bool_]) -> Floats:
    """Return a column, or none of its rows if the source does not give it.

    Tangents count only if all vertices have one: part of them would not fit computed ones.
    """
    is_given = bool(has.all()) if name == "tangent" else bool(has.any())
    return column if is_given else np.zeros((0, ATTRIBUTE_WIDTHS[name]), np.float32)


def _columns(mesh: Mesh, corners: Numbers, material: npt.NDArray[np.int32]) -> dict[str, Column]:
    """Return all attributes of the vertices that `corners` name."""
    uv, is_plain = _uv(mesh, corners, material)
    has_tangent = _has(mesh.tangent, corners) & is_plain
    everywhere = np.ones(len(corners), np.bool_)
    return {
        "position": (mesh.position.at(corners), everywhere),
        "normal": (_values(mesh.normal, corners, "normal"), everywhere),
        "uv": (uv, everywhere),
        "uv1": (_second_uv(mesh, corners), _has_second(mesh, corners)),
        "color": (_values(mesh.color, corners, "color", 1.0), _has(mesh.color, corners)),
        "tangent": (_values(mesh.tangent, corners, "tangent"), has_tangent),
    }


def _values(
    attribute: Attribute[np.float32] | None, corners: Numbers, name: str, default: float = 0.0
) -> Floats:
    if attribute is None:
        return np.full((len(corners), ATTRIBUTE_WIDTHS[name]), default, np.float32)
    return attribute.at(corners, default)


def _has(attribute: Attribute[np.float32] | None, corners: Numbers) -> npt.NDArray[np.bool_]:
    if attribute is None:
        return np.zeros(len(corners), np.bool_)
    found: npt.NDArray[np.bool_] = attribute.corner.reshape(-1)[corners] >= 0
    return found


def _uv(
    mesh: Mesh, corners: Numbers, material: npt.NDArray[np.int32]
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return uv0, and for which vertices the source's tangents still fit it."""
    found = np.zeros((len(corners), 2), np.float32)
    is_plain = np.zeros(len(corners), np.bool_)
    for number in np.unique(material).tolist():
        material_of_rows = mesh.materials[number] if number >= 0 else Material()
        texture = uv_texture(material_of_rows)
        # A material may ask for a set that the mesh does not have; its UVs are zero.
        if texture.uv_set >= len(mesh.uv):
            continue
        rows = np.flatnonzero(material == number)
        uv = mesh.uv[texture.uv_set]
        has = _has(uv, corners[rows])
        moved = _upwards(place_uv(material_of_rows, texture, uv.at(corners[rows])), mesh)
        found[rows] = np.where(has[:, None], moved, np.float32(0))
        is_plain[rows] = texture.uv_set == 0 and _keeps_tangents(texture)
    return found, is_plain


def _keeps_tangents(texture: Texture) -> bool:
    """Tell whether a texture transform leaves the directions of u and v as they are."""
    return texture.rotation == 0.0 and min(texture.scale) > 0.0


def _upwards(uv: Floats, mesh: Mesh) -> Floats:
    """Return coordinates with v upwards, as the engine reads them."""
    if mesh.has_v_up:
        return uv
    return np.stack([uv[:, 0], np.float32(1) - uv[:, 1]], axis=1)


def _has_second(mesh: Mesh, corners: Numbers) -> npt.NDArray[np.bool_]:
    return _has(mesh.uv[1] if len(mesh.uv) > 1 else None, corners)


def _second_uv(mesh: Mesh, corners: Numbers) -> Floats:
    if len(mesh.uv) < 2:
        return np.zeros((len(corners), 2), np.float32)
    has = _has_second(mesh, corners)
    return np.where(has[:, None], _upwards(mesh.uv[1].at(corners), mesh), np.float32(0))
