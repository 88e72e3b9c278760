"""Reduce a mesh of any source to a number of triangles, with all its attributes.

First edges collapse so that every vertex stays one of the source's. Where seams and hard edges do
not permit the number that was asked for, the bare shape is simplified further: a corner that moves
across a seam gets texture coordinates that continue those of its own triangle, and a normal that
turns with the face. Materials never mix: a border between two of them is a seam.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.mesh import Attribute, Corners, Mesh, compact, first_use, map_attributes
from encoders.kit.mesh.simplify.collapse import Simplified, Surface, simplify, simplify_shape
from encoders.kit.mesh.simplify.quadric import triangle_coordinates
from encoders.kit.mesh.vector import Float64, cross, dot, unit

# An island of UVs that spans the texture but for this much repeats it, and has no bounds.
WHOLE_TEXTURE = 1.0 / 512.0
# A normal is replaced by the face's own if the cosine between them is less than this.
LEAST_COSINE = 0.2

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]


def reduce_mesh(mesh: Mesh, triangles: int) -> Mesh:
    """Return at most so many triangles, or as few as the shape permits."""
    if mesh.triangle_count <= triangles:
        return mesh
    mesh = _with_merged_rows(mesh)
    vertices = _Vertices.of(mesh)
    surface = vertices.surface(mesh)
    # Keeping attributes must not cost more than the shape alone would lose.
    allowed = simplify_shape(surface, triangles).error
    mesh = _collapsed(mesh, vertices, simplify(surface, triangles, max_error=allowed))
    if mesh.triangle_count <= triangles:
        return mesh
    vertices = _Vertices.of(mesh)
    return _reshaped(mesh, vertices, simplify_shape(vertices.surface(mesh), triangles))


@dataclass(frozen=True, eq=False)
class _Vertices:
    """One vertex list for all attributes: vertex k is the flat corner `corners[k]`."""

    corners: Rows
    indices: Corners

    @classmethod
    def of(cls, mesh: Mesh) -> _Vertices:
        """Share vertices between corners that use the same rows and the same material."""
        columns: list[npt.NDArray[Any]] = [one.corner.reshape(-1) for one in mesh.attributes()]
        first, number = first_use([*columns, np.repeat(mesh.material, 3)])
        return cls(first, number.astype(np.int32).reshape(-1, 3))

    def surface(self, mesh: Mesh) -> Surface:
        """Return what is to be simplified."""
        return Surface(
            mesh.position.at(self.corners),
            self.indices,
            None if mesh.normal is None else mesh.normal.at(self.corners),
            mesh.uv[0].at(self.corners) if mesh.uv else None,
        )

    def rows(self, attribute: Attribute[Any], indices: npt.NDArray[Any]) -> Corners:
        """Return the attribute's row of each of these vertices."""
        rows: Corners = attribute.corner.reshape(-1)[self.corners][indices]
        return rows


def _with_merged_rows(mesh: Mesh) -> Mesh:
    """Merge equal values, because duplicates count as seams."""

    def merged(attribute: Attribute[Any]) -> Attribute[Any]:
        if attribute.values.dtype == np.float32:
            return compact(attribute)
        first, number = first_use(list(attribute.values.T))
        # Index -1 finds the appended -1.
        return Attribute(
            attribute.values[first], np.append(number, -1).astype(np.int32)[attribute.corner]
        )

    return map_attributes(mesh, merged)


def _collapsed(mesh: Mesh, vertices: _Vertices, found: Simplified) -> Mesh:
    """Return the mesh with the triangles that a simplification left, of its own vertices."""

    def moved(attribute: Attribute[Any]) -> Attribute[Any]:
        return Attribute(attribute.values, vertices.rows(attribute, found.indices))

    return replace(
        map_attributes(mesh, moved),
        part=mesh.part[found.kept],
        material=mesh.material[found.kept],
        smoothing=mesh.smoothing[found.kept],
    )


def _reshaped(mesh: Mesh, vertices: _Vertices, found: Simplified) -> Mesh:
    """Move corners across seams: what the place decides is taken from there, the rest goes on."""
    islands = [_island_bounds(mesh, one) for one in mesh.uv]
    there = _collapsed(mesh, vertices, found)
    own = _collapsed(mesh, vertices, replace(found, indices=vertices.indices[found.kept]))
    before, after = (one.position.values[one.position.corner] for one in (own, there))
    moves = _Moves(before.astype(np.float64), after.astype(np.float64))
    uv = tuple(
        _extended(one, moves, low[found.kept], high[found.kept])
        for one, (low, high) in zip(own.uv, islands, strict=True)
    )
    normal = None if own.normal is None else _turned(own.normal, moves)
    # Colours and tangents belong to the triangle; positions and joints to the place.
    own = replace(own, position=there.position, joints=there.joints, weights=there.weights)
    return replace(own, uv=uv, normal=normal)


@dataclass(frozen=True, eq=False)
class _Moves:
    """Corners of triangles (n, 3, axis) before and after, and which of them moved."""

    before: Float64
    after: Float64

    @property
    def moved(self) -> Flags:
        """Tell which corners are somewhere else now."""
        flags: Flags = (self.before != self.after).any(axis=2)
        return flags


def _extended(
    attribute: Attribute[np.float32], moves: _Moves, low: Float64, high: Float64
) -> Attribute[np.float32]:
    """Continue the texture of each triangle to its moved corners, within its island's bounds."""
    row, corner = np.nonzero(moves.moved & (attribute.corner >= 0).all(axis=1, keepdims=True))
    value = attribute.values[attribute.corner[row]].astype(np.float64)
    along, across = triangle_coordinates(moves.before[row], moves.after[row, corner])
    start = value[:, 0]
    step = (value[:, 1] - start) * along[:, None] + (value[:, 2] - start) * across[:, None]
    # On a triangle too thin to extrapolate from, the corner keeps its coordinates.
    kept = value[np.arange(len(row)), corner]
    made = np.where(np.isfinite(along)[:, None], start + step, kept)
    made = np.clip(made, low[row], high[row])
    return _with_rows(attribute, made, row, corner)


def _with_rows(
    attribute: Attribute[np.float32], made: Float64, row: Rows, corner: Rows
) -> Attribute[np.float32]:
    """Give some corners new values."""
    corners = attribute.corner.copy()
    corners[row, corner] = len(attribute.values) + np.arange(len(row))
    values = np.concatenate((attribute.values, made.astype(np.float32)))
    return compact(Attribute(values, corners))


def _island_bounds(mesh: Mesh, uv: Attribute[np.float32]) -> tuple[Float64, Float64]:
    """Return for each triangle the bounds of its island of UVs, which is one image of an atlas."""
    first, number = first_use([mesh.position.corner.reshape(-1), uv.corner.reshape(-1)])
    label = label_components(number.reshape(-1, 3), len(first))
    corners = uv.at(np.arange(mesh.triangle_count * 3)).astype(np.float64).reshape(-1, 3, 2)
    low = np.full((int(label.max()) + 1, 2), np.inf)
    high = -low
    np.minimum.at(low, label, corners.min(axis=1))
    np.maximum.at(high, label, corners.max(axis=1))
    repeats = (low <= WHOLE_TEXTURE) & (high >= 1.0 - WHOLE_TEXTURE)
    return np.where(repeats, -np.inf, low)[label], np.where(repeats, np.inf, high)[label]


def _turned(normal: Attribute[np.float32], moves: _Moves) -> Attribute[np.float32]:
    """Turn the normals of a moved triangle by as much as its face turned."""
    is_turned = moves.moved.any(axis=1, keepdims=True) & (normal.corner >= 0)
    row, corner = np.nonzero(is_turned)
    before, after = (_facing(one[row]) for one in (moves.before, moves.after))
    old = normal.values[normal.corner[row, corner]].astype(np.float64)
    found = unit(old.T + after - before)[0]
    made = np.where(dot(found, after) < LEAST_COSINE, after, found).T
    return _with_rows(normal, made, row, corner)


def _facing(corners: Float64) -> Float64:
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 2, 0)
    return unit(cross(edges[:, :, 0], edges[:, :, 1]))[0]
