"""Split meshes at the planes between tiles.

All planes of an object are cut in one order, whatever the tile. Both sides of a plane therefore
get the same vertices, bit for bit, and no triangle is lost or duplicated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.clip import CutMesh, cut_at_plane, start_cut
from encoders.kit.mesh.weld import prune_vertices
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh
from encoders.untold.scene.grid import TileCoord

# How far geometry may reach past the tiles that its declared bounds lie in: in metres, and
# relative to its distance from the origin.
TOLERANCE, RELATIVE_TOLERANCE = 1e-3, 1e-5
UP, DOWN = 1.0, -1.0
# Tile z counts along -Z; see `grid`.
SIGNS = (UP, UP, DOWN)


class TileSplitter:
    """Splits meshes into tiles of one size.

    Its `spans` are six numbers: the first and the last tile of an object along each axis.
    """

    def __init__(
        self,
        tile_size: Sequence[float],
        floor: float,
        *,
        clips: bool,
        pivot: Sequence[float] = (),
    ) -> None:
        self.clips = clips
        # Positions were rounded where the source has them, before they were moved.
        self.reach = max(map(abs, pivot), default=0.0)
        self.sizes = [float(size) for size in tile_size]
        self.origins = (0.0, floor, 0.0)

    @property
    def longest_side(self) -> float:
        """The longer side of a tile on the ground."""
        return max(self.sizes[0], self.sizes[2])

    def plane(self, axis: int, number: int) -> float:
        """Return the coordinate at which tile `number` begins, in the tiles' own direction."""
        return self.origins[axis] + SIGNS[axis] * number * self.sizes[axis]

    def planes(self, spans: Sequence[int]) -> list[tuple[int, float]]:
        """Return axis and coordinate of all planes between the tiles of an object."""
        return [
            (axis, self.plane(axis, number))
            for axis in range(3)
            for number in range(spans[2 * axis] + 1, spans[2 * axis + 1] + 1)
        ]

    def check_bounds(self, mesh: TileMesh, spans: Sequence[int], source: str) -> None:
        """Refuse geometry outside of the tiles that were planned from the declared bounds."""
        low, high = mesh.position.min(axis=0), mesh.position.max(axis=0)
        for axis, name in enumerate("xyz"):
            # Tile z counts along -Z, so the first plane may be the higher one.
            ends = sorted(
                (self.plane(axis, spans[2 * axis]), self.plane(axis, spans[2 * axis + 1] + 1))
            )
            spare = TOLERANCE + RELATIVE_TOLERANCE * max(self.reach, *map(abs, ends))
            if low[axis] < ends[0] - spare or high[axis] > ends[1] + spare:
                facts = {"asset": source, "object": mesh.object, "axis": name}
                found = f"{low[axis]:.6g} to {high[axis]:.6g}"
                raise EncodeError(
                    "an object is not within the bounds that its file declares",
                    {**facts, "found": found, "tiles": f"{ends[0]:.6g} to {ends[1]:.6g}"},
                    "Export the model again, so that min and max of its positions are right.",
                )

    def split(self, mesh: TileMesh, spans: Sequence[int]) -> Iterable[tuple[TileCoord, TileMesh]]:
        """Return the part of a mesh that lies in each tile."""
        first = np.array(spans[0::2])
        last = np.array(spans[1::2])
        # Most objects lie within one tile and are not copied.
        if (first == last).all():
            x, y, z = first.tolist()
            return [((x, y, z), mesh)]
        names = [name for name in ATTRIBUTE_WIDTHS if len(getattr(mesh, name))]
        cut = start_cut([getattr(mesh, name) for name in names], mesh.triangles)
        planes = self.planes(spans)
        for axis, value in planes:
            cut = cut_at_plane(cut, axis, value)
        is_border = _borders(cut, planes)
        tiles = self._tiles(cut, first, last)
        return _tile_meshes(mesh, names, cut, is_border, tiles)

    def _tiles(
        self, cut: CutMesh, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the tile in which the centre of each triangle lies."""
        corners = cut.attributes[0].astype(np.float64)[cut.indices]
        centre = (corners[:, 0] + corners[:, 1] + corners[:, 2]) / 3.0
        scale = np.array(SIGNS) * np.array(self.sizes)
        tiles = np.floor((centre - np.array(self.origins)) / scale).astype(np.int64)
        # Rounding may put a thin triangle just outside of the planned tiles; keep it inside.
        inside: npt.NDArray[np.int64] = np.clip(tiles, first, last)
        return inside


def _borders(cut: CutMesh, planes: Sequence[tuple[int, float]]) -> npt.NDArray[np.bool_]:
    """Tell which vertices lie in a plane at which the mesh was cut."""
    position = cut.attributes[0]
    found = np.zeros(len(position), np.bool_)
    for axis, value in planes:
        # Exact: the cut sets this coordinate of new vertices to the plane's value.
        found |= position[:, axis] == np.float32(value)
    return found


def _tile_meshes(
    mesh: TileMesh,
    names: list[str],
    cut: CutMesh,
    is_border: npt.NDArray[np.bool_],
    tiles: npt.NDArray[np.int64],
) -> Iterable[tuple[TileCoord, TileMesh]]:
    distinct, number, counts = np.unique(tiles, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    groups = np.split(cut.indices[order], np.cumsum(counts)[:-1])
    for tile, chosen in zip(distinct.tolist(), groups, strict=True):
        # Numbered within the tile first: a terrain has many more vertices than each of its tiles.
        own, corners = np.unique(chosen, return_inverse=True)
        used, triangles = prune_vertices(corners.reshape(-1, 3), len(own))
        used = own[used]
        columns: dict[str, Any] = {
            name: column[used] for name, column in zip(names, cut.attributes, strict=True)
        }
        x, y, z = tile
        yield (
            (x, y, z),
            replace(mesh, **columns, is_border=is_border[used], triangles=triangles),
        )
