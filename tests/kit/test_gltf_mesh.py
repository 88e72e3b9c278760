"""Primitives, placement, baking, Draco; trimesh and pygltflib as second opinions."""

import io
import sys

import DracoPy
import numpy as np
import pygltflib
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import weld
from encoders.kit.source.gltf.data.draco import count_elements
from encoders.kit.source.gltf.geometry.bake import bake
from encoders.kit.source.gltf.geometry.mesh import decode_primitive
from encoders.kit.source.gltf.geometry.scene import place_primitives
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.world import decode_world
from tests.kit.glb_builder import POSITIONS, Builder, quad

HALF = 0.5**0.5


def opened(builder):
    return decode_gltf(builder.glb(), "model.glb")


def triangles_of(indices, mode, vertices=8):
    builder = Builder()
    positions = builder.accessor([(k, k * k, 0) for k in range(vertices)])
    more = {} if indices is None else {"indices": builder.accessor(indices, "u1")}
    builder.mesh({"POSITION": positions}, mode=mode, **more)
    return decode_primitive(opened(builder), 0, 0).triangles.tolist()


@pytest.mark.parametrize(
    ("indices", "mode", "expected"),
    [
        ([0, 1, 2, 2, 1, 3], 4, [[0, 1, 2], [2, 1, 3]]),
        ([0, 1, 2, 3, 4], 5, [[0, 1, 2], [1, 3, 2], [2, 3, 4]]),
        ([0, 1, 2, 2, 5, 5, 6, 7], 5, [[0, 1, 2], [5, 7, 6]]),
        ([7, 1, 2, 3], 6, [[1, 2, 7], [2, 3, 7]]),
        ([0, 1], 5, []),
        ([0], 6, []),
        ([], 4, []),
    ],
)
def test_every_triangle_mode_gives_its_triangles(indices, mode, expected):
    assert triangles_of(indices, mode) == expected


def test_without_indices_vertices_are_taken_in_order():
    assert triangles_of(None, 4, 6) == [[0, 1, 2], [3, 4, 5]]
    assert triangles_of(None, 6, 4) == [[1, 2, 0], [2, 3, 0]]


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_points_and_lines_are_left_out_with_a_warning(mode):
    builder = quad()
    builder.json["meshes"][0]["primitives"][0]["mode"] = mode
    gltf = opened(builder)
    assert place_primitives(gltf) == []
    assert gltf.warnings == (
        '"square" (meshes[0].primitives[0]) has points or lines and was ignored [ignored]',
    )


def test_indices_after_the_last_triangle_are_a_warning():
    builder = quad()
    builder.json["accessors"][4]["count"] = 5
    gltf = opened(builder)
    assert len(decode_primitive(gltf, 0, 0).triangles) == 1
    assert "5 corners" in gltf.warnings[0]


def test_index_past_the_vertices_is_refused():
    builder = Builder()
    attributes = {"POSITION": builder.accessor(POSITIONS)}
    builder.mesh(attributes, indices=builder.accessor([0, 1, 4], "u4"))
    with pytest.raises(EncodeError, match="past the vertices") as error:
        decode_primitive(opened(builder), 0, 0)
    assert error.value.facts["found"] == "4"


def test_every_attribute_is_read_with_its_type():
    builder = Builder()
    attributes = {
        "POSITION": builder.accessor(np.array(POSITIONS) * 100, "i2"),
        "NORMAL": builder.accessor([(0, 0, 127)] * 4, "i1", normalized=True),
        "TEXCOORD_0": builder.accessor([(0, 65535)] * 4, "u2", normalized=True),
        "TEXCOORD_2": builder.accessor([(3, 4)] * 4),
        "COLOR_0": builder.accessor([(255, 0, 51)] * 4, "u1", normalized=True),
        "JOINTS_0": builder.accessor([(0, 1, 2, 3)] * 4, "u1"),
        "JOINTS_1": builder.accessor([(4, 5, 6, 7)] * 4, "u2"),
        "WEIGHTS_0": builder.accessor([(255, 0, 0, 0)] * 4, "u1", normalized=True),
        "WEIGHTS_1": builder.accessor([(0.5, 0, 0, 0)] * 4),
        "_TEMPERATURE": builder.accessor([1.0] * 4),
        "COLOR_1": builder.accessor([(1, 1, 1, 1)] * 4),
    }
    builder.mesh(attributes, mode=5)
    gltf = opened(builder)
    primitive = decode_primitive(gltf, 0, 0)
    assert primitive.position.tolist() == (np.array(POSITIONS) * 100.0).tolist()
    assert primitive.normal[0].tolist() == [0, 0, 1]
    assert primitive.uv[0][0].tolist() == [0, 1]
    assert primitive.uv[1] is None
    assert primitive.uv[2][0].tolist() == [3, 4]
    np.testing.assert_allclose(primitive.color[0], [1, 0, 0.2, 1])
    assert primitive.joints[0].tolist() == list(range(8))
    assert primitive.weights[0].tolist() == [1, 0, 0, 0, 0.5, 0, 0, 0]
    assert gltf.warnings == (
        '"mesh" (meshes[0].primitives[0]): attribute COLOR_1 was ignored [ignored]',
    )


def test_morph_targets_are_reported():
    builder = quad()
    builder.json["meshes"][0]["primitives"][0]["targets"] = [{"POSITION": 0}, {"POSITION": 0}]
    gltf = opened(builder)
    place_primitives(gltf)
    assert "2 morph targets" in gltf.warnings[0]


@pytest.mark.parametrize(
    ("name", "values", "dtype", "problem"),
    [
        ("NORMAL", [(0, 0, 1)] * 3, "f4", "does not fit POSITION"),
        ("NORMAL", [(0, 0)] * 4, "f4", "wrong type"),
        ("COLOR_0", [(0, 0)] * 4, "f4", "wrong type"),
        ("JOINTS_0", [(0, 0, 0, 0)] * 4, "f4", "wrong type"),
        ("JOINTS_0", [(0, 0, 0, 0)] * 4, "u4", "wrong type"),
        ("WEIGHTS_0", [(0, 0, 0)] * 4, "f4", "wrong type"),
        ("POSITION", [(0, 0, np.nan)] * 4, "f4", "not finite"),
    ],
)
def test_attribute_that_does_not_fit_is_refused(name, values, dtype, problem):
    builder = Builder()
    attributes = {"POSITION": builder.accessor(POSITIONS)}
    builder.mesh(attributes | {name: builder.accessor(values, dtype)})
    with pytest.raises(EncodeError, match=problem):
        decode_primitive(opened(builder), 0, 0)


def test_normal_that_is_no_number_becomes_zero_with_a_warning():
    builder = Builder()
    normals = builder.accessor([(0, 0, 1), (np.nan, 0, 1), (0, 0, 1), (np.inf, 0, 0)])
    builder.mesh({"POSITION": builder.accessor(POSITIONS), "NORMAL": normals}, mode=5)
    gltf = opened(builder)
    assert decode_primitive(gltf, 0, 0).normal.tolist()[1] == [0, 0, 1]
    assert "NORMAL" in gltf.warnings[0]


def test_placement_knows_node_mesh_and_material():
    builder = quad(translation=[1, 2, 3])
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    builder.add("materials", name="paint")
    (placed,) = place_primitives(opened(builder))
    assert (placed.node_name, placed.mesh_name, placed.primitive.material) == ("place", "square", 0)
    assert placed.matrix[:3, 3].tolist() == [1, 2, 3]


def test_two_nodes_share_the_arrays_of_their_mesh():
    builder = quad()
    builder.add("nodes", mesh=0, translation=[5, 0, 0])
    builder.json["scenes"][0]["nodes"] = [0, 1]
    one, two = place_primitives(opened(builder))
    assert one.primitive is two.primitive


def test_baking_moves_turns_and_keeps_unit_normals():
    builder = quad(rotation=[HALF, 0, 0, HALF], scale=[2, 2, 2], translation=[0, 10, 0])
    gltf = opened(builder)
    baked = bake(gltf, place_primitives(gltf)[0])
    np.testing.assert_allclose(
        baked.position, [(0, 10, 0), (2, 10, 0), (0, 10, 2), (2, 10, 2)], atol=1e-6
    )
    np.testing.assert_allclose(baked.normal, [(0, -1, 0)] * 4, atol=1e-7)
    np.testing.assert_allclose(baked.tangent, [(1, 0, 0, 1)] * 4, atol=1e-7)


def test_uneven_scale_tilts_normals_by_the_inverse_transpose():
    builder = quad(scale=[1, 4, 1])
    builder.binary[48:96] = np.tile(np.array([0, HALF, HALF], "<f4"), 4).tobytes()
    gltf = opened(builder)
    normal = bake(gltf, place_primitives(gltf)[0]).normal[0]
    np.testing.assert_allclose(normal, np.array([0, 1, 4]) / 17**0.5, rtol=1e-6)


def test_mirror_swaps_corners_and_the_tangent_s_sign():
    gltf = opened(quad(scale=[-1, 1, 1]))
    baked = bake(gltf, place_primitives(gltf)[0])
    assert baked.triangles.tolist() == [[0, 2, 1], [2, 3, 1]]
    a, b, c = baked.position[baked.triangles[0]]
    np.testing.assert_array_equal(np.cross(b - a, c - a), baked.normal[0])
    assert baked.tangent[0].tolist() == [-1, 0, 0, -1]


def test_unmoved_primitive_is_passed_through_untouched():
    gltf = opened(quad())
    (placed,) = place_primitives(gltf)
    assert bake(gltf, placed) is placed.primitive


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-5, 5, width=32), min_size=3, max_size=3),
    st.lists(st.floats(0.125, 4, width=32), min_size=3, max_size=3),
    st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4),
)
def test_baked_scene_is_where_trimesh_puts_it(translation, scale, rotation):
    length = sum(x * x for x in rotation) ** 0.5
    rotation = [x / length for x in rotation] if length > 0.1 else [0, 0, 0, 1]
    builder = quad(translation=translation, scale=scale)
    builder.add("nodes", rotation=rotation, children=[0])
    builder.json["scenes"][0]["nodes"] = [1]
    data = builder.glb()
    mesh = decode_world(decode_gltf(data, "a.glb"))
    other = trimesh.load_scene(io.BytesIO(data), file_type="glb").to_geometry()
    ours = mesh.position.values[mesh.position.corner].mean(axis=1)
    np.testing.assert_allclose(ours, other.triangles_center, atol=1e-5)


def test_accessors_hold_what_pygltflib_finds_in_them():
    data = quad().glb()
    other = pygltflib.GLTF2.load_from_bytes(data)
    primitive = decode_primitive(decode_gltf(data, "a"), 0, 0)
    arrays = (primitive.position, primitive.normal, primitive.tangent, primitive.uv[0])
    for index, ours in enumerate(arrays):
        view = other.bufferViews[other.accessors[index].bufferView]
        stored = other.binary_blob()[view.byteOffset : view.byteOffset + view.byteLength]
        assert ours.tobytes() == stored


def test_box_that_trimesh_writes_is_read_back():
    box = trimesh.creation.box(
        (1, 2, 3), transform=trimesh.transformations.rotation_matrix(1, [1, 1, 0])
    )
    mesh = decode_world(decode_gltf(box.export(file_type="glb"), "box.glb"))
    np.testing.assert_allclose(
        mesh.position.values[mesh.position.corner], box.vertices[box.faces], atol=1e-6
    )


def test_many_primitives_over_the_same_vertices_stay_within_the_limit():
    builder = quad()
    mesh = builder.json["meshes"][0]
    mesh["primitives"] *= 1000
    gltf = opened(builder)
    gltf.limit_bytes = 20000
    with pytest.raises(EncodeError, match="too much"):
        place_primitives(gltf)


def skinned(joints=((0, 1, 0, 0),) * 4, weights=((0.5, 0.5, 0, 0),) * 4):
    builder = quad(skin=0, translation=[100, 0, 0])
    attributes = builder.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = builder.accessor(joints, "u1")
    attributes["WEIGHTS_0"] = builder.accessor(weights)
    builder.add("nodes", name="hip", translation=[0, 0, 2])
    builder.add("nodes", name="knee", translation=[0, 4, 0])
    builder.json["scenes"][0]["nodes"] = [0, 1, 2]
    builder.add("skins", joints=[1, 2])
    return builder


def test_skinned_primitive_is_baked_where_its_joints_rest():
    gltf = opened(skinned())
    (placed,) = place_primitives(gltf)
    baked = bake(gltf, placed)
    np.testing.assert_array_equal(baked.position, np.add(POSITIONS, (0, 2, 1)))
    assert gltf.warnings == ('"place" (nodes[0]) is skinned: its rest pose was taken [ignored]',)


def test_joint_outside_the_skin_is_refused_unless_it_has_no_weight():
    joints = ((0, 1, 9, 0),) * 4
    place_primitives(opened(skinned(joints)))
    with pytest.raises(EncodeError, match="not in the skin"):
        place_primitives(opened(skinned(joints, ((0.5, 0.25, 0.25, 0),) * 4)))


def test_joints_without_weights_are_refused_in_a_skin():
    builder = skinned()
    del builder.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]
    with pytest.raises(EncodeError, match="joints or weights"):
        place_primitives(opened(builder))


def test_world_marks_what_a_part_lacks_and_keeps_the_rest():
    builder = quad()
    builder.mesh({"POSITION": builder.accessor([(9, 9, 9)] * 3)}, "bare")
    builder.add("nodes", name="second", mesh=1)
    builder.json["scenes"][0]["nodes"] = [0, 1]
    mesh = decode_world(opened(builder))
    assert mesh.triangle_count == 3
    assert mesh.part.tolist() == [0, 0, 1]
    assert [part.object for part in mesh.parts] == ["place", "second"]
    assert mesh.smoothing.tolist() == [1, 1, 0]
    assert mesh.normal.corner.tolist() == [[0, 1, 2], [2, 1, 3], [-1, -1, -1]]
    assert mesh.position.corner[2].tolist() == [4, 5, 6]
    assert mesh.material.tolist() == [-1, -1, -1]
    assert len(weld(mesh).corners) == 7


def test_scene_without_meshes_is_an_empty_world():
    builder = Builder()
    builder.add("nodes")
    mesh = decode_world(opened(builder))
    assert mesh.triangle_count == 0
    assert mesh.uv == ()


def test_far_away_placement_is_refused_not_written_as_infinity():
    gltf = opened(quad(translation=[1e39, 0, 0]))
    with pytest.raises(EncodeError, match="not finite"):
        decode_world(gltf)


def draco(joint_type=np.uint8, **options):
    """The quad, its geometry compressed; only the accessors' counts and types are left."""
    builder = Builder()
    uv = np.array([(0, 1), (1, 1), (0, 0), (1, 0)], np.float64)
    data = DracoPy.encode(
        np.array(POSITIONS, np.float32),
        np.array([[0, 1, 2], [2, 1, 3]], np.uint32),
        quantization_bits=14,
        preserve_order=True,
        tex_coord=uv,
        generic_attributes={7: np.array([(0, 1, 2, 3)] * 4, joint_type)},
        **options,
    )
    ids = {entry["attribute_type"]: entry["unique_id"] for entry in DracoPy.decode(data).attributes}
    record = {"bufferView": builder.view(data)}
    record["attributes"] = {"POSITION": ids[0], "TEXCOORD_0": ids[3], "JOINTS_0": 7}
    kinds = (("VEC3", 5126), ("VEC2", 5126), ("VEC4", 5121))
    for kind, component in kinds:
        builder.add("accessors", componentType=component, count=4, type=kind)
    builder.add("accessors", componentType=5123, count=6, type="SCALAR")
    builder.mesh(
        {"POSITION": 0, "TEXCOORD_0": 1, "JOINTS_0": 2},
        indices=3,
        extensions={"KHR_draco_mesh_compression": record},
    )
    builder.add("nodes", mesh=0)
    builder.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    return builder


@pytest.mark.parametrize("options", [{}, {"create_metadata": True}])
def test_draco_primitive_gives_its_triangles_and_attributes(options):
    primitive = decode_primitive(opened(draco(**options)), 0, 0)
    corners = primitive.position[primitive.triangles]
    np.testing.assert_allclose(corners, np.array(POSITIONS)[[[0, 1, 2], [2, 1, 3]]], atol=1e-3)
    uv = primitive.uv[0][primitive.triangles][..., 0]
    np.testing.assert_allclose(uv, corners[..., 0], atol=1e-3)
    assert primitive.joints.tolist() == [[0, 1, 2, 3]] * 4


@pytest.mark.parametrize("joint_type", [np.uint16, np.uint32])
def test_joints_that_the_draco_library_widens_are_taken(joint_type):
    primitive = decode_primitive(opened(draco(joint_type)), 0, 0)
    assert primitive.joints.dtype == np.uint16
    assert primitive.joints.tolist() == [[0, 1, 2, 3]] * 4


def test_draco_joints_past_16_bits_are_refused():
    builder = draco()
    data = DracoPy.encode(
        np.array(POSITIONS, np.float32),
        np.array([[0, 1, 2], [2, 1, 3]], np.uint32),
        preserve_order=True,
        tex_coord=np.zeros((4, 2)),
        generic_attributes={7: np.array([(0, 1, 2, 70000)] * 4, np.uint32)},
    )
    record = builder.json["meshes"][0]["primitives"][0]["extensions"]["KHR_draco_mesh_compression"]
    record["bufferView"] = builder.view(data)
    with pytest.raises(EncodeError, match="JOINTS_0 has the wrong type"):
        decode_primitive(opened(builder), 0, 0)


def test_uncompressed_data_beside_draco_is_taken_whatever_is_installed(monkeypatch):
    monkeypatch.setattr("encoders.kit.isolate._runner", None)
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    builder = quad()
    primitive = builder.json["meshes"][0]["primitives"][0]
    record = {"bufferView": builder.view(b"DRACO"), "attributes": {"POSITION": 0}}
    primitive["extensions"] = {"KHR_draco_mesh_compression": record}
    assert decode_primitive(opened(builder), 0, 0).position.tolist() == np.array(POSITIONS).tolist()


def test_draco_header_tells_its_size_before_decoding():
    grid = np.stack(np.meshgrid(*[np.arange(12.0)] * 2), axis=-1).reshape(-1, 2)
    points = np.column_stack((grid, grid[:, 0] * 0)).astype(np.float32)
    corner = np.arange(144).reshape(12, 12)[:-1, :-1].reshape(-1, 1)
    faces = np.concatenate([np.add(corner, shift) for shift in ((0, 1, 12), (1, 13, 12))]).astype(
        np.uint32
    )
    for order in (True, False):
        assert count_elements(DracoPy.encode(points, faces, preserve_order=order)) == 144 + 242


def test_draco_bomb_is_refused_before_decoding():
    builder = draco()
    header = builder.binary[:11]
    assert header[:5] == b"DRACO"
    builder.binary[11:21] = b"\xff\xff\xff\xff\x0f" * 2
    with pytest.raises(EncodeError, match="too much"):
        decode_primitive(opened(builder), 0, 0)


def test_damaged_draco_data_is_refused():
    builder = draco()
    builder.json["bufferViews"][0]["byteLength"] -= 20
    with pytest.raises(EncodeError, match="Draco data is damaged"):
        decode_primitive(opened(builder), 0, 0)


def test_unknown_draco_attribute_is_refused():
    builder = draco()
    record = builder.json["meshes"][0]["primitives"][0]["extensions"]["KHR_draco_mesh_compression"]
    record["attributes"]["TEXCOORD_0"] = 99
    with pytest.raises(EncodeError, match="lacks"):
        decode_primitive(opened(builder), 0, 0)


def test_without_the_draco_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("encoders.kit.isolate._runner", None)
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    with pytest.raises(EncodeError, match="DracoPy is needed") as error:
        decode_primitive(opened(draco()), 0, 0)
    assert error.value.facts["found"] == "KHR_draco_mesh_compression"
    assert "pip install" in error.value.hint


@pytest.mark.parametrize("copies", ["nodes", "primitives"])
def test_a_small_file_shows_no_more_triangles_than_its_size_warrants(copies: str) -> None:
    builder = Builder()
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0)] * 4000
    mesh = builder.mesh({"POSITION": builder.accessor(corners, bounds=True)})
    if copies == "nodes":
        for _ in range(2000):
            builder.add("nodes", mesh=mesh)
    else:
        primitives = builder.json["meshes"][mesh]["primitives"]
        primitives *= 2000
        builder.add("nodes", mesh=mesh)
    builder.add("scenes", nodes=list(range(len(builder.json["nodes"]))))
    gltf = decode_gltf(builder.glb(), "forest.glb")
    with pytest.raises(EncodeError, match=r"too many triangles|too much"):
        place_primitives(gltf)
