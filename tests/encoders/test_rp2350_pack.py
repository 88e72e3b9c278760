"""Packed meshes of the RP2350 target: the same constants and bytes in two files."""

import json
import random
import re

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Settings
from encoders.kit.source.obj.survey import survey_obj
from encoders.rp2350.node_mesh import encode_mesh
from encoders.rp2350.rust_reader import parse_wrapper
from encoders.rp2350.rust_writer import PackedMesh, PatchInfo
from encoders.rp2350.target import TARGET
from encoders.rp2350.view import decode_pack, decode_rust, export_obj
from tests.encoders.rp2350_game import ball
from tests.encoders.rp2350_second_reader import constants
from tests.fuzz.damage import damage

PARAMS = {
    "identifier": "MESHES_BALL",
    "source": "assets/meshes/ball.obj",
    "patch_size": 16,
    "entry_limit": 48,
    "strip": True,
    "flip_v": False,
    "generate_normals": True,
}
CUT = re.compile(r"MESHES_BALL_DATA\.split_at\(([0-9]+)\)\.1\.split_at\(([0-9]+)\)\.0")

CUBE = """\
// Generated from: assets/meshes/cube.obj
// Patches: 2
// Total vertices: 7, Total entries: 7
// Data size: 119 bytes (of each patch a SoA blob: u16 pos + i16 norm + i16 uv + u8 idx)

pub const CUBE_DATA: &[u8] = include_bytes!("cube_patches.bin");

pub const CUBE_PATCH0_VERTEX_COUNT: usize = 3;
pub const CUBE_PATCH0_ENTRY_COUNT: usize = 3;
pub const CUBE_PATCH0_AABB_MIN: [f32; 3] = [-1.0, -1.0, -1.0];
pub const CUBE_PATCH0_AABB_MAX: [f32; 3] = [1.0, 1.0, 1.0];
pub const CUBE_PATCH0_DATA: &[u8] = CUBE_DATA.split_at(0).1.split_at(51).0;
pub const CUBE_PATCH1_VERTEX_COUNT: usize = 4;
pub const CUBE_PATCH1_ENTRY_COUNT: usize = 4;
pub const CUBE_PATCH1_AABB_MIN: [f32; 3] = [-1.0, -1.0, -1.0];
pub const CUBE_PATCH1_AABB_MAX: [f32; 3] = [1.0, 1.0, 1.0];
pub const CUBE_PATCH1_DATA: &[u8] = CUBE_DATA.split_at(51).1.split_at(68).0;

/// Overall mesh bounding box (model space)
/// Also serves as quantization AABB for u16 position encoding
pub const CUBE_AABB_MIN: [f32; 3] = [-1.0, -1.0, -1.0];
pub const CUBE_AABB_MAX: [f32; 3] = [1.0, 1.0, 1.0];
pub const CUBE_PATCH_COUNT: usize = 2;

/// Per-patch descriptors
"""


def encode(**params):
    return encode_mesh({"assets/meshes/ball.obj": ball(12, 6).encode()}, {**PARAMS, **params})


def files_of(outputs) -> dict[str, bytes]:
    return {"meshes_ball.rs": outputs["descriptor"], "meshes_ball_patches.bin": outputs["data"]}


def test_wrapper_has_the_constants_of_every_patch():
    low, high = (-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)
    patches = [PatchInfo(3, 3, low, high), PatchInfo(4, 4, low, high)]
    wrapper = PackedMesh("CUBE", "assets/meshes/cube.obj", low, high, patches)
    assert wrapper.text().startswith(CUBE)
    assert parse_wrapper(wrapper.text().encode(), "cube.rs") == wrapper
    with pytest.raises(EncodeError, match="not a wrapper"):
        parse_wrapper(wrapper.text().replace("split_at(51)", "split_at(50)").encode(), "cube.rs")


def test_constants_and_bytes_are_those_of_separate_files():
    packed, separate = encode(pack=True), encode()
    assert set(packed) == {"descriptor", "data", "includes", "warnings", "report"}
    assert packed["includes"] == b"meshes_ball.rs\n"
    assert packed["report"] == separate["report"]
    found = constants(packed["descriptor"].decode())
    expected = constants(separate["descriptor"].decode())
    numbers = range(int(expected["MESHES_BALL_PATCH_COUNT"]))
    for number in numbers:
        expected |= constants(separate[f"wrapper/{number}"].decode())
        start, size = map(int, CUT.fullmatch(found[f"MESHES_BALL_PATCH{number}_DATA"]).groups())
        assert packed["data"][start : start + size] == separate[f"data/{number}"]
    assert found.keys() == {*expected, "MESHES_BALL_DATA"}
    assert all(found[name] == expected[name] for name in expected if not name.endswith("_DATA"))
    assert packed["data"] == b"".join(separate[f"data/{number}"] for number in numbers)


def test_inspection_and_export_are_those_of_separate_files():
    packed, separate = encode(pack=True), encode()
    beside = {"meshes_ball.rs": separate["descriptor"]}
    for role, data in separate.items():
        kind, _, number = role.partition("/")
        if number:
            beside[f"meshes_ball_patch{number}.{'rs' if kind == 'wrapper' else 'bin'}"] = data
    files = files_of(packed)
    expected = decode_rust(separate["descriptor"], "meshes_ball.rs", beside.get)
    assert decode_rust(packed["descriptor"], "meshes_ball.rs", files.get) == expected
    assert decode_pack(packed["data"], "build/meshes_ball_patches.bin", files.get) == expected
    assert json.loads(json.dumps(expected)) == expected
    obj = export_obj(packed["descriptor"], "meshes_ball.rs", files.get)
    assert obj == export_obj(separate["descriptor"], "meshes_ball.rs", beside.get)


def test_every_wrong_length_is_refused():
    outputs = encode(pack=True)
    data, files = outputs["data"], files_of(outputs)
    for size in {*range(0, len(data), 97), len(data) - 1, len(data) + 1}:
        with pytest.raises(EncodeError, match="size that its wrapper says"):
            decode_pack((data + b"\0")[:size], "meshes_ball_patches.bin", files.get)
    with pytest.raises(EncodeError, match="missing"):
        decode_pack(data, "meshes_ball_patches.bin", {}.get)
    other = {"meshes_ball.rs": encode()["descriptor"]}
    with pytest.raises(EncodeError, match="something else"):
        decode_pack(data, "meshes_ball_patches.bin", other.get)


def test_damaged_files_are_shown_or_refused_and_nothing_else():
    outputs = encode(pack=True)
    files, chance, refused = files_of(outputs), random.Random(5), 0
    for name, decode in (("meshes_ball.rs", decode_rust), ("meshes_ball_patches.bin", decode_pack)):
        for _ in range(100):
            try:
                decode(damage(files[name], name, list(files.values()), chance), name, files.get)
            except EncodeError:
                refused += 1
    assert 100 < refused <= 200


@pytest.mark.parametrize("pack", [False, True])
def test_only_a_packed_mesh_has_the_option_among_its_params(pack):
    options = {key: option.default for key, option in TARGET.kinds["mesh"].options.items()}
    options["pack"] = pack
    asset = Asset("a", "a", ("assets/a.obj",), ("mesh",), options, "a")
    surveys = {"assets/a.obj": survey_obj(ball(4, 2).encode(), "assets/a.obj")}
    (node,) = TARGET.plan(asset, surveys, Settings({}, {}))
    assert ("pack" in node.params) == pack
    assert node.outputs["descriptor"] == "a.rs"
    assert (node.outputs["data"] == "a_patches.bin") == pack
