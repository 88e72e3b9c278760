"""Weld vertices that are equal bit for bit, number them by first use, and drop unused ones.

-0.0 equals 0.0. With a tolerance, all vertices in one cell of a grid become the first of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.triangle import Indices, checked_triangles
from encoders.kit.native.row_number import number_rows

# One row per vertex.
VertexArray = NDArray[np.generic]


@dataclass(frozen=True)
class Weld:
    """`number[v]` is the new number of vertex v, `first[n]` the first vertex with number n."""

    first: NDArray[np.int32]
    number: NDArray[np.int32]


def weld_vertices(attributes: Sequence[VertexArray], tolerance: float = 0.0) -> Weld:
    """Give distinct vertices numbers in the order in which they first occur."""
    rows = _keys(attributes, tolerance)
    number, first = number_rows(rows)
    return Weld(first, number)


def weld_mesh(
    attributes: Sequence[VertexArray], indices: NDArray[np.integer], tolerance: float = 0.0
) -> tuple[list[VertexArray], Indices]:
    """Weld vertices that agree in all attributes; keep the used ones, in order of first use."""
    triangles = checked_triangles(indices, len(attributes[0]))
    weld = weld_vertices(attributes, tolerance)
    used, renumbered = prune_vertices(weld.number[triangles], len(weld.first))
    kept = weld.first[used]
    return [attribute[kept] for attribute in attributes], renumbered


def prune_vertices(
    indices: NDArray[np.integer], vertex_count: int
) -> tuple[NDArray[np.int32], Indices]:
    """Return the used vertices in order of first use, and the triangles that index these."""
    triangles = checked_triangles(indices, vertex_count)
    flat = triangles.reshape(-1)
    place = np.full(vertex_count, len(flat), dtype=np.int64)
    np.minimum.at(place, flat, np.arange(len(flat)))
    used = np.argsort(place, kind="stable")[: int(np.count_nonzero(place < len(flat)))]
    number = np.zeros(vertex_count, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    return used.astype(np.int32), number[triangles]


def _keys(attributes: Sequence[VertexArray], tolerance: float) -> NDArray[np.uint8]:
    """Return a row of bytes for each vertex; vertices with equal rows are welded."""
    columns = [_key_bytes(attribute, tolerance) for attribute in attributes]
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)


def _key_bytes(attribute: VertexArray, tolerance: float) -> NDArray[np.uint8]:
    """Return bytes for each row that are equal where the rows count as equal."""
    rows = np.ascontiguousarray(attribute.reshape(len(attribute), math.prod(attribute.shape[1:])))
    if not np.issubdtype(rows.dtype, np.floating):
        return rows.view(np.uint8)
    if tolerance > 0.0:
        rows = np.floor(rows.astype(np.float64) / tolerance + 0.5)
    # Adding zero turns -0.0 into 0.0 and changes no other bits.
    return np.add(rows, rows.dtype.type(0)).view(np.uint8)
