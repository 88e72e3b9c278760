"""Polygon meshes of formats that are converted to glTF: triangles, a primitive for each material.

Such formats index each attribute by itself, so corners that agree in all of them become one vertex.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


def store_primitives(
    glb: GlbBuilder, geometry: Geometry, material: Integers, weights: Weights | None
) -> tuple[spec.Primitive, ...]:
    """Store a primitive for each material; `material` has one for each triangle."""
    numbers = np.unique(material).tolist()
    if len(numbers) == 1:
        return (_store_primitive(glb, geometry, geometry.corners, numbers[0], weights),)
    return tuple(
        _store_primitive(glb, geometry, geometry.corners[material == number], number, weights)
        for number in numbers
    )


def _store_primitive(
    glb: GlbBuilder, geometry: Geometry, corners: Integers, material: int, weights: Weights | None
) -> spec.Primitive:
    corner = corners.reshape(-1)
    # A vertex is a distinct combination of attribute rows, numbered by first use, so the result
    # does not depend on how the file orders its tables. Attributes often share their rows.
    tables = {id(rows): rows for _, rows in geometry.attributes.values()}
    first, vertex = first_use([rows[corner] for rows in tables.values()])
    shown = corner[first]
    accessors = {
        key: glb.accessor(values[rows[shown]], with_bounds=key == "POSITION")
        for key, (values, rows) in geometry.attributes.items()
    }
    if weights is not None:
        accessors |= _store_weights(glb, weights, geometry.attributes["POSITION"][1][shown])
    return spec.Primitive(
        attributes=accessors,
        indices=glb.accessor(vertex.astype("<u4")),
        material=None if material == NO_MATERIAL else material,
    )


def _store_weights(glb: GlbBuilder, weights: Weights, rows: Integers) -> dict[str, int]:
    joints, shares = weights
    found = {}
    # glTF holds four joints in a set.
    for number in range(joints.shape[1] // 4):
        part = slice(4 * number, 4 * number + 4)
        found[f"JOINTS_{number}"] = glb.accessor(joints[rows, part])
        found[f"WEIGHTS_{number}"] = glb.accessor(shares[rows, part])
    return found
