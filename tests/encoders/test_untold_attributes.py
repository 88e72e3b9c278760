"""Attributes of moved corners: textures are extended as they lay, within their own image."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.kit.mesh.simplify.progress import Step
from encoders.untold.mesh.move_vertices import MovedVertices
from encoders.untold.mesh.tile_mesh import TileMesh


def quad(low: float, high: float) -> TileMesh:
    """Make a square of one metre that shows the texture from `low` to `high`."""
    flat = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    none = np.zeros((0, 2), np.float32)
    return TileMesh(
        object="",
        material=0,
        position=np.pad(flat, ((0, 0), (0, 1))),
        normal=np.tile(np.float32([0, 0, 1]), (4, 1)),
        uv=low + flat * np.float32(high - low),
        uv1=none,
        color=np.zeros((0, 4), np.float32),
        tangent=np.zeros((0, 4), np.float32),
        component=np.zeros((4, 6), np.float32),
        is_border=np.zeros(4, np.bool_),
        triangles=np.array([[0, 1, 2], [0, 2, 3]], np.int32),
    )


def widened(mesh: TileMesh) -> TileMesh:
    """Move the right side of the square one metre further, and the texture with it."""
    vertices, right = MovedVertices([mesh]), np.array([1, 2])
    [uv] = vertices.uvs()
    positions = mesh.position[right] + np.float32([1, 0, 0])
    # As far on the surface as the vertices have moved.
    uvs = uv[right] + np.float32([1, 0])
    kept = np.arange(2, dtype=np.int32)
    [moved] = vertices.meshes(
        Step(mesh.triangles, kept, right, positions, mesh.normal[right], (uvs,))
    )
    return moved


@pytest.mark.parametrize(
    ("low", "high", "reach"),
    [(0.0, 1.0, 2.0), (-1.0, 3.0, 7.0), (0.25, 0.5, 0.5), (0.0, 0.5, 0.5), (0.5, 1.0, 1.0)],
)
def test_a_texture_goes_on_unless_it_is_one_picture_of_many(low, high, reach):
    moved = widened(quad(low, high))
    by_place = {tuple(p[:2]): uv for p, uv in zip(moved.position, moved.uv, strict=True)}
    assert by_place[2.0, 0.0].tolist() == pytest.approx([reach, low])
    assert by_place[2.0, 1.0].tolist() == pytest.approx([reach, high])
    assert by_place[0.0, 0.0].tolist() == pytest.approx([low, low])
