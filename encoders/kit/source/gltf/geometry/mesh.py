"""Primitives as arrays: triangles from every triangle mode, and the attributes of their vertices.

Every attribute has one row for each vertex and every index points at a vertex: both are checked
here once, so nothing later can read past an array. Points and lines are left out with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.data.accessor import decode_accessor
from encoders.kit.source.gltf.data.draco import DracoPrimitive, decode_draco
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.extension import DRACO, extension
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.geometry.attribute import JOINT_SETS, UV_SETS, AttributeReader
from encoders.kit.source.gltf.geometry.morph import apply_morph
from encoders.kit.source.gltf.geometry.primitive import Floats, Primitive, Triangles
from encoders.kit.warning import grouped

TRIANGLES, STRIP, FAN = 4, 5, 6
# Triangles index vertices with signed 32-bit numbers.
VERTEX_LIMIT = 1 << 31


def decode_primitive(
    gltf: Gltf, mesh: int, number: int, weights: tuple[float, ...] = ()
) -> Primitive | None:
    """Read one primitive of a mesh, or None with a warning when it has no triangles to give.

    `weights` of morph targets are those of a node; without any, those of the mesh count.
    """
    mesh_record = spec.element(gltf.document.meshes, mesh, "meshes", gltf.name)
    where = spec.place(mesh_record.name, f"meshes[{mesh}].primitives[{number}]")
    record = spec.element(mesh_record.primitives, number, where, gltf.name)
    if record.mode < TRIANGLES or "POSITION" not in record.attributes:
        kind = "points or lines" if record.mode < TRIANGLES else "no positions"
        gltf.warn(grouped("ignored", f"{where} has {kind} and was ignored"))
        return None
    if record.material is not None:
        spec.element(gltf.document.materials, record.material, where, gltf.name)
    primitive = _primitive(gltf, record, where)
    if not record.targets:
        return primitive
    return apply_morph(gltf, primitive, record, weights or mesh_record.weights, where)


def _primitive(gltf: Gltf, record: spec.Primitive, where: str) -> Primitive:
    packed = _draco(gltf, record, where)
    decoded: Mapping[str, npt.NDArray[Any]] = {}
    corners = None
    if packed is not None:
        corners, decoded = decode_draco(gltf, packed, where)
    elif record.indices is not None:
        corners = _indices(gltf, record.indices, where)
    reader = AttributeReader(gltf, record, where, decoded)
    reader.warn_unknown()
    position = reader.floats("POSITION")
    assert position is not None
    mode = TRIANGLES if packed is not None else record.mode
    return Primitive(
        triangles=_triangles(gltf, corners, len(position), mode, where),
        position=position,
        normal=reader.floats("NORMAL"),
        tangent=reader.floats("TANGENT"),
        uv=_uv_sets(reader),
        color=_color(reader),
        joints=_joints(reader),
        weights=_weights(reader),
        material=-1 if record.material is None else record.material,
    )


def _draco(gltf: Gltf, record: spec.Primitive, where: str) -> DracoPrimitive | None:
    """Return the compressed form, unless the file holds the same data uncompressed.

    What is read must not depend on whether the library happens to be installed.
    """
    packed = extension(record, DRACO, DracoPrimitive, gltf.name, where)
    if packed is None or DRACO in gltf.document.extensions_required:
        return packed
    position = record.attributes["POSITION"]
    accessor = spec.element(gltf.document.accessors, position, where, gltf.name)
    return packed if accessor.buffer_view is None else None


def _indices(gltf: Gltf, accessor: int, where: str) -> npt.NDArray[Any]:
    indices = decode_accessor(gltf, accessor)
    if indices.ndim != 1 or indices.dtype.kind != "u":
        found = f"{indices.dtype}, {indices.shape}"
        raise fault("indices have the wrong type", gltf.name, where, found, "unsigned scalars")
    return indices


def _triangles(
    gltf: Gltf, corners: npt.NDArray[Any] | None, vertices: int, mode: int, where: str
) -> Triangles:
    if vertices >= VERTEX_LIMIT:
        raise fault("primitive has too many vertices", gltf.name, where, vertices, VERTEX_LIMIT)
    if corners is None:
        corners = np.arange(vertices, dtype=np.int32)
    elif len(corners) and int(corners.max()) >= vertices:
        raise fault("index points past the vertices", gltf.name, where, corners.max(), vertices)
    gltf.charge(12 * len(corners), where)
    corners = corners.astype(np.int32, copy=False)
    if mode != TRIANGLES:
        return _strip(corners) if mode == STRIP else _fan(corners)
    if len(corners) % 3:
        gltf.warn(
            grouped(
                "ignored",
                f"{where}: {len(corners)} corners are no whole triangles; the rest was ignored",
            )
        )
    return corners[: len(corners) // 3 * 3].reshape(-1, 3)


def _strip(corners: npt.NDArray[np.int32]) -> Triangles:
    """Turn a strip into triangles, every second one reversed, without the joining ones."""
    count = max(len(corners) - 2, 0)
    step = np.arange(count)
    odd = step % 2
    a, b, c = corners[:count], corners[step + 1 + odd], corners[step + 2 - odd]
    is_whole = (a != b) & (b != c) & (c != a)
    return np.stack((a[is_whole], b[is_whole], c[is_whole]), axis=1)


def _fan(corners: npt.NDArray[np.int32]) -> Triangles:
    """Turn a fan into triangles around its first vertex."""
    count = max(len(corners) - 2, 0)
    centre = np.repeat(corners[:1], count)
    return np.stack((corners[1 : count + 1], corners[2 : count + 2], centre), axis=1)


def _uv_sets(reader: AttributeReader) -> tuple[Floats | None, ...]:
    found = [reader.floats(f"TEXCOORD_{number}") for number in range(UV_SETS)]
    while found and found[-1] is None:
        found.pop()
    return tuple(found)


def _color(reader: AttributeReader) -> Floats | None:
    color = reader.floats("COLOR_0")
    if color is None or color.shape[1] == 4:
        return color
    return np.column_stack((color, np.ones(len(color), np.float32)))


def _joints(reader: AttributeReader) -> npt.NDArray[np.uint16] | None:
    sets = [reader.integers(name) for name in reader.sets("JOINTS", JOINT_SETS)]
    return np.column_stack([part for part in sets if part is not None]) if sets else None


def _weights(reader: AttributeReader) -> Floats | None:
    sets = [reader.floats(name) for name in reader.sets("WEIGHTS", JOINT_SETS)]
    return np.column_stack([part for part in sets if part is not None]) if sets else None
