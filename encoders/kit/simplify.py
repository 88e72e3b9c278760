"""Simplify a mesh by collapsing edges in order of the error that this makes.

A vertex only ever moves onto a neighbour, so the result indexes the vertices that are there and
every attribute is kept. Vertices of one position move together: along a seam each side follows
its own side. The one rule: open edges, locked vertices and the ends of seams stay where they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.collapse import collapse_reference
from encoders.kit.error import EncodeError
from encoders.kit.kernel import choose
from encoders.kit.quadric import (
    SIZE,
    Float64,
    add_columns,
    cross,
    dot,
    edge_quadrics,
    face_quadrics,
    gradient_quadrics,
)
from encoders.kit.triangle import (
    Indices,
    checked_triangles,
    edges_of,
    has_distinct_corners,
    paired_edges,
)
from encoders.kit.weld import weld_vertices

# A normal that is wrong by one is as bad as a position that is wrong by this many edges of the
# result, or by so many times the allowed error.
NORMAL_EDGES = 0.05
NORMAL_ERRORS = 1.0
# A texture that is shifted is as bad as a position that is wrong by this part of the shift.
UV_SHIFT = 0.2


@dataclass(frozen=True)
class Surface:
    """What `simplify` takes: triangles, where their vertices are, and what is drawn with them."""

    positions: NDArray[np.float32]
    indices: NDArray[np.integer]
    normals: NDArray[np.float32] | None = None
    uvs: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Simplified:
    """Triangles over the original vertices, and the largest error of a collapse, in mesh units."""

    indices: Indices
    error: float


def simplify(
    surface: Surface,
    target_triangles: int,
    locked: NDArray[np.bool_] | None = None,
    max_error: float = math.inf,
) -> Simplified:
    """Return at most the target's triangles, or as few as the error and the locks allow.

    Vertices that differ only in their number are a seam: weld the mesh before.
    """
    triangles = checked_triangles(surface.indices, len(surface.positions))
    place = weld_vertices([surface.positions]).number
    triangles = np.ascontiguousarray(triangles[has_distinct_corners(place[triangles])])
    if len(triangles) == 0:
        return Simplified(triangles, 0.0)
    points, extent = _unit_points(surface.positions)
    corners = _at_corners(points, triangles)
    places = _places(points, corners, triangles, place)
    if locked is not None:
        places[place[locked], 3] = 1.0
    limits = np.array([(max_error / extent) * (max_error / extent), 0.0])
    edge = _expected_edge(corners, target_triangles, max_error / extent)
    values = _attributes(surface, corners, triangles, edge)
    wedges = _wedges(corners, values, triangles)
    kernel = choose("simplify", collapse_reference)
    count = kernel(triangles, place, places, wedges, max(target_triangles, 0), limits)
    return Simplified(triangles[:count].copy(), math.sqrt(limits[1]) * extent)


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
    """Return a row for each position: where it is, whether it is locked, and its quadric."""
    edges = edges_of(triangles)
    irregular, seam = _special_edges(place[edges], edges)
    rows = np.zeros((int(place.max()) + 1, 4 + SIZE))
    rows[place, :3] = points.T
    rows[place[edges[irregular]], 3] = 1.0
    quadrics = np.zeros((len(rows), SIZE))
    add_columns(face_quadrics(corners), place[triangles], quadrics)
    add_columns(edge_quadrics(corners[:, :, seam // 3], seam % 3), place[edges[seam]], quadrics)
    rows[:, 4:] = quadrics
    return rows


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
