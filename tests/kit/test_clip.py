from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.clip import CutMesh, cut_at_plane, start_cut
from encoders.kit.mesh.triangle import Indices

Float32 = NDArray[np.float32]

coordinates = st.floats(-4, 4, width=32)
points = arrays(np.float32, (12, 3), elements=coordinates)
soups = arrays(np.int32, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(0, 11))


def areas(mesh: CutMesh) -> NDArray[np.float64]:
    a, b, c = np.moveaxis(mesh.attributes[0].astype(np.float64)[mesh.indices], 1, 0)
    normals: NDArray[np.float64] = np.cross(b - a, c - a) / 2
    return normals


def bumps(size: int) -> tuple[Float32, Float32, Indices]:
    x, y = np.meshgrid(np.linspace(0, 1, size + 1), np.linspace(0, 1, size + 1))
    z = 0.3 * np.sin(5 * x) * np.cos(4 * y)
    positions = np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(np.float32)
    corner = (np.arange(size)[:, None] * (size + 1) + np.arange(size)).reshape(-1)
    quads = [corner, corner + 1, corner + size + 2, corner, corner + size + 2, corner + size + 1]
    return positions, positions[:, :2] * 2, np.stack(quads, axis=1).reshape(-1, 3)


def cut_at_planes(mesh: CutMesh, planes: list[tuple[int, float]]) -> CutMesh:
    for axis, value in planes:
        mesh = cut_at_plane(mesh, axis, value)
    return mesh


def test_a_corner_alone_makes_three_pieces() -> None:
    positions = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0]], np.float32)
    uvs = np.array([[0, 0], [1, 0], [0, 1]], np.float32)
    mesh = cut_at_plane(start_cut([positions, uvs], np.array([[0, 1, 2]])), 0, 1.0)
    assert mesh.attributes[0][3:].tolist() == [[1, 0, 0], [1, 1, 0]]
    assert mesh.attributes[1][3:].tolist() == [[0.5, 0], [0.5, 0.5]]
    assert mesh.indices.tolist() == [[1, 4, 3], [4, 2, 0], [4, 0, 3]]
    assert mesh.source.tolist() == [0, 0, 0]


def test_a_corner_in_the_plane_makes_two_pieces() -> None:
    positions = np.array([[1, 2, 0], [0, 0, 0], [2, 0, 0]], np.float32)
    mesh = cut_at_plane(start_cut([positions], np.array([[1, 2, 0]])), 0, 1.0)
    assert mesh.indices.tolist() == [[0, 1, 3], [0, 3, 2]]


def test_a_triangle_that_touches_the_plane_is_left_alone() -> None:
    positions = np.array([[1, 0, 0], [1, 1, 0], [2, 0, 0]], np.float32)
    mesh = start_cut([positions], np.array([[0, 1, 2]]))
    assert cut_at_plane(mesh, 0, 1.0) is mesh


@settings(deadline=None)
@given(points, soups, st.integers(0, 2), coordinates)
def test_cutting_keeps_the_area_and_the_winding_of_every_triangle(
    positions: Float32, triangles: Indices, axis: int, value: float
) -> None:
    mesh = start_cut([positions], triangles)
    cut = cut_at_plane(mesh, axis, value)
    total = np.zeros((len(triangles), 3))
    np.add.at(total, cut.source, areas(cut))
    np.testing.assert_allclose(total, areas(mesh), atol=2e-5)
    sides = np.sign(cut.attributes[0][:, axis] - np.float32(value))[cut.indices]
    assert not np.any((sides.min(axis=1) < 0) & (sides.max(axis=1) > 0))
    assert np.all(np.diff(cut.source) >= 0)


@settings(deadline=None)
@given(points, soups, st.integers(0, 2), coordinates)
def test_turning_a_mesh_inside_out_cuts_it_at_the_same_points(
    positions: Float32, triangles: Indices, axis: int, value: float
) -> None:
    one = cut_at_plane(start_cut([positions], triangles), axis, value)
    other = cut_at_plane(start_cut([positions], triangles[::-1, ::-1]), axis, value)
    assert one.attributes[0].tobytes() == other.attributes[0].tobytes()


def test_both_sides_of_a_seam_are_cut_at_the_same_bits() -> None:
    rng = np.random.default_rng(7)
    shared = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
    shared[:, 0] = [-0.7, 0.9]
    # Two triangles with vertices of their own along the edge, in opposite directions.
    apexes = np.array([[0.1, 2, 0], [0.2, -2, 0]], np.float32)
    positions = np.concatenate([shared, apexes[:1], shared[::-1], apexes[1:]])
    mesh = cut_at_plane(start_cut([positions], np.array([[0, 1, 2], [3, 4, 5]])), 0, 0.123)
    new = mesh.attributes[0][6:].tolist()
    assert len(new) - len({tuple(point) for point in new}) == 1


def test_cuts_at_many_planes_keep_the_area_and_interpolate_every_attribute() -> None:
    positions, uvs, triangles = bumps(20)
    before = start_cut([positions, uvs], triangles)
    planes = [(0, 0.05), (0, 0.28), (0, 0.51), (1, 0.31), (1, 0.62)]
    mesh = cut_at_planes(before, planes)
    assert len(mesh.indices) > len(triangles)
    for axis, value in planes:
        sides = np.sign(mesh.attributes[0][:, axis] - np.float32(value))[mesh.indices]
        assert not np.any((sides.min(axis=1) < 0) & (sides.max(axis=1) > 0))
    assert np.linalg.norm(areas(mesh), axis=1).sum() == pytest.approx(
        np.linalg.norm(areas(before), axis=1).sum(), rel=1e-6
    )
    # UVs are twice the position everywhere, so also at the cuts.
    np.testing.assert_allclose(mesh.attributes[1], 2 * mesh.attributes[0][:, :2], atol=1e-6)


def test_a_cut_mesh_has_no_more_open_edges_than_its_border() -> None:
    positions, uvs, triangles = bumps(12)
    planes = [(0, 0.3), (0, 0.6), (0, 0.9), (1, 0.27), (1, 0.54), (1, 0.81)]
    planes += [(2, -0.2), (2, -0.1), (2, 0.1), (2, 0.2)]
    mesh = cut_at_planes(start_cut([positions, uvs], triangles), planes)
    edges = {(a, b) for t in mesh.indices.tolist() for a, b in zip(t, t[1:] + t[:1], strict=True)}
    for a, b in edges:
        if (b, a) not in edges:
            ends = mesh.attributes[0][[a, b], :2]
            assert np.any((ends == 0).all(axis=0) | (ends == 1).all(axis=0))


def test_a_position_that_is_not_finite_is_refused() -> None:
    with pytest.raises(EncodeError, match="finite"):
        start_cut([np.array([[0, 0, np.inf]], np.float32)], np.array([[0, 0, 0]]))


def test_nothing_is_cut_into_nothing() -> None:
    empty = start_cut([np.empty((0, 3), np.float32)], np.empty((0, 3), np.int32))
    assert cut_at_plane(empty, 0, 0.5) is empty
