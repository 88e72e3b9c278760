"""The mesh that every source reader returns and every target takes.

Attributes are indexed separately: each has its own values and, for each corner of each triangle,
the row of the value used there, or -1 where the source gives none. Nothing is welded, flipped or
filled in before a target asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from encoders.kit.native.row_number import number_rows
from encoders.kit.source.material import Material

Floats = npt.NDArray[np.float32]
Corners = npt.NDArray[np.int32]
# The smoothing of triangles about which the source says nothing.
NOT_TOLD = -1
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Attribute(Generic[Scalar]):
    """Values (rows, components) and the row that each corner of each triangle uses.

    `corner` is (triangles, 3); -1 says that the source gives this corner no value.
    """

    values: npt.NDArray[Scalar]
    corner: Corners

    def at(self, corners: npt.NDArray[np.integer[Any]], default: float = 0) -> npt.NDArray[Scalar]:
        """Return the values at flat corners (triangle * 3 + corner), `default` where missing."""
        rows = self.corner.reshape(-1)[corners]
        shape = (*rows.shape, *self.values.shape[1:])
        found = np.full(shape, default, self.values.dtype)
        has_value = rows >= 0
        found[has_value] = self.values[rows[has_value]]
        return found

    @property
    def is_complete(self) -> bool:
        """Whether every corner has a value."""
        return bool((self.corner >= 0).all())


@dataclass(frozen=True)
class Part:
    """A named run of triangles: an OBJ `o`/`g` section, or one glTF primitive of a node.

    `node` is the index of that node, since nodes can share a name; -1 in OBJ files.
    """

    object: str = ""
    group: str = ""
    node: int = field(default=-1, compare=False)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles with separately indexed attributes, in the order of the source.

    `part`, `material` (-1: none) and `smoothing` have one entry for each triangle. Smoothing is
    the OBJ group number, 0 for flat, NOT_TOLD where the file has none; a glTF reader writes 1.
    `has_v_up` tells whether v = 0 is the bottom of the image (OBJ) or its top (glTF),
    `has_linear_color` whether vertex and material colours are linear (glTF) or to be used as they
    are (OBJ).
    """

    position: Attribute[np.float32]
    part: npt.NDArray[np.int32]
    material: npt.NDArray[np.int32]
    smoothing: npt.NDArray[np.int32]
    parts: tuple[Part, ...] = (Part(),)
    materials: tuple[Material, ...] = ()
    normal: Attribute[np.float32] | None = None
    uv: tuple[Attribute[np.float32], ...] = ()
    color: Attribute[np.float32] | None = None
    tangent: Attribute[np.float32] | None = None
    joints: Attribute[np.uint16] | None = None
    weights: Attribute[np.float32] | None = None
    has_v_up: bool = False
    has_linear_color: bool = True

    @property
    def triangle_count(self) -> int:
        """The number of triangles."""
        return len(self.position.corner)

    def attributes(self) -> Iterator[Attribute[Any]]:
        """Yield every attribute that the mesh has, positions first."""
        optional = (self.normal, *self.uv, self.color, self.tangent, self.joints, self.weights)
        yield self.position
        yield from (attribute for attribute in optional if attribute is not None)


@dataclass(frozen=True, eq=False)
class Welded:
    """One vertex list for all attributes: `indices` (triangles, 3) into it.

    Vertex `k` is the flat corner `corners[k]`, so `mesh.normal.at(welded.corners)` is its normal.
    """

    corners: npt.NDArray[np.intp]
    indices: Corners


def weld(mesh: Mesh, *, across_parts: bool = True) -> Welded:
    """Give corners that use the same rows of every attribute one vertex, in order of first use.

    Equal values in different rows are not merged. Unless `across_parts`, parts share no vertex.
    """
    keys: list[npt.NDArray[Any]] = [a.corner.reshape(-1) for a in mesh.attributes()]
    if not across_parts:
        keys.append(np.repeat(mesh.part, 3))
    first, ids = first_use(keys)
    return Welded(first, ids.astype(np.int32).reshape(-1, 3))


def compact(attribute: Attribute[np.float32]) -> Attribute[np.float32]:
    """Drop unused values and merge those with equal bits (-0 is 0), in order of first use."""
    pruned = prune(attribute)
    # Adding zero turns -0 into 0 and changes no other value.
    values = np.ascontiguousarray(pruned.values + np.float32(0))
    number, first = number_rows(values.view(np.uint8))
    if len(first) == len(values):
        return Attribute(values, pruned.corner)
    return Attribute(values[first], _renumbered(number, pruned.corner))


def prune(attribute: Attribute[Scalar]) -> Attribute[Scalar]:
    """Drop unused values, in order of first use; equal ones are not merged."""
    flat = attribute.corner.reshape(-1)
    used = flat[flat >= 0]
    # The first corner that uses each value: written from the last corner on, so that it stays.
    first = np.zeros(len(attribute.values), np.int32)
    first[used[::-1]] = np.arange(len(used) - 1, -1, -1, dtype=np.int32)
    kept = used[first[used] == np.arange(len(used), dtype=np.int32)]
    number = np.empty(len(first), np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    return Attribute(attribute.values[kept], _renumbered(number, attribute.corner))


def _renumbered(numbers: npt.NDArray[np.int32], corner: Corners) -> Corners:
    """Replace the row of each corner; -1 stays -1."""
    # Index -1 finds the appended -1.
    return np.append(numbers, np.int32(-1))[corner]


def select(mesh: Mesh, triangles: npt.NDArray[Any]) -> Mesh:
    """Keep only these triangles (a mask or indices); values and tables are not pruned."""

    def cut(attribute: Attribute[Any]) -> Attribute[Any]:
        return Attribute(attribute.values, attribute.corner[triangles])

    return replace(
        map_attributes(mesh, cut),
        part=mesh.part[triangles],
        material=mesh.material[triangles],
        smoothing=mesh.smoothing[triangles],
    )


def map_attributes(mesh: Mesh, change: Callable[[Attribute[Any]], Attribute[Any]]) -> Mesh:
    """Return the mesh with every attribute that it has replaced by `change(attribute)`."""

    def changed(attribute: Attribute[Any] | None) -> Any:
        return None if attribute is None else change(attribute)

    return replace(
        mesh,
        position=change(mesh.position),
        normal=changed(mesh.normal),
        uv=tuple(change(one) for one in mesh.uv),
        color=changed(mesh.color),
        tangent=changed(mesh.tangent),
        joints=changed(mesh.joints),
        weights=changed(mesh.weights),
    )


def first_use(
    columns: Sequence[npt.NDArray[Any]],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Give equal rows of integer columns the same number, in order of first use.

    Return the first row of each number, and the number of each row.
    """
    is_small = all(column.dtype == np.int32 for column in columns)
    rows = np.empty((len(columns[0]), len(columns)), np.int32 if is_small else np.int64)
    for place, column in enumerate(columns):
        rows[:, place] = column
    number, first = number_rows(rows.view(np.uint8))
    return first.astype(np.intp), number.astype(np.intp)
