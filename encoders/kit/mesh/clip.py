"""Cut triangles at axis-aligned planes, with interpolated attributes and without cracks.

Each cut edge gets one new vertex, interpolated in float64 from the end below the plane to the end
above it, then rounded to float32. So edges between equal positions are cut at equal positions, bit
for bit, and the two sides of a cut or of a seam match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.triangle import Indices, checked_triangles

Float32 = NDArray[np.float32]

# A plane can triple a triangle, so many planes could exhaust the memory.
MAX_PIECES = 1 << 24


@dataclass(frozen=True)
class CutMesh:
    """A mesh and, for each triangle, the index of the original triangle that it is a part of.

    The first attribute is the position.
    """

    attributes: tuple[Float32, ...]
    indices: Indices
    source: NDArray[np.int32]


def start_cut(attributes: Sequence[Float32], indices: NDArray[np.integer]) -> CutMesh:
    """Return an uncut mesh with float32 attributes and checked triangles."""
    triangles = checked_triangles(indices, len(attributes[0]))
    if not np.isfinite(attributes[0]).all():
        raise EncodeError("a position is not a finite number")
    columns = tuple(np.asarray(attribute, dtype=np.float32) for attribute in attributes)
    return CutMesh(columns, triangles, np.arange(len(triangles), dtype=np.int32))


def cut_at_plane(mesh: CutMesh, axis: int, value: float) -> CutMesh:
    """Cut every triangle that crosses the plane `axis = value`."""
    # Positions are float32, so the plane must be one: a vertex in it is then exactly in it.
    plane = np.float32(value)
    coordinate = mesh.attributes[0][:, axis]
    side = (coordinate > plane).astype(np.int8) - (coordinate < plane).astype(np.int8)
    # -1 below, 0 in the plane, 1 above, for each corner.
    sides = side[mesh.indices]
    is_cut = (sides.min(axis=1, initial=1) < 0) & (sides.max(axis=1, initial=-1) > 0)
    if not is_cut.any():
        return mesh
    cut, rotated_sides = _rotate(mesh.indices[is_cut], sides[is_cut])
    ends, pieces, piece_of = _split(cut, rotated_sides, side, len(coordinate))
    attributes = _add_cut_vertices(mesh.attributes, ends, axis, plane)
    return _replace_cut(mesh, is_cut, attributes, pieces, piece_of)


def _rotate(triangles: Indices, sides: NDArray[np.int8]) -> tuple[Indices, NDArray[np.int8]]:
    """Rotate the corners so that the first is the only one on its side, or the one in the plane."""
    # Sides are (1, -1, -1), (-1, 1, 1) or (0, 1, -1) in some order; the sum's negative is the
    # single one.
    alone = -sides.sum(axis=1, dtype=np.int8)
    pivot = (sides == alone[:, None]).argmax(axis=1)
    turn = (pivot[:, None] + np.arange(3)) % 3
    return np.take_along_axis(triangles, turn, 1), np.take_along_axis(sides, turn, 1)


def _split(
    cut: Indices, sides: NDArray[np.int8], side: NDArray[np.int8], next_vertex: int
) -> tuple[NDArray[np.int32], Indices, NDArray[np.int64]]:
    """Return the ends (below, above) of each cut edge, the pieces, and each piece's triangle.

    If the first corner is alone on its side, both its edges are cut: three pieces. If it lies in
    the plane, the opposite edge is cut: two pieces.
    """
    is_in_plane = sides[:, 0] == 0
    alone, halved = np.flatnonzero(~is_in_plane), np.flatnonzero(is_in_plane)
    edges = np.concatenate([cut[alone][:, [0, 1]], cut[alone][:, [0, 2]], cut[halved][:, [1, 2]]])
    is_downward = side[edges[:, 0]] > 0
    # Always from below to above, so that both triangles at an edge compute the same vertex.
    edges[is_downward] = edges[is_downward, ::-1]
    # One new vertex for an edge that two triangles share.
    key = edges[:, 0].astype(np.int64) * next_vertex + edges[:, 1]
    unique, number = np.unique(key, return_inverse=True)
    first, second, middle = np.split(
        (next_vertex + number.reshape(-1)).astype(np.int32), [len(alone), 2 * len(alone)]
    )
    a, b, c = cut[alone].T
    p, q, r = cut[halved].T
    pieces = [(a, first, second), (first, b, c), (first, c, second), (p, q, middle), (p, middle, r)]
    triangles = np.concatenate([np.stack(piece, axis=1) for piece in pieces])
    ends = np.stack([unique // next_vertex, unique % next_vertex], axis=1).astype(np.int32)
    return ends, triangles, np.concatenate([alone, alone, alone, halved, halved])


def _add_cut_vertices(
    attributes: tuple[Float32, ...], ends: NDArray[np.int32], axis: int, plane: np.float32
) -> tuple[Float32, ...]:
    """Append an interpolated vertex for each cut edge, exactly in the plane."""
    below, above = ends[:, 0], ends[:, 1]
    coordinate = attributes[0][:, axis].astype(np.float64)
    fraction = (float(plane) - coordinate[below]) / (coordinate[above] - coordinate[below])
    grown = []
    for attribute in attributes:
        start, end = attribute[below].astype(np.float64), attribute[above].astype(np.float64)
        weight = fraction.reshape(-1, *([1] * (attribute.ndim - 1)))
        grown.append(np.concatenate([attribute, (start + (end - start) * weight).astype("f4")]))
    # Interpolation may be off by a rounding; the two sides must meet in the plane.
    grown[0][len(coordinate) :, axis] = plane
    return tuple(grown)


def _replace_cut(
    mesh: CutMesh,
    is_cut: NDArray[np.bool_],
    attributes: tuple[Float32, ...],
    pieces: Indices,
    piece_of: NDArray[np.int64],
) -> CutMesh:
    """Replace cut triangles by their pieces; drop pieces that rounding made degenerate."""
    whole = np.flatnonzero(~is_cut)
    origin = np.concatenate([whole, np.flatnonzero(is_cut)[piece_of]])
    if len(origin) > MAX_PIECES:
        raise EncodeError("too many pieces", {"found": len(origin), "allowed": MAX_PIECES})
    triangles = np.concatenate([mesh.indices[whole], pieces])
    at = attributes[0][pieces]
    # By position: two new vertices can round to the same one.
    is_area = (at != np.roll(at, 1, axis=1)).any(axis=2).all(axis=1)
    kept = np.flatnonzero(np.concatenate([np.ones(len(whole), np.bool_), is_area]))
    # Stable: pieces stand where their triangle stood, in the order in which they were cut.
    order = kept[np.argsort(origin[kept], kind="stable")]
    return CutMesh(attributes, triangles[order], mesh.source[origin[order]])
