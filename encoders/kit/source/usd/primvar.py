"""Values on a mesh by corner: constant, per face, per point or per corner, with or without indices.

The rule: values that do not fit their mesh are left out with a warning, never read past their end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.mesh import first_use
from encoders.kit.source.shared.polygon_mesh import shifted, starts_of

Integers = npt.NDArray[np.int64]
# Values with the row of each corner; None where each corner has its own, in order.
ByRow = tuple[npt.NDArray[Any], Integers]
ByCorner = tuple[npt.NDArray[Any], Integers | None]


@dataclass(frozen=True, eq=False)
class Topology:
    """The faces of a mesh: corners of each, the point of each corner, and how many points."""

    sizes: Integers
    points: Integers
    count: int

    @cached_property
    def every_corner(self) -> Integers:
        """The corners by number."""
        return np.arange(len(self.points))

    @cached_property
    def face(self) -> Integers:
        """The face of each corner."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def zeros(self) -> Integers:
        """Row 0 for each corner."""
        return np.zeros(len(self.points), np.int64)

    def rows(self, interpolation: str) -> tuple[Integers, int] | None:
        """Return the element of each corner and how many there are, None for an unknown kind."""
        if interpolation in ("vertex", "varying"):
            return self.points, self.count
        if interpolation == "faceVarying":
            return self.every_corner, len(self.points)
        if interpolation == "uniform":
            return self.face, len(self.sizes)
        return (self.zeros, 1) if interpolation == "constant" else None


@dataclass(frozen=True, eq=False)
class Table:
    """Values (n, width) with indices, if there are any, and what they belong to."""

    values: npt.NDArray[np.float32]
    indices: Integers | None
    interpolation: str


def read_table(value: Any, indices: Any, interpolation: str, width: int) -> Table | None:
    """Return the values of an attribute, None where there are none of this width."""
    if value is None:
        return None
    values = np.array(value)
    if values.dtype != np.float32:
        with np.errstate(over="ignore", invalid="ignore"):
            values = values.astype("<f4")
    # A single value instead of a list of one is constant.
    if values.ndim < 2:
        values = values.reshape(1, -1) if width > 1 else values.reshape(-1, 1)
    if values.shape[1] != width or not np.isfinite(values).all():
        return None
    known = None if indices is None or not len(indices) else np.array(indices, np.int64)
    return Table(values, known, str(interpolation))


def attribute_of(table: Table, topology: Topology) -> ByCorner | None:
    """Return values and the row of each corner, None where they do not fit the mesh.

    Without rows the values are those of the corners, in order.
    """
    if table.interpolation == "faceVarying" and table.indices is None:
        corners = len(topology.points)
        return (table.values[:corners], None) if len(table.values) >= corners else None
    found = topology.rows(table.interpolation)
    if found is None or found[1] > len(table.values if table.indices is None else table.indices):
        return None
    rows = found[0]
    if table.indices is not None:
        rows = table.indices[rows]
        if len(rows) and (int(rows.max()) >= len(table.values) or int(rows.min()) < 0):
            return None
    return table.values, rows


def rows_of(rows: Integers | None) -> Integers | slice:
    """Return an index of values by corner."""
    return slice(None) if rows is None else rows


def merge_corners(found: Sequence[ByCorner], topologies: Sequence[Topology]) -> list[ByRow]:
    """Give equal values of corners one row, so that corners can share a vertex.

    Each mesh is merged by itself; many together take less time. What has rows is left as it is.
    """
    chosen = [number for number, (_, rows) in enumerate(found) if rows is None]
    merged = _merge_points([found[one][0] for one in chosen], [topologies[one] for one in chosen])
    known = dict(zip(chosen, merged, strict=True))
    return [
        known[number] if rows is None else (values, rows)
        for number, (values, rows) in enumerate(found)
    ]


def _merge_points(
    values: Sequence[npt.NDArray[Any]], topologies: Sequence[Topology]
) -> list[ByRow]:
    if not values:
        return []
    corners = starts_of(len(one) for one in values)
    starts = starts_of(one.count for one in topologies)
    points = shifted([one.points for one in topologies], starts)
    joined = np.concatenate(values)
    # Most often all corners of a point have one value, which is quick to see.
    of_point = np.zeros((starts[-1], joined.shape[1]), joined.dtype)
    of_point[points] = joined
    differs = (of_point[points] != joined).any(axis=1)
    some = np.add.reduceat(differs, corners[:-1], dtype=np.int64).tolist()
    return [
        _merge_values(values[number])
        if some[number]
        else (of_point[starts[number] : starts[number + 1]], one.points)
        for number, one in enumerate(topologies)
    ]


def _merge_values(values: npt.NDArray[Any]) -> ByRow:
    # -0 and 0 are one value but two patterns of bits.
    bits = (np.ascontiguousarray(values) + np.float32(0)).view("<u4").astype(np.int64)
    columns = [bits[:, 0]]
    for column in range(1, values.shape[1]):
        # Two columns fill 64 bits; ranks make room for the next.
        columns.append(bits[:, column])
        columns = [_ranks(columns[0] << 32 | columns[1])]
    first, number = first_use(columns)
    return values[first], number


def _ranks(values: Integers) -> Integers:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
