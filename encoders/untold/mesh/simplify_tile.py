"""Simplify a tile for a level: collapse edges and drop small components, least visible first.

No level has more triangles than the previous one. What lies on a tile's border stays, or is
dropped on both sides of it, so that neighbouring tiles still meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.simplify.collapse import Simplified, Simplifier, Surface
from encoders.kit.mesh.vector import cross, unit
from encoders.kit.mesh.weld import prune_vertices
from encoders.untold.mesh.carry_attributes import carry_attributes
from encoders.untold.mesh.component import largest_dropped_size
from encoders.untold.mesh.tile_mesh import (
    ATTRIBUTE_WIDTHS,
    DROP_SHARE,
    IS_MULTI_TILE,
    NUMBER,
    SIZE,
    Floats,
    Tile,
    TileMesh,
    Triangles,
)

# A dropped component counts as a surface that is wrong by this part of the component's size.
DROP_ERROR = 1.0 / 6.0
# No vertex may be wrong by more than its component's size over this: a component is either
# recognisable or dropped.
SIZE_TO_ERROR = 4.0
# The part of an error that is spent on collapses that keep attributes; the rest is for shapes.
ATTRIBUTE_PORTION = 0.25
# A level is near enough to its share at this factor, plus so many triangles.
NEAR_ENOUGH, SPARE_TRIANGLES = 1.05, 2
# Errors are tried in so many steps, each twice the one before.
STEPS = 6

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LevelGoal:
    """What a level should come to: its triangles, and the error allowed in metres.

    `sides` are the axes on the ground, each with the length of a tile along it.
    """

    triangles: int
    error: float
    sides: Sequence[tuple[int, float]]

    def is_met(self, triangles: int) -> bool:
        """Tell whether so many are near enough to the share that no larger error is worth it."""
        return triangles <= NEAR_ENOUGH * self.triangles + SPARE_TRIANGLES


def simplify_tile(tile: Tile, previous: Tile, share: float, tile_size: Sequence[float]) -> Tile:
    """Simplify a tile to a share of its triangles, or as near as the allowed error permits.

    The result has at most as many triangles as the `previous` level, which is used instead if it
    has fewer. The error scales with the longer side of a tile, because so does the distance from
    which a level is seen.
    """
    across, _, along = tile_size
    side = max(across, along)
    error = DROP_ERROR * largest_dropped_size(share, side)
    goal = LevelGoal(math.ceil(tile.full_count * share), error, ((0, across), (2, along)))
    found = _Search(_without_multi_tile(tile, share), goal).run()
    if previous.meshes:
        previous = _without_multi_tile(previous, share)
        if previous.triangle_count < found.triangle_count:
            return previous
    return found


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What one error leads to, before any attribute is carried over.

    `collapsed` keeps attributes and `reshaped`, which goes on from there, does not; None is a pass
    that was not needed. `dropped` marks the triangles of the last pass whose components go.
    """

    collapsed: Simplified | None
    reshaped: Simplified | None
    dropped: Flags
    triangle_count: int


class _Search:
    """The search for the least error with which a tile meets its goal.

    Attempts are counted by triangles alone; only the one that is chosen becomes a tile, because
    carrying attributes over takes longer than all attempts.
    """

    def __init__(self, tile: Tile, goal: LevelGoal) -> None:
        self.tile, self.goal = tile, goal
        self.is_needed = tile.triangle_count > goal.triangles
        surface = _surface(tile.meshes, goal)
        self.component = np.concatenate([mesh.component for mesh in tile.meshes])
        self.is_droppable = np.concatenate([_is_droppable(mesh) for mesh in tile.meshes])
        self.triangles = surface.indices
        self.position = surface.positions
        self.simplifier = Simplifier.of(surface, _borders(tile.meshes))

    def run(self) -> Tile:
        """Simplify with the least of STEPS errors that meets the goal, by binary search."""
        # First with all of the error for collapses that keep attributes: the usual case, and the
        # cheapest.
        first = self._collapsed(self.goal, 1.0)
        if self.goal.is_met(_count(first, self.triangles)) and not self._loses_more(first):
            return self._tile(_Attempt(first, None, self._none_dropped(first), 0))
        low, high = 0, STEPS - 1
        found = self._at_error(high)
        # If even the largest error misses the goal, its result stands.
        while low < high and self.goal.is_met(found.triangle_count):
            middle = (low + high) // 2
            closer = self._at_error(middle)
            if self.goal.is_met(closer.triangle_count):
                found, high = closer, middle
            else:
                low = middle + 1
        return self._tile(found)

    def _at_error(self, step: int) -> _Attempt:
        """Do all that one error permits: collapse edges, then drop whole components."""
        now = replace(self.goal, error=self.goal.error / 2.0 ** (STEPS - 1 - step))
        collapsed = self._collapsed(now, ATTRIBUTE_PORTION)
        reshaped = self._reshaped(collapsed, now)
        rows = self.triangles if collapsed is None else collapsed.indices
        rows = rows if reshaped is None else rows[reshaped.kept]
        dropped = _small_components(self.component[rows[:, 0]], self.is_droppable[rows[:, 0]], now)
        return _Attempt(collapsed, reshaped, dropped, len(rows) - int(dropped.sum()))

    def _collapsed(self, goal: LevelGoal, portion: float) -> Simplified | None:
        """Collapse edges and respect attributes: a seam only moves along itself."""
        if not self.is_needed:
            return None
        return self.simplifier.simplify(goal.triangles, self._errors(goal, portion))

    def _reshaped(self, collapsed: Simplified | None, goal: LevelGoal) -> Simplified | None:
        """Collapse edges of the bare shape, across seams."""
        if collapsed is None or len(collapsed.indices) <= goal.triangles:
            return None
        simplifier = self.simplifier.with_triangles(collapsed.indices)
        errors = self._errors(goal, 1.0 - ATTRIBUTE_PORTION)
        return simplifier.simplify_shape(goal.triangles, errors)

    def _errors(self, goal: LevelGoal, portion: float) -> Floats:
        """Return the error allowed at each vertex, which is less in small components."""
        sizes = self.component[:, SIZE] / np.float32(SIZE_TO_ERROR)
        return np.minimum(sizes, np.float32(goal.error)) * np.float32(portion)

    def _loses_more(self, found: Simplified | None) -> bool:
        """Tell whether collapses made a larger error than dropping small components would have."""
        error = self.tile.error + (0.0 if found is None else found.error)
        is_small = self.is_droppable & (self.component[:, SIZE] <= error / DROP_ERROR)
        return bool(is_small[self.triangles if found is None else found.indices].any())

    def _none_dropped(self, found: Simplified | None) -> Flags:
        return np.zeros(_count(found, self.triangles), np.bool_)

    def _tile(self, attempt: _Attempt) -> Tile:
        """Return the tile that an attempt leads to, with all attributes."""
        tile = self.tile
        if attempt.collapsed is not None:
            split = _split(tile.meshes, attempt.collapsed.indices)
            meshes = [_pruned(*pair) for pair in zip(tile.meshes, split, strict=True)]
            tile = _with_meshes(tile, meshes, attempt.collapsed.error)
        if attempt.reshaped is not None:
            points = self.position[attempt.reshaped.indices]
            meshes = _with_attributes(tile.meshes, attempt.reshaped.kept, points)
            tile = _with_meshes(tile, meshes, attempt.reshaped.error)
        ends = np.cumsum([len(mesh.triangles) for mesh in tile.meshes])[:-1]
        return _without(tile, np.split(attempt.dropped, ends))


def _count(found: Simplified | None, triangles: npt.NDArray[np.integer]) -> int:
    return len(triangles if found is None else found.indices)


def _is_droppable(mesh: TileMesh) -> Flags:
    """Tell which vertices are of components that this tile alone decides on.

    Objects that keep their name are never dropped.
    """
    found: Flags = (mesh.component[:, IS_MULTI_TILE] == 0) & (not mesh.object)
    return found


def _pruned(mesh: TileMesh, triangles: Triangles) -> TileMesh:
    """Return the mesh with these triangles, and without unused vertices."""
    used, corners = prune_vertices(triangles, len(mesh.position))
    columns = {
        name: getattr(mesh, name)[used] for name in ATTRIBUTE_WIDTHS if len(getattr(mesh, name))
    }
    return replace(mesh, **columns, is_border=mesh.is_border[used], triangles=corners)


def _with_attributes(
    meshes: Sequence[TileMesh], kept: npt.NDArray[np.int32], points: Floats
) -> list[TileMesh]:
    """Return these triangles of all meshes with their corners at new points."""
    ends = np.cumsum([0, *(len(mesh.triangles) for mesh in meshes)])
    # `kept` rises, so each mesh has a range of it.
    bounds = np.searchsorted(kept, ends)
    return [
        carry_attributes(mesh, mesh.triangles[kept[low:high] - start], points[low:high])
        for mesh, start, low, high in zip(meshes, ends, bounds[:-1], bounds[1:], strict=False)
    ]


def _with_meshes(tile: Tile, meshes: Sequence[TileMesh], error: float) -> Tile:
    left = tuple(mesh for mesh in meshes if len(mesh.triangles))
    return replace(tile, meshes=left, error=tile.error + error)


def _surface(meshes: Sequence[TileMesh], goal: LevelGoal) -> Surface:
    """Join all meshes of a tile, so that no gap opens between two materials."""
    starts = np.cumsum([0, *(len(mesh.position) for mesh in meshes)]).tolist()
    position = np.concatenate([mesh.position for mesh in meshes])
    component = np.concatenate([mesh.component[:, NUMBER] for mesh in meshes]).astype(np.int32)
    return Surface(
        position,
        np.concatenate([one.triangles + at for one, at in zip(meshes, starts, strict=False)]),
        np.concatenate([mesh.normal for mesh in meshes]),
        np.concatenate([_scaled_uv(mesh) for mesh in meshes]),
        component,
        _is_in_plane(position, goal.sides),
    )


def _is_in_plane(position: Floats, sides: Sequence[tuple[int, float]]) -> Flags:
    """Tell which vertices lie exactly between two tiles, where another object may join."""
    found = np.zeros(len(position), np.bool_)
    for axis, side in sides:
        column = position[:, axis]
        found |= column == (np.rint(column.astype(np.float64) / side) * side).astype(np.float32)
    return found


def _scaled_uv(mesh: TileMesh) -> Floats:
    """Scale UVs to metres, so that a shifted texture counts alike in all meshes."""
    flat = np.zeros((len(mesh.uv), 3))
    flat[:, :2] = mesh.uv
    # fsum: the sum must not depend on the order in which a library adds.
    drawn = math.fsum(_areas(flat, mesh.triangles))
    scale = math.sqrt(math.fsum(_areas(mesh.position, mesh.triangles)) / drawn) if drawn else 0.0
    return (mesh.uv * scale).astype(np.float32)


def _areas(points: npt.NDArray[np.floating], triangles: Triangles) -> npt.NDArray[np.float64]:
    corners = points.T.astype(np.float64)[:, triangles]
    edges = corners[:, :, 1:] - corners[:, :, :1]
    return 0.5 * unit(cross(edges[:, :, 0], edges[:, :, 1]))[1]


def _borders(meshes: Sequence[TileMesh]) -> Flags:
    return np.concatenate([mesh.is_border for mesh in meshes])


def _split(meshes: Sequence[TileMesh], indices: Triangles) -> list[Triangles]:
    """Return the triangles of each mesh, with its own vertex numbers."""
    starts = np.cumsum([0, *(len(mesh.position) for mesh in meshes)])
    owner = np.searchsorted(starts, indices[:, 0], "right") - 1
    return [indices[owner == n] - np.int32(start) for n, start in enumerate(starts[:-1].tolist())]


def _without_multi_tile(tile: Tile, share: float) -> Tile:
    """Drop the small components across borders that the neighbouring tiles drop as well."""
    dropped = [
        (mesh.component[mesh.triangles[:, 0], DROP_SHARE] > share) & (not mesh.object)
        for mesh in tile.meshes
    ]
    # Never all of them: a file needs an entity, so an empty level could not be written.
    if all(bool(one.all()) for one in dropped):
        return tile
    return _without(tile, dropped)


def _small_components(component: Floats, is_droppable: Flags, goal: LevelGoal) -> Flags:
    """Choose whole components to drop, the smallest first, until the tile is at its share.

    The arguments have a row for each triangle, and so has the result.
    """
    target = goal.triangles
    _, first, owner, count = np.unique(
        component[:, NUMBER], return_index=True, return_inverse=True, return_counts=True
    )
    sizes = component[first, SIZE]
    is_small = is_droppable[first] & (sizes <= goal.error / DROP_ERROR)
    # The largest component stays, so that the level is not empty.
    is_small[np.argmax(sizes)] = False
    dropped = np.zeros(len(first), np.bool_)
    left = len(component)
    for number in np.argsort(sizes, kind="stable").tolist():
        after = left - int(count[number])
        # A component whose loss would lead further below the share than it is above stays.
        if is_small[number] and left > target and abs(after - target) < left - target:
            dropped[number] = True
            left = after
    return dropped[owner]


def _without(tile: Tile, dropped: Sequence[Flags]) -> Tile:
    meshes = [
        replace(mesh, triangles=mesh.triangles[~lost])
        for mesh, lost in zip(tile.meshes, dropped, strict=True)
    ]
    return _with_meshes(tile, meshes, 0.0)
