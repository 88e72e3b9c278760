"""KHR_draco_mesh_compression: a primitive's indices and attributes through DracoPy.

The library is an optional extra and is imported only for a file that needs it, in a process of its
own, because damaged data can crash it. The counts in the compressed header are charged before the
library makes memory from them.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.isolate import isolated
from encoders.kit.source.gltf.data.buffer import view_bytes
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.extension import DRACO
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import Count, Record

INSTALL_HINT = (
    'Install it with `pip install "cartwright-build[draco]"`, or export without compression.'
)
MAGIC = b"DRACO"
MESH = 1
EDGEBREAKER = 1
METADATA_FLAG = 0x8000
# What the library keeps for a face or a vertex while it decodes, roughly.
ELEMENT_BYTES = 128
_HEADER_BYTES = 11


class DracoPrimitive(Record, frozen=True, kw_only=True):
    """`primitive.extensions.KHR_draco_mesh_compression`: attribute names to Draco's own ids."""

    buffer_view: Count
    attributes: dict[str, Count]


def decode_draco(
    gltf: Gltf, record: DracoPrimitive, where: str
) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    """Return the corners (triangles x 3) and each attribute's stored values."""
    data = bytes(view_bytes(gltf, record.buffer_view))
    try:
        elements = count_elements(data)
    except (ValueError, IndexError, RecursionError) as error:
        raise fault("Draco data is damaged", gltf.name, where, error) from error
    gltf.charge(ELEMENT_BYTES * elements, where)
    corners, values = decode_compressed(data, gltf.name, where)
    for attribute, key in record.attributes.items():
        if key not in values:
            raise fault("Draco data lacks an attribute", gltf.name, where, f"{attribute}, id {key}")
    return corners, {name: values[key] for name, key in record.attributes.items()}


@isolated
def decode_compressed(
    data: bytes, name: str, where: str
) -> tuple[npt.NDArray[Any], dict[int, npt.NDArray[Any]]]:
    """Return the corners (triangles x 3) and the attributes by Draco's own ids."""
    library = _library(name, where)
    try:
        mesh = library.decode(data)
        values = {entry["unique_id"]: np.asarray(entry["data"]) for entry in mesh.attributes}
        return np.asarray(mesh.faces).reshape(-1), values
    except MemoryError:
        raise
    except Exception as error:  # the library has errors of its own beside the usual ones
        raise fault("Draco data is damaged", name, where, error) from error


def _library(name: str, where: str) -> ModuleType:
    try:
        import DracoPy
    except ImportError as error:
        problem = "DracoPy is needed to read this model"
        raise fault(problem, name, where, DRACO, hint=INSTALL_HINT) from error
    library: ModuleType = DracoPy
    return library


def count_elements(data: bytes) -> int:
    """Return how many faces and vertices the header claims, without decoding."""
    if data[:5] != MAGIC or len(data) < _HEADER_BYTES or data[7] != MESH:
        raise ValueError(f"header {data[:8].hex(' ')} is not that of a mesh")
    place = _HEADER_BYTES
    if int.from_bytes(data[9:11], "little") & METADATA_FLAG:
        place = _skip_metadata(data, place)
    # Edgebreaker: traversal type, vertices, faces. Sequential: faces, points.
    first, place = _number(data, place + (data[8] == EDGEBREAKER))
    second, _ = _number(data, place)
    return first + second


def _skip_metadata(data: bytes, place: int) -> int:
    attributes, place = _number(data, place)
    for _ in range(attributes):
        _, place = _number(data, place)
        place = _skip_entries(data, place)
    return _skip_entries(data, place)


def _skip_entries(data: bytes, place: int) -> int:
    """Skip named values and the nested lists after them; each step moves on or runs out."""
    entries, place = _number(data, place)
    for _ in range(entries):
        size, place = _number(data, place + 1 + data[place])
        place += size
    children, place = _number(data, place)
    for _ in range(children):
        place = _skip_entries(data, place + 1 + data[place])
    return place


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Read a LEB128 number; return it and the place after it."""
    value = shift = 0
    while shift < 35:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
    raise ValueError("number of more than five bytes")
