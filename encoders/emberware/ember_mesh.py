"""Build the console's mesh, one vertex list for all attributes, from a source's mesh.

A source with one vertex list (glTF) keeps its vertices and their order; a source that indexes each
attribute by itself (OBJ) is welded. Attributes that the vertex format asks for and the source lacks
are computed (normals) or filled with a neutral value, with a warning; values that the file cannot
hold are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.codec.half_float import HALF_MAX, exceeds_half
from encoders.emberware.format.mesh import VERTEX_LIMIT, EmberMesh
from encoders.emberware.format.vertex import COLOR, NORMAL, SKINNED, TANGENT, UV, Vertices
from encoders.kit.error import EncodeError
from encoders.kit.mesh.back_side import add_backs
from encoders.kit.mesh.base_uv import base_uv, move_by_tiles
from encoders.kit.mesh.mesh import Attribute, Mesh, compact, weld
from encoders.kit.mesh.normal import fill_normals
from encoders.kit.mesh.tangent import TangentMesh, corner_tangents
from encoders.kit.option import Value
from encoders.kit.warning import grouped

Floats = npt.NDArray[np.float32]
Warn = Callable[[str], None]

# Joints per vertex.
INFLUENCES = 4


@dataclass(frozen=True)
class MeshOptions:
    """The manifest's options of a mesh; a format of None means the attributes that it has.

    `has_normal_map` is for meshes that are opened without their materials.
    """

    format: int | None
    flips_v: bool
    welds: bool = True
    keeps_tangents: bool = False
    has_normal_map: bool = False
    double_sided: Value = False


def build_mesh(mesh: Mesh, options: MeshOptions, warn: Warn, name: str) -> EmberMesh:
    """Build a mesh of the format that the options ask for, or refuse what does not fit a file."""
    if not mesh.triangle_count:
        raise EncodeError("mesh has no triangles", {"file": name})
    wanted = options.format
    if wanted is None:
        wanted = own_format(mesh) | (TANGENT if needs_tangents(mesh, options) else 0)
        wanted &= ~0 if options.keeps_tangents else ~TANGENT
    if wanted & SKINNED and mesh.joints is None:
        hint = "Take SKINNED out of `vertex_format`, or bind the mesh to a skin."
        raise EncodeError("mesh has no joints and weights", {"file": name}, hint)
    mesh = _with_attributes(mesh, wanted, options, warn)
    mesh = add_backs(mesh, options.double_sided)
    corners, triangles = _share_vertices(mesh) if options.welds else _split_vertices(mesh)
    vertices = _vertices(mesh, corners, options.flips_v)
    _check(vertices, warn, name)
    return EmberMesh(vertices, triangles)


def own_format(mesh: Mesh) -> int:
    """Return the flags of the attributes that at least some corners have."""
    has = {UV: bool(mesh.uv), COLOR: mesh.color, NORMAL: mesh.normal, SKINNED: mesh.joints}
    # Tangents mean nothing without the other two.
    has[TANGENT] = mesh.tangent if mesh.normal is not None and mesh.uv else None
    return sum(flag for flag, part in has.items() if part not in (None, False))


def needs_tangents(mesh: Mesh, options: MeshOptions) -> bool:
    """Tell whether a triangle has a normal map, and what tangents are computed from."""
    used = {int(number) for number in np.unique(mesh.material)} - {-1}
    has_map = any("normal" in mesh.materials[number].textures for number in used)
    return (has_map or options.has_normal_map) and bool(mesh.uv) and mesh.normal is not None


def _with_attributes(mesh: Mesh, wanted: int, options: MeshOptions, warn: Warn) -> Mesh:
    """Keep exactly the wanted attributes, complete: with a value at every corner."""
    if wanted & NORMAL:
        has_all = mesh.normal is not None and mesh.normal.is_complete
        mesh = mesh if has_all else fill_normals(mesh)
        if not has_all:
            warn(grouped("missing", "normals are missing and were computed"))
    tangent = fill_tangents(mesh, options, warn) if wanted & TANGENT else None
    uv = _texture_coordinates(mesh, warn) if wanted & UV else None
    color = _filled(mesh.color, mesh, 4, "colours", warn) if wanted & COLOR else None
    return replace(
        mesh,
        normal=mesh.normal if wanted & NORMAL else None,
        uv=() if uv is None else (uv,),
        color=color,
        tangent=tangent,
        joints=mesh.joints if wanted & SKINNED else None,
        weights=mesh.weights if wanted & SKINNED else None,
    )


def fill_tangents(mesh: Mesh, options: MeshOptions, warn: Warn) -> Attribute[np.float32]:
    """Return tangents for every corner, for the v that is written; missing ones are computed."""
    given = mesh.tangent
    if given is not None and options.flips_v:
        # The bitangent follows v.
        turned = given.values * np.array([1, 1, 1, -1], np.float32)
        given = Attribute(turned, given.corner)
    if given is not None and given.is_complete:
        return given
    assert mesh.normal is not None
    corners = np.arange(mesh.triangle_count * 3)
    uv = mesh.uv[0].at(corners) if mesh.uv else np.zeros((len(corners), 2), np.float32)
    if not options.flips_v:
        # As in glTF, the bitangent points to the top of the image, which is at v = 0.
        uv = np.stack((uv[:, 0], np.float32(1) - uv[:, 1]), axis=1)
    points = mesh.position.at(corners), mesh.normal.at(corners), uv
    values = corner_tangents(TangentMesh(*points, corners)).reshape(-1, 4)
    if given is not None:
        has_value = given.corner.reshape(-1) >= 0
        values[has_value] = given.at(corners)[has_value]
    # A source with a normal map and without tangents means those of MikkTSpace.
    if given is not None or not needs_tangents(mesh, options):
        warn(grouped("missing", "tangents are missing and were computed"))
    return compact(Attribute(values, corners.reshape(-1, 3).astype(np.int32)))


def _filled(
    attribute: Attribute[np.float32] | None, mesh: Mesh, width: int, label: str, warn: Warn
) -> Attribute[np.float32]:
    """Give corners without a value a neutral one: white, or the UV (0, 0)."""
    if attribute is not None and attribute.is_complete:
        return attribute
    neutral = np.full((1, width), 1 if width == 4 else 0, np.float32)
    rows = np.full_like(mesh.position.corner, -1) if attribute is None else attribute.corner
    values = neutral[:0] if attribute is None else attribute.values
    warn(
        grouped(
            "missing",
            f"{label} are missing on {int((rows < 0).sum())} corners; {neutral[0, 0]:g} was taken",
        )
    )
    return Attribute(
        np.concatenate((values, neutral)), np.where(rows < 0, np.int32(len(values)), rows)
    )


def _texture_coordinates(mesh: Mesh, warn: Warn) -> Attribute[np.float32]:
    """Return the UVs at which the base colour textures are read, inside of 0 to 1 if they can."""
    found = base_uv(mesh)
    if found is not None:
        found = move_by_tiles(found, mesh, 0, 1)
    return _filled(found, mesh, 2, "UVs", warn)


def _share_vertices(mesh: Mesh) -> tuple[npt.NDArray[np.intp] | None, npt.NDArray[np.int32]]:
    """Return the flat corner of each vertex, and the triangles.

    The corners are None where all attributes already have the same rows: then rows are vertices.
    """
    corner = mesh.position.corner
    rows = len(mesh.position.values)
    if all(
        # glTF: all attributes have the same rows and indices.
        len(one.values) == rows and np.array_equal(one.corner, corner)
        for one in mesh.attributes()
    ):
        return None, corner
    welded = weld(mesh)
    return welded.corners, welded.indices


def _split_vertices(mesh: Mesh) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
    """Give each corner of each triangle a vertex of its own."""
    corners = np.arange(mesh.triangle_count * 3)
    return corners, corners.reshape(-1, 3).astype(np.int32)


def _vertices(mesh: Mesh, corners: npt.NDArray[np.intp] | None, flip_v: bool) -> Vertices:
    def column(attribute: Attribute[Any] | None) -> Any:
        if attribute is None:
            return None
        return attribute.values if corners is None else attribute.at(corners)

    uv = column(mesh.uv[0] if mesh.uv else None)
    if uv is not None and flip_v:
        uv = np.stack((uv[:, 0], np.float32(1) - uv[:, 1]), axis=1)
    return Vertices(
        column(mesh.position),
        uv,
        column(mesh.color),
        column(mesh.normal),
        column(mesh.tangent),
        column(mesh.joints),
        column(mesh.weights),
    )


def _check(vertices: Vertices, warn: Warn, name: str) -> None:
    """Refuse values that a file cannot hold, and warn of those that will be clamped."""
    count = len(vertices.position)
    if count > VERTEX_LIMIT:
        facts = {"file": name, "vertices": count, "allowed": VERTEX_LIMIT}
        hint = "Set `triangles` or `simplify`, or cut the mesh into several."
        raise EncodeError("mesh has too many vertices", facts, hint)
    bad = exceeds_half(vertices.position)
    if bad.any():
        row, axis = (int(index) for index in np.argwhere(bad)[0])
        found = f"{'xyz'[axis]} = {vertices.position[row, axis]}"
        raise EncodeError(
            "position is too large for a half float",
            {"file": name, "vertex": row, "found": found, "allowed": f"up to {HALF_MAX}"},
            "Scale the model down, or move it nearer to the origin.",
        )
    for group, label, values in (
        ("uv", "UVs", vertices.uv),
        ("color", "colours", vertices.color),
    ):
        outside = 0 if values is None else int(((values < 0) | (values > 1)).any(axis=1).sum())
        if outside:
            text = f"{label} of {outside} vertices lie outside 0 to 1 and were cut off"
            warn(grouped(group, text))


def keep_influences(mesh: Mesh, warn: Warn) -> Mesh:
    """Keep the four joints of largest weight per vertex; sort by weight only where some go."""
    joints, weights = mesh.joints, mesh.weights
    if joints is None or weights is None or joints.values.shape[1] <= INFLUENCES:
        return mesh
    # Stable, so that of equal weights the first joint is kept.
    order = np.argsort(-weights.values, axis=1, kind="stable")[:, :INFLUENCES]
    kept = np.take_along_axis(weights.values, order, axis=1)
    lost = int((np.count_nonzero(weights.values, axis=1) > INFLUENCES).sum())
    if lost:
        warn(
            grouped(
                "feature",
                f"{lost} vertices have more than {INFLUENCES} joints; the lightest were left out",
            )
        )
    return replace(
        mesh,
        joints=Attribute(np.take_along_axis(joints.values, order, axis=1), joints.corner),
        weights=Attribute(kept, weights.corner),
    )
