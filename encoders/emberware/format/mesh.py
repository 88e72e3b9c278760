"""`.ewzmesh`: a header, interleaved vertices, then 16-bit indices of triangles.

Files written here are always indexed: of a mesh without indices the console draws nothing when it
comes from a ROM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.format.vertex import FORMATS, Vertices, pack_vertices, stride_of
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U32

VERTEX_LIMIT = 65536

# fmt: off
MESH_HEADER = Layout("Mesh header", 12,
    Row(0x00, "vertex_count", U32, "1 to 65536"),
    Row(0x04, "index_count",  U32, "three for each triangle"),
    Row(0x08, "format",       U8, "1 UV, 2 colour, 4 normal, 8 skinning, in a ROM 16 tangent"),
    Row(0x09, "_reserved",    U8[3]),
)
# fmt: on


@dataclass(frozen=True, eq=False)
class EmberMesh:
    """Vertices, and triangles (n, 3) that index them."""

    vertices: Vertices
    triangles: npt.NDArray[np.int32]


def pack_mesh(mesh: EmberMesh) -> bytes:
    """Encode a mesh whose counts and ranges the caller has checked."""
    indices = mesh.triangles.reshape(-1)
    header = {
        "vertex_count": len(mesh.vertices.position),
        "index_count": len(indices),
        "format": mesh.vertices.format,
    }
    packed = pack_vertices(mesh.vertices)
    return MESH_HEADER.pack(header) + packed + indices.astype("<u2").tobytes()


def pack_loose_mesh(mesh: EmberMesh) -> bytes:
    """Encode a mesh without its tangents, which the console refuses in loose files."""
    return pack_mesh(replace(mesh, vertices=replace(mesh.vertices, tangent=None)))


def unpack_mesh(data: bytes, name: str, formats: int = FORMATS) -> dict[str, Any]:
    """Decode a file: counts, format, the bytes of the vertices, and the indices.

    Formats from `formats` on are refused; those of meshes in a ROM go further.
    """
    header = MESH_HEADER.unpack_one(data, name=name)
    vertices, indices, form = header["vertex_count"], header["index_count"], header["format"]
    facts = {"file": name, "vertices": vertices, "indices": indices, "format": form}
    if not vertices or form >= formats:
        allowed = f"some vertices, a format below {formats}"
        raise EncodeError("not a mesh", facts | {"allowed": allowed})
    start = MESH_HEADER.size + vertices * stride_of(form)
    if len(data) != start + 2 * indices:
        sizes = {"bytes": len(data), "expected bytes": start + 2 * indices}
        raise EncodeError("not a mesh", facts | sizes)
    found: npt.NDArray[np.uint16] = np.frombuffer(data, "<u2", indices, start)
    # The console checks indices of loose files, but not those in a ROM.
    if indices % 3 or (indices and int(found.max()) >= vertices):
        raise EncodeError("index points past the vertices, or a triangle is not whole", facts)
    return {**header, "vertex_data": data[MESH_HEADER.size : start], "index_data": found}
