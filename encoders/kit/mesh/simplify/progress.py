"""Simplify a mesh in steps, each going on from the one before: one run for all levels of detail.

Vertices move across seams, where each keeps its own attributes as its triangles continue them, and
to where the surface is met best. Whole groups of triangles are dropped in the same order: a group
counts as a surface that is wrong by its loss. Locked vertices never move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.simplify.collapse import Simplifier, Surface
from encoders.kit.mesh.simplify.collapsing_mesh import FREE, RIM
from encoders.kit.mesh.simplify.reference import REMOVED, SETTLE, collapse_reference
from encoders.kit.mesh.triangle import Indices
from encoders.kit.mesh.vector import Float64, unit
from encoders.kit.native.kernel import choose

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Step:
    """The triangles after a step, and the vertices whose attributes it changed.

    `kept` has the index of the original triangle of each. Rows of `positions`, `normals` and `uvs`
    belong to the vertices `moved`.
    """

    indices: Indices
    kept: NDArray[np.int32]
    moved: NDArray[np.intp]
    positions: Floats
    normals: Floats
    uvs: tuple[Floats, ...]


class Progress:
    """A surface while it is simplified; `groups` has the group of each triangle."""

    def __init__(
        self, surface: Surface, groups: NDArray[np.int32], locked: Flags, edge: float
    ) -> None:
        """Prepare a surface; normals count by `edge`, the length of edges that is expected."""
        simplifier = Simplifier.of(surface, locked)
        self._surface, self._points = surface, simplifier.points
        self._left, self._kept = simplifier.triangles, simplifier.numbers
        self._groups = np.ascontiguousarray(groups[self._kept])
        self._place = self._points.weld.number.copy()
        # A seam that moves changes what is drawn and not the shape, so it is no error of it.
        self._places = simplifier.place_rows(holds_seams=False)
        self._start = self._places[:, :3].copy()
        self._rows, self._scales = simplifier.wedge_rows(edge / self._points.extent)
        count = (self._rows.shape[1] - 11) // 5
        self._values = self._rows[:, :count].copy()
        areas = np.bincount(self._groups, simplifier.areas, int(groups.max(initial=-1)) + 1)
        self._root_areas = np.sqrt(areas)

    @property
    def triangle_count(self) -> int:
        """The number of triangles left."""
        return len(self._left)

    @property
    def indices(self) -> Indices:
        """The triangles left."""
        return self._left

    @property
    def groups(self) -> NDArray[np.int32]:
        """The group of each triangle left."""
        return self._groups

    @property
    def is_held(self) -> Flags:
        """Tell which vertices of the surface never move."""
        freedom = self._places[:, 3]
        held: Flags = ((freedom != FREE) & (freedom != RIM))[self._points.weld.number]
        return held

    def drop(self, is_dropped: Flags) -> None:
        """Drop some of the triangles left."""
        self._keep(np.flatnonzero(~is_dropped))

    def reduce(self, target: int, max_error: Floats, losses: Float64) -> Step:
        """Go on to `target` triangles, or as far as the errors permit, and return what is left.

        `max_error` has a row for each vertex, `losses` for each group; a negative loss is none.
        """
        extent = self._points.extent
        allowed = max_error.astype(np.float64) / extent
        self._places[self._points.weld.number, 4] = allowed * allowed
        lost = losses / extent
        # As the cost of a collapse: the squared error times the root of the area.
        costs = np.where(losses < 0.0, -1.0, lost * lost * self._root_areas)
        goal = min(max(target, 0), len(self._left))
        left = np.ascontiguousarray(self._left.copy())
        choose("simplify", collapse_reference)(
            left,
            self._place,
            self._places,
            self._rows,
            self._groups,
            costs,
            SETTLE,
            goal,
            np.zeros(1),
        )
        self._left = left
        self._keep(np.flatnonzero(left[:, 0] != REMOVED))
        return self._step()

    def _keep(self, rows: NDArray[np.intp]) -> None:
        self._left = np.ascontiguousarray(self._left[rows])
        self._kept, self._groups = self._kept[rows], np.ascontiguousarray(self._groups[rows])

    def _step(self) -> Step:
        """Return the triangles left, with attributes of the vertices that are not as before."""
        is_used = np.zeros(len(self._place), np.bool_)
        is_used[self._left] = True
        is_settled = (self._places[:, :3] != self._start).any(axis=1)
        at = self._points.weld.number
        moved = np.flatnonzero(is_used & ((self._place != at) | is_settled[self._place]))
        place = self._place[moved]
        unit_points = self._places[place, :3]
        points = (unit_points * self._points.extent + self._points.low).astype(np.float32)
        # Nothing leaves the bounds of the surface, not by a rounding either.
        surface = self._surface.positions
        points = np.clip(points, surface.min(axis=0), surface.max(axis=0))
        # Places that did not settle keep their positions to the last bit.
        exact = surface[self._points.weld.first[place]]
        points = np.where(is_settled[place][:, None], points, exact)
        return Step(self._left, self._kept, moved, points, *self._attributes(moved))

    def _attributes(self, moved: NDArray[np.intp]) -> tuple[Floats, tuple[Floats, ...]]:
        """Return normals and texture coordinates of moved vertices."""
        change = self._rows[moved, : self._values.shape[1]] - self._values[moved]
        found, start = [], 0
        for values, scale in zip(self._surface.attributes, self._scales, strict=True):
            width = values.shape[1]
            step = change[:, start : start + width] / scale if scale else 0.0
            found.append(values[moved] + step)
            start += width
        normals = unit(found[0].T.astype(np.float64))[0].T
        return normals.astype(np.float32), tuple(one.astype(np.float32) for one in found[1:])


def expected_edge(area: float, triangles: int) -> float:
    """Return the length of edges where so many triangles share an area."""
    return math.sqrt(2.0 * area / max(triangles, 1))
