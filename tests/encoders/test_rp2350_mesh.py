"""Meshes of the RP2350 target."""

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.rp2350.format import ENTRY, NORMAL, POSITION, UV
from encoders.rp2350.identifier import identify
from encoders.rp2350.node_mesh import encode_mesh
from encoders.rp2350.patch_data import (
    pack_patch,
    quantise,
    quantise_positions,
    quantise_signed,
    unpack_patch,
)
from encoders.rp2350.rust_reader import parse_wrapper
from encoders.rp2350.rust_writer import RustModule
from encoders.rp2350.view import decode_patch, decode_rust
from pipeline.build.purity import pure
from tests.encoders.rp2350_game import ball
from tests.encoders.rp2350_second_reader import (
    check_segments,
    constants,
    draw_round_robin,
    draw_sliding,
    multiset,
    read_patch,
)
from tests.kit.glb_builder import Builder, glb

GOLDEN = json.loads((Path(__file__).parent / "data/rp2350/golden.json").read_text())
PARAMS = {
    "identifier": "MESHES_X",
    "source": "assets/meshes/x.obj",
    "patch_size": 16,
    "entry_limit": 48,
    "strip": True,
    "flip_v": False,
    "generate_normals": False,
}
QUAD = """\
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vn 0 0 1
vt 0 0
vt 1 0
vt 1 1
vt 0 1
f 1/1/1 2/2/1 3/3/1 4/4/1
"""
# Unit quad: x, y and z of four vertices, three axes of normals, u, v, then four strip entries.
QUAD_BLOB = (
    "0000ffffffff0000" "00000000ffffffff" "0000000000000000"
    "0000000000000000" "0000000000000000" "ff7fff7fff7fff7f"
    "0000002000200000" "0000000000200020" "10200438"
)  # fmt: skip


def encode(obj: str, **params):
    with pure():
        params = {**PARAMS, **params}
        return encode_mesh({params["source"]: obj.encode()}, params)


def patches_of(outputs):
    """Read every patch by the second reader: vertices, commands, constants."""
    number = 0
    while f"data/{number}" in outputs:
        found = constants(outputs[f"wrapper/{number}"].decode())
        name = next(key for key in found if key.endswith("_VERTEX_COUNT"))[: -len("_VERTEX_COUNT")]
        counts = int(found[f"{name}_VERTEX_COUNT"]), int(found[f"{name}_ENTRY_COUNT"])
        yield found, name, read_patch(outputs[f"data/{number}"], *counts)
        number += 1


def cube() -> str:
    """Six separate quads: 24 vertices, 12 triangles."""
    lines, sides = [], []
    for axis in range(3):
        for side in (-1, 1):
            corners = [[0.0] * 3 for _ in range(4)]
            for corner, (u, v) in zip(corners, ((-1, -1), (1, -1), (1, 1), (-1, 1)), strict=True):
                corner[axis], corner[(axis + 1) % 3], corner[(axis + 2) % 3] = side, u, v
            sides.append(corners if side > 0 else corners[::-1])
    for number, corners in enumerate(sides):
        lines += [f"v {x} {y} {z}" for x, y, z in corners]
        lines.append("f " + " ".join(str(4 * number + k) for k in (1, 2, 3, 4)))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("case", GOLDEN["mesh"], ids=lambda case: case["name"])
def test_mesh_gives_the_vertices_boxes_and_triangles_of_the_golden_file(case):
    folder, file = case["file"].split("/")
    identifier = identify(folder, file.removesuffix(".obj"))
    assert identifier == case["identifier"]
    limits = {"patch_size": case["max_vertices"], "entry_limit": case["max_entries"]}
    outputs = encode(case["obj"], identifier=identifier, source=case["file"], **limits)
    mesh = constants(outputs["descriptor"].decode())
    assert mesh[f"{identifier}_AABB_MIN"] == f"[{case['mesh_aabb_min']}]"
    assert mesh[f"{identifier}_AABB_MAX"] == f"[{case['mesh_aabb_max']}]"
    found = list(patches_of(outputs))
    assert len(found) == len(case["patches"])
    for number, (wanted, (text, name, (*_, commands))) in enumerate(
        zip(case["patches"], found, strict=True)
    ):
        section = outputs[f"data/{number}"][: 16 * wanted["vertex_count"]]
        assert section.hex() == wanted["vertex_section_hex"]
        assert text[f"{name}_AABB_MIN"] == f"[{wanted['aabb_min']}]"
        assert text[f"{name}_AABB_MAX"] == f"[{wanted['aabb_max']}]"
        assert multiset(draw_sliding(commands)) == multiset(wanted["triangles"])


ACCEPTED = ("e_comment", "e_contin", "e_w")


@pytest.mark.parametrize("case", GOLDEN["errors"], ids=lambda case: case["name"])
def test_broken_meshes_are_refused_and_harmless_ones_are_not(case):
    if case["name"] in ACCEPTED:  # comments, continued lines and a w are plain OBJ
        assert "data/0" in encode(case["obj"])
        return
    with pytest.raises(EncodeError) as error:
        encode(case["obj"])
    assert error.value.facts["file"] == "assets/meshes/x.obj"


def test_unit_quad_is_the_worked_blob():
    outputs = encode(QUAD)
    assert outputs["data/0"].hex() == QUAD_BLOB
    assert not outputs["warnings"]


def test_pentagon_is_the_worked_strip():
    obj = "v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\nf 1 2 3 4 5\n"
    assert encode(obj)["data/0"][80:].hex() == "1020043844"


def test_cube_of_separate_sides_is_two_patches_of_four_and_two_sides():
    outputs = encode(cube())
    assert outputs["data/0"][256:].hex().upper() == "1020043850604478" + "90A084B8D0E0C4F8"
    assert [len(outputs[f"data/{n}"]) for n in (0, 1)] == [272, 136]
    assert "data/2" not in outputs
    assert outputs["includes"].split() == [
        b"meshes_x_patch0.rs",
        b"meshes_x_patch1.rs",
        b"meshes_x.rs",
    ]


def test_tables_are_one_number_or_one_entry():
    assert POSITION.pack({"pos": 0x1234}) == bytes.fromhex("3412")
    assert NORMAL.pack({"norm": -32767}) == bytes.fromhex("0180")
    assert UV.pack({"uv": 8192}) == bytes.fromhex("0020")
    # vertex 3, kick 2, spare bits 0
    assert ENTRY.pack({"vertex": 3, "kick": 2}) == bytes.fromhex("38")


def test_positions_round_half_away_from_zero_on_the_grid():
    column = np.array([[0, 0, 5], [1, 0.5, 5], [0.25, 1, 5]], np.float32)
    grid = quantise_positions(column, (0.0, 0.0, 5.0), (1.0, 1.0, 5.0))
    assert grid.tolist() == [[0, 65535, 16384], [0, 32768, 65535], [0, 0, 0]]


def test_signed_numbers_round_half_away_from_zero_and_say_what_was_cut_off():
    values = np.array([[-4.0], [4.0], [2.0**-14], [-1.5 / 8192], [0.5], [3.4e38]], np.float32)
    numbers, clamped = quantise_signed(values, 8192)
    assert numbers.tolist() == [[-32768, 32767, 1, -2, 4096, 32767]]
    assert clamped == 2
    # Adding a half in float32 would give 1.
    assert quantise_signed(np.array([[0.49999997]], np.float32), 1)[0].tolist() == [[0]]


@pytest.mark.parametrize("obj", [ball(16, 8), ball(40, 20), cube(), QUAD])
@pytest.mark.parametrize("limits", [(16, 48, True), (16, 48, False), (8, 20, True), (3, 3, True)])
def test_every_triangle_is_drawn_once_with_its_winding(obj, limits):
    size, limit, strip = limits
    outputs = encode(obj, patch_size=size, entry_limit=limit, strip=strip)
    wanted, drawn, stream, base = triangles_of(obj), [], [], 0
    robin = []
    for _, _, (position, normal, uv, commands) in patches_of(outputs):
        assert len(position) <= size
        assert len(commands) <= limit
        check_segments(commands)
        vertices = list(zip(position, normal, uv, strict=True))
        drawn += [tuple(vertices[k] for k in t) for t in draw_sliding(commands)]
        stream += [(base + vertex, kick) for vertex, kick in commands]
        robin += vertices
        base += len(vertices)
    assert multiset(drawn) == multiset(wanted)
    # All patches in one go, through a window that nobody empties and that has slots.
    slots = [tuple(robin[k] for k in t) for t in draw_round_robin(stream)]
    assert multiset(slots) == multiset(wanted)
    mesh = decode_mesh(outputs)
    assert mesh["triangles"] == len(wanted)


def triangles_of(obj: str):
    """Decode the few forms of OBJ used here, in float32, quantised by the formulas."""
    rows = {"v": [], "vn": [], "vt": []}
    faces = []
    for line in obj.splitlines():
        keyword, *words = line.split()
        if keyword == "f":
            corners = [([int(k) for k in w.split("/")] * 3)[:3] for w in words]
            faces += [(corners[0], corners[i], corners[i + 1]) for i in range(1, len(words) - 1)]
        else:
            rows[keyword].append([np.float32(word) for word in words])
    used = {corner[0] - 1 for face in faces for corner in face}
    points = [rows["v"][k] for k in sorted(used)]
    low, high = ([pick(axis) for axis in zip(*points, strict=True)] for pick in (min, max))

    def away(value):
        return int(math.copysign(math.floor(abs(float(value)) + 0.5), value))

    def vertex(corner):
        place = rows["v"][corner[0] - 1]
        extent = [b - a for a, b in zip(low, high, strict=True)]
        grid = tuple(
            away((x - a) / e * np.float32(65535)) if e > 0 else 0
            for x, a, e in zip(place, low, extent, strict=True)
        )
        normal = rows["vn"][corner[2] - 1] if rows["vn"] else [np.float32(0)] * 3
        uv = rows["vt"][corner[1] - 1] if rows["vt"] else [np.float32(0)] * 2
        return (
            grid,
            tuple(away(x * np.float32(32767)) for x in normal),
            tuple(away(x * np.float32(8192)) for x in uv),
        )

    return [tuple(vertex(corner) for corner in face) for face in faces]


def siblings_of(outputs, base="meshes_x"):
    files = {f"{base}.rs": outputs["descriptor"]}
    for role in outputs:
        kind, _, number = role.partition("/")
        if number:
            suffix = {"wrapper": "rs", "data": "bin"}[kind]
            files[f"{base}_patch{number}.{suffix}"] = outputs[role]
    return files


def decode_mesh(outputs):
    files = siblings_of(outputs)
    return decode_rust(files["meshes_x.rs"], "meshes_x.rs", files.get)


def test_boxes_come_from_source_positions_and_lie_in_the_box_of_the_mesh():
    outputs = encode(ball(16, 8))
    mesh = parse_wrapper(outputs["descriptor"], "x")
    for patch in mesh.patches:
        for axis in range(3):
            assert mesh.low[axis] <= patch.low[axis] <= patch.high[axis] <= mesh.high[axis]
    assert mesh.low == tuple(min(patch.low[axis] for patch in mesh.patches) for axis in range(3))


def test_unused_vertices_do_not_widen_the_box():
    outputs = encode("v 9 9 9\n" + "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 2 3 4\n")
    assert parse_wrapper(outputs["descriptor"], "x").high == (1.0, 1.0, 0.0)


def test_triples_are_two_pushes_and_a_kick_in_the_source_order():
    outputs = encode(QUAD, strip=False)
    assert outputs["data/0"][64:].hex() == "001024" + "002034"


def test_smaller_patches_keep_both_limits():
    outputs = encode(ball(16, 8), patch_size=5, entry_limit=7)
    for _, _, (position, _, _, commands) in patches_of(outputs):
        assert len(position) <= 5
        assert len(commands) <= 7


def test_missing_normals_and_uvs_are_warned_of_and_zero():
    outputs = encode("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    warnings = outputs["warnings"].decode().splitlines()
    assert [line.partition(";")[0] for line in warnings] == [
        "no corner has a normal",
        "no corner has a UV",
    ]
    assert outputs["data/0"][18:48] == bytes(30)


def test_corners_without_a_value_get_zeros_and_others_keep_theirs():
    obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2 3//1\n"
    outputs = encode(obj)
    (_, _, (_, normal, _, _)) = next(patches_of(outputs))
    assert normal == [(0, 0, 32767), (0, 0, 0), (0, 0, 32767)]
    assert "some corners have no normal (1)" in outputs["warnings"].decode()


def test_normals_are_computed_where_that_is_asked_for():
    obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n"
    outputs = encode(obj, generate_normals=True)
    (_, _, (_, normal, _, _)) = next(patches_of(outputs))
    assert normal == [(0, 0, 32767)] * 3
    assert not outputs["warnings"]


def test_v_is_turned_over_where_that_is_asked_for():
    (_, _, (_, _, uv, _)) = next(patches_of(encode(QUAD, flip_v=True)))
    assert uv == [(0, 8192), (8192, 8192), (8192, 0), (0, 0)]


def test_uvs_that_do_not_fit_are_warned_of():
    outputs = encode(QUAD.replace("vt 1 1", "vt 5 1"))
    assert "UVs outside -4 to 3.9999 were cut off there (1 vertices)" in (
        outputs["warnings"].decode()
    )


def test_triangles_with_equal_corners_are_dropped_with_a_warning():
    outputs = encode(QUAD + "f 1/1/1 2/2/1 1/1/1\n")
    assert outputs["data/0"].hex() == QUAD_BLOB
    assert "dropped (1)" in outputs["warnings"].decode()
    with pytest.raises(EncodeError, match="three different corners"):
        encode("v 0 0 0\nv 1 0 0\nf 1 2 1\n")


def test_triangles_without_area_stay_where_their_vertices_differ():
    outputs = encode("v 0 0 0\nv 1 0 0\nv 0 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 4\n")
    assert decode_mesh(outputs)["triangles"] == 2


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e39"])
@pytest.mark.parametrize("keyword", ["v", "vt", "vn"])
def test_numbers_that_are_not_finite_are_refused(word, keyword):
    with pytest.raises(EncodeError):
        encode(QUAD.replace(f"{keyword} 0", f"{keyword} {word}", 1))


def test_an_extent_past_float32_is_refused():
    with pytest.raises(EncodeError, match="too large"):
        encode("v -3e38 0 0\nv 3e38 0 0\nv 0 1 0\nf 1 2 3\n")


def test_materials_change_nothing():
    plain = encode(ball(8, 4))
    named = encode("mtllib x.mtl\nusemtl a\n" + ball(8, 4).replace("f 1/", "usemtl b\nf 1/", 1))
    assert plain == named


def test_report_says_what_the_mesh_costs():
    assert encode(QUAD)["report"].decode().splitlines() == [
        "patches 1",
        "entries per triangle 2.000",
        "vertices stored per source vertex 1.000",
        "flash bytes 68",
    ]


def gltf_of(builder, mirrored=False):
    position = builder.accessor([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], bounds=True)
    normal = builder.accessor([[0, 0, 1]] * 4)
    uv = builder.accessor([[0, 0], [1, 0], [1, 1], [0, 1]])
    index = builder.accessor([0, 1, 2, 0, 2, 3], "u2")
    attributes = {"POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv}
    mesh = builder.mesh(attributes, indices=index)
    scale = {"scale": [-1, 1, 1]} if mirrored else {}
    builder.json["nodes"] = [{"mesh": mesh, **scale}]
    builder.json |= {"scenes": [{"nodes": [0]}], "scene": 0}
    builder.json["buffers"] = [{"byteLength": len(builder.binary)}]
    return builder


def test_gltf_gives_the_blob_of_the_same_obj():
    builder = gltf_of(Builder())
    data = glb(builder.json, bytes(builder.binary))
    outputs = encode_mesh({"x.glb": data}, {**PARAMS, "source": "x.glb"})
    assert outputs["data/0"].hex() == QUAD_BLOB
    builder.json["buffers"][0]["uri"] = "x.bin"
    inputs = {"x.gltf": json.dumps(builder.json).encode(), "x.bin": bytes(builder.binary)}
    assert encode_mesh(inputs, {**PARAMS, "source": "x.gltf"})["data/0"].hex() == QUAD_BLOB
    del inputs["x.bin"]
    with pytest.raises(EncodeError, match="missing") as error:
        encode_mesh(inputs, {**PARAMS, "source": "x.gltf"})
    assert error.value.facts["found"] == "x.bin"


def test_mirrored_node_keeps_its_outside():
    builder = gltf_of(Builder(), mirrored=True)
    data = glb(builder.json, bytes(builder.binary))
    outputs = encode_mesh({"x.glb": data}, {**PARAMS, "source": "x.glb"})
    (_, _, (position, *_, commands)) = next(patches_of(outputs))
    for triangle in draw_sliding(commands):
        (ax, ay, _), (bx, by, _), (cx, cy, _) = (position[k] for k in triangle)
        assert (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0


def test_scene_without_triangles_is_refused():
    data = glb({"asset": {"version": "2.0"}, "scenes": [{"nodes": []}], "scene": 0})
    with pytest.raises(EncodeError, match="no triangles"):
        encode_mesh({"x.glb": data}, {**PARAMS, "source": "x.glb"})


def test_every_truncated_patch_and_every_trailing_byte_is_refused():
    files = siblings_of(encode(QUAD))
    data = files["meshes_x_patch0.bin"]
    found = decode_patch(data, "meshes_x_patch0.bin", files.get)
    assert (found["vertices"], found["entries"], found["triangles"]) == (4, 4, 2)
    assert json.loads(json.dumps(found)) == found
    for size in [*range(len(data)), len(data) + 1]:
        with pytest.raises(EncodeError):
            decode_patch((data + b"\0")[:size], "meshes_x_patch0.bin", files.get)


def test_every_changed_entry_is_refused_or_draws_something_else():
    files = siblings_of(encode(QUAD))
    data = files["meshes_x_patch0.bin"]
    before = unpack_patch(data, 4, 4, "x").triangles.tolist()
    for place in range(64, 68):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            try:
                found = unpack_patch(bytes(changed), 4, 4, "x")
            except EncodeError:
                continue
            assert bit >= 2
            assert found.triangles.tolist() != before


def test_mesh_whose_patch_is_missing_or_foreign_is_refused():
    files = siblings_of(encode(cube()))
    for lost in ("meshes_x_patch1.rs", "meshes_x_patch1.bin"):
        fewer = {name: data for name, data in files.items() if name != lost}
        with pytest.raises(EncodeError, match="missing"):
            decode_rust(files["meshes_x.rs"], "meshes_x.rs", fewer.get)
    other = files | {"meshes_x_patch1.rs": files["meshes_x_patch0.rs"]}
    with pytest.raises(EncodeError, match="disagree"):
        decode_rust(files["meshes_x.rs"], "meshes_x.rs", other.get)


def test_sphere_takes_few_patches_in_any_order():
    obj = ball(100, 50)
    lines = obj.splitlines()
    faces = [line for line in lines if line.startswith("f")]
    order = np.random.default_rng(1).permutation(len(faces))
    shuffled = "\n".join(
        [line for line in lines if line[0] == "v"] + [faces[k] for k in order.tolist()]
    )
    for text, patches, size in ((obj, 620, 172_000), (shuffled, 640, 178_000)):
        outputs = encode(text)
        data = [outputs[role] for role in outputs if role.startswith("data/")]
        assert len(data) <= patches
        assert sum(map(len, data)) <= size


def test_entries_per_triangle_stay_low():
    outputs = encode(ball(40, 20))
    entries = next(
        float(line.split()[-1])
        for line in outputs["report"].decode().splitlines()
        if line.startswith("entries")
    )
    assert entries <= 1.45


coordinate = st.floats(-100, 100, width=32).map(lambda x: struct.unpack("<f", struct.pack("<f", x)))


@st.composite
def soups(draw):
    count = draw(st.integers(3, 30))
    lines = [f"v {' '.join(repr(draw(coordinate)[0]) for _ in range(3))}" for _ in range(count)]
    corner = st.integers(1, count)
    for _ in range(draw(st.integers(1, 40))):
        a, b, c = draw(st.lists(corner, min_size=3, max_size=3, unique=True))
        lines.append(f"f {a} {b} {c}")
    return "\n".join(lines) + "\n"


@settings(max_examples=30, deadline=None)
@given(soups(), st.integers(3, 16), st.integers(3, 48), st.booleans())
def test_any_soup_is_drawn_as_it_is_and_the_same_twice(obj, size, limit, strip):
    params = {"patch_size": size, "entry_limit": limit, "strip": strip}
    outputs = encode(obj, **params)
    assert encode(obj, **params) == outputs
    drawn = []
    for _, _, (position, normal, uv, commands) in patches_of(outputs):
        assert len(position) <= size
        assert len(commands) <= limit
        check_segments(commands)
        vertices = list(zip(position, normal, uv, strict=True))
        drawn += [tuple(vertices[k] for k in t) for t in draw_sliding(commands)]
    assert multiset(drawn) == multiset(triangles_of(obj))
    decode_mesh(outputs)


def test_packed_patch_unpacks_to_its_columns():
    rng = np.random.default_rng(3)
    position = rng.random((5, 3), np.float32)
    normal, uv = rng.random((5, 3), np.float32), rng.random((5, 2), np.float32)
    mesh = quantise(position, normal, uv, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    vertices = np.array([4, 0, 2], np.int32)
    found = unpack_patch(pack_patch(mesh, vertices, bytes.fromhex("001024")), 3, 3, "x")
    assert np.array_equal(found.columns["pos"], mesh.pos.T[vertices])
    assert np.abs(found.columns["pos"] / 65535 - position[vertices]).max() <= 0.5001 / 65535
    assert np.abs(found.columns["norm"] / 32767 - normal[vertices]).max() <= 0.5001 / 32767
    assert np.abs(found.columns["uv"] / 8192 - uv[vertices]).max() <= 0.5001 / 8192


def shown_triangles(outputs) -> list[tuple[float, float]]:
    """For each triangle drawn, the z of its winding and of its first normal."""
    found = []
    for _, _, (positions, normals, _, commands) in patches_of(outputs):
        for corners in draw_sliding(commands):
            a, b, c = (np.array(positions[one], float) for one in corners)
            found.append((np.sign(np.cross(b - a, c - a)[2]), np.sign(normals[corners[0]][2])))
    return sorted(found)


def test_back_sides_are_there_where_the_manifest_asks_for_them():
    fronts, backs = [(1.0, 1.0)] * 2, [(-1.0, -1.0)] * 2
    assert shown_triangles(encode(QUAD, double_sided=True)) == backs + fronts
    for choice in (False, "source"):
        assert encode(QUAD, double_sided=choice) == encode(QUAD)


def test_back_sides_of_a_gltf_follow_its_materials():
    builder = Builder()
    material = builder.add("materials", doubleSided=True)
    corners = builder.accessor([[0, 0, 0], [1, 0, 0], [0, 1, 0]], bounds=True)
    mesh = builder.mesh({"POSITION": corners}, material=material)
    builder.add("scenes", nodes=[builder.add("nodes", mesh=mesh)])
    data = builder.glb()
    params = {**PARAMS, "source": "a.glb", "generate_normals": True, "double_sided": "source"}
    assert shown_triangles(encode_mesh({"a.glb": data}, params)) == [(-1.0, -1.0), (1.0, 1.0)]


def test_a_mesh_is_turned_moved_and_simplified_as_asked():
    outputs = encode(QUAD, up="z", pivot="bottom")
    mesh = constants(outputs["descriptor"].decode())
    assert mesh["MESHES_X_AABB_MIN"] == "[-0.5, 0.0, -0.5]"
    assert mesh["MESHES_X_AABB_MAX"] == "[0.5, 0.0, 0.5]"
    outputs = encode(ball(12, 6), triangles=40)
    assert sum(len(draw_sliding(one)) for _, _, (*_, one) in patches_of(outputs)) <= 40
    assert not outputs["warnings"]


def test_a_mesh_called_like_a_patch_is_counted():
    files = {}
    for name in ("MESHES_X", "MESHES_X_PATCH7"):
        outputs = encode(QUAD, identifier=name)
        base = name.lower()
        files[f"{base}.rs"] = outputs["descriptor"]
        files[f"{base}_patch0.rs"] = outputs["wrapper/0"]
        files[f"{base}_patch0.bin"] = outputs["data/0"]
    module = RustModule("assets", [], sorted(one for one in files if one.endswith(".rs")))
    assert decode_rust(module.text().encode(), "mod.rs", files.get)["meshes"] == 2
