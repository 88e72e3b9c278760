"""Weld vertices that are equal bit for bit, number them by first use, and drop unused ones.

The one rule: -0.0 is 0.0, and nothing else is the same as anything else unless a tolerance is
asked for. Then the first vertex of each cell of a grid stands for all vertices in the cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.triangle import Indices, checked_triangles

Attribute = NDArray[np.generic]


@dataclass(frozen=True)
class Weld:
    """Which vertices are one: `number[v]` is v's new number, `first[n]` the vertex it was."""

    first: NDArray[np.int32]
    number: NDArray[np.int32]


def weld_vertices(attributes: Sequence[Attribute], tolerance: float = 0.0) -> Weld:
    """Give the different vertices numbers in the order in which they first occur."""
    rows = _keys(attributes, tolerance)
    numbers: dict[bytes, int] = {}
    number = [numbers.setdefault(row, len(numbers)) for row in rows]
    welded = np.array(number, dtype=np.int32)
    first = np.full(len(numbers), len(rows), dtype=np.int32)
    np.minimum.at(first, welded, np.arange(len(rows), dtype=np.int32))
    return Weld(first, welded)


def weld_mesh(
    attributes: Sequence[Attribute], indices: NDArray[np.integer], tolerance: float = 0.0
) -> tuple[list[Attribute], Indices]:
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


def _keys(attributes: Sequence[Attribute], tolerance: float) -> list[bytes]:
    """Return one key for each vertex; equal keys are to be welded."""
    columns = [_key_bytes(attribute, tolerance) for attribute in attributes]
    table = np.ascontiguousarray(np.concatenate(columns, axis=1))
    keys: list[bytes] = table.view(f"V{table.shape[1]}").reshape(-1).tolist()
    return keys


def _key_bytes(attribute: Attribute, tolerance: float) -> NDArray[np.uint8]:
    """Return the bytes of each row that decide whether two rows are the same."""
    rows = np.ascontiguousarray(attribute.reshape(len(attribute), math.prod(attribute.shape[1:])))
    if not np.issubdtype(rows.dtype, np.floating):
        return rows.view(np.uint8)
    if tolerance > 0.0:
        rows = np.floor(rows.astype(np.float64) / tolerance + 0.5)
    return np.add(rows, rows.dtype.type(0)).view(np.uint8)
