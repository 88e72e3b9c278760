"""Meshes: the exporter's bytes from glTF, OBJ turned upright, weights that sum to 255, laws."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.emberware.format.mesh import unpack_mesh
from encoders.emberware.format.vertex import (
    Vertices,
    format_name,
    pack_vertices,
    share_weights,
    stride_of,
)
from encoders.emberware.node_mesh import encode_mesh, encode_model_mesh
from encoders.emberware.node_parts import encode_parts
from encoders.emberware.node_passthrough import encode_loose_mesh
from encoders.emberware.view import export_obj
from encoders.kit.error import EncodeError
from pipeline.build.purity import pure
from tests.encoders.emberware_reader import read_mesh
from tests.kit.glb_builder import Builder, quad

DATA = Path(__file__).parent / "data/emberware/export"
CHAIN = (DATA / "chain.glb").read_bytes()
CHAIN_MESH = (DATA / "chain.ewzmesh").read_bytes()
SQUARE = b"""v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0
vt 0 0\nvt 1 0\nvt 1 0.75\nvt 0 0.75
vn 0 0 1
f 1/1/1 2/2/1 3/3/1 4/4/1
"""


def encode(model: bytes, meshes=(0,), skin=None, placed=True, **options) -> dict[str, bytes]:
    parts = {"x": {"meshes": list(meshes), "skin": skin}}
    cut = encode_parts({"model": model}, {"source": "a.glb", "parts": parts})["x"]
    params = {"source": "a.glb", "placed": placed, "vertex_format": "auto", "flip_v": "auto"}
    with pure():
        return encode_model_mesh({"model": cut}, {**params, **options})


def encode_obj(text: bytes, **options) -> dict[str, bytes]:
    params = {"source": "a.obj", "vertex_format": "auto", "flip_v": "auto", "weld": True} | options
    with pure():
        return encode_mesh({"a.obj": text}, params)


def test_a_vertex_has_known_bytes() -> None:
    vertex = Vertices(
        position=np.array([(1.5, -2.25, 0.001)], np.float32),
        uv=np.array([(0.25, 0.999)], np.float32),
        normal=np.array([(0, 1, 0)], np.float32),
    )
    expected = "003e 80c0 1914 003c  ff3f bdff  0000 ff7f"
    assert pack_vertices(vertex) == bytes.fromhex(expected)


def test_a_vertex_of_every_attribute_stands_in_the_fixed_order() -> None:
    vertex = Vertices(
        position=np.array([(1, 2, -2)], np.float32),
        uv=np.array([(0, 1)], np.float32),
        color=np.array([(1, 0.5, 0, 1)], np.float32),
        normal=np.array([(1, 0, 0)], np.float32),
        joints=np.array([(7, 3, 0, 0)], np.uint16),
        weights=np.array([(0.75, 0.25, 0, 0)], np.float32),
    )
    expected = (
        "003C 0040 00C0 003C"  # position, w
        "0000 FFFF"  # UV
        "FF 7F 00 FF"  # colour: half is cut off to 127
        "FF7F 0000"  # normal: u = 1, v = 0
        "07 03 00 00  BF 40 00 00"  # joints, weights: 191.25 and 63.75 of 255
    )
    assert pack_vertices(vertex) == bytes.fromhex(expected)


def test_strides_are_those_of_the_console() -> None:
    expected = [8, 12, 12, 16, 12, 16, 16, 20, 16, 20, 20, 24, 20, 24, 24, 28]
    assert [stride_of(form) for form in range(16)] == expected


def test_the_mesh_of_the_consoles_exporter_comes_out_byte_for_byte() -> None:
    assert encode(CHAIN, skin=0, vertex_format="POS_UV_NORMAL")["file"] == CHAIN_MESH


def test_a_skinned_model_keeps_its_joints_and_weights() -> None:
    mesh = read_mesh(encode(CHAIN, skin=0)["file"])
    assert format_name(mesh["format"]) == "POS_UV_NORMAL_SKINNED"
    assert mesh["vertices"][2]["skin"] == (2, 1, 0, 0, 191, 64, 0, 0)
    assert [vertex["position"] for vertex in mesh["vertices"]] == [
        vertex["position"] for vertex in read_mesh(CHAIN_MESH)["vertices"]
    ]


def test_a_placed_model_is_moved_and_a_chosen_mesh_is_not() -> None:
    model = quad(translation=[0, 0, 5]).glb()
    assert {v["position"][2] for v in read_mesh(encode(model)["file"])["vertices"]} == {5}
    alone = read_mesh(encode(model, placed=False)["file"])
    assert {v["position"][2] for v in alone["vertices"]} == {0}


def test_a_mirrored_model_keeps_its_front_outside() -> None:
    mesh = read_mesh(encode(quad(scale=[-1, 1, 1]).glb())["file"])
    a, b, c = (np.array(mesh["vertices"][i]["position"]) for i in mesh["indices"][:3])
    assert np.cross(b - a, c - a)[2] > 0
    assert mesh["vertices"][0]["normal"] == (0,)


def test_meshes_of_a_scene_become_one() -> None:
    builder = quad()
    builder.add("nodes", name="second", mesh=0, translation=[3, 0, 0])
    builder.json["scenes"][0]["nodes"] = [0, 1]
    mesh = read_mesh(encode(builder.glb())["file"])
    assert len(mesh["vertices"]) == 8
    assert max(mesh["indices"]) == 7
    assert max(v["position"][0] for v in mesh["vertices"]) == 4


def test_an_obj_is_turned_upright_and_shares_its_vertices() -> None:
    mesh = read_mesh(encode_obj(SQUARE)["file"])
    assert [v["uv"] for v in mesh["vertices"]] == [
        (0, 65535), (65535, 65535), (65535, 16383), (0, 16383),
    ]  # fmt: skip
    assert mesh["indices"] == [0, 1, 2, 0, 2, 3]
    kept = read_mesh(encode_obj(SQUARE, flip_v=False)["file"])
    assert kept["vertices"][2]["uv"] == (65535, 49151)


def test_an_obj_without_shared_rows_is_welded() -> None:
    text = SQUARE.replace(b"vn 0 0 1", b"vn 0 0 1\nvn 0 1 0") + b"f 1/1/2 3/3/2 4/4/2\n"
    mesh = read_mesh(encode_obj(text)["file"])
    assert len(mesh["vertices"]) == 7
    assert len(mesh["indices"]) == 9


def test_an_obj_comes_out_corner_by_corner_on_request() -> None:
    """As the console's own exporter writes it: a vertex for each corner, v as it is."""
    mesh = read_mesh(encode_obj(SQUARE, weld=False, flip_v=False)["file"])
    assert mesh["indices"] == [0, 1, 2, 3, 4, 5]
    corners = [0, 1, 2, 0, 2, 3]
    places = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    assert [v["position"] for v in mesh["vertices"]] == [places[corner] for corner in corners]
    assert [v["uv"][1] for v in mesh["vertices"]] == [0, 0, 49151, 0, 49151, 49151]


def test_asking_for_normals_computes_them_with_a_warning() -> None:
    made = encode_obj(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", vertex_format="POS_NORMAL")
    mesh = read_mesh(made["file"])
    assert (mesh["format"], mesh["vertices"][0]["normal"]) == (4, (0,))
    assert b"normals are missing" in made["warnings"]


def test_missing_uvs_and_colours_are_filled_with_a_warning() -> None:
    made = encode_obj(SQUARE, vertex_format="POS_UV_COLOR")
    assert read_mesh(made["file"])["vertices"][0]["color"] == (255, 255, 255, 255)
    assert b"colours are missing on 6 corners; 1 was taken" in made["warnings"]


def test_uvs_outside_the_texture_are_warned_of() -> None:
    assert b"UVs of 2 vertices" in encode_obj(SQUARE.replace(b"0.75", b"2"))["warnings"]


def test_a_texture_transform_is_baked_into_the_uvs() -> None:
    builder = quad()
    transform = {"KHR_texture_transform": {"scale": [0.5, 0.5], "offset": [0.25, 0]}}
    builder.add("images", uri="a.png")
    builder.add("textures", source=0)
    texture = {"index": 0, "extensions": transform}
    builder.add("materials", pbrMetallicRoughness={"baseColorTexture": texture})
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    mesh = read_mesh(encode(builder.glb())["file"])
    assert [v["uv"] for v in mesh["vertices"]][:2] == [(16383, 32767), (49151, 32767)]


def test_skinning_that_is_not_there_is_refused() -> None:
    with pytest.raises(EncodeError, match="no joints and weights"):
        encode_obj(SQUARE, vertex_format="POS_SKINNED")


def test_a_scene_skinned_in_part_is_refused_by_name() -> None:
    builder = skinned(1)
    builder.mesh({"POSITION": 0}, "prop")
    builder.add("nodes", name="sword", mesh=1)
    builder.json["scenes"] = [{"nodes": [0, 1, 2]}]
    with pytest.raises(EncodeError, match="skinned in part") as caught:
        encode(builder.glb(), meshes=(0, 1), skin=0)
    assert caught.value.facts["without a skin"] == "sword"


def skinned(sets: int, joint: int = 0) -> Builder:
    builder = Builder()
    attributes = {"POSITION": builder.accessor([(0, 0, 0), (1, 0, 0), (0, 1, 0)], bounds=True)}
    for number in range(sets):
        attributes[f"JOINTS_{number}"] = builder.accessor([(joint, 0, 0, 0)] * 3, "u1")
        attributes[f"WEIGHTS_{number}"] = builder.accessor([(0.2, 0.1, 0.1, 0.1)] * 3)
    builder.mesh(attributes, "body")
    builder.add("nodes", name="bone")
    builder.add("nodes", name="body", mesh=0, skin=0)
    builder.add("skins", joints=[0])
    builder.add("scenes", nodes=[0, 1])
    return builder


def test_more_than_four_joints_are_reduced_with_a_warning() -> None:
    made = encode(skinned(2).glb(), skin=0)
    weights = read_mesh(made["file"])["vertices"][0]["skin"][4:]
    assert sum(weights) == 255
    assert weights[0] == weights[1]
    assert b"3 vertices have more than 4 joints" in made["warnings"]


def test_a_joint_outside_the_skin_is_refused() -> None:
    with pytest.raises(EncodeError, match="joint is not in the skin"):
        encode(skinned(1, joint=1).glb(), skin=0)


def test_65536_vertices_fit_and_one_more_is_refused() -> None:
    def cloud(count: int) -> bytes:
        builder = Builder()
        position = builder.accessor(np.zeros((count, 3)), bounds=True)
        builder.mesh({"POSITION": position}, indices=builder.accessor([0, 1, count - 1], "u4"))
        builder.add("nodes", mesh=0)
        return builder.glb()

    assert read_mesh(encode(cloud(65536))["file"])["indices"] == [0, 1, 65535]
    with pytest.raises(EncodeError, match="too many vertices") as caught:
        encode(cloud(65537))
    assert "`triangles` or `simplify`" in caught.value.hint


def test_a_position_past_half_floats_names_the_vertex() -> None:
    with pytest.raises(EncodeError, match="too large for a half float") as caught:
        encode_obj(SQUARE.replace(b"v 1 1 0", b"v 1 70000 0"))
    assert caught.value.facts["vertex"] == "2"


weights = st.lists(st.floats(0, 1, width=32), min_size=4, max_size=4)


@given(st.lists(weights, min_size=1, max_size=8))
def test_weights_always_sum_to_255_and_stay_within_one_of_their_share(rows) -> None:
    exact = np.array(rows, np.float32)
    shared = share_weights(exact)
    assert (shared.sum(axis=1) == 255).all()
    assert (shared >= 0).all()
    total = exact.astype(np.float64).sum(axis=1, keepdims=True)
    real = total[:, 0] > 0
    wanted = exact[real] / total[real] * 255
    assert (np.abs(shared[real] - wanted) < 1 + 1e-6).all()


def test_every_truncation_tail_and_reserved_bit_is_refused() -> None:
    for size in range(len(CHAIN_MESH)):
        with pytest.raises(EncodeError):
            unpack_mesh(CHAIN_MESH[:size], "a")
    with pytest.raises(EncodeError):
        unpack_mesh(CHAIN_MESH + b"\0", "a")
    for bit in range(24):
        flipped = bytearray(CHAIN_MESH)
        flipped[9 + bit // 8] ^= 1 << bit % 8
        with pytest.raises(EncodeError):
            unpack_mesh(bytes(flipped), "a")


def test_an_index_past_the_vertices_is_refused() -> None:
    with pytest.raises(EncodeError, match="past the vertices"):
        unpack_mesh(CHAIN_MESH[:-2] + struct.pack("<H", 4), "a")


def test_a_made_mesh_without_indices_gets_them() -> None:
    bare = CHAIN_MESH[:4].replace(b"\4", b"\3") + bytes(4) + CHAIN_MESH[8 : 12 + 3 * 16]
    made = encode_loose_mesh({"data": bare}, {"source": "a.ewzmesh"})
    assert read_mesh(made["file"])["indices"] == [0, 1, 2]
    assert b"had no indices" in made["warnings"]
    whole = CHAIN_MESH[:4] + bytes(4) + CHAIN_MESH[8 : 12 + 4 * 16]
    with pytest.raises(EncodeError, match="no whole triangles"):
        encode_loose_mesh({"data": whole}, {"source": "a.ewzmesh"})


def test_an_exported_obj_encodes_to_the_same_mesh() -> None:
    text = export_obj(CHAIN_MESH, "a")["mesh.obj"]
    again = read_mesh(encode_obj(text)["file"])
    first = read_mesh(CHAIN_MESH)
    assert [v["position"] for v in again["vertices"]] == [v["position"] for v in first["vertices"]]
    assert again["indices"] == first["indices"]
