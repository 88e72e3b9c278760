"""OFF as GLB, by trimesh. It has neither units nor axes, so positions stay as they are."""

from __future__ import annotations

from encoders.kit.source.shared.trimesh_scene import convert_with_trimesh, refuse_other_encodings


def convert_off(data: bytes, name: str) -> bytes:
    """Return a GLB with the triangles of a file."""
    refuse_other_encodings(data, name, "OFF")
    return convert_with_trimesh(data, name, "OFF", "off")
