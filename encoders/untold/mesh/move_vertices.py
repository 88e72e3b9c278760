"""Give the vertices of a tile the attributes that they have where a simplification moved them.

In an atlas, texture coordinates do not leave the image that a vertex shows. A normal never points
away from the triangles around it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.simplify.progress import Step
from encoders.kit.mesh.vector import Float64, cross, dot, unit
from encoders.kit.mesh.weld import prune_vertices, weld_vertices
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, Floats, TileMesh, Triangles

# An island of UVs that spans the texture but for this much repeats it, and has no bounds.
WHOLE_TEXTURE = 1.0 / 512.0
# A normal is replaced by that of the faces if the cosine between them is less than this.
LEAST_COSINE = 0.2

Numbers = npt.NDArray[np.intp]


class MovedVertices:
    """The meshes of a tile, with their vertices and triangles numbered through."""

    def __init__(self, meshes: Sequence[TileMesh]) -> None:
        self.parts = [_Part(mesh) for mesh in meshes]
        self.vertex_ends = np.cumsum([0, *(len(mesh.position) for mesh in meshes)])
        self.triangle_ends = np.cumsum([0, *(len(mesh.triangles) for mesh in meshes)])
        self.uv_names = [
            name for name in ("uv", "uv1") if any(len(getattr(one, name)) for one in meshes)
        ]

    def uvs(self) -> list[Floats]:
        """Return texture coordinates scaled to metres, so that a shift counts alike in all."""
        return [
            np.concatenate([part.scaled(name) for part in self.parts]) for name in self.uv_names
        ]

    def meshes(self, step: Step) -> list[TileMesh]:
        """Return the meshes after a step of simplification, without unused vertices."""
        # Both lists rise, so each mesh has a range of them.
        rows = np.searchsorted(step.kept, self.triangle_ends)
        moves = np.searchsorted(step.moved, self.vertex_ends)
        found = []
        for n, part in enumerate(self.parts):
            (low, high), (first, last) = rows[n : n + 2], moves[n : n + 2]
            triangles = step.indices[low:high] - np.int32(self.vertex_ends[n])
            moved = step.moved[first:last] - self.vertex_ends[n]
            columns = {"position": step.positions[first:last], "normal": step.normals[first:last]}
            columns |= {
                name: one[first:last] for name, one in zip(self.uv_names, step.uvs, strict=True)
            }
            found.append(part.moved(triangles, moved, columns))
        return found


class _Part:
    """One mesh of the tile, and what is known of its texture coordinates."""

    def __init__(self, mesh: TileMesh) -> None:
        self.mesh = mesh
        self._bounds: dict[str, tuple[Float64, Float64]] = {}

    @cached_property
    def scales(self) -> dict[str, float]:
        """Metres on the surface for a length in texture space."""
        return {name: _uv_scale(self.mesh, name) for name in ("uv", "uv1")}

    def scaled(self, name: str) -> Floats:
        """Return texture coordinates in metres; zeros where the mesh has none."""
        uv = getattr(self.mesh, name)
        if not len(uv):
            return np.zeros((len(self.mesh.position), 2), np.float32)
        scaled: Floats = (uv * self.scales[name]).astype(np.float32)
        return scaled

    def moved(self, triangles: Triangles, moved: Numbers, columns: dict[str, Floats]) -> TileMesh:
        """Return the mesh with these triangles, and with the moved vertices where they are now."""
        mesh = self.mesh
        used, corners = prune_vertices(triangles, len(mesh.position))
        names = [name for name in ATTRIBUTE_WIDTHS if len(getattr(mesh, name))]
        found = {name: getattr(mesh, name)[used] for name in names}
        if len(moved):
            at = np.full(len(mesh.position), -1, np.intp)
            at[used] = np.arange(len(used))
            rows = at[moved]
            found["position"][rows] = columns["position"]
            found["normal"][rows] = _facing_out(columns["normal"], found["position"], corners, rows)
            for name in ("uv", "uv1"):
                if name in found and self.scales[name]:
                    low, high = self._island_bounds(name)
                    made = columns[name].astype(np.float64) / self.scales[name]
                    found[name][rows] = np.clip(made, low[moved], high[moved])
        return replace(mesh, **found, is_border=mesh.is_border[used], triangles=corners)

    def _island_bounds(self, name: str) -> tuple[Float64, Float64]:
        """Return for each vertex the bounds of its UV island, which is one image of an atlas.

        Along an axis where the island spans the whole texture, the texture repeats and has no
        bounds.
        """
        if name not in self._bounds:
            self._bounds[name] = _island_bounds(self.mesh, getattr(self.mesh, name))
        return self._bounds[name]


def _island_bounds(mesh: TileMesh, values: Floats) -> tuple[Float64, Float64]:
    uv = values.astype(np.float64)
    place = weld_vertices([mesh.position, values]).number
    label = np.zeros(len(uv), np.intp)
    label[mesh.triangles] = label_components(place[mesh.triangles], len(uv))[:, None]
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(int(label.max()) + 1))
    low = np.minimum.reduceat(uv[order], starts)
    high = np.maximum.reduceat(uv[order], starts)
    repeats = (low <= WHOLE_TEXTURE) & (high >= 1.0 - WHOLE_TEXTURE)
    return np.where(repeats, -np.inf, low)[label], np.where(repeats, np.inf, high)[label]


def _facing_out(normals: Floats, position: Floats, triangles: Triangles, rows: Numbers) -> Floats:
    """Replace normals of vertices that point away from their triangles."""
    is_row = np.zeros(len(position), np.bool_)
    is_row[rows] = True
    around = triangles[is_row[triangles].any(axis=1)]
    points = position.astype(np.float64).T[:, around]
    faces = cross(points[:, :, 1] - points[:, :, 0], points[:, :, 2] - points[:, :, 0])
    sums: Float64 = np.stack(
        [np.bincount(around.reshape(-1), np.repeat(axis, 3), len(position)) for axis in faces]
    ).astype(np.float64)
    facing = unit(sums[:, rows])[0]
    is_away = dot(facing, normals.T.astype(np.float64)) < LEAST_COSINE
    found: Floats = np.where(is_away[:, None], facing.T, normals).astype(np.float32)
    return found


def _uv_scale(mesh: TileMesh, name: str) -> float:
    uv = getattr(mesh, name)
    if not len(uv):
        return 0.0
    # fsum: the sum must not depend on the order in which a library adds.
    u, v = uv.T.astype(np.float64)[:, mesh.triangles]
    doubled = (u[:, 1] - u[:, 0]) * (v[:, 2] - v[:, 0]) - (u[:, 2] - u[:, 0]) * (v[:, 1] - v[:, 0])
    drawn = math.fsum(0.5 * np.abs(doubled))
    return (
        math.sqrt(math.fsum(surface_areas(mesh.position, mesh.triangles)) / drawn) if drawn else 0.0
    )


def surface_areas(points: Floats, triangles: npt.NDArray[np.integer]) -> Float64:
    """Return the area of each triangle."""
    corners = points.T.astype(np.float64)[:, triangles]
    normal = cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    return 0.5 * np.sqrt(dot(normal, normal))
