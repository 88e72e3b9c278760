"""Tangents: only in a ROM of the newer console, and they follow their surface everywhere."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from encoders.emberware.format.mesh import unpack_mesh
from encoders.emberware.format.vertex import ROM_FORMATS, Vertices, pack_vertices, stride_of
from encoders.emberware.node_mesh import encode_mesh
from encoders.emberware.node_passthrough import encode_loose_mesh
from encoders.emberware.node_rom import encode_rom
from encoders.emberware.plan import plan_asset
from encoders.emberware.target import FORMAT, TARGET
from encoders.emberware.view import decode_rom_file, extract_rom_file
from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Settings
from encoders.kit.source.mtl.survey import survey_mtl
from encoders.kit.source.obj.survey import survey_obj
from tests.encoders.emberware_build import encode, local, plan
from tests.kit.glb_builder import quad

HALF = 0.7071067811865476
GAME = {
    "id": "t", "title": "t", "author": "t", "version": "1", "description": "", "tags": [],
    "platform_game_id": None, "platform_author_id": None, "created_at": "", "tool_version": "",
    "render_mode": 2, "default_resolution": None, "target_fps": None, "tick_rate": 60,
    "max_players": 4, "netplay": True,
}  # fmt: skip
SQUARE = b"""v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
vn 0 0 1
f 1/1/1 2/2/1 3/3/1 4/4/1
"""


def direction(word: int) -> np.ndarray:
    """Decode an octahedral word, from the description of the format alone."""
    u, v = (max(half / 32767, -1) for half in struct.unpack("<2h", struct.pack("<I", word)))
    z = 1 - abs(u) - abs(v)
    if z < 0:
        u, v = (1 - abs(v)) * (1 if u >= 0 else -1), (1 - abs(u)) * (1 if v >= 0 else -1)
    return np.array((u, v, z)) / np.linalg.norm((u, v, z))


def frames(mesh: bytes) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Normal, tangent and bitangent of each vertex of POS_UV_NORMAL_TANGENT."""
    count, _, form = struct.unpack_from("<IIB", mesh)
    assert form == 1 | 4 | 16
    found = []
    for number in range(count):
        normal, tangent = struct.unpack_from("<2I", mesh, 12 + 20 * number + 12)
        n, t = direction(normal), direction(tangent)
        found.append((n, t, np.cross(n, t) * (-1 if tangent & 1 << 16 else 1)))
    return found


def test_a_tangent_has_known_bytes() -> None:
    vertices = Vertices(
        position=np.zeros((2, 3), np.float32),
        normal=np.array([(0, 0, 1)] * 2, np.float32),
        tangent=np.array([(1, 0, 0, 1), (0, 1, 0, -1)], np.float32),
        joints=np.zeros((2, 4), np.uint16),
        weights=np.array([(1, 0, 0, 0)] * 2, np.float32),
    )
    rows = pack_vertices(vertices)
    place, skin = "0000 0000 0000 003C", "00000000 FF000000"
    # +y is 7FFF0000; bit 16 is the handedness, and was 1 before.
    expected = f"{place} 00000000 FF7F0000 {skin} {place} 00000000 0000FF7F {skin}"
    assert rows == bytes.fromhex(expected)
    right = Vertices(vertices.position, tangent=np.array([(0, 1, 0, 1)] * 2, np.float32))
    assert pack_vertices(right)[8:12] == bytes.fromhex("0000FE7F")
    assert [stride_of(form) for form in (16, 23, 31)] == [12, 24, 32]


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"translation": [5, 0, 0]},
        {"rotation": [0, HALF, 0, HALF], "scale": [2, 1, 3]},
        {"scale": [-1, 1, 1]},
        {"scale": [1, -2, 1], "rotation": [HALF, 0, 0, HALF]},
    ],
)
def test_tangents_follow_a_node_that_moves_turns_or_mirrors(node) -> None:
    made = encode({"a.glb": quad(**node).glb()}, "a.glb", kinds=("mesh",), profile="nczx")
    matrix = local(node)[:3, :3]
    along, up = matrix @ (1, 0, 0), matrix @ (0, 1, 0)  # where u grows, and where v shrinks
    for _, tangent, bitangent in frames(made["a.mesh"]["rom"]):
        assert tangent @ along == pytest.approx(np.linalg.norm(along), rel=1e-3)
        assert bitangent @ up == pytest.approx(np.linalg.norm(up), rel=1e-3)


def test_a_loose_mesh_has_no_tangents_and_is_else_the_same() -> None:
    made = encode({"a.glb": quad().glb()}, "a.glb", kinds=("mesh",), profile="nczx")["a.mesh"]
    old = encode({"a.glb": quad().glb()}, "a.glb", kinds=("mesh",))["a.mesh"]
    assert made["file"] == old["file"]
    assert "rom" not in old
    assert unpack_mesh(made["rom"], "", ROM_FORMATS)["format"] == 1 | 4 | 16
    with pytest.raises(EncodeError, match="not a mesh"):
        unpack_mesh(made["rom"], "")


def test_a_rom_holds_the_tangents_and_gives_a_mesh_that_can_be_loaded() -> None:
    made = encode({"a.glb": quad().glb()}, "a.glb", kinds=("mesh",), profile="nczx")["a.mesh"]
    params = {
        "profile": "nczx", "game": GAME, "limit": {"rom_mib": 16},
        "files": {"wasm": None, "thumbnail": None, "screenshots": []},
        "assets": {"mesh": [{"id": "q", "node": "a.mesh"}]},
    }  # fmt: skip
    rom = encode_rom({"mesh/00000": made["rom"]}, params)["rom"]
    assert decode_rom_file(rom, "t.nczx")["data_pack"]["meshes"][0]["format"] == 21
    assert extract_rom_file(rom, "t.nczx")["meshes/q.nczxmesh"] == made["file"]


@pytest.mark.parametrize("flip_v", ["auto", True])
def test_missing_tangents_are_computed_where_they_are_asked_for(flip_v) -> None:
    builder = quad()
    del builder.json["meshes"][0]["primitives"][0]["attributes"]["TANGENT"]
    options = {"vertex_format": "POS_UV_NORMAL_TANGENT", "flip_v": flip_v}
    files = {"a.glb": builder.glb()}
    made = encode(files, "a.glb", kinds=("mesh",), profile="nczx", **options)["a.mesh"]
    for _, tangent, bitangent in frames(made["rom"]):
        assert tangent[0] == pytest.approx(1, abs=1e-3)
        assert bitangent[1] == pytest.approx(-1 if flip_v is True else 1, abs=1e-3)
    assert b"tangents are missing and were computed" in made["warnings"]


@pytest.mark.parametrize("has_map", [True, False])
def test_a_mesh_with_a_normal_map_gets_the_tangents_that_it_means(has_map: bool) -> None:
    builder = quad()
    primitive = builder.json["meshes"][0]["primitives"][0]
    del primitive["attributes"]["TANGENT"]
    primitive["material"] = builder.add("materials", name="stone")
    if has_map:
        builder.add("images", uri="bumps.png")
        builder.add("textures", source=0)
        builder.json["materials"][0]["normalTexture"] = {"index": 0}
    files = {"a.glb": builder.glb()}
    made = encode(files, "a.glb", kinds=("mesh",), profile="nczx")["a.mesh"]
    form = unpack_mesh(made["rom"], "", ROM_FORMATS)["format"]
    assert form == (1 | 4 | 16 if has_map else 1 | 4)
    assert not made["warnings"]
    for _, tangent, bitangent in frames(made["rom"]) if has_map else ():
        assert tangent[0] == pytest.approx(1, abs=1e-3)
        assert bitangent[1] == pytest.approx(1, abs=1e-3)
    old = encode(files, "a.glb", kinds=("mesh",))["a.mesh"]
    assert old["file"] == made["file"]


def test_given_tangents_are_turned_over_with_v() -> None:
    files = {"a.glb": quad().glb()}
    made = encode(files, "a.glb", kinds=("mesh",), profile="nczx", flip_v=True)["a.mesh"]
    assert all(bitangent[1] < -0.99 for _, _, bitangent in frames(made["rom"]))


def test_an_obj_has_the_tangents_of_its_upright_texture() -> None:
    params = {"source": "a.obj", "vertex_format": "POS_UV_NORMAL_TANGENT", "flip_v": "auto"}
    made = encode_mesh({"a.obj": SQUARE}, params | {"weld": True, "tangents": True})
    for _, tangent, bitangent in frames(made["rom"]):
        assert tangent[0] == pytest.approx(1, abs=1e-3)
        assert bitangent[1] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("statement", ["norm", "map_Kd"])
def test_an_obj_with_a_normal_map_gets_the_tangents_that_it_means(statement: str) -> None:
    source = b"mtllib a.mtl\n" + SQUARE.replace(b"f 1", b"usemtl m\nf 1")
    surveys = {
        "a.obj": survey_obj(source, "a.obj"),
        "a.mtl": survey_mtl(f"newmtl m\n{statement} n.png\n".encode(), "a.mtl"),
    }
    options = {key: one.default for key, one in TARGET.kinds["mesh"].options.items()}
    asset = Asset("a", "a", ("a.obj",), ("mesh",), options)
    for profile in ("nczx", "ewz"):
        (node,) = plan_asset(asset, surveys, Settings({"profile": profile}, {}))
        made = encode_mesh({"a.obj": source}, node.params)
        rom = made.get("rom", made["file"])
        has_tangents = profile == "nczx" and statement == "norm"
        assert unpack_mesh(rom, "", ROM_FORMATS)["format"] == (21 if has_tangents else 5)
        assert not made["warnings"]
        for _, tangent, bitangent in frames(rom) if has_tangents else ():
            assert tangent[0] == pytest.approx(1, abs=1e-3)
            assert bitangent[1] == pytest.approx(1, abs=1e-3)


def test_tangents_are_refused_for_the_first_console_and_without_normals() -> None:
    with pytest.raises(EncodeError, match="knows no tangents"):
        plan({"a.glb": quad().glb()}, "a.glb", vertex_format="POS_UV_NORMAL_TANGENT")
    assert not FORMAT.allows("POS_UV_TANGENT")


def test_a_loose_mesh_whose_vertices_cannot_be_decoded_is_refused() -> None:
    mesh = bytearray(encode({"a.glb": quad().glb()}, "a.glb", kinds=("mesh",))["a.mesh"]["file"])
    assert encode_loose_mesh({"data": bytes(mesh)}, {"source": "a.ewzmesh"})["file"] == mesh
    mesh[12 + 6] ^= 1  # w of the first vertex
    with pytest.raises(EncodeError):
        encode_loose_mesh({"data": bytes(mesh)}, {"source": "a.ewzmesh"})
