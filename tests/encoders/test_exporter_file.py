"""What exporters write in different ways is one model: every target makes the same files of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.fuzz.memory_build import build
from tests.kit.glb_builder import POSITIONS, Builder, quad

ASSET = '[[asset]]\nsource = "assets/a.*"\n'
SCENE = '[[scene]]\nname = "s"\nsource = "assets/a.*"\n'
GAME = '[game]\nid = "g"\ntitle = "t"\nauthor = "a"\nversion = "1"\nwasm = "other/g.wasm"\n'
MANIFESTS = {
    "emberware": GAME + ASSET,
    "kac": ASSET,
    "rp2350": ASSET,
    "splashpack": f"{SCENE}scale = 1\n",
    "untold": f"{SCENE}lods = []\nhlod = 0\n",
}


def made(target: str, files: dict[str, bytes]) -> dict[str, bytes]:
    found = build(target, {"other/g.wasm": b"\0asm\1\0\0\0", **files}, MANIFESTS[target])
    assert not found.errors
    assert not found.warnings
    return found.files


def primitive(builder: Builder) -> dict:
    return builder.json["meshes"][0]["primitives"][0]


def byte_indices(builder: Builder) -> None:
    primitive(builder)["indices"] = builder.accessor([0, 1, 2, 2, 1, 3], "u1")


def strip(builder: Builder) -> None:
    primitive(builder).update(mode=5, indices=builder.accessor([0, 1, 2, 3], "u4"))


def strip_without_indices(builder: Builder) -> None:
    del primitive(builder)["indices"]
    primitive(builder)["mode"] = 5


def sparse_positions(builder: Builder) -> None:
    """Three of four positions are sparse; without a view the others are zeros."""
    accessor = builder.json["accessors"][0]
    del accessor["bufferView"]
    values = builder.view(np.array(POSITIONS[1:], "<f4").tobytes())
    indices = builder.view(bytes([1, 2, 3]))
    accessor["sparse"] = {
        "count": 3,
        "indices": {"bufferView": indices, "componentType": 5121},
        "values": {"bufferView": values},
    }


def normalised_uvs(builder: Builder) -> None:
    corners = [(0, 65535), (65535, 65535), (0, 0), (65535, 0)]
    uv = builder.accessor(corners, "u2", normalized=True)
    primitive(builder)["attributes"]["TEXCOORD_0"] = uv


def padded_bytes_as_normals(builder: Builder) -> None:
    rows = np.zeros((4, 4), "i1")
    rows[:, 2] = 127
    view = builder.view(rows.tobytes(), byteStride=4)
    stored = {"bufferView": view, "componentType": 5120, "normalized": True}
    normal = builder.add("accessors", **stored, count=4, type="VEC3")
    primitive(builder)["attributes"]["NORMAL"] = normal


def no_scene(builder: Builder) -> None:
    del builder.json["scenes"]


def second_scene_is_shown(builder: Builder) -> None:
    builder.add("nodes", name="other", mesh=0, translation=[9, 0, 0])
    builder.json["scenes"] = [{"nodes": [1]}, {"nodes": [0]}]
    builder.json["scene"] = 1


def several_scenes_and_no_default(builder: Builder) -> None:
    builder.add("nodes", name="other", mesh=0, translation=[9, 0, 0])
    builder.add("scenes", nodes=[1])


def attributes_of_applications(builder: Builder) -> None:
    primitive(builder)["attributes"]["_FEATURE_ID_0"] = builder.accessor([0, 1, 2, 3])


def camera_and_empty_nodes(builder: Builder) -> None:
    lens = {"yfov": 1, "znear": 0.1}
    builder.add("cameras", type="perspective", perspective=lens)
    builder.add("nodes", camera=0, children=[2])
    builder.add("nodes", scale=[0, 0, 0])
    builder.json["scenes"][0]["nodes"].append(1)


def matrix_instead_of_parts(builder: Builder) -> None:
    builder.json["nodes"][0]["matrix"] = np.eye(4).reshape(-1).tolist()


WAYS = (
    *(byte_indices, sparse_positions, normalised_uvs),
    *(padded_bytes_as_normals, no_scene, second_scene_is_shown, several_scenes_and_no_default),
    *(attributes_of_applications, camera_and_empty_nodes, matrix_instead_of_parts),
)


@pytest.mark.parametrize("target", sorted(MANIFESTS))
@pytest.mark.parametrize("way", WAYS)
def test_another_way_to_write_a_model_gives_the_same_files(
    target: str, way: Callable[[Builder], None]
) -> None:
    builder = quad()
    way(builder)
    assert made(target, {"assets/a.glb": builder.glb()}) == made(
        target, {"assets/a.glb": quad().glb()}
    )


@pytest.mark.parametrize("target", sorted(MANIFESTS))
@pytest.mark.parametrize("way", [strip, strip_without_indices])
def test_strip_gives_the_files_of_its_triangles(
    target: str, way: Callable[[Builder], None]
) -> None:
    joined, single = quad(), quad()
    way(joined)
    primitive(single)["indices"] = single.accessor([0, 1, 2, 1, 3, 2], "u2")
    assert made(target, {"assets/a.glb": joined.glb()}) == made(
        target, {"assets/a.glb": single.glb()}
    )


@pytest.mark.parametrize("target", sorted(MANIFESTS))
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("box%20with%20spaces.bin", "box with spaces.bin"),
        ("box with spaces.bin", "box with spaces.bin"),
        ("%E2%9D%A4.bin", "❤.bin"),
        ("❤♻.bin", "❤♻.bin"),
        ("./a.bin", "a.bin"),
    ],
)
def test_buffer_is_found_however_its_name_is_written(target: str, uri: str, path: str) -> None:
    builder = quad()
    files = {"assets/a.gltf": builder.gltf(uri), f"assets/{path}": bytes(builder.binary)}
    manifest = MANIFESTS[target].replace("assets/a.*", "assets/a.gltf")
    found = build(target, {"other/g.wasm": b"\0asm\1\0\0\0", **files}, manifest)
    assert not found.errors
    assert not found.warnings
    assert found.files == made(target, {"assets/a.gltf": quad().gltf()})


@pytest.mark.parametrize("target", sorted(MANIFESTS))
def test_byte_order_mark_before_the_json_is_no_fault(target: str) -> None:
    plain = quad().gltf()
    assert made(target, {"assets/a.gltf": b"\xef\xbb\xbf" + plain}) == made(
        target, {"assets/a.gltf": plain}
    )


@pytest.mark.parametrize("target", sorted(MANIFESTS))
def test_two_primitives_over_the_same_vertices_are_built(target: str) -> None:
    builder = quad()
    halves = [builder.accessor(rows, "u2") for rows in ([0, 1, 2], [2, 1, 3])]
    record = primitive(builder)
    builder.json["meshes"][0]["primitives"] = [{**record, "indices": half} for half in halves]
    assert made(target, {"assets/a.glb": builder.glb()})


def test_quantised_positions_land_where_their_node_scales_them() -> None:
    """As gltfpack writes them: whole numbers, and a node that makes metres of them."""
    builder = quad(scale=[1 / 64] * 3)
    rows = np.zeros((4, 4), "<u2")
    rows[:, :3] = np.array(POSITIONS) * 64
    view = builder.view(rows.tobytes(), byteStride=8)
    bounds = {"min": [0, 0, 0], "max": [64, 64, 0]}
    record = {"bufferView": view, "componentType": 5123, "count": 4, "type": "VEC3", **bounds}
    primitive(builder)["attributes"]["POSITION"] = builder.add("accessors", **record)
    builder.json["extensionsUsed"] = builder.json["extensionsRequired"] = ["KHR_mesh_quantization"]
    for target in MANIFESTS:
        expected = made(target, {"assets/a.glb": quad().glb()})
        assert made(target, {"assets/a.glb": builder.glb()}) == expected
