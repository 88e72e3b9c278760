"""Cut pieces at the planes between tiles.

The rule: planes are cut in one order, all of an object's, so both sides of a plane get the same
vertices, bit for bit; no triangle is lost or there twice.
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
from encoders.untold.grid import Place
from encoders.untold.tile_mesh import WIDTHS, Piece

# How far geometry may reach past the tiles that its declared bounds lie in, in metres and in
# parts of its distance from the origin.
TOLERANCE, RELATIVE_TOLERANCE = 1e-3, 1e-5
UP, DOWN = 1.0, -1.0
# Tile z counts against the axis.
SIGNS = (UP, UP, DOWN)


class Slicer:
    """Tiles of one size, as planes."""

    def __init__(self, tile_size: Sequence[float], floor: float, *, clips: bool) -> None:
        self.clips = clips
        self.sizes = [float(size) for size in tile_size]
        self.origins = (0.0, floor, 0.0)

    @property
    def side(self) -> float:
        """The longer side of a tile on the ground."""
        return max(self.sizes[0], self.sizes[2])

    def plane(self, axis: int, number: int) -> float:
        """Return the coordinate at which tile `number` begins, counted as tiles are."""
        return self.origins[axis] + SIGNS[axis] * number * self.sizes[axis]

    def planes(self, spans: Sequence[int]) -> list[tuple[int, float]]:
        """Return axis and coordinate of all planes between the tiles of an object."""
        return [
            (axis, self.plane(axis, number))
            for axis in range(3)
            for number in range(spans[2 * axis] + 1, spans[2 * axis + 1] + 1)
        ]

    def check(self, piece: Piece, spans: Sequence[int], source: str) -> None:
        """Refuse geometry that is not where the source says that it is."""
        low, high = piece.position.min(axis=0), piece.position.max(axis=0)
        for axis, name in enumerate("xyz"):
            ends = sorted(
                (self.plane(axis, spans[2 * axis]), self.plane(axis, spans[2 * axis + 1] + 1))
            )
            spare = TOLERANCE + RELATIVE_TOLERANCE * max(map(abs, ends))
            if low[axis] < ends[0] - spare or high[axis] > ends[1] + spare:
                facts = {"asset": source, "object": piece.object, "axis": name}
                found = f"{low[axis]:.6g} to {high[axis]:.6g}"
                raise EncodeError(
                    "an object is not within the bounds that its file declares",
                    {**facts, "found": found, "tiles": f"{ends[0]:.6g} to {ends[1]:.6g}"},
                    "Export the model again, so that min and max of its positions are right.",
                )

    def slices(self, piece: Piece, spans: Sequence[int]) -> Iterable[tuple[Place, Piece]]:
        """Give what each tile gets of a piece; `spans` are first and last tile along each axis."""
        first = np.array(spans[0::2])
        last = np.array(spans[1::2])
        if (first == last).all():
            x, y, z = first.tolist()
            return [((x, y, z), piece)]
        names = [name for name in WIDTHS if len(getattr(piece, name))]
        mesh = start_cut([getattr(piece, name) for name in names], piece.triangles)
        planes = self.planes(spans)
        for axis, value in planes:
            mesh = cut_at_plane(mesh, axis, value)
        is_border = _borders(mesh, planes)
        places = self._places(mesh, first, last)
        return _parts(piece, names, mesh, is_border, places)

    def _places(
        self, mesh: CutMesh, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Give the tile of each triangle by its middle; what rounding put outside stays inside."""
        corners = mesh.attributes[0].astype(np.float64)[mesh.indices]
        middle = (corners[:, 0] + corners[:, 1] + corners[:, 2]) / 3.0
        scale = np.array(SIGNS) * np.array(self.sizes)
        places = np.floor((middle - np.array(self.origins)) / scale).astype(np.int64)
        inside: npt.NDArray[np.int64] = np.clip(places, first, last)
        return inside


def _borders(mesh: CutMesh, planes: Sequence[tuple[int, float]]) -> npt.NDArray[np.bool_]:
    """Tell which vertices lie in a plane that was cut at."""
    position = mesh.attributes[0]
    found = np.zeros(len(position), np.bool_)
    for axis, value in planes:
        found |= position[:, axis] == np.float32(value)
    return found


def _parts(
    piece: Piece,
    names: list[str],
    mesh: CutMesh,
    is_border: npt.NDArray[np.bool_],
    places: npt.NDArray[np.int64],
) -> Iterable[tuple[Place, Piece]]:
    tiles, number = np.unique(places, axis=0, return_inverse=True)
    for index, tile in enumerate(tiles.tolist()):
        chosen = mesh.indices[number.reshape(-1) == index]
        used, triangles = prune_vertices(chosen, len(is_border))
        columns: dict[str, Any] = {
            name: column[used] for name, column in zip(names, mesh.attributes, strict=True)
        }
        x, y, z = tile
        yield (
            (x, y, z),
            replace(piece, **columns, is_border=is_border[used], triangles=triangles),
        )
