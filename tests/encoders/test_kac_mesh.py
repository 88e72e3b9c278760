"""Geometry, normals, materials and shading on their way into a KAC file."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kac.geometry import build_geometry
from encoders.kac.kac_mesh import build_mesh
from encoders.kac.view import decode_kac, export_obj
from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import prune
from encoders.kit.source.model import open_model
from tests.encoders.kac_model import (
    BARREL_MTL,
    barrel,
    encode,
    encode_file,
    gltf_square,
    plain,
    square,
    warnings_of,
)
from tests.encoders.kac_reader import read, soup
from tests.kit.glb_builder import Builder
from tests.kit.mutation import mutated
from tests.kit.obj_maker import obj_files

ROOT = Path(__file__).parents[2]
CHAIN = (ROOT / "tests/kit/data/chain.glb").read_bytes()


def corners(found: dict) -> list[list[tuple]]:
    """Positions of every triangle."""
    return [[found["VERT"][c["VERT"]] for c in t["corners"]] for t in found["3MSH"]]


def winding(found: dict) -> list[float]:
    """How far each triangle's winding agrees with the normal of its first corner."""
    result = []
    for triangle, points in zip(found["3MSH"], corners(found), strict=True):
        a, b, c = np.array(points, float)
        normal = found["NORM"][triangle["corners"][0]["NORM"]]
        result.append(float(np.dot(np.cross(b - a, c - a), normal)))
    return result


def bare(text: str) -> dict[str, str]:
    """An OBJ without materials."""
    return {"a.obj": text}


TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


# --- arrays


def test_obj_of_the_worked_example_gives_its_arrays_byte_for_byte():
    text = TRIANGLE + "vt 0 0\nvt 1 0\nvt 0 1\nvn 0 0 1\nmtllib a.mtl\nusemtl m\ns 1\n"
    text += "f 1/1/1 2/2/1 3/3/1\n"
    mtl = "newmtl m\nKd 0.0667 0.1333 0.2\n"
    golden = (ROOT / "tests/encoders/data/kac/golden.kac").read_bytes()
    data = encode({"a.obj": text, "a.mtl": mtl})["kac"]
    end = golden.index(b"MATE")
    assert data[:end] == golden[:end]
    assert data[end:] == b"MATE" + bytes.fromhex("01000000 21f3 00000200") + b"TXTR" + bytes(4)


def test_values_that_are_unused_or_there_twice_are_left_out():
    text = "v 9 9 9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv -0 -0 0\nv 1 1 0\n"
    text += "vn 0 0 5\nvn 0 0 1\nvn 1 0 0\nvt 0 0\nvt 0 0\nvt 7 7\n"
    text += "f 2/1/1 3/2/2 4/1/1\nf 3/1/2 6/1/1 5/2/1\n"
    found = encode_file(bare(text))
    assert found["VERT"] == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
    assert found["NORM"] == [(0, 0, 1)]
    assert found["UV"] == [(0, 0)]
    assert [[c["VERT"] for c in t["corners"]] for t in found["3MSH"]] == [[0, 1, 2], [1, 3, 0]]


def test_polygon_is_cut_in_the_order_of_its_corners():
    found = encode_file(square(""))
    assert corners(found) == [
        [(0, 0, 0), (1, 0, 0), (1, 1, 0)],
        [(0, 0, 0), (1, 1, 0), (0, 1, 0)],
    ]


def test_model_without_uvs_and_material_is_white_at_one_uv():
    found = encode_file(bare(TRIANGLE + "f 1 2 3\n"))
    assert found["UV"] == [(0, 0)]
    assert found["MATE"] == [{"color": (15, 15, 15, 15), "texture": None, "smooth": False}]
    assert found["TXTR"] == []
    assert found["warnings"] == []


def test_triangles_without_an_area_are_left_out_with_a_warning():
    found = encode_file(bare(TRIANGLE + "f 1 2 3\nf 1 2 2\nf 1 1 1\n"))
    assert len(found["3MSH"]) == 1
    assert found["warnings"] == ["a.obj: triangles without an area were left out (2) [degenerate]"]


def test_model_without_any_area_is_refused():
    with pytest.raises(EncodeError) as caught:
        encode(bare(TRIANGLE + "f 1 2 2\n"))
    assert caught.value.problem == "no triangle has an area"
    assert caught.value.facts["asset"] == "a.obj"


def test_vertex_colours_are_told_of():
    text = "v 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 0 1 0 1 0 0\nf 1 2 3\n"
    warnings = warnings_of(encode(bare(text)))
    assert warnings == ["a.obj: vertex colours were left out, as KAC has none [feature]"]


def test_mirror_turns_z_and_keeps_normals_outward():
    text = "v 0 0 1\nv 1 0 2\nv 0 1 3\nvn 0 -0.6 0.8\nvt 1 2\nvt 3 4\nvt 5 6\nf 1/1/1 2/2/1 3/3/1\n"
    before, after = encode_file(bare(text)), encode_file(bare(text), mirror=True)
    assert corners(after) == [[(0, 0, -1), (0, 1, -3), (1, 0, -2)]]
    assert after["NORM"] == [(0, np.float32(-0.6), np.float32(-0.8))]
    uvs = [after["UV"][c["UV"]] for c in after["3MSH"][0]["corners"]]
    assert uvs == [(1, 2), (5, 6), (3, 4)]
    assert winding(after) == winding(before)


def test_mirrored_zero_is_plain_zero():
    found = encode_file(bare(TRIANGLE + "f 1 2 3\n"), mirror=True)
    assert not np.signbit(np.array(found["VERT"])).any()


# --- normals and shading

ROOF = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0 -1\nv 0 -1 0\n"


def test_missing_normals_are_flat_outside_of_smoothing_groups():
    found = encode_file(bare(ROOF + "f 1 2 3\nf 2 1 4\n"))
    assert len(found["NORM"]) == 2
    assert found["NORM"][0] == (0, 0, 1)
    assert not found["MATE"][0]["smooth"]


def test_missing_normals_are_weighted_by_area_within_a_smoothing_group():
    found = encode_file(bare("v 0 0 0\nv 2 0 0\nv 0 2 0\nv 1 0 -1\ns 1\nf 1 2 3\nf 2 1 4\n"))
    shared = found["NORM"][found["3MSH"][0]["corners"][0]["NORM"]]
    length = math.sqrt(4 * 4 + 2 * 2)  # area vectors (0, 0, 4) and (0, -2, 0)
    assert shared == pytest.approx((0, -2 / length, 4 / length))
    assert found["MATE"][0]["smooth"]


def test_normals_are_made_unit_length():
    found = encode_file(bare(TRIANGLE + "vn 0 3 4\nf 1//1 2//1 3//1\n"))
    assert found["NORM"] == [(0, np.float32(0.6), np.float32(0.8))]


def test_normal_of_no_length_is_replaced_by_the_face_s():
    found = encode_file(bare(TRIANGLE + "vn 0 0 0\nf 1//1 2//1 3//1\n"))
    assert found["NORM"] == [(0, 0, 1)]


def test_flat_shading_gives_each_face_its_own_normal():
    files = {"a.obj": barrel(), "barrel.mtl": BARREL_MTL, "wood.png": plain(2, 2)}
    found = encode_file(files, shading="flat")
    for triangle in found["3MSH"]:
        assert len({c["NORM"] for c in triangle["corners"]}) == 1
    assert not any(material["smooth"] for material in found["MATE"])
    assert min(winding(found)) > 0


def test_smooth_shading_joins_the_normals_at_each_position():
    files = {"a.obj": barrel(), "barrel.mtl": BARREL_MTL, "wood.png": plain(2, 2)}
    found = encode_file(files, shading="smooth")
    uses: dict[int, set[int]] = {}
    for triangle in found["3MSH"]:
        for corner in triangle["corners"]:
            uses.setdefault(corner["VERT"], set()).add(corner["NORM"])
    assert all(len(normals) == 1 for normals in uses.values())
    assert all(material["smooth"] for material in found["MATE"])


def test_one_flat_face_makes_its_material_flat():
    text = ROOF + "usemtl a\ns 1\nf 1 2 3\ns off\nf 2 1 4\nusemtl b\ns 2\nf 1 5 2\n"
    text = "mtllib a.mtl\n" + text
    found = encode_file({"a.obj": text, "a.mtl": "newmtl a\nKd 1 0 0\nnewmtl b\nKd 0 1 0\n"})
    assert [material["smooth"] for material in found["MATE"]] == [False, True]


def gltf_triangles(normals: list | None) -> bytes:
    builder = Builder()
    attributes = {"POSITION": builder.accessor([(0, 0, 0), (1, 0, 0), (0, 1, 0)], bounds=True)}
    if normals:
        attributes["NORMAL"] = builder.accessor(normals)
    builder.mesh(attributes)
    builder.add("nodes", mesh=0)
    builder.add("scenes", nodes=[0])
    return builder.glb()


@pytest.mark.parametrize(
    ("normals", "smooth"),
    [
        (None, False),
        ([(0, 0, 1)] * 3, False),
        ([(0, 0, 1), (0, 0, 1), (0, 0.6, 0.8)], True),
    ],
)
def test_shading_of_a_gltf_follows_its_normals(normals, smooth):
    found = encode_file({"a.glb": gltf_triangles(normals)})
    assert found["MATE"][0]["smooth"] is smooth


# --- materials


def test_used_materials_come_in_order_and_each_once():
    text = "mtllib a.mtl\n" + TRIANGLE
    text += "usemtl red\nf 1 2 3\nusemtl crimson\nf 2 3 1\nusemtl blue\nf 3 1 2\n"
    mtl = "newmtl never\nKd 0 1 0\nnewmtl blue\nKd 0 0 1\nnewmtl red\nKd 1 0 0\n"
    found = encode_file({"a.obj": text, "a.mtl": mtl + "newmtl crimson\nKd 0.99 0 0\n"})
    assert [m["color"] for m in found["MATE"]] == [(15, 0, 0, 15), (0, 0, 15, 15)]
    assert [t["material"] for t in found["3MSH"]] == [0, 0, 1]


@pytest.mark.parametrize(
    ("share", "code"), [(0, 0), (0.03, 0), (0.04, 1), (0.5, 8), (0.64, 10), (0.8, 12), (1, 15)]
)
def test_mtl_colour_is_rounded_as_it_is(share, code):
    found = encode_file(square(f"Kd {share} {share} {share}"))
    assert found["MATE"][0]["color"] == (code, code, code, 15)


def test_gltf_colour_is_linear_and_its_alpha_is_not():
    material = {"pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.22, 0, 0.6]}}
    found = encode_file({"a.glb": gltf_square({**material, "alphaMode": "BLEND"}).glb()})
    assert found["MATE"][0]["color"] == (11, 8, 0, 9)


def test_colour_outside_of_the_range_is_told_of():
    found = encode_file(square("Kd 1.5 0 0"))
    assert found["MATE"][0]["color"] == (15, 0, 0, 15)
    (warning,) = found["warnings"]
    assert (
        warning == 'a.mtl: material "m" has a colour outside of 0 to 1, which was cut off [color]'
    )


def test_texture_without_a_colour_is_white():
    assert (
        encode_file(square("map_Kd a.png", a_png=plain(2, 2)))["MATE"][0]["color"][:3] == (15,) * 3
    )


@pytest.mark.parametrize(
    ("mode", "alpha", "code"),
    [
        ("OPAQUE", 0.2, 15),
        ("MASK", 0.6, 15),
        ("MASK", 0.4, 0),
        ("BLEND", 0.5, 8),
        ("BLEND", 0.2, 3),
    ],
)
def test_alpha_of_a_plain_material_follows_its_mode(mode, alpha, code):
    record = {"alphaMode": mode, "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, alpha]}}
    found = encode_file({"a.glb": gltf_square(record).glb()})
    assert found["MATE"][0]["color"][3] == code
    is_gone = 'a.glb: material "m" is less than half opaque, so Kelpo does not draw it [color]'
    assert (is_gone in found["warnings"]) is (code < 8)
    assert any("is blended" in warning for warning in found["warnings"]) is (mode == "BLEND")


def facing(found: dict) -> list[float]:
    """The z of each triangle's first normal, which Kelpo culls by, times that of its winding."""
    signs = []
    for triangle in found["3MSH"]:
        points = [np.array(found["VERT"][one["VERT"]]) for one in triangle["corners"]]
        winding = np.cross(points[1] - points[0], points[2] - points[0])[2]
        normals = {found["NORM"][one["NORM"]][2] for one in triangle["corners"]}
        assert len(normals) == 1
        assert winding * next(iter(normals)) > 0
        signs.append(next(iter(normals)))
    return signs


@pytest.mark.parametrize("shading", ["auto", "smooth", "flat"])
@pytest.mark.parametrize(
    ("choice", "is_double", "expected"),
    [
        (None, True, [1, 1]),
        (False, True, [1, 1]),
        (True, False, [1, -1, 1, -1]),
        ("source", False, [1, 1]),
        ("source", True, [1, -1, 1, -1]),
    ],
)
def test_back_sides_are_there_where_the_manifest_asks_for_them(
    choice, is_double, expected, shading
):
    glb = gltf_square({"doubleSided": is_double}).glb()
    found = encode_file({"a.glb": glb}, double_sided=choice, shading=shading)
    assert facing(found) == expected
    # What was asked for is no warning.
    assert bool(found["warnings"]) == (choice is None)


def test_a_model_is_turned_moved_and_flipped_as_asked():
    glb = gltf_square().glb()
    found = encode_file({"a.glb": glb}, up="z", pivot="center")
    assert sorted(found["VERT"]) == sorted((x, 0.0, z) for x in (-0.5, 0.5) for z in (-0.5, 0.5))
    assert found["NORM"] == [(0, 1, 0)]
    plain, flipped = (encode_file({"a.glb": glb}, flip_v=one) for one in (False, True))
    assert [(u, 1 - v) for u, v in plain["UV"]] == flipped["UV"]


def test_a_model_is_simplified_as_asked_without_a_warning():
    lines = [f"v {x} {y} 0" for y in range(5) for x in range(5)]
    cells = (1 + x + 5 * y for y in range(4) for x in range(4))
    lines += [f"f {at} {at + 1} {at + 6} {at + 5}" for at in cells]
    found = encode_file({"a.obj": "\n".join(lines)}, triangles=8)
    assert len(found["3MSH"]) <= 8
    assert found["warnings"] == []


def test_double_sided_material_is_told_of():
    found = encode_file({"a.glb": gltf_square({"doubleSided": True}).glb()})
    assert found["warnings"] == [
        'a.glb: material "m" is double-sided; KAC shows its front only [feature]'
    ]


def test_missing_map_is_an_error_that_names_material_file_and_line():
    with pytest.raises(EncodeError) as caught:
        encode(square("map_Kd wood/oak.png"))
    assert str(caught.value) == (
        "texture not found\n"
        '  asset: a.obj, material "m"\n'
        "  file: wood/oak.png\n"
        "  named in: a.mtl, line 2\n"
        "Add the image, or take `map_Kd` out of the material."
    )


def test_missing_image_of_a_gltf_is_an_error_that_names_material_and_file():
    builder = gltf_square({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}})
    builder.add("images", uri="oak%20board.png")
    builder.add("textures", source=0)
    with pytest.raises(EncodeError) as caught:
        encode({"m/a.gltf": builder.gltf()})
    assert caught.value.facts["asset"] == 'm/a.gltf, material "m"'
    assert caught.value.facts["file"] == "m/oak board.png"


def test_map_of_a_material_that_is_not_used_may_be_missing():
    files = square("Kd 1 1 1\nnewmtl other\nmap_Kd gone.png")
    assert encode_file(files)["TXTR"] == []


# --- UVs


def test_mtl_scale_and_offset_are_baked_into_the_uvs():
    found = encode_file(square("map_Kd -s 2 4 -o 0.5 -1 a.png", a_png=plain(2, 2)))
    assert found["UV"] == [(0.5, -1), (2.5, -1), (2.5, 3), (0.5, 3)]


def test_gltf_texture_transform_and_uv_set_are_baked_into_the_uvs():
    moved = {"offset": [1, 2], "scale": [2, 2], "rotation": math.pi / 2, "texCoord": 1}
    info = {"index": 0, "extensions": {"KHR_texture_transform": moved}}
    builder = gltf_square({"pbrMetallicRoughness": {"baseColorTexture": info}}, plain(2, 2))
    other = builder.accessor([(0, 0), (1, 0), (0, 1), (1, 1)])
    builder.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_1"] = other
    uvs = encode_file({"a.glb": builder.glb()})["UV"]
    expected = [(1, 2), (1, 0), (3, 2), (3, 0)]
    assert np.allclose(sorted(uvs), sorted(expected), atol=1e-6)


def test_texture_without_uvs_is_told_of():
    text = "mtllib a.mtl\n" + TRIANGLE + "usemtl m\nf 1 2 3\n"
    files = {"a.obj": text, "a.mtl": "newmtl m\nmap_Kd a.png\n", "a.png": plain(2, 2)}
    (warning,) = encode_file(files)["warnings"]
    assert warning.startswith('a.obj: material "m" has a texture, but not all')


def test_transform_that_overflows_is_refused():
    with pytest.raises(EncodeError, match="does not fit"):
        encode(square("map_Kd -s 1e39 1 a.png", a_png=plain(2, 2)))


# --- glTF scenes


def test_whole_scene_is_baked_and_a_mirrored_node_keeps_its_winding():
    builder = gltf_square(translation=[10, 0, 0])
    builder.add("nodes", name="left", mesh=0, scale=[-2, 1, 1])
    builder.add("nodes", name="parent", translation=[0, 0, 5], children=[3])
    builder.add("nodes", name="child", mesh=0, rotation=[0, 0, math.sqrt(0.5), math.sqrt(0.5)])
    builder.json["scenes"] = [{"nodes": [0, 1, 2]}]
    found = encode_file({"a.glb": builder.glb()})
    assert len(found["3MSH"]) == 6
    assert min(winding(found)) > 0
    spans = [np.array(corners(found)[at : at + 2]).reshape(-1, 3) for at in (0, 2, 4)]
    assert [span.min(axis=0).round(6).tolist() for span in spans] == [
        [10, 0, 0],
        [-2, 0, 0],
        [-1, 0, 5],
    ]


def test_skinned_model_stands_in_its_rest_pose_with_warnings():
    outputs = encode({"chain.glb": CHAIN})
    found = read(outputs["kac"])
    warnings = warnings_of(outputs)
    assert any("rest pose" in warning for warning in warnings)
    assert "chain.glb: animations were ignored [ignored]" in warnings
    source = open_model({"chain.glb": CHAIN}, "chain.glb").mesh
    expected = source.position.values[source.position.corner]
    assert np.array_equal(np.array(corners(found), np.float32), expected)


# --- laws


def test_barrel_comes_back_triangle_by_triangle():
    files = {"b/a.obj": barrel(), "b/barrel.mtl": BARREL_MTL, "b/wood.png": plain(8, 8)}
    found = encode_file(files)
    mesh = open_model(
        {n: d if isinstance(d, bytes) else d.encode() for n, d in files.items()}, "b/a.obj"
    ).mesh
    assert len(found["3MSH"]) == mesh.triangle_count == 16 * 8 * 2 + 2 * 14
    for name, attribute, width in (("VERT", mesh.position, 3), ("UV", mesh.uv[0], 2)):
        values = [found[name][c[name]] for t in found["3MSH"] for c in t["corners"]]
        assert np.array_equal(
            np.array(values, np.float32).reshape(-1, 3, width), attribute.values[attribute.corner]
        )
    assert np.allclose(np.linalg.norm(np.array(found["NORM"]), axis=1), 1, atol=1e-6)
    assert min(winding(found)) > 0
    assert [m["smooth"] for m in found["MATE"]] == [True, False]
    assert [m["color"] for m in found["MATE"]] == [(15, 15, 15, 15), (8, 4, 2, 15)]


def test_exported_obj_gives_the_same_file_again():
    files = {"a.obj": barrel(), "barrel.mtl": BARREL_MTL, "wood.png": plain(8, 8)}
    first = encode(files)["kac"]
    (text,) = export_obj(first, "a.kac").values()
    again = encode({"b.obj": text})["kac"]
    start, end = first.index(b"NORM"), first.index(b"3MSH")
    assert again[start:end] == first[start:end]


def test_inspection_gives_everything_as_plain_values():
    found = decode_kac(encode(square("map_Kd a.png", a_png=plain(2, 2)))["kac"], "a.kac")
    assert list(found)[:6] == ["format", "bytes", "triangles", "vertices", "normals", "uvs"]
    assert (found["triangles"], found["vertices"]) == (2, 4)
    assert found["bounds"] == {"min": [0, 0, 0], "max": [1, 1, 0]}
    assert found["materials"][0]["has_texture"] == 1
    assert found["textures"][0]["levels"] == 2
    assert found["3MSH"][1] == [0, [0, 0, 0], [2, 0, 2], [3, 0, 3]]
    assert found["TXTR"] == [[[0xFFFF] * 4, [0xFFFF]]]


CODE = """
import sys, hashlib
sys.path.insert(0, ".")
from tests.encoders.kac_model import *
files = {"a.obj": barrel(), "barrel.mtl": BARREL_MTL, "wood.png": plain(9, 5)}
out = encode(dict(sorted(files.items(), reverse=True)), shading="smooth")
print(hashlib.sha256(out["kac"]).hexdigest())
"""


def test_bytes_are_the_same_in_every_process():
    digests = {
        subprocess.run(
            [sys.executable, "-c", CODE],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@settings(max_examples=60, deadline=None)
@given(obj_files(), st.sampled_from(["auto", "smooth", "flat"]), st.booleans())
def test_any_obj_gives_a_good_file_or_a_plain_refusal(text, shading, mirror):
    files = {"a.obj": text}
    try:
        found = encode_file(files, shading=shading, mirror=mirror)
    except EncodeError:
        return
    geometry = build_geometry(open_model(files, "a.obj").mesh, "a.obj", shading, mirror=mirror)
    assert len(found["3MSH"]) == len(geometry.material)
    for name in ("VERT", "NORM", "UV"):
        assert len(set(found[name])) == len(found[name])
        used = [corner[name] for t in found["3MSH"] for corner in t["corners"]]
        assert list(dict.fromkeys(used)) == list(range(len(found[name])))
    lengths = [math.sqrt(sum(x * x for x in normal)) for normal in found["NORM"]]
    assert lengths == pytest.approx([1] * len(lengths), abs=1e-6)
    assert len(soup(found)) == len(found["3MSH"])


GLBS = [
    gltf_square({"alphaMode": "MASK", "alphaCutoff": 0.5}, plain(4, 4), {"wrapS": 33071}).glb(),
    gltf_square({"pbrMetallicRoughness": {"baseColorFactor": [1, 0.5, 0, 1]}}).glb(),
    gltf_triangles(None),
]


@settings(max_examples=60, deadline=None)
@given(mutated(GLBS))
def test_damaged_gltf_gives_a_good_file_or_a_plain_refusal(data):
    try:
        outputs = encode({"a.glb": data})
    except EncodeError:
        return
    read(outputs["kac"])


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e308", "-1"])
@pytest.mark.parametrize("key", ["alphaCutoff", "baseColorFactor"])
def test_wild_number_in_a_material_gives_a_good_file_or_a_plain_refusal(key, number):
    value = "[7, 7, 7, 7]" if key == "baseColorFactor" else "7"
    holder = '"pbrMetallicRoughness": {%s}' if key == "baseColorFactor" else "%s"
    record = holder % f'"{key}": {value.replace("7", number)}'
    text = gltf_square({"alphaMode": "MASK", "hole": 0}).gltf().decode()
    text = text.replace('"hole": 0', record)
    try:
        outputs = encode({"a.gltf": text})
    except EncodeError:
        return
    read(outputs["kac"])


@settings(max_examples=25, deadline=None)
@given(obj_files(), st.sampled_from(["auto", "flat", "smooth"]))
def test_arrays_hold_only_what_triangles_use_in_order_of_first_use(data: bytes, shading: str):
    params = {"shading": shading, "mirror": True, "filter": None, "wrap": None}
    try:
        mesh, _ = build_mesh(open_model({"a.obj": data}, "a.obj"), params)
    except EncodeError:
        return
    for array in (mesh.position, mesh.normal, mesh.uv):
        pruned = prune(array)
        assert np.array_equal(pruned.corner, array.corner)
        assert np.array_equal(pruned.values, array.values)
