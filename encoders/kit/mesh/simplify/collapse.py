"""Simplify a mesh by edge collapse, in order of the error of each collapse.

A vertex only moves onto a neighbour, so the result indexes the original vertices and all attributes
stay valid. Vertices at one position move together: along a seam each side follows its own side, and
on an open edge they move along it. `simplify_shape` also moves seams, and so goes further. Locked
vertices never move, and edges between them are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.simplify.collapsing_mesh import FREE, LOCKED, PLANE, RIM
from encoders.kit.mesh.simplify.quadric import (
    SIZE,
    add_columns,
    edge_quadrics,
    face_quadrics,
    gradient_quadrics,
)
from encoders.kit.mesh.simplify.reference import KEEP_SEAMS, REMOVED, collapse_reference
from encoders.kit.mesh.triangle import (
    Indices,
    checked_triangles,
    edges_of,
    has_distinct_corners,
    paired_edges,
)
from encoders.kit.mesh.vector import Float64, cross, dot, unit
from encoders.kit.mesh.weld import Weld, weld_vertices
from encoders.kit.native.kernel import choose

# How errors of attributes compare with errors of positions. A normal that is off by 1 counts like
# a position that is off by 0.05 edges of the result, or by the allowed error if that is less; a
# texture shifted by some distance on the surface counts like a position off by 0.2 of it.
NORMAL_EDGES = 0.05
NORMAL_ERRORS = 1.0
UV_SHIFT = 0.2

# An edge is sharp if the cosine between its triangles is less than this: they turn by 63 degrees.
SHARP = 0.45


@dataclass(frozen=True)
class Surface:
    """The mesh to simplify: positions, triangles and optional attributes.

    Vertices of different `parts` are separate even where their positions are equal. Open edges do
    not move where two parts meet, nor at `anchored` vertices, because something else continues
    there. `planes` has bits of the border planes that a vertex lies in; vertices of one plane that
    do not move get no new edge between them.
    """

    positions: NDArray[np.float32]
    indices: NDArray[np.integer]
    normals: NDArray[np.float32] | None = None
    uvs: NDArray[np.float32] | None = None
    parts: NDArray[np.int32] | None = None
    anchored: NDArray[np.bool_] | None = None
    other_uvs: NDArray[np.float32] | None = None
    planes: NDArray[np.int32] | None = None

    @property
    def attributes(self) -> list[NDArray[np.float32]]:
        """The attributes that there are: normals, then texture coordinates."""
        every = (self.normals, self.uvs, self.other_uvs)
        return [one for one in every if one is not None]


@dataclass(frozen=True)
class Simplified:
    """Triangles of the original vertices, and the largest error of a collapse in mesh units.

    `kept` has the index of the original triangle of each.
    """

    indices: Indices
    error: float
    kept: NDArray[np.int32]


def simplify(
    surface: Surface,
    target_triangles: int,
    locked: NDArray[np.bool_] | None = None,
    max_error: float | NDArray[np.float32] = math.inf,
) -> Simplified:
    """Return at most `target_triangles`, or as few as the allowed error and the locks permit.

    `max_error` is one number for all vertices, or one for each. Duplicate vertices count as a
    seam, so weld the mesh before.
    """
    return Simplifier.of(surface, locked).simplify(target_triangles, max_error)


def simplify_shape(
    surface: Surface,
    target_triangles: int,
    locked: NDArray[np.bool_] | None = None,
    max_error: float | NDArray[np.float32] = math.inf,
) -> Simplified:
    """Simplify the shape alone and ignore attributes, so that seams can move.

    Each corner of the result is an arbitrary one of the vertices at its position. The caller has to
    choose the attributes; `kept` says which original triangle they belong to.
    """
    return Simplifier.of(surface, locked).simplify_shape(target_triangles, max_error)


@dataclass(frozen=True, eq=False)
class _Points:
    """Positions in the unit cube, its corner and side, the weld, and what may not move.

    Costs and tolerances then do not depend on the size of the mesh.
    """

    unit: Float64
    low: Float64
    extent: float
    weld: Weld
    anchored: NDArray[np.int32]
    locked: NDArray[np.int32]


class Simplifier:
    """What all simplifications of one surface share, for callers that try several errors."""

    def __init__(self, surface: Surface, points: _Points, indices: Indices) -> None:
        self._surface, self.points = surface, points
        # By place: a triangle whose corners share a position has no area, and the kernel refuses
        # it.
        is_good = has_distinct_corners(points.weld.number[indices])
        self.numbers = np.flatnonzero(is_good).astype(np.int32)
        self.triangles = np.ascontiguousarray(indices[self.numbers])

    @classmethod
    def of(cls, surface: Surface, locked: NDArray[np.bool_] | None = None) -> Simplifier:
        """Prepare a surface; `locked` vertices never move."""
        triangles = checked_triangles(surface.indices, len(surface.positions))
        weld, touches = _weld(surface)
        anchored = touches if surface.anchored is None else touches | surface.anchored
        fixed = weld.number[:0] if locked is None else weld.number[locked]
        unit, low, extent = (
            _unit_points(surface.positions)
            if len(triangles)
            else (np.empty((3, 0)), np.zeros(3), 1.0)
        )
        points = _Points(unit, low, extent, weld, weld.number[anchored], fixed)
        return cls(surface, points, triangles)

    def with_triangles(self, indices: Indices) -> Simplifier:
        """Prepare other triangles of the same vertices."""
        return Simplifier(self._surface, self.points, indices)

    def simplify(
        self, target_triangles: int, max_error: float | NDArray[np.float32] = math.inf
    ) -> Simplified:
        """Simplify and respect attributes; see the function `simplify`."""
        if not len(self.triangles):
            return Simplified(self.triangles, 0.0, self.numbers)
        largest = float(np.max(max_error)) / self.points.extent
        edge = math.sqrt(self._doubled_area / max(target_triangles, 1))
        rows, _ = self.wedge_rows(min(edge, NORMAL_ERRORS / NORMAL_EDGES * largest))
        left, place = self.triangles.copy(), self.points.weld.number.copy()
        kept, error = self._collapse(left, place, rows, target_triangles, max_error)
        return Simplified(left[kept], error, self.numbers[kept])

    def simplify_shape(
        self, target_triangles: int, max_error: float | NDArray[np.float32] = math.inf
    ) -> Simplified:
        """Simplify the shape alone; see the function `simplify_shape`."""
        if not len(self.triangles):
            return Simplified(self.triangles, 0.0, self.numbers)
        weld = self.points.weld
        # One wedge for each place, without attributes.
        left = np.ascontiguousarray(weld.number[self.triangles])
        place, rows = np.arange(len(weld.first), dtype=np.int32), np.zeros((len(weld.first), SIZE))
        kept, error = self._collapse(left, place, rows, target_triangles, max_error)
        return Simplified(weld.first[left[kept]], error, self.numbers[kept])

    def _collapse(
        self,
        left: Indices,
        place: NDArray[np.int32],
        rows: Float64,
        target_triangles: int,
        max_error: float | NDArray[np.float32],
    ) -> tuple[NDArray[np.intp], float]:
        """Collapse the triangles `left`; return the rows that remain, and the largest error."""
        places, reached = self.places.copy(), np.zeros(1)
        errors = np.asarray(max_error, np.float64) / self.points.extent
        # The kernel compares squared errors.
        places[self.points.weld.number, 4] = errors * errors
        # The kernel takes a target between none and all.
        target = min(max(target_triangles, 0), len(left))
        groups, never = np.zeros(len(left), np.int32), np.full(1, -1.0)
        choose("simplify", collapse_reference)(
            left, place, places, rows, groups, never, KEEP_SEAMS, target, reached
        )
        return np.flatnonzero(left[:, 0] != REMOVED), math.sqrt(reached[0]) * self.points.extent

    @cached_property
    def _corners(self) -> Float64:
        return _at_corners(self.points.unit, self.triangles)

    @cached_property
    def _doubled_area(self) -> float:
        return _doubled_area(self._corners)

    @cached_property
    def places(self) -> Float64:
        """A row for each place; the allowed error is added by `_collapse`."""
        return self.place_rows(holds_seams=True)

    def place_rows(self, *, holds_seams: bool) -> Float64:
        """Return a row for each place; seams that are not held count by their attributes alone."""
        points = self.points
        places = _places(
            points.unit, self._corners, self.triangles, points.weld.number, holds_seams=holds_seams
        )
        _lock_rims(places, points.anchored)
        places[points.locked, 3] = LOCKED
        if self._surface.planes is not None:
            held = PLANE * self._surface.planes[points.weld.first]
            places[:, 3] = np.where((places[:, 3] == LOCKED) & (held > 0), held, places[:, 3])
        return places

    @cached_property
    def areas(self) -> Float64:
        """The area of each triangle, in units of the cube."""
        normal = cross(self._corners[1] - self._corners[0], self._corners[2] - self._corners[0])
        return 0.5 * np.sqrt(dot(normal, normal))

    @cached_property
    def _attributes(self) -> list[_Attributes]:
        """Normals, then UVs scaled to be comparable with positions."""
        found, surface = [], self._surface
        if surface.normals is not None:
            found.append(self._sum_gradients(surface.normals.T.astype(np.float64), 1.0))
        for uvs in (surface.uvs, surface.other_uvs):
            if uvs is not None:
                flat = np.zeros((3, len(uvs)))
                flat[:2] = uvs.T
                uv_area = _doubled_area(_at_corners(flat, self.triangles))
                # Length on the surface for a length in texture space, by the ratio of their areas.
                scale = math.sqrt(self._doubled_area / uv_area) if uv_area > 0.0 else 0.0
                found.append(self._sum_gradients(flat[:2], UV_SHIFT * scale))
        return found or [self._sum_gradients(np.empty((0, len(surface.positions))), 1.0)]

    def _sum_gradients(self, values: Float64, scale: float) -> _Attributes:
        values = values * scale
        columns = gradient_quadrics(self._corners, _at_corners(values, self.triangles))
        sums = np.zeros((values.shape[1], len(columns)))
        add_columns(columns, self.triangles, sums)
        return _Attributes(values.T, sums[:, :-SIZE], sums[:, -SIZE:], scale)

    def wedge_rows(self, edge: float) -> tuple[Float64, list[float]]:
        """Return a row for each wedge: its attributes, their gradients, and their quadric.

        Normals count by the expected edge, so only they are scaled anew for each error. Also
        return what each attribute was multiplied by.
        """
        has_normals = self._surface.normals is not None
        scales = [NORMAL_EDGES * edge if has_normals else 1.0, 1.0, 1.0]
        groups = list(zip(self._attributes, scales, strict=False))
        quadric = sum(one.quadric * (scale * scale) for one, scale in groups)
        columns = [one.values * scale for one, scale in groups]
        columns += [one.slopes * scale for one, scale in groups]
        rows = np.concatenate([*columns, quadric], axis=1)
        # The weight is the area, which does not grow with the number of attributes.
        rows[:, -1] = self._attributes[0].quadric[:, -1]
        return rows, [one.scale * scale for one, scale in groups]


@dataclass(frozen=True, eq=False)
class _Attributes:
    """Values of each wedge, and the sums of their gradients and quadrics over its triangles.

    The values are those of the surface times `scale`.
    """

    values: Float64
    slopes: Float64
    quadric: Float64
    scale: float


def _lock_rims(places: Float64, anchored: NDArray[np.int32]) -> None:
    """Lock those of the places that lie on an open edge; the surface beside them stays free."""
    freedom = places[anchored, 3]
    places[anchored, 3] = np.where(freedom == RIM, LOCKED, freedom)


def _weld(surface: Surface) -> tuple[Weld, NDArray[np.bool_]]:
    """Weld vertices by position and part; also tell which lie where another part has a vertex."""
    weld = weld_vertices([surface.positions])
    if surface.parts is None:
        return weld, np.zeros(len(weld.number), np.bool_)
    # A place is a position and a part in one number.
    pairs = weld.number.astype(np.int64) * (int(surface.parts.max(initial=0)) + 1) + surface.parts
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    parts_at = np.bincount(weld.number[first], minlength=len(weld.first))
    apart = Weld(first[order].astype(np.int32), number[inverse.reshape(-1)].astype(np.int32))
    return apart, parts_at[weld.number] > 1


def _unit_points(positions: NDArray[np.float32]) -> tuple[Float64, Float64, float]:
    """Return the positions scaled into the unit cube, axis first, and its corner and side."""
    points = positions.T.astype(np.float64, order="C")
    if not np.isfinite(points).all():
        raise EncodeError("a position is not a finite number")
    low = points.min(axis=1, keepdims=True)
    # One scale for all axes keeps angles; 1 for a mesh that is a single point.
    extent = float((points.max(axis=1, keepdims=True) - low).max()) or 1.0
    return (points - low) / extent, low[:, 0], extent


def _at_corners(columns: Float64, triangles: Indices) -> Float64:
    """Return the columns at the first, second and third corner of each triangle."""
    return np.stack([columns[:, triangles[:, corner]] for corner in range(3)])


def _doubled_area(corners: Float64) -> float:
    """Return twice the area of all triangles."""
    normal = cross(corners[1] - corners[0], corners[2] - corners[0])
    # fsum is exact, so the order of the triangles does not matter.
    return math.fsum(np.sqrt(dot(normal, normal)))


def _places(
    points: Float64,
    corners: Float64,
    triangles: Indices,
    place: NDArray[np.int32],
    *,
    holds_seams: bool,
) -> Float64:
    """Return a row for each place: position, freedom to move, allowed error, quadric."""
    edges = edges_of(triangles)
    irregular, one, other = _paired_and_not(place[edges])
    # Opposite edges of the same places with different vertices: a seam of UVs or normals.
    is_seam = holds_seams & (edges[one] != edges[other, ::-1]).any(axis=1)
    rows = np.zeros((int(place.max()) + 1, 5 + SIZE))
    rows[place, :3] = points.T
    ends = place[edges[irregular]]
    is_open = _is_alone(ends)
    rows[:, 3] = _freedom(ends, is_open, len(rows))
    weight = np.where(is_seam, 1.0, _sharpness(corners, one // 3, other // 3))
    is_held = weight > 0.0
    # What has an outline gets upright planes, which keep it: open edges, seams and sharp edges.
    held = np.concatenate([one[is_held], other[is_held], irregular[is_open]])
    weights = np.concatenate([weight[is_held], weight[is_held], np.ones(int(is_open.sum()))])
    quadrics = np.zeros((len(rows), SIZE))
    add_columns(face_quadrics(corners), place[triangles], quadrics)
    upright = edge_quadrics(corners[:, :, held // 3], held % 3, weights)
    add_columns(upright, place[edges[held]], quadrics)
    rows[:, 5:] = quadrics
    return rows


def _sharpness(corners: Float64, one: NDArray[np.int64], other: NDArray[np.int64]) -> Float64:
    """Return from 0 to 1 how far the surface turns between two triangles; 0 below SHARP.

    The planes of both triangles hold the edge between them too, but not that of a thin board, whose
    narrow sides have no area, and not at all that of a sheet of two sides.
    """
    normal, _ = unit(cross(corners[1] - corners[0], corners[2] - corners[0]))
    cosine = dot(normal[:, one], normal[:, other])
    return np.where(cosine < SHARP, 0.5 * (1.0 - cosine), 0.0)


def _is_alone(ends: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which edges occur only once, in either direction."""
    low, high = ends.min(axis=1), ends.max(axis=1)
    # One number for an edge in either direction.
    key = low.astype(np.int64) * (int(high.max(initial=0)) + 1) + high
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    alone: NDArray[np.bool_] = count[number] == 1
    return alone


def _freedom(ends: NDArray[np.int32], is_open: NDArray[np.bool_], count: int) -> Float64:
    """Return how each place may move: along the rim where exactly two open edges meet."""
    freedom = np.full(count, FREE)
    # Every irregular edge locks its ends, then those in the middle of a clean open edge are freed.
    freedom[ends] = LOCKED
    at_rim = np.bincount(ends[is_open].reshape(-1), minlength=count) == 2
    # Edges of three or more triangles: no single rim to follow.
    at_rim[ends[~is_open]] = False
    freedom[at_rim] = RIM
    return freedom


def _paired_and_not(
    ends: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges without exactly one opposite edge, and the pairs of all others."""
    one, other = paired_edges(ends)
    irregular = np.ones(len(ends), np.bool_)
    irregular[one] = irregular[other] = False
    return np.flatnonzero(irregular), one, other
