"""The whole scene as one mesh in world space: the value that targets share with other readers.

Parts are placed primitives in scene order; attributes that a primitive lacks are marked as
missing, never made up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.mesh import Attribute, Mesh, Part
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.geometry.bake import bake_all
from encoders.kit.source.gltf.geometry.primitive import Primitive
from encoders.kit.source.gltf.geometry.scene import place_primitives
from encoders.kit.source.gltf.material import decode_materials

Array = npt.NDArray[Any]
Pick = Callable[[Primitive], Array | None]


def decode_world(gltf: Gltf) -> Mesh:
    """Return the default scene with every transform baked in."""
    placed = place_primitives(gltf)
    parts = tuple(Part(place.node_name, place.mesh_name, place.node) for place in placed)
    return join_primitives(gltf, bake_all(gltf, placed), parts)


def join_primitives(gltf: Gltf, primitives: Sequence[Primitive], parts: tuple[Part, ...]) -> Mesh:
    """Put primitives of one file into one mesh, a part for each."""
    counts = [len(primitive.triangles) for primitive in primitives]

    def each(values: Sequence[int]) -> npt.NDArray[np.int32]:
        return np.repeat(np.array(values, np.int32), counts)

    def uv(number: int) -> Pick:
        return lambda p: p.uv[number] if number < len(p.uv) else None

    sets = max((len(primitive.uv) for primitive in primitives), default=0)
    position = _attribute(primitives, lambda p: p.position, 3)
    return Mesh(
        position=position,
        part=each(range(len(primitives))),
        material=each([primitive.material for primitive in primitives]),
        # Without normals a surface is flat, says the specification.
        smoothing=each([int(primitive.normal is not None) for primitive in primitives]),
        parts=parts,
        materials=decode_materials(gltf),
        normal=_optional(primitives, lambda p: p.normal),
        uv=tuple(_attribute(primitives, uv(number), 2) for number in range(sets)),
        color=_optional(primitives, lambda p: p.color),
        tangent=_optional(primitives, lambda p: p.tangent),
        joints=_optional(primitives, lambda p: p.joints),
        weights=_optional(primitives, lambda p: p.weights),
    )


def _optional(primitives: Sequence[Primitive], pick: Pick) -> Attribute[Any] | None:
    found = [values for values in map(pick, primitives) if values is not None]
    if not found:
        return None
    return _attribute(primitives, pick, max(values.shape[1] for values in found))


def _widen(rows: Array, width: int) -> Array:
    """Add columns of zeros: a second set of joints that only some primitives have."""
    missing = width - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing))) if missing else rows


def _attribute(primitives: Sequence[Primitive], pick: Pick, width: int) -> Attribute[Any]:
    """Join one attribute's values; corners of primitives without it point nowhere."""
    values: list[Array] = []
    # An empty first part, so that a scene without primitives has the right shape.
    corners: list[npt.NDArray[np.int32]] = [np.zeros((0, 3), np.int32)]
    start = 0
    for primitive in primitives:
        rows = pick(primitive)
        if rows is None:
            # -1 marks a corner without this attribute; targets choose their own default.
            corners.append(np.full_like(primitive.triangles, -1))
            continue
        values.append(_widen(rows, width))
        corners.append(primitive.triangles + np.int32(start))
        start += len(rows)
    joined = np.concatenate(values) if values else np.zeros((0, width), np.float32)
    return Attribute(joined, np.concatenate(corners))
