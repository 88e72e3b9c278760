"""Simplify a mesh by collapsing edges in order of the error that this makes.

A vertex only ever moves onto a neighbour, so the result indexes the vertices that are there and
every attribute is kept. Vertices of one position move together: along a seam each side follows
its own side, and on an open edge along that. `simplify_shape` goes on where that ends: there seams
move as well. The one rule: locked vertices stay where they are, and the edges between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.collapse import FREE, LOCKED, RIM, VANISHED, collapse_reference
from encoders.kit.mesh.quadric import (
    SIZE,
    Float64,
    add_columns,
    cross,
    dot,
    edge_quadrics,
    face_quadrics,
    gradient_quadrics,
)
from encoders.kit.mesh.triangle import (
    Indices,
    checked_triangles,
    edges_of,
    has_distinct_corners,
    paired_edges,
)
from encoders.kit.mesh.weld import Weld, weld_vertices
from encoders.kit.native.kernel import choose

# A normal that is wrong by one is as bad as a position that is wrong by this many edges of the
# result, or by so many times the allowed error.
NORMAL_EDGES = 0.05
NORMAL_ERRORS = 1.0
# A texture that is shifted is as bad as a position that is wrong by this part of the shift.
UV_SHIFT = 0.2


@dataclass(frozen=True)
class Surface:
    """What `simplify` takes: triangles, where their vertices are, and what is drawn with them.

    Vertices of different `parts` are never at one place, even where their positions are equal;
    open edges stay there, and at `anchored` vertices, because they meet something else.
    """

    positions: NDArray[np.float32]
    indices: NDArray[np.integer]
    normals: NDArray[np.float32] | None = None
    uvs: NDArray[np.float32] | None = None
    parts: NDArray[np.int32] | None = None
    anchored: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Simplified:
    """Triangles over the original vertices, and the largest error of a collapse, in mesh units.

    `kept` has the number of the triangle that each of them was.
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
    """Return at most the target's triangles, or as few as the error and the locks allow.

    There is one error for all vertices, or one for each. Vertices that differ only in their number
    are a seam: weld the mesh before.
    """
    return _simplified(surface, target_triangles, locked, max_error, is_bare=False)


def simplify_shape(
    surface: Surface,
    target_triangles: int,
    locked: NDArray[np.bool_] | None = None,
    max_error: float | NDArray[np.float32] = math.inf,
) -> Simplified:
    """Simplify a surface as if nothing were drawn on it, so that its seams are free to move.

    Each corner of the result is some vertex at its place: what is drawn there is for the caller to
    choose, who knows by `kept` which triangle it belongs to.
    """
    return _simplified(surface, target_triangles, locked, max_error, is_bare=True)


@dataclass(frozen=True)
class _Wedges:
    """What the kernel collapses: each wedge has a place, a row of attributes and its vertex."""

    triangles: Indices
    place: NDArray[np.int32]
    rows: Float64
    vertex: NDArray[np.int32]


def _simplified(
    surface: Surface,
    target_triangles: int,
    locked: NDArray[np.bool_] | None,
    max_error: float | NDArray[np.float32],
    *,
    is_bare: bool,
) -> Simplified:
    triangles = checked_triangles(surface.indices, len(surface.positions))
    weld, touches = _weld(surface)
    numbers = np.flatnonzero(has_distinct_corners(weld.number[triangles])).astype(np.int32)
    triangles = np.ascontiguousarray(triangles[numbers])
    if len(triangles) == 0:
        return Simplified(triangles, 0.0, numbers)
    points, extent = _unit_points(surface.positions)
    corners = _at_corners(points, triangles)
    places = _places(points, corners, triangles, weld.number)
    held = weld.number[touches if surface.anchored is None else touches | surface.anchored]
    places[held, 3] = np.where(places[held, 3] == RIM, LOCKED, places[held, 3])
    if locked is not None:
        places[weld.number[locked], 3] = LOCKED
    errors = np.asarray(max_error, np.float64) / extent
    places[weld.number, 4] = errors * errors
    reached = np.zeros(1)
    if is_bare:
        given = _bare(corners, triangles, weld)
    else:
        edge = _expected_edge(corners, target_triangles, float(errors.max()))
        given = _drawn(corners, triangles, weld, _attributes(surface, corners, triangles, edge))
    left = given.triangles
    target = min(max(target_triangles, 0), len(left))
    kernel = choose("simplify", collapse_reference)
    kernel(left, given.place, places, given.rows, target, reached)
    kept = np.flatnonzero(left[:, 0] != VANISHED)
    return Simplified(given.vertex[left[kept]], math.sqrt(reached[0]) * extent, numbers[kept])


def _weld(surface: Surface) -> tuple[Weld, NDArray[np.bool_]]:
    """Tell which vertices are at one place, and which are where another part is as well."""
    weld = weld_vertices([surface.positions])
    if surface.parts is None:
        return weld, np.zeros(len(weld.number), np.bool_)
    pairs = weld.number.astype(np.int64) * (int(surface.parts.max(initial=0)) + 1) + surface.parts
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    parts_at = np.bincount(weld.number[first], minlength=len(weld.first))
    apart = Weld(first[order].astype(np.int32), number[inverse.reshape(-1)].astype(np.int32))
    return apart, parts_at[weld.number] > 1


def _drawn(corners: Float64, triangles: Indices, weld: Weld, values: Float64) -> _Wedges:
    """Make a wedge of each vertex, with its attributes."""
    vertices = np.arange(len(weld.number), dtype=np.int32)
    return _Wedges(triangles, weld.number, _wedges(corners, values, triangles), vertices)


def _bare(corners: Float64, triangles: Indices, weld: Weld) -> _Wedges:
    """Make one wedge of each place, without attributes."""
    shape = np.ascontiguousarray(weld.number[triangles])
    rows = _wedges(corners, np.empty((0, len(weld.first))), shape)
    return _Wedges(shape, np.arange(len(weld.first), dtype=np.int32), rows, weld.first)


def _unit_points(positions: NDArray[np.float32]) -> tuple[Float64, float]:
    """Return the positions within the unit cube, axis first, and how long one unit is."""
    points = positions.T.astype(np.float64, order="C")
    if not np.isfinite(points).all():
        raise EncodeError("a position is not a finite number")
    low = points.min(axis=1, keepdims=True)
    extent = float((points.max(axis=1, keepdims=True) - low).max()) or 1.0
    return (points - low) / extent, extent


def _at_corners(columns: Float64, triangles: Indices) -> Float64:
    """Return the columns at the first, second and third corner of each triangle."""
    return np.stack([columns[:, triangles[:, corner]] for corner in range(3)])


def _doubled_area(corners: Float64) -> float:
    """Return twice the area of all triangles."""
    normal = cross(corners[1] - corners[0], corners[2] - corners[0])
    return math.fsum(np.sqrt(dot(normal, normal)))


def _expected_edge(corners: Float64, target_triangles: int, max_error: float) -> float:
    """Return how long an edge of the result is, were all triangles equal; less if errors are."""
    edge = math.sqrt(_doubled_area(corners) / max(target_triangles, 1))
    return min(edge, NORMAL_ERRORS / NORMAL_EDGES * max_error)


def _attributes(surface: Surface, corners: Float64, triangles: Indices, edge: float) -> Float64:
    """Return normals and UVs as columns, scaled so that errors in them compare with positions."""
    columns = [np.empty((0, len(surface.positions)))]
    if surface.normals is not None:
        columns.append(surface.normals.T.astype(np.float64) * (NORMAL_EDGES * edge))
    if surface.uvs is not None:
        flat = np.zeros((3, len(surface.uvs)))
        flat[:2] = surface.uvs.T
        drawn = _doubled_area(_at_corners(flat, triangles))
        scale = math.sqrt(_doubled_area(corners) / drawn) if drawn > 0.0 else 0.0
        columns.append(flat[:2] * (UV_SHIFT * scale))
    return np.concatenate(columns)


def _places(
    points: Float64, corners: Float64, triangles: Indices, place: NDArray[np.int32]
) -> Float64:
    """Return a row for each position: where it is, how free, the error allowed, its quadric."""
    edges = edges_of(triangles)
    irregular, seam = _special_edges(place[edges], edges)
    rows = np.zeros((int(place.max()) + 1, 5 + SIZE))
    rows[place, :3] = points.T
    ends = place[edges[irregular]]
    is_open = _is_alone(ends)
    rows[:, 3] = _freedom(ends, is_open, len(rows))
    seam = np.concatenate([seam, irregular[is_open]])
    quadrics = np.zeros((len(rows), SIZE))
    add_columns(face_quadrics(corners), place[triangles], quadrics)
    add_columns(edge_quadrics(corners[:, :, seam // 3], seam % 3), place[edges[seam]], quadrics)
    rows[:, 5:] = quadrics
    return rows


def _is_alone(ends: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which edges are there only once, in either direction."""
    ordered = np.sort(ends, axis=1)
    _, number, count = np.unique(ordered, axis=0, return_inverse=True, return_counts=True)
    alone: NDArray[np.bool_] = count[number.reshape(-1)] == 1
    return alone


def _freedom(ends: NDArray[np.int32], is_open: NDArray[np.bool_], count: int) -> Float64:
    """Say how each place may move: along a rim where two open edges meet and nothing else does."""
    freedom = np.full(count, FREE)
    freedom[ends] = LOCKED
    at_rim = np.bincount(ends[is_open].reshape(-1), minlength=count) == 2
    at_rim[ends[~is_open]] = False
    freedom[at_rim] = RIM
    return freedom


def _special_edges(
    ends: NDArray[np.int32], vertices: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges without exactly one twin, and those whose twin has other vertices."""
    one, other = paired_edges(ends)
    irregular = np.ones(len(ends), np.bool_)
    irregular[one] = irregular[other] = False
    is_split = (vertices[one] != vertices[other, ::-1]).any(axis=1)
    return np.flatnonzero(irregular), np.concatenate([one[is_split], other[is_split]])


def _wedges(corners: Float64, values: Float64, triangles: Indices) -> Float64:
    """Return a row for each vertex: its attributes, their gradients, and the quadric of both."""
    columns = gradient_quadrics(corners, _at_corners(values, triangles))
    sums = np.zeros((values.shape[1], len(columns)))
    add_columns(columns, triangles, sums)
    return np.concatenate([values.T, sums], axis=1)
