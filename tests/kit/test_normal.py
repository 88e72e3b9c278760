from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.mesh.mesh import Mesh
from encoders.kit.mesh.normal import (
    drop_degenerate,
    fill_normals,
    find_degenerate,
    normalise,
    shade_mesh,
    transform_normals,
)
from encoders.kit.source.obj.decode import decode_obj

# Two triangles that meet at a right angle along the edge 1-2; the one standing is twice as big.
BEND = b"v 0 0 0\nv 0 1 0\nv 1 0 0\nv 0 0 2\n"
DOWN_AND_ASIDE = b"f 1 2 3\nf 1 4 2\n"


def mesh_of(text: bytes) -> Mesh:
    return decode_obj(text, "a.obj").mesh


def normals(mesh: Mesh) -> np.ndarray:
    assert mesh.normal is not None
    assert mesh.normal.is_complete
    return mesh.normal.values[mesh.normal.corner]


def test_flat_normals_are_those_of_the_triangles() -> None:
    found = normals(fill_normals(mesh_of(BEND + b"s 1\n" + DOWN_AND_ASIDE), "flat"))
    assert found.tolist() == [[[0, 0, -1]] * 3, [[-1, 0, 0]] * 3]


def test_smooth_normals_weigh_triangles_by_area() -> None:
    found = normals(fill_normals(mesh_of(BEND + DOWN_AND_ASIDE), "smooth"))
    shared = np.float32(np.array([-2, 0, -1]) / np.sqrt(5))
    assert np.array_equal(found[0, :2], [shared, shared])
    assert found[0, 2].tolist() == [0, 0, -1]
    assert found[1, 1].tolist() == [-1, 0, 0]


def test_smoothing_groups_divide_what_is_smooth() -> None:
    apart = normals(fill_normals(mesh_of(BEND + b"s 1\nf 1 2 3\ns 2\nf 1 4 2\n")))
    joined = normals(fill_normals(mesh_of(BEND + b"s 2\n" + DOWN_AND_ASIDE)))
    flat = normals(fill_normals(mesh_of(BEND + DOWN_AND_ASIDE)))
    assert np.array_equal(apart, flat)
    assert not np.array_equal(joined, flat)


def test_equal_positions_in_different_rows_are_smooth_together() -> None:
    split = BEND + b"v 0 0 0\nv 0 1 -0.0\n"
    found = normals(fill_normals(mesh_of(split + b"f 1 2 3\nf 5 4 6\n"), "smooth"))
    assert np.array_equal(found[0, 0], found[1, 0])
    assert np.array_equal(found[0, 1], found[1, 2])


def test_given_normals_stay_and_zero_ones_are_replaced() -> None:
    text = BEND + b"vn 0 1 0\nvn 0 0 0\nf 1//1 2//2 3\n"
    mesh = fill_normals(mesh_of(text), "flat")
    assert normals(mesh).tolist() == [[[0, 1, 0], [0, 0, -1], [0, 0, -1]]]


def test_opposite_triangles_fall_back_to_their_own_normal() -> None:
    found = normals(fill_normals(mesh_of(BEND + b"f 1 2 3\nf 1 3 2\n"), "smooth"))
    assert found.tolist() == [[[0, 0, -1]] * 3, [[0, 0, 1]] * 3]


def test_smooth_normals_agree_with_trimesh_on_a_sphere() -> None:
    ball = trimesh.creation.icosphere(subdivisions=2)
    text = "".join("v {!r} {!r} {!r}\n".format(*map(float, v)) for v in ball.vertices)
    text += "".join("f {} {} {}\n".format(*(face + 1)) for face in ball.faces)
    found = normals(fill_normals(mesh_of(text.encode()), "smooth"))
    sums = np.zeros_like(ball.vertices)
    np.add.at(
        sums,
        ball.faces.reshape(-1),
        np.repeat(ball.face_normals * ball.area_faces[:, None], 3, axis=0),
    )
    expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    assert np.allclose(found, expected[ball.faces], atol=1e-6)


def test_triangles_without_an_area_are_found_and_dropped() -> None:
    mesh = mesh_of(BEND + b"v 0 3 0\nf 1 2 3\nf 1 1 2\nf 1 2 5\n")
    kept, count = drop_degenerate(mesh)
    assert find_degenerate(mesh).tolist() == [False, True, True]
    assert (kept.position.corner.tolist(), count) == ([[0, 1, 2]], 2)
    assert normals(fill_normals(mesh))[1].tolist() == [[0, 0, 0]] * 3


def test_very_short_and_very_long_vectors_are_normalised() -> None:
    assert normalise(np.array([[1e-300, 0, 0], [0, 3e200, 4e200], [0, 0, 0]])).tolist() == [
        [1, 0, 0],
        [0, 0.6, 0.8],
        [0, 0, 0],
    ]


@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 1, 1), (-1, 1, 1), (3, -2, -1), (1, 0, 1)])
def test_normal_stays_at_right_angles_to_its_surface(scale: tuple[int, int, int]) -> None:
    matrix = np.array([[0, -1, 0.5], [1, 0, 0], [0.25, 0, 1]]) * scale
    edges = np.array([[1, -1, 0], [0, 1, -2]], np.float64)
    normal = np.float32([np.cross(edges[0], edges[1])])
    turned = transform_normals(normal, matrix.tolist())
    assert np.allclose((edges * 1.0) @ matrix.T @ turned[0], 0, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-9, 9), min_size=9, max_size=9))
def test_transform_is_the_inverse_transpose_where_there_is_one(values: list[float]) -> None:
    matrix = np.array(values).reshape(3, 3)
    if np.linalg.cond(matrix) > 1e4:
        return
    normal = np.float32([[0.6, 0.0, 0.8]])
    expected = np.linalg.inv(matrix).T @ normal[0]
    turned = transform_normals(normal, matrix.tolist())[0]
    assert np.allclose(turned, expected / np.linalg.norm(expected), atol=1e-4)


def column(sides: int, smoothing: bytes = b"") -> Mesh:
    """The sides of a column without lids, two triangles each."""
    angles = 2 * np.pi * np.arange(sides) / sides
    lines = [f"v {np.cos(a)} {y} {np.sin(a)}" for y in (0, 1) for a in angles]
    for k in range(sides):
        a, b = k + 1, (k + 1) % sides + 1
        lines += [f"f {a} {a + sides} {b}", f"f {b} {a + sides} {b + sides}"]
    return mesh_of(smoothing + "\n".join(lines).encode())


@pytest.mark.parametrize(("sides", "is_smooth"), [(4, False), (6, False), (8, True), (12, True)])
def test_without_groups_small_angles_are_smooth_and_large_ones_are_edges(
    sides: int, is_smooth: bool
) -> None:
    found = normals(fill_normals(column(sides)))
    wanted = normals(fill_normals(column(sides), "smooth" if is_smooth else "flat"))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_groups_that_the_source_tells_count_more_than_angles() -> None:
    flat = normals(fill_normals(column(12, b"s off\n")))
    assert np.array_equal(flat, normals(fill_normals(column(12), "flat")))
    smooth = fill_normals(column(4, b"s 1\n"))
    assert np.array_equal(normals(smooth), normals(fill_normals(column(4), "smooth")))


def test_angle_divides_a_position_between_edges() -> None:
    """Of three sides at one corner, two that are nearly level share a normal."""
    text = b"v 0 0 0\nv 1 0 0\nv 1 1 0.1\nv 0 1 0\nv 0 0 -1\nf 1 2 3\nf 1 3 4\nf 2 1 5\n"
    found = normals(fill_normals(mesh_of(text)))
    assert np.array_equal(found[0, 0], found[1, 0])
    assert abs(found[2, 1] @ found[0, 0]) < 0.2


def test_shading_replaces_normals_unless_it_is_auto() -> None:
    text = BEND + b"vn 0 1 0\nf 1//1 2//1 3//1\nf 1//1 4//1 2//1\n"
    assert normals(shade_mesh(mesh_of(text), "auto")).tolist() == [[[0, 1, 0]] * 3] * 2
    assert normals(shade_mesh(mesh_of(text), "flat"))[0, 0].tolist() == [0, 0, -1]
    assert normals(shade_mesh(mesh_of(text), "angle"))[1, 0].tolist() == [-1, 0, 0]


def test_fan_of_many_triangles_is_shaded_quickly() -> None:
    count = 5000
    angles = 2 * np.pi * np.arange(count) / count
    lines = ["v 0 0.1 0", *(f"v {np.cos(a)} 0 {np.sin(a)}" for a in angles)]
    lines += [f"f 1 {(k + 1) % count + 2} {k + 2}" for k in range(count)]
    found = normals(fill_normals(mesh_of("\n".join(lines).encode())))
    assert np.allclose(found[:, 0], (0, 1, 0), atol=1e-3)
