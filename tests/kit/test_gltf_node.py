"""The hierarchy: matrices, parents, scene order."""

import json

import numpy as np
import pygltflib
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document.node import parents, scene_nodes, world_matrices
from encoders.kit.source.gltf.document.spec import decode_document
from encoders.kit.source.gltf.geometry.matrix import compose, decompose, determinant, multiply

unit = st.floats(-1, 1, width=32)
vectors = st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3)
rotations = st.lists(unit, min_size=4, max_size=4).filter(lambda q: sum(x * x for x in q) > 0.1)


def document(nodes, **more):
    text = {"asset": {"version": "2.0"}, "nodes": nodes, **more}
    return decode_document(json.dumps(text).encode(), "a.gltf")


def world(nodes):
    return np.array(world_matrices(document(nodes), "a.gltf")).reshape(-1, 4, 4)


@settings(max_examples=50, deadline=None)
@given(vectors, rotations, vectors)
def test_a_node_s_matrix_is_that_of_trimesh(translation, rotation, scale):
    node = {"translation": translation, "rotation": rotation, "scale": scale}
    x, y, z, w = rotation
    turned = trimesh.transformations.quaternion_matrix((w, x, y, z))
    expected = (
        trimesh.transformations.translation_matrix(translation) @ turned @ np.diag([*scale, 1])
    )
    np.testing.assert_allclose(world([node])[0], expected, atol=1e-6)


def test_matrix_and_parts_of_the_same_transform_agree():
    half = 0.5**0.5
    parts = {"translation": [1, 2, 3], "rotation": [0, half, 0, half], "scale": [2, 3, 4]}
    stored = world([parts])[0].T.reshape(-1).tolist()
    np.testing.assert_array_equal(world([{"matrix": stored}])[0], world([parts])[0])


def test_rounding_in_the_last_row_of_a_matrix_does_no_harm():
    stored = [1, 0, 0, 1e-7, 0, 1, 0, 0, 0, 0, 1, -1e-6, 5, 6, 7, 0.99999]
    assert world([{"matrix": stored}])[0][:3, 3].tolist() == [5, 6, 7]


def test_children_move_with_their_parents():
    nodes = [
        {"children": [1], "scale": [2, 2, 2]},
        {"translation": [1, 0, 0], "children": [2]},
        {"translation": [0, 1, 0]},
    ]
    assert world(nodes)[2][:3, 3].tolist() == [2, 2, 0]


def test_rotation_that_is_not_unit_is_brought_to_it():
    np.testing.assert_array_equal(world([{"rotation": [0, 0, 0, 7]}])[0], np.eye(4))


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([{"children": [1]}, {"children": [0]}], "own ancestor"),
        ([{"children": [0]}], "own ancestor"),
        ([{"children": [2]}, {"children": [2]}, {}], "two parents"),
        ([{"children": [1, 1]}, {}], "two parents"),
        ([{"children": [9]}], "points at nothing"),
        ([{"rotation": [0, 0, 0, 0]}], "no direction"),
        ([{"rotation": [1e300, 0, 0, 1e300]}], "no direction"),
        ([{"scale": [1e200] * 3, "children": [1]}, {"scale": [1e200] * 3}], "not finite"),
        ([{"matrix": [1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7, 0, 0, 0, 1]}], "no affine"),
        ([{"matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2]}], "no affine"),
    ],
)
def test_broken_hierarchy_is_refused(nodes, problem):
    with pytest.raises(EncodeError, match=problem):
        world(nodes)


def test_a_chain_of_many_nodes_needs_no_recursion():
    nodes = [{"children": [k + 1], "translation": [1, 0, 0]} for k in range(20000)] + [{}]
    assert world(nodes)[-1][0, 3] == 20000


def test_scene_order_is_depth_first_in_document_order():
    nodes = [{"children": [3, 1]}, {}, {}, {"children": [4]}, {}, {}]
    listed = document(nodes, scenes=[{"nodes": [5]}, {"nodes": [2, 0]}], scene=1)
    assert scene_nodes(listed, "a") == [2, 0, 3, 4, 1]
    assert scene_nodes(document(nodes), "a") == [0, 3, 4, 1, 2, 5]
    assert parents(listed, "a") == [-1, 0, -1, 0, 3, -1]


def test_pygltflib_reads_the_same_transforms():
    nodes = [{"translation": [1, 2, 3], "children": [1]}, {"scale": [1, 2, 1]}]
    text = json.dumps({"asset": {"version": "2.0"}, "nodes": nodes})
    other = pygltflib.GLTF2().gltf_from_json(text)
    ours = decode_document(text.encode(), "a")
    assert [node.scale or [1, 1, 1] for node in other.nodes] == [list(n.scale) for n in ours.nodes]
    assert other.nodes[0].children == list(ours.nodes[0].children)


@settings(max_examples=50, deadline=None)
@given(vectors, rotations, st.lists(st.floats(0.1, 10), min_size=3, max_size=3), st.booleans())
def test_decomposing_gives_back_what_was_composed(translation, rotation, scale, is_mirrored):
    rotation = np.array(rotation) / np.sqrt(sum(x * x for x in rotation))
    scale = np.array(scale) * (-1 if is_mirrored else 1, 1, 1)
    matrix = compose(np.array(translation), rotation, scale)
    parts = decompose(matrix)
    np.testing.assert_allclose(compose(*parts), matrix, atol=1e-12)
    np.testing.assert_allclose(parts[2], scale, rtol=1e-12)
    np.testing.assert_allclose(determinant(matrix), np.linalg.det(matrix[:3, :3]), rtol=1e-9)


@pytest.mark.parametrize("scale", [(0, 2, 1), (1, 0, 3), (2, 1, 0)])
def test_flat_matrix_keeps_its_rotation(scale):
    rotation = np.array([0.1, 0.7, -0.1, 0.7])
    _, found, _ = decompose(compose(np.zeros(3), rotation, np.array(scale, float)))
    np.testing.assert_allclose(found, rotation, atol=1e-12)


def test_matrix_of_a_line_has_no_rotation():
    _, rotation, scale = decompose(np.diag([0.0, 0.0, 1.0, 1.0]))
    assert scale.tolist() == [0, 0, 1]
    assert rotation.tolist() == [0, 0, 0, 1]


def test_products_agree_with_numpy():
    a, b = np.arange(32.0).reshape(2, 4, 4) % 7, np.arange(32.0).reshape(2, 4, 4) % 5
    np.testing.assert_array_equal(multiply(a, b), a @ b)
