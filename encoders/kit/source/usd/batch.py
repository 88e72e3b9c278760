"""Meshes of a stage that are converted together: a stage can have thousands of small ones.

Arrays of all of them are joined for each step, because a call costs as much as its small array.
What is stored does not depend on which meshes are together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.geometry.matrix import cofactor, determinant, transform
from encoders.kit.source.shared.polygon_mesh import (
    Attributes,
    Floats,
    Geometry,
    Integers,
    Weights,
    cut_meshes,
    distinct,
    share_vertices,
    starts_of,
    store_primitives,
    store_vertices,
)
from encoders.kit.source.usd.frame import Doubles, Frame
from encoders.kit.source.usd.primvar import ByCorner, merge_corners
from encoders.kit.source.usd.surface import Surface

# Enough to make calls few, and few enough for the processor's cache.
BATCH_CORNERS = 1 << 18
# What glTF's v, from the top, is of USD's: 1 - v.
FLIP, ONE = np.array([1, -1], np.float32), np.array([0, 1], np.float32)
# Attributes as USD has them, by glTF's names.
Values = dict[str, ByCorner]
Convert = Callable[[npt.NDArray[Any], Doubles | None], Floats]


@dataclass(frozen=True, eq=False, slots=True)
class Pending:
    """A mesh that waits to be cut into triangles, with its number and what errors say of it.

    A skinned mesh is moved to where it was bound, by `bind`.
    """

    number: int
    surface: Surface
    values: Values
    materials: Integers
    bind: Doubles | None
    weights: Weights | None
    facts: dict[str, object]


class Batch:
    """The meshes that are pending."""

    def __init__(self, glb: GlbBuilder, frame: Frame) -> None:
        self._glb, self._frame = glb, frame
        self._pending: list[Pending] = []
        self._corners = 0

    @property
    def is_full(self) -> bool:
        """Whether there are enough meshes to store them."""
        return self._corners > BATCH_CORNERS

    def add(self, one: Pending) -> None:
        """Add a mesh."""
        self._pending.append(one)
        self._corners += len(one.surface.topology.points)

    def store(self) -> Iterator[tuple[int, tuple[spec.Primitive, ...]]]:
        """Store all meshes; give the number of each and its primitives."""
        pending, self._pending, self._corners = self._pending, [], 0
        attributes = self._attributes(pending)
        polygons = [
            (one.surface.topology.sizes, known, one.facts)
            for one, known in zip(pending, attributes, strict=True)
        ]
        geometries = [
            _oriented(one.surface, Geometry(corners, face, known))
            for one, known, (corners, face) in zip(
                pending, attributes, cut_meshes(polygons), strict=True
            )
        ]
        vertices = share_vertices(geometries)
        for one, geometry, shared in zip(pending, geometries, vertices, strict=True):
            materials = distinct(one.materials)
            if len(materials) == 1:
                known = geometry.attributes
                found = store_vertices(self._glb, known, materials[0], shared, one.weights)
                yield one.number, (found,)
            else:
                by_triangle = one.materials[geometry.material]
                yield one.number, store_primitives(self._glb, geometry, by_triangle, one.weights)

    def _attributes(self, pending: Sequence[Pending]) -> list[Attributes]:
        """Return the attributes of each mesh as glTF has them."""
        found: list[Attributes] = [{} for _ in pending]
        for key in dict.fromkeys(key for one in pending for key in one.values):
            having = [
                (one, into) for one, into in zip(pending, found, strict=True) if key in one.values
            ]
            topologies = [one.surface.topology for one, _ in having]
            tables = merge_corners([one.values[key] for one, _ in having], topologies)
            binds = [one.bind for one, _ in having]
            converted = _convert_all([values for values, _ in tables], binds, self._conversion(key))
            for (_, into), values, (_, rows) in zip(having, converted, tables, strict=True):
                into[key] = values, rows
        # Each mesh in its own order, whichever meshes are with it.
        return [
            {key: known[key] for key in one.values}
            for one, known in zip(pending, found, strict=True)
        ]

    def _conversion(self, key: str) -> Convert:
        if key == "POSITION":
            return lambda values, bind: placed_points(self._frame, values, bind)
        if key == "NORMAL":
            return lambda values, bind: unit_normals(self._frame, values, bind)
        if key.startswith("TEXCOORD_"):
            return lambda values, _: values * FLIP + ONE
        return lambda values, _: values


def _convert_all(
    values: Sequence[npt.NDArray[Any]], binds: Sequence[Doubles | None], work: Convert
) -> list[Floats]:
    """Convert the values of each mesh; those that nothing moves are converted together."""
    loose = [one for one, bind in zip(values, binds, strict=True) if bind is None]
    joined = work(np.concatenate(loose), None) if loose else np.zeros(0, "<f4")
    starts = iter(starts_of(map(len, loose)))
    return [
        joined[(start := next(starts)) : start + len(one)] if bind is None else work(one, bind)
        for one, bind in zip(values, binds, strict=True)
    ]


def _oriented(surface: Surface, geometry: Geometry) -> Geometry:
    """Return the triangles that are shown, counter-clockwise; `material` holds their faces."""
    corners, face = geometry.corners, geometry.material
    if surface.is_shown is not None:
        is_shown = surface.is_shown[face]
        corners, face = corners[is_shown], face[is_shown]
    if surface.is_left_handed:
        corners = corners[:, ::-1]
    return Geometry(corners, face, geometry.attributes)


def placed_points(frame: Frame, values: npt.NDArray[Any], bind: Doubles | None) -> Floats:
    """Return points as glTF has them; what is not finite is refused later."""
    with np.errstate(over="ignore", invalid="ignore"):
        points = frame.points(values)
        if bind is not None:
            points = transform(bind, points) + bind[:3, 3]
        return points.astype("<f4")


def unit_normals(frame: Frame, values: npt.NDArray[Any], bind: Doubles | None) -> Floats:
    """Turn normals and give them the length of one that glTF wants; zero stays zero."""
    turned = frame.directions(values.astype(np.float64))
    if bind is not None:
        side = 1.0 if determinant(bind) >= 0 else -1.0
        turned = transform(cofactor(bind) * side, turned)
    square = turned * turned
    length = np.sqrt(square[:, 0] + square[:, 1] + square[:, 2])[:, None]
    return (turned / np.where(length == 0, 1, length)).astype("<f4")
