"""PLY as GLB, by trimesh. It has neither units nor axes, so positions stay as they are."""

from __future__ import annotations

from encoders.kit.source.shared.trimesh_scene import convert_with_trimesh


def convert_ply(data: bytes, name: str) -> bytes:
    """Return a GLB with the triangles of a file."""
    return convert_with_trimesh(data, name, "PLY", "ply")
