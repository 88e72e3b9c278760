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
    """The faces of a mesh: corners of each, and the point of each corner."""

    sizes: Integers
    points: Integers

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

    def rows(self, interpolation: str) -> Integers | None:
        """Return the element of each corner, None for an unknown interpolation."""
        if interpolation in ("vertex", "varying"):
            return self.points
        if interpolation == "faceVarying":
            return self.every_corner
        if interpolation == "uniform":
            return self.face
        return self.zeros if interpolation == "constant" else None


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
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(value, "<f4")
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
    rows = topology.rows(table.interpolation)
    if rows is None:
        return None
    if table.indices is not None:
        if int(rows.max(initial=-1)) >= len(table.indices):
            return None
        rows = table.indices[rows]
    if len(rows) and (int(rows.max()) >= len(table.values) or int(rows.min()) < 0):
        return None
    if table.interpolation == "faceVarying" and table.indices is None:
        return _merged(table.values, rows)
    return table.values, rows


def _merged(
    values: npt.NDArray[np.float32], rows: Integers
) -> tuple[npt.NDArray[np.float32], Integers]:
    """Give equal values of corners one row, so that corners can share a vertex."""
    # -0 and 0 are one value but two patterns of bits.
    bits = (np.ascontiguousarray(values) + 0.0).view("<u4").astype(np.int64)
    pairs = [bits[:, column] << 32 | bits[:, column + 1] for column in range(0, values.shape[1] - 1, 2)]
    if values.shape[1] % 2:
        pairs.append(bits[:, -1])
    columns = [np.unique(pair, return_inverse=True)[1] for pair in pairs]
    first, number = first_use(columns)
    return values[first], number[rows]
