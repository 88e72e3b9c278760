"""Move parts that a level made flat to the front of what they were.

A window before a wall may become a sheet at its back, which the wall would hide. Only parts that
nothing else is joined to are moved, and only within the depth that they had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.vector import Float64, cross, dot, unit
from encoders.untold.mesh.tile_mesh import NUMBER, Floats, TileMesh

# A part is a sheet if it is as deep as this part of its extent at most, and faces one way if the
# sum of its triangles' areas as vectors is as long as this part of the sum of their areas.
SHEET_DEPTH, ONE_SIDED = 0.02, 0.95
# A sheet has sunk if it lies back by this part of the depth that the part had, and by this part of
# the part's extent. A sheet in the middle of what it was is where its error is least.
SUNK, LEAST_GAP = 0.6, 1e-3

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.intp]


class FlatParts:
    """The parts of a whole tile: where their vertices are, their extent, and which may move.

    A part is what has one number in the column `component`. Those with a vertex that `stays`, or
    longer than `longest`, do not move.
    """

    def __init__(self, position: Floats, component: Floats, stays: Flags, longest: float) -> None:
        self._numbers, part = np.unique(component[:, NUMBER], return_inverse=True)
        self._part = part.reshape(-1)
        self._points = position.T.astype(np.float64)
        # All axes at once: the longest of the three extents counts.
        spans = [_span(axis, self._part, len(self._numbers)) for axis in self._points]
        self._extent = np.stack([high - low for low, high in spans]).max(axis=0)
        self._may_move = self._extent <= longest
        self._may_move[self._part[stays]] = False

    def raised(self, meshes: Sequence[TileMesh]) -> list[TileMesh]:
        """Return the meshes of a level with their sheets at the front."""
        starts = np.cumsum([0, *(len(mesh.position) for mesh in meshes)])
        triangles = np.concatenate(
            [one.triangles + at for one, at in zip(meshes, starts.tolist(), strict=False)]
        )
        numbers = np.concatenate([mesh.component[:, NUMBER] for mesh in meshes])
        part = np.searchsorted(self._numbers, numbers)
        points = np.concatenate([mesh.position for mesh in meshes]).T.astype(np.float64)
        facing, gap = self._gaps(points, triangles, part)
        is_moved = gap[part] > 0.0
        if not is_moved.any():
            return list(meshes)
        low, high = self._points.min(axis=1), self._points.max(axis=1)
        moved = (points + facing[:, part] * gap[part]).T.clip(low, high).astype(np.float32)
        position = np.where(is_moved[:, None], moved, points.T.astype(np.float32))
        columns = np.split(position, starts[1:-1])
        return [replace(mesh, position=one) for mesh, one in zip(meshes, columns, strict=True)]

    def _gaps(
        self, points: Float64, triangles: npt.NDArray[np.integer], part: Numbers
    ) -> tuple[Float64, Float64]:
        """Return where each part faces, and how far its front has sunk; 0 for those that stay."""
        count = len(self._numbers)
        facing, is_sheet = _facing(points[:, triangles], part[triangles[:, 0]], count)
        low, high = _span(dot(points, facing[:, part]), part, count)
        is_sheet &= self._may_move & (high - low <= SHEET_DEPTH * self._extent)
        back, front = _span(dot(self._points, facing[:, self._part]), self._part, count)
        gap = front - high
        has_sunk = (gap > SUNK * (front - back)) & (gap > LEAST_GAP * self._extent)
        return facing, np.where(is_sheet & has_sunk, gap, 0.0)


def _facing(corners: Float64, part: Numbers, count: int) -> tuple[Float64, Flags]:
    """Return the mean direction of each part's triangles, and whether all face about there."""
    areas = cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    sums = np.stack([np.bincount(part, axis, count) for axis in areas])
    facing, length = unit(sums.astype(np.float64))
    whole = np.bincount(part, unit(areas)[1], count)
    return facing, (length > 0.0) & (length >= ONE_SIDED * whole)


def _span(values: Float64, part: Numbers, count: int) -> tuple[Float64, Float64]:
    """Return the least and the largest value of each part; 0 for one without values."""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, part, values)
    np.maximum.at(high, part, values)
    is_empty = low > high
    low[is_empty] = high[is_empty] = 0.0
    return low, high
