"""Values on a mesh by corner: constant, per face, per point or per corner, with or without indices.

The rule: values that do not fit their mesh are left out with a warning, never read past their end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.mesh import first_use

Integers = npt.NDArray[np.int64]


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


def attribute_of(
    table: Table, topology: Topology
) -> tuple[npt.NDArray[np.float32], Integers] | None:
    """Return values and the row of each corner, None where they do not fit the mesh."""
    if table.interpolation == "faceVarying" and table.indices is None:
        corners = len(topology.points)
        if len(table.values) < corners:
            return None
        return _merged(table.values[:corners], topology)
    found = topology.rows(table.interpolation)
    if found is None or found[1] > len(table.values if table.indices is None else table.indices):
        return None
    rows = found[0]
    if table.indices is not None:
        rows = table.indices[rows]
        if len(rows) and (int(rows.max()) >= len(table.values) or int(rows.min()) < 0):
            return None
    return table.values, rows


def _merged(
    values: npt.NDArray[np.float32], topology: Topology
) -> tuple[npt.NDArray[np.float32], Integers]:
    """Give equal values of corners one row, so that corners can share a vertex."""
    # Most often all corners of a point have one value, which is quick to see.
    of_point = np.zeros((topology.count, values.shape[1]), values.dtype)
    of_point[topology.points] = values
    if np.array_equal(of_point[topology.points], values):
        return of_point, topology.points
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
