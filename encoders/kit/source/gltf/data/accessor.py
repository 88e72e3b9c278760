"""Accessors as numpy arrays: every component type, strided, sparse, normalised.

An array is a view of the file's own bytes wherever that is possible. Before it is made, the end of
its last element is checked against the bytes; an array without bytes counts against the limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.data.buffer import view_bytes
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import Accessor, Sparse, element

Array = npt.NDArray[Any]

# The numbers are OpenGL's names of types, which glTF adopts.
DTYPES: dict[int, np.dtype[Any]] = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
# Columns and rows; a scalar or vector is one column.
SHAPES = {
    "SCALAR": (1, 1),
    "VEC2": (1, 2),
    "VEC3": (1, 3),
    "VEC4": (1, 4),
    "MAT2": (2, 2),
    "MAT3": (3, 3),
    "MAT4": (4, 4),
}
# Elements that have no bytes in the file cost the time of those that have.
ABSENT_WEIGHT = 8
FLOAT = 5126
PLAIN_WIDTHS = {name: rows for name, (columns, rows) in SHAPES.items() if columns == 1}
_NORMALIZED_MAX = {5120: 127, 5121: 255, 5122: 32767, 5123: 65535}


def decode_accessor(gltf: Gltf, index: int) -> Array:
    """Return the stored values: (count,), (count, n) or, for matrices, (count, row, column)."""
    # Primitives often share accessors; each is decoded and charged once.
    if index not in gltf.arrays:
        record = element(gltf.document.accessors, index, "accessors", gltf.name)
        gltf.arrays[index] = _decode(gltf, record, f"accessors[{index}]")
    return gltf.arrays[index]


def decode_floats(gltf: Gltf, index: int) -> npt.NDArray[np.float32]:
    """Return the values as float32, normalised integers mapped to 0..1 or -1..1."""
    if index not in gltf.floats:
        plain = _plain_floats(gltf, index)
        if plain is not None:
            gltf.floats[index] = plain
            return plain
        values = decode_accessor(gltf, index)
        record = gltf.document.accessors[index]
        # Floats are used as they are stored; every other type is copied.
        if record.component_type != 5126:
            gltf.charge(values.size * 4, f"accessors[{index}]")
        gltf.floats[index] = to_floats(values, record, gltf.name)
    return gltf.floats[index]


def _plain_floats(gltf: Gltf, index: int) -> npt.NDArray[np.float32] | None:
    """View the floats of a scalar or vector that are stored without gaps; None where others are.

    A clip has hundreds of such accessors, and to look at one from all sides takes ten times as
    long. Where anything is unusual or wrong, whoever does look at it says so.
    """
    document = gltf.document
    if not 0 <= index < len(document.accessors):
        return None
    record = document.accessors[index]
    width = PLAIN_WIDTHS.get(record.type)
    number = record.buffer_view
    if record.component_type != FLOAT or record.sparse is not None or width is None:
        return None
    if number is None or not record.count or number >= len(document.buffer_views):
        return None
    view = document.buffer_views[number]
    data = gltf.buffers.get(view.buffer)
    if data is None or view.extensions or view.byte_stride not in (None, 4 * width):
        return None
    start, size = record.byte_offset, 4 * width * record.count
    if start + size > view.byte_length or view.byte_offset + view.byte_length > len(data):
        return None
    shape = (record.count,) if record.type == "SCALAR" else (record.count, width)
    return np.ndarray(shape, DTYPES[FLOAT], data, view.byte_offset + start)


def to_floats(values: Array, record: Accessor, name: str) -> npt.NDArray[np.float32]:
    """Map stored values to float32 by the accessor's rule for normalised integers."""
    if record.component_type == 5126 or not record.normalized:
        return values.astype(np.float32, copy=False)
    largest = _NORMALIZED_MAX.get(record.component_type)
    if largest is None:
        raise fault("32-bit integers cannot be normalised", name, "accessors", record.name)
    floats = values.astype(np.float32) / np.float32(largest)
    # The lowest code of a signed type maps below -1; the specification says to clamp it.
    np.maximum(floats, np.float32(-1.0), out=floats)
    return floats


def _decode(gltf: Gltf, record: Accessor, where: str) -> Array:
    values = _base(gltf, record, where)
    if record.sparse is not None:
        gltf.charge(values.nbytes, where)
        # The base is a view of the file, which other accessors may share.
        values = values.copy()
        _apply_sparse(gltf, record, record.sparse, values, where)
    return _final_shape(record, values)


def _base(gltf: Gltf, record: Accessor, where: str) -> Array:
    if record.buffer_view is None:
        columns, rows = SHAPES[record.type]
        dtype = DTYPES[record.component_type]
        # Without a view the values are zeros: a few bytes of JSON can ask for any amount of memory.
        size = record.count * columns * rows * dtype.itemsize
        gltf.charge(size * ABSENT_WEIGHT, where)
        return np.zeros((record.count, columns, rows), dtype)
    data = view_bytes(gltf, record.buffer_view)
    stride = gltf.document.buffer_views[record.buffer_view].byte_stride
    return _strided(data, record, record.byte_offset, stride, (gltf.name, where))


def _strided(
    data: memoryview, record: Accessor, offset: int, stride: int | None, place: tuple[str, str]
) -> Array:
    """View bytes as (count, columns, rows) elements, `stride` bytes apart."""
    columns, rows = SHAPES[record.type]
    dtype = DTYPES[record.component_type]
    column = rows * dtype.itemsize
    if columns > 1:
        column = (column + 3) & ~3  # matrix columns start at multiples of four bytes
    size = column * columns
    step = size if stride is None else stride
    if step < size:
        raise fault("byteStride is smaller than the element", *place, step, f"at least {size}")
    # The last element ends with its last component: no stride or padding need follow it.
    last = offset + step * (record.count - 1) + column * (columns - 1) + rows * dtype.itemsize
    if record.count and last > len(data):
        raise fault("accessor reaches past its buffer view", *place, last, f"{len(data)} bytes")
    shape = (record.count, columns, rows)
    if not record.count:
        return np.zeros(shape, dtype)
    return np.ndarray(shape, dtype, data, offset, (step, column, dtype.itemsize))


def _apply_sparse(gltf: Gltf, record: Accessor, sparse: Sparse, values: Array, where: str) -> None:
    rows = _sparse_rows(gltf, sparse, f"{where}.sparse.indices")
    # The specification wants rising indices; with a repeated one the order would decide.
    if len(rows) and (int(rows.max()) >= record.count or bool((rows[1:] <= rows[:-1]).any())):
        allowed = f"rising, below {record.count}"
        raise fault("sparse indices are out of order or range", gltf.name, where, None, allowed)
    data = view_bytes(gltf, sparse.values.buffer_view)
    packed = _resized(record, sparse.count)
    place = (gltf.name, f"{where}.sparse.values")
    values[rows] = _strided(data, packed, sparse.values.byte_offset, None, place)


def _sparse_rows(gltf: Gltf, sparse: Sparse, where: str) -> Array:
    data = view_bytes(gltf, sparse.indices.buffer_view)
    record = Accessor(
        component_type=sparse.indices.component_type, count=sparse.count, type="SCALAR"
    )
    place = (gltf.name, where)
    return _strided(data, record, sparse.indices.byte_offset, None, place).reshape(-1)


def _resized(record: Accessor, count: int) -> Accessor:
    return Accessor(component_type=record.component_type, count=count, type=record.type)


def _final_shape(record: Accessor, values: Array) -> Array:
    if record.type.startswith("MAT"):
        # Stored column by column; everybody else here indexes [row, column].
        return values.transpose(0, 2, 1)
    if record.type == "SCALAR":
        return values[:, 0, 0]
    return values[:, 0, :]
