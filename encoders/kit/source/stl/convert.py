"""STL as GLB, by trimesh. It has neither units nor axes, so positions stay as they are."""

from __future__ import annotations

import struct

from encoders.kit.source.shared.trimesh_scene import convert_with_trimesh, refuse_other_encodings

HEADER_BYTES, TRIANGLE_BYTES = 84, 50
COUNT_OFFSET = 80


def convert_stl(data: bytes, name: str) -> bytes:
    """Return a GLB with the triangles of a file."""
    if not _is_binary(data):
        refuse_other_encodings(data, name, "STL")
    return convert_with_trimesh(data, name, "STL", "stl")


def _is_binary(data: bytes) -> bool:
    """Tell whether the file is as long as its count of triangles says; texts may begin alike."""
    if len(data) < HEADER_BYTES:
        return False
    (count,) = struct.unpack_from("<I", data, COUNT_OFFSET)
    return len(data) == HEADER_BYTES + TRIANGLE_BYTES * count
