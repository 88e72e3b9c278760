"""Split meshes at the planes between tiles.

All planes of an object are cut in one order, whatever the tile. Both sides of a plane therefore
get the same vertices, bit for bit, and no triangle is lost or duplicated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.clip import CutMesh, cut_at_plane, start_cut
from encoders.kit.mesh.weld import weld_vertices
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh, Triangles
from encoders.untold.scene.grid import TileCoord

# How far geometry may reach past the tiles that its declared bounds lie in: in metres, and
# relative to its distance from the origin.
TOLERANCE, RELATIVE_TOLERANCE = 1e-3, 1e-5
# Meshes are cut together up to so many triangles: more save no time and need memory.
BATCH_TRIANGLES = 1 << 16
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

    def split(
        self, meshes: Sequence[TileMesh], spans: Sequence[Sequence[int]]
    ) -> list[list[tuple[TileCoord, TileMesh]]]:
        """Return for each mesh the part of it that lies in each tile.

        Meshes that the same planes cut are cut together: most have so few triangles that each
        would cost more in calls than in work.
        """
        found: list[list[tuple[TileCoord, TileMesh]]] = [[] for _ in meshes]
        groups: dict[tuple[tuple[int, ...], tuple[str, ...]], list[int]] = {}
        for number, (mesh, span) in enumerate(zip(meshes, spans, strict=True)):
            # Most objects lie within one tile and are not copied.
            if span[0::2] == span[1::2]:
                x, y, z = span[0::2]
                found[number].append(((x, y, z), mesh))
                continue
            names = tuple(name for name in ATTRIBUTE_WIDTHS if len(getattr(mesh, name)))
            groups.setdefault((tuple(span), names), []).append(number)
        for (span, names), numbers in groups.items():
            for batch in _batches(meshes, numbers):
                for index, tile, part in self._split_together(
                    [meshes[n] for n in batch], span, names
                ):
                    found[batch[index]].append((tile, part))
        return found

    def _split_together(
        self, meshes: Sequence[TileMesh], span: Sequence[int], names: Sequence[str]
    ) -> Iterable[tuple[int, TileCoord, TileMesh]]:
        """Split meshes that lie in the same tiles; each part comes with the number of its mesh."""
        starts = np.cumsum([0, *(len(mesh.position) for mesh in meshes)]).tolist()
        triangles = [mesh.triangles + at for mesh, at in zip(meshes, starts, strict=False)]
        columns = [np.concatenate([getattr(mesh, name) for mesh in meshes]) for name in names]
        cut = start_cut(columns, np.concatenate(triangles))
        planes = self.planes(span)
        for axis, value in planes:
            cut = cut_at_plane(cut, axis, value)
        counts = [len(mesh.triangles) for mesh in meshes]
        owner = np.repeat(np.arange(len(meshes)), counts)[cut.source]
        first, last = np.array(span[0::2]), np.array(span[1::2])
        parts = _Parts(cut, owner, self._tiles(cut, first, last) - first, last - first + 1)
        is_border = _borders(cut, planes)
        for index, tile, used, corners in parts:
            own: dict[str, Any] = {
                name: column[used] for name, column in zip(names, cut.attributes, strict=True)
            }
            part = replace(meshes[index], **own, is_border=is_border[used], triangles=corners)
            x, y, z = (first + tile).tolist()
            yield index, (x, y, z), part

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


def _batches(meshes: Sequence[TileMesh], numbers: Sequence[int]) -> Iterable[list[int]]:
    """Return the numbers in batches of at most BATCH_TRIANGLES, or of one mesh."""
    batch: list[int] = []
    count = 0
    for number in numbers:
        more = len(meshes[number].triangles)
        if batch and count + more > BATCH_TRIANGLES:
            yield batch
            batch, count = [], 0
        batch.append(number)
        count += more
    yield batch


class _Parts:
    """The triangles of each mesh in each tile, with vertices numbered by first use there."""

    def __init__(
        self,
        cut: CutMesh,
        owner: npt.NDArray[np.int64],
        tiles: npt.NDArray[np.int64],
        shape: npt.NDArray[np.int64],
    ) -> None:
        # One number for a mesh and a tile, in the order of x, then y, then z.
        part = ((owner * shape[0] + tiles[:, 0]) * shape[1] + tiles[:, 1]) * shape[2] + tiles[:, 2]
        order = np.argsort(part, kind="stable")
        part, corners = part[order], cut.indices[order]
        self._shape = shape
        self._ends = np.flatnonzero(np.diff(part, append=-1)) + 1
        self._parts = part[self._ends - 1]
        count = len(cut.attributes[0])
        vertex = part[:, None] * count + corners
        # A part's vertices are a range, because its triangles are.
        weld = weld_vertices([vertex.reshape(-1)])
        self._used = vertex.reshape(-1)[weld.first] % count
        self._corners = weld.number.reshape(-1, 3)
        self._vertex_ends = np.searchsorted(weld.first, 3 * self._ends)

    def __iter__(
        self,
    ) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64], Triangles]]:
        start = low = 0
        ends = zip(
            *(one.tolist() for one in (self._parts, self._ends, self._vertex_ends)), strict=True
        )
        for part, end, high in ends:
            index, tile = divmod(part, int(self._shape.prod()))
            place = np.array(np.unravel_index(tile, self._shape))
            yield index, place, self._used[low:high], self._corners[start:end] - np.int32(low)
            start, low = end, high
