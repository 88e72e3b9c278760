"""Polygon meshes of formats that are converted to glTF: triangles, a primitive for each material.

Such formats index each attribute by itself, so corners that agree in all of them become one vertex.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import first_use
from encoders.kit.mesh.polygon import EarWorkError, triangulate
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder

NO_MATERIAL = -1
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
# Joints and weights (vertices, a multiple of four) by the row of a position.
Weights = tuple[npt.NDArray[np.uint16], Floats]
Attributes = dict[str, tuple[Floats, Integers]]
# A corner of each vertex, and the vertex of each corner of the triangles.
Vertices = tuple[Integers, npt.NDArray[np.uint32]]


@dataclass(frozen=True, eq=False)
class Geometry:
    """Triangles by corner, their materials, and attributes: values with the row of each corner."""

    corners: Integers
    material: Integers
    attributes: Attributes


def cut_polygons(
    sizes: Integers, attributes: Attributes, facts: Mapping[str, object]
) -> tuple[Integers, Integers]:
    """Return the corners of triangles and the polygon of each; `facts` name the mesh in errors."""
    positions, rows = attributes["POSITION"]
    if not np.isfinite(positions).all():
        raise EncodeError("a position is not finite", facts)
    try:
        return triangulate(sizes, positions, rows)
    except EarWorkError as error:
        hint = "Triangulate the mesh where it was modelled."
        found = {**facts, "corners": sizes[error.polygon]}
        raise EncodeError("too many corners in concave faces", found, hint) from error


def cut_meshes(
    meshes: Sequence[tuple[Integers, Attributes, Mapping[str, object]]],
) -> list[tuple[Integers, Integers]]:
    """Return what `cut_polygons` gives for each mesh, in less time where they are many."""
    if not meshes:
        return []
    tables = [attributes["POSITION"] for _, attributes, _ in meshes]
    positions = np.concatenate([values for values, _ in tables])
    rows = shifted([rows for _, rows in tables], starts_of(len(values) for values, _ in tables))
    if not np.isfinite(positions).all():  # one by one, to find out which mesh it is
        return [cut_polygons(*one) for one in meshes]
    sizes = np.concatenate([one[0] for one in meshes])
    try:
        found, face = triangulate(sizes, positions, rows)
    except EarWorkError:
        return [cut_polygons(*one) for one in meshes]
    faces = starts_of(len(one[0]) for one in meshes)
    # Triangles are in the order of their faces.
    spans = pairwise(np.searchsorted(face, faces).tolist())
    corners = starts_of(len(rows) for _, rows in tables)
    return [
        (found[slice(*span)] - corner, face[slice(*span)] - start)
        for span, corner, start in zip(spans, corners, faces, strict=False)
    ]


def starts_of(counts: Iterable[int]) -> list[int]:
    """Return where each part starts when parts of these lengths are joined, and the end."""
    return [0, *accumulate(counts)]


def shifted(parts: Sequence[Integers], starts: Sequence[int]) -> Integers:
    """Join numbers that count from where each part starts."""
    shifts = np.repeat(starts[: len(parts)], [len(one) for one in parts])
    found: Integers = np.concatenate(parts) + shifts
    return found


def distinct(numbers: Integers) -> list[int]:
    """Return the distinct numbers in order; most often there is one, which needs no sorting."""
    if len(numbers) and (numbers == numbers[0]).all():
        return [int(numbers[0])]
    found: list[int] = np.unique(numbers).tolist()
    return found


def store_primitives(
    glb: GlbBuilder, geometry: Geometry, material: Integers, weights: Weights | None
) -> tuple[spec.Primitive, ...]:
    """Store a primitive for each material; `material` has one for each triangle."""
    numbers = distinct(material)
    if len(numbers) == 1:
        found = (geometry.corners,)
    else:
        found = tuple(geometry.corners[material == number] for number in numbers)
    return tuple(
        store_vertices(
            glb, geometry.attributes, number, _share_vertices(geometry, corners), weights
        )
        for number, corners in zip(numbers, found, strict=True)
    )


def _share_vertices(geometry: Geometry, corners: Integers) -> Vertices:
    corner = corners.reshape(-1)
    # A vertex is a distinct combination of attribute rows, numbered by first use, so the result
    # does not depend on how the file orders its tables. Attributes often share their rows.
    tables = {id(rows): rows for _, rows in geometry.attributes.values()}
    columns = [rows[corner] for rows in tables.values()]
    first, vertex = _first_use_of(columns[0]) if len(columns) == 1 else first_use(columns)
    return corner[first], vertex.astype("<u4")


def share_vertices(geometries: Sequence[Geometry]) -> list[Vertices]:
    """Return a corner of each vertex and the vertices of triangles, for each of many meshes."""
    found: list[Vertices | None] = [None] * len(geometries)
    plain = [
        number
        for number, one in enumerate(geometries)
        if len(one.corners) and len({id(rows) for _, rows in one.attributes.values()}) == 1
    ]
    joined = _share_plain([geometries[number] for number in plain]) if plain else []
    for number, vertices in zip(plain, joined, strict=True):
        found[number] = vertices
    return [
        known or _share_vertices(one, one.corners)
        for known, one in zip(found, geometries, strict=True)
    ]


def _share_plain(geometries: Sequence[Geometry]) -> list[Vertices]:
    """Share the vertices of meshes whose attributes all have the rows of their positions."""
    tables = [one.attributes["POSITION"] for one in geometries]
    points = starts_of(len(values) for values, _ in tables)
    rows = shifted([rows for _, rows in tables], points)
    starts = starts_of(len(rows) for _, rows in tables)
    corner = shifted([one.corners.reshape(-1) for one in geometries], starts)
    first, vertex = _first_use_of(rows[corner])
    ends = starts_of(one.corners.size for one in geometries)
    # Meshes have no rows in common, so the vertices of each follow those of the one before.
    begins = np.searchsorted(first, ends).tolist()
    shown = corner[first]
    return [
        (
            shown[begins[number] : begins[number + 1]] - starts[number],
            (vertex[ends[number] : ends[number + 1]] - begins[number]).astype("<u4"),
        )
        for number in range(len(geometries))
    ]


def store_vertices(
    glb: GlbBuilder,
    attributes: Attributes,
    material: int,
    vertices: Vertices,
    weights: Weights | None,
) -> spec.Primitive:
    """Store a primitive."""
    shown, indices = vertices
    accessors = {
        key: glb.accessor(values[rows[shown]], with_bounds=key == "POSITION")
        for key, (values, rows) in attributes.items()
    }
    if weights is not None:
        accessors |= _store_weights(glb, weights, attributes["POSITION"][1][shown])
    return spec.Primitive(
        attributes=accessors,
        indices=glb.accessor(indices),
        material=None if material == NO_MATERIAL else material,
    )


def _first_use_of(rows: Integers) -> tuple[Integers, Integers]:
    """Return the same as `first_use` of one column of small numbers, without sorting it."""
    place = np.full(int(rows.max(initial=-1)) + 1, len(rows))
    # Backwards, so that the first use of a row is the last to be written.
    place[rows[::-1]] = np.arange(len(rows))[::-1]
    first = np.sort(place[place < len(rows)])
    number = np.empty(len(place), np.int64)
    number[rows[first]] = np.arange(len(first))
    return first, number[rows]


def _store_weights(glb: GlbBuilder, weights: Weights, rows: Integers) -> dict[str, int]:
    joints, shares = weights
    found = {}
    # glTF holds four joints in a set.
    for number in range(joints.shape[1] // 4):
        part = slice(4 * number, 4 * number + 4)
        found[f"JOINTS_{number}"] = glb.accessor(joints[rows, part])
        found[f"WEIGHTS_{number}"] = glb.accessor(shares[rows, part])
    return found
