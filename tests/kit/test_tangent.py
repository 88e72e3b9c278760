from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from encoders.kit.mesh.tangent import TangentMesh, _angle, corner_tangents, split_by_tangent

Float32 = NDArray[np.float32]

QUAD = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
UP = np.tile(np.array([0, 0, 1], np.float32), (4, 1))
TWO = np.array([[0, 1, 2], [0, 2, 3]])


def sphere(columns: int, rows: int) -> TangentMesh:
    """A sphere with UVs, its poles and its seam split, and triangles without area at the poles."""
    turn, fall = np.meshgrid(np.arange(columns + 1), np.arange(rows + 1))
    around, down = 2 * np.pi * (turn % columns) / columns, np.pi * fall / rows
    ring = np.where((fall == 0) | (fall == rows), 0.0, np.sin(down))
    points = np.stack([ring * np.cos(around), np.cos(down), -ring * np.sin(around)], axis=-1)
    uvs = np.stack([turn / columns, fall / rows], axis=-1)
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    below = corner + columns + 1
    quads = np.stack([corner, below, below + 1, corner, below + 1, corner + 1], axis=1)
    positions = points.reshape(-1, 3).astype(np.float32)
    return TangentMesh(positions, positions, uvs.reshape(-1, 2).astype("f4"), quads.reshape(-1, 3))


def test_a_quad_has_its_tangent_along_u() -> None:
    tangents = corner_tangents(TangentMesh(QUAD, UP, QUAD[:, :2].copy(), TWO))
    assert tangents.reshape(-1, 4).tolist() == [[1, 0, 0, 1]] * 6


def test_a_mirrored_texture_turns_the_tangent_and_the_sign() -> None:
    mirrored = QUAD[:, :2] * np.array([-1, 1], np.float32)
    tangents = corner_tangents(TangentMesh(QUAD, UP, mirrored, TWO))
    assert tangents.reshape(-1, 4).tolist() == [[-1, 0, 0, -1]] * 6


def test_a_turned_texture_turns_the_tangent_and_keeps_the_sign() -> None:
    turned = np.stack([QUAD[:, 1], -QUAD[:, 0]], axis=1)
    tangents = corner_tangents(TangentMesh(QUAD, UP, turned, TWO))
    assert tangents.reshape(-1, 4).tolist() == [[0, 1, 0, 1]] * 6


def test_a_mirror_line_splits_the_vertices_on_it() -> None:
    positions = np.array([[0, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]], np.float32)
    uvs = np.array([[0, 0], [0, 1], [1, 0], [1, 0]], np.float32)
    indices = np.array([[0, 1, 2], [0, 3, 1]])
    tangents = corner_tangents(TangentMesh(positions, UP, uvs, indices))
    assert tangents[0].tolist() == [[-1, 0, 0, -1]] * 3
    assert tangents[1].tolist() == [[1, 0, 0, 1]] * 3
    old, split, triangles = split_by_tangent(indices, tangents)
    assert old.tolist() == [0, 1, 2, 0, 3, 1]
    assert split[triangles].tolist() == tangents.tolist()


def test_a_sphere_has_tangents_along_its_circles_and_across_its_seam() -> None:
    shape = sphere(32, 16)
    tangents = corner_tangents(shape)
    positions = shape.positions[shape.indices].astype(np.float64)
    inner = (np.abs(positions[:, :, 1]) < 0.9).all(axis=1)
    east = np.cross([0.0, 1.0, 0.0], positions[inner])
    east /= np.linalg.norm(east, axis=2, keepdims=True)
    agreement = (east * tangents[inner, :, :3]).sum(axis=2)
    assert agreement.min() > 0.99
    assert np.all(tangents[inner, :, 3] == -1)


def test_every_tangent_is_a_unit_vector_square_to_its_normal() -> None:
    shape = sphere(20, 10)
    tangents = corner_tangents(shape)[:, :, :3].astype(np.float64)
    is_known = tangents[:, :, 0] != 1.0
    np.testing.assert_allclose(np.linalg.norm(tangents, axis=2), 1, atol=1e-6)
    normals = shape.normals[shape.indices].astype(np.float64)
    assert np.abs((tangents * normals).sum(axis=2))[is_known].max() < 1e-5


def test_the_order_of_the_triangles_changes_nothing_but_rounding() -> None:
    shape = sphere(16, 8)
    order = np.random.default_rng(5).permutation(len(shape.indices))
    other = TangentMesh(shape.positions, shape.normals, shape.uvs, shape.indices[order])
    good = np.ptp(shape.positions[shape.indices], axis=1).any(axis=1)
    mine, theirs = corner_tangents(shape)[order], corner_tangents(other)
    np.testing.assert_allclose(mine[good[order]], theirs[good[order]], atol=1e-5)


def test_a_triangle_without_area_takes_the_tangent_of_its_neighbour() -> None:
    turned = np.stack([QUAD[:, 1], -QUAD[:, 0]], axis=1)
    indices = np.array([[0, 0, 1], [0, 1, 2]])
    tangents = corner_tangents(TangentMesh(QUAD, UP, turned, indices))
    assert tangents.reshape(-1, 4).tolist() == [[0, 1, 0, 1]] * 6


def test_a_triangle_without_texture_area_follows_its_neighbour_where_they_meet() -> None:
    uvs = np.array([[0, 0], [-1, 0], [-1, 1], [-0.5, 0.5]], np.float32)
    tangents = corner_tangents(TangentMesh(QUAD, UP, uvs, TWO))
    assert tangents[0].tolist() == [[-1, 0, 0, -1]] * 3
    # Corners 0 and 2 lie on the shared edge; the third one has nobody to ask.
    assert tangents[1].tolist() == [[-1, 0, 0, -1], [-1, 0, 0, -1], [1, 0, 0, 1]]


def test_without_uvs_every_tangent_is_the_default() -> None:
    tangents = corner_tangents(TangentMesh(QUAD, UP, np.zeros((4, 2), np.float32), TWO))
    assert tangents.reshape(-1, 4).tolist() == [[1, 0, 0, 1]] * 6


def test_no_triangles_have_no_tangents() -> None:
    assert corner_tangents(TangentMesh(QUAD, UP, QUAD[:, :2], np.empty((0, 3), int))).shape == (
        0,
        3,
        4,
    )


@given(st.floats(0, np.pi))
def test_an_angle_from_roots_is_the_angle(angle: float) -> None:
    a, b = np.array([[1.0], [0.0], [0.0]]), np.array([[np.cos(angle)], [np.sin(angle)], [0.0]])
    assert _angle(a, b)[0] == pytest.approx(angle, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(
    arrays(np.float32, (9, 8), elements=st.integers(-2, 2).map(np.float32)),
    arrays(np.int32, st.tuples(st.integers(0, 20), st.just(3)), elements=st.integers(0, 8)),
)
def test_any_soup_gets_unit_tangents(rows: Float32, triangles: NDArray[np.int32]) -> None:
    tangents = corner_tangents(TangentMesh(rows[:, :3], rows[:, 3:6], rows[:, 6:], triangles))
    np.testing.assert_allclose(np.linalg.norm(tangents[:, :, :3], axis=2), 1, atol=1e-6)
    assert set(np.unique(tangents[:, :, 3]).tolist()) <= {-1.0, 1.0}
