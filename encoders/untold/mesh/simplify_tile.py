"""Simplify a tile for all its levels in one run: collapse edges and drop parts, least seen first.

Every level goes on from the one before, so none has more triangles. What lies on a tile's border
stays, or is dropped on both sides of it, so that neighbouring tiles still meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.simplify.collapse import Surface
from encoders.kit.mesh.simplify.progress import Progress, Step, expected_edge
from encoders.untold.mesh.component import MAX_DROP_RATIO, largest_dropped_size
from encoders.untold.mesh.flat_part import FlatParts
from encoders.untold.mesh.move_vertices import MovedVertices, surface_areas
from encoders.untold.mesh.tile_mesh import (
    DROP_SHARE,
    GROUP,
    IS_MULTI_TILE,
    NUMBER,
    SIZE,
    THICKNESS,
    Floats,
    Tile,
    TileMesh,
)

# A dropped component counts as a surface that is wrong by this part of the component's size.
DROP_ERROR = 0.08
# No vertex may be wrong by more than this part of a tile's side over the root of the share that a
# level keeps; the distance from which the level is seen grows alike. Where a tile has little but
# its borders, it rather keeps more triangles than asked for.
ERROR_RATIO = 0.003
# Nor may it by more than its component's size over this, or than this part of its
# thickness: a component is either recognisable or dropped.
SIZE_TO_ERROR, THICKNESS_TO_ERROR = 4.0, 0.4
# Normals count as at the share of this level, in which edges are seen from near.
NORMAL_SHARE = 0.5

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TileSize:
    """The sides of a tile on the ground, each with its axis, and the longer of them."""

    sides: tuple[tuple[int, float], tuple[int, float]]

    @classmethod
    def of(cls, size: Sequence[float]) -> TileSize:
        """Take the sides along x and z from all three."""
        return cls(((0, size[0]), (2, size[2])))

    @property
    def longer(self) -> float:
        """The longer side, which the distance from which a level is seen grows with."""
        return max(side for _, side in self.sides)


def simplify_tile(
    tile: Tile, shares: Sequence[float], tile_size: Sequence[float]
) -> Iterator[Tile]:
    """Return a level for each share of the triangles, or as near as the allowed error permits."""
    run = _Run(tile, TileSize.of(tile_size))
    for share in shares:
        yield run.level(share)


class _Run:
    """A tile while its levels are made, one after another."""

    def __init__(self, tile: Tile, size: TileSize) -> None:
        self.tile, self.size = tile, size
        meshes = tile.meshes
        self.component = np.concatenate([mesh.component for mesh in meshes])
        self.is_named = np.repeat(
            [bool(mesh.object) for mesh in meshes], [len(mesh.position) for mesh in meshes]
        )
        self.vertices = MovedVertices(meshes)
        surface = self._surface()
        self.groups = self.component[surface.indices[:, 0], GROUP].astype(np.int32)
        edge = expected_edge(
            math.fsum(surface_areas(surface.positions, surface.indices)),
            math.ceil(NORMAL_SHARE * len(surface.indices)),
        )
        self.progress = Progress(surface, self.groups, self._is_border(), edge)
        self.flat_parts = FlatParts(
            surface.positions, self.component, self.progress.is_held, MAX_DROP_RATIO * size.longer
        )

    def _is_border(self) -> Flags:
        return np.concatenate([mesh.is_border for mesh in self.tile.meshes])

    def _surface(self) -> Surface:
        """Join all meshes of a tile, so that no gap opens between two materials."""
        meshes = self.tile.meshes
        starts = self.vertices.vertex_ends.tolist()
        position = np.concatenate([mesh.position for mesh in meshes])
        planes = _border_planes(position, self._is_border(), self.size.sides)
        uv, *more = self.vertices.uvs()
        return Surface(
            position,
            np.concatenate([one.triangles + at for one, at in zip(meshes, starts, strict=False)]),
            np.concatenate([mesh.normal for mesh in meshes]),
            uv,
            self.component[:, NUMBER].astype(np.int32),
            planes != 0,
            more[0] if more else None,
            planes,
        )

    def level(self, share: float) -> Tile:
        """Go on to a share of the triangles and return what is left."""
        self._drop_multi_tile(share)
        largest = largest_dropped_size(share, self.size.longer)
        step = self.progress.reduce(
            math.ceil(self.tile.full_count * share),
            self._errors(ERROR_RATIO * self.size.longer / math.sqrt(share)),
            self._losses(largest),
        )
        return replace(self.tile, meshes=self._meshes(step))

    def _meshes(self, step: Step) -> tuple[TileMesh, ...]:
        found = self.flat_parts.raised(self.vertices.meshes(step))
        return tuple(mesh for mesh in found if len(mesh.triangles))

    def _errors(self, error: float) -> Floats:
        """Return the error allowed at each vertex, which is less in small and thin components."""
        sizes = self.component[:, SIZE] / np.float32(SIZE_TO_ERROR)
        thin = self.component[:, THICKNESS] * np.float32(THICKNESS_TO_ERROR)
        return np.minimum(np.minimum(sizes, thin), np.float32(error))

    def _losses(self, largest: float) -> npt.NDArray[np.float64]:
        """Return what dropping each group counts as, in metres; -1 where it has to stay."""
        found = np.full(int(self.groups.max()) + 1, -1.0)
        first = self.progress.indices[:, 0]
        groups, rows = self.progress.groups, self.component[first]
        size = rows[:, SIZE].astype(np.float64)
        found[groups] = DROP_ERROR * size
        # Objects that keep their name are never dropped, nor what concerns other tiles.
        stays = (size > largest) | (rows[:, IS_MULTI_TILE] != 0) | self.is_named[first]
        found[groups[stays]] = -1.0
        # The largest group stays, so that the level is not empty.
        found[groups[np.argmax(size)]] = -1.0
        return found

    def _drop_multi_tile(self, share: float) -> None:
        """Drop the small components across borders that the neighbouring tiles drop as well."""
        first = self.progress.indices[:, 0]
        dropped = (self.component[first, DROP_SHARE] > share) & ~self.is_named[first]
        # Never all of them: a file needs an entity, so an empty level could not be written.
        if not dropped.all():
            self.progress.drop(dropped)


def _border_planes(
    position: Floats, is_border: Flags, sides: Sequence[tuple[int, float]]
) -> npt.NDArray[np.int32]:
    """Return bits of the planes between tiles that each vertex lies in, where an object may join.

    Planes across y depend on the whole scene, so only vertices of a cut tell where they are.
    """
    found = np.zeros(len(position), np.int32)
    for axis, side in sides:
        column = position[:, axis]
        plane = (np.rint(column.astype(np.float64) / side) * side).astype(np.float32)
        found |= _plane_bits(column, axis, column == plane)
    cut = is_border & (found == 0)
    is_level = is_border & np.isin(position[:, 1], position[cut, 1])
    return found | _plane_bits(position[:, 1], 1, is_level)


def _plane_bits(column: Floats, axis: int, is_in_plane: Flags) -> npt.NDArray[np.int32]:
    """Return one of two bits for each vertex in a plane: a tile has two across each axis."""
    is_upper = (column == column.max()).astype(np.int32)
    return np.where(is_in_plane, np.int32(1) << (2 * axis + is_upper), np.int32(0))
