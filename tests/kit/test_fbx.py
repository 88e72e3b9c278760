"""FBX as glTF: what comes through the conversion, and what is refused."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.mesh.texcoord import transform_uv
from encoders.kit.plan import WARNINGS
from encoders.kit.source.conversion import convert, encode_glb
from encoders.kit.source.fbx.material import image_path
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.material import Texture
from encoders.kit.source.model import open_model
from encoders.kit.source.outline import outline_model
from encoders.kit.source.registry import format_of
from pipeline.process.isolate import call
from tests.kit.fbx_maker import Fbx, sign

pytest.importorskip("ufbx")
pytestmark = pytest.mark.usefixtures("forked_decoders")


def opened(fbx: Fbx, **inputs: bytes):
    glb = call_apart(fbx)
    return open_model({"a.fbx": glb, **inputs}, "a.fbx")


def call_apart(fbx: Fbx) -> bytes:
    """Convert as the engine does, where a crash of the library is an error and not the end."""
    dotted = "encoders.kit.source.conversion:encode_glb"
    return call(dotted, {"source": fbx.data()}, {"source": "a.fbx"})["glb"]


def outline(fbx: Fbx):
    survey = call("encoders.kit.source.conversion_survey:survey_converted", fbx.data(), "m/a.fbx")
    return outline_model("m/a.fbx", {"m/a.fbx": survey})


def test_mesh_comes_through_where_its_node_puts_it() -> None:
    model = opened(sign())
    assert model.mesh.position.values.tolist() == [[3, 0, 0], [4, 0, 0], [4, 2, 0], [3, 2, 0]]
    assert model.mesh.position.corner.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert [one.name for one in model.objects] == ["sign"]
    assert model.mesh.normal is not None
    assert np.unique(model.mesh.normal.values, axis=0).tolist() == [[0, 0, 1]]


def test_v_is_counted_from_the_top_as_in_gltf() -> None:
    (uv,) = opened(sign()).mesh.uv
    assert uv.values.tolist() == [[0, 1], [1, 1], [1, -1], [0, -1]]


def test_centimetres_and_z_upwards_become_metres_and_y_upwards() -> None:
    model = opened(sign(unit=1, z_up=True))
    box = model.mesh.position.values
    assert box.min(axis=0) == pytest.approx([0.03, 0, -0.02], abs=1e-6)
    assert box.max(axis=0) == pytest.approx([0.04, 0, 0], abs=1e-6)


def test_concave_polygon_is_cut_inside_of_itself() -> None:
    fbx = Fbx()
    fbx.mesh(points=[(0, 0, 0), (2, 1, 0), (0, 2, 0), (1, 1, 0)], faces=[(0, 1, 2, 3)])
    fbx.node(200, "arrow")
    fbx.connect(100, 200)
    mesh = opened(fbx).mesh
    triangles = mesh.position.values[mesh.position.corner]
    sides = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    areas = np.cross(*sides)[:, 2] / 2
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(1)


def test_each_material_of_a_mesh_keeps_its_faces() -> None:
    fbx = Fbx()
    fbx.mesh(points=[(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], faces=[(0, 1, 2), (1, 3, 2)])
    fbx.objects[0] = fbx.objects[0].replace('"AllSame"', '"ByPolygon"')
    fbx.objects[0] = fbx.objects[0].replace("Materials: *1 {\n a: 0", "Materials: *2 {\n a: 1,0")
    fbx.node(200, "two")
    fbx.connect(100, 200)
    for number, name in ((300, "first"), (301, "second")):
        fbx.material(number, name, DiffuseColor=(number - 300, 0, 0))
        fbx.connect(number, 200)
    model = opened(fbx)
    names = [model.mesh.materials[number].name for number in model.mesh.material.tolist()]
    points = model.mesh.position.values[model.mesh.position.corner].max(axis=1)
    found = {name: point.tolist() for name, point in zip(names, points, strict=True)}
    assert found == {"second": [1, 1, 0], "first": [1, 1, 0]}
    first = model.mesh.position.values[model.mesh.position.corner[names.index("second")]]
    assert [0, 0, 0] in first.tolist()


def test_image_is_named_relative_to_the_file_whatever_its_slashes() -> None:
    (wood,) = outline(sign()).materials
    assert wood.images["base_color"].name == "m/textures/wood grain.png"


def test_image_of_another_machine_is_looked_for_beside_the_file() -> None:
    (wood,) = outline(sign("D:\\work\\wood.png")).materials
    assert wood.images["base_color"].name == "m/wood.png"


def test_image_that_has_only_its_first_path_is_looked_for_beside_the_file() -> None:
    assert image_path("", "art/stone.png") == "stone.png"
    assert image_path("", "D:\\art\\stone.png") == "stone.png"


def test_image_inside_of_the_file_is_taken_out_of_it() -> None:
    stream = io.BytesIO()
    Image.new("RGB", (2, 2), (255, 0, 0)).save(stream, "PNG")
    model = opened(sign(content=stream.getvalue()))
    assert model.image_data(model.mesh.materials[0], "base_color") == stream.getvalue()


@pytest.mark.parametrize(
    ("props", "alpha", "mode"),
    [
        ({}, 1, "opaque"),
        ({"TransparencyFactor": (0.25,)}, 0.75, "blend"),
        ({"TransparencyFactor": (1,), "TransparentColor": (0, 0, 0)}, 1, "opaque"),
        ({"TransparencyFactor": (1,), "TransparentColor": (0.5, 0.5, 0.5)}, 0.5, "blend"),
        ({"Opacity": (0.5,)}, 0.5, "blend"),
    ],
)
def test_opacity_is_found_wherever_a_writer_puts_it(props, alpha, mode) -> None:
    fbx = sign("")
    fbx.objects = [one for one in fbx.objects if not one.startswith("Material:")]
    fbx.material(DiffuseColor=(0.5, 0.25, 1), **props)
    (material,) = opened(fbx).mesh.materials
    assert material.base_color == pytest.approx((0.5, 0.25, 1, alpha))
    assert material.alpha_mode == mode


def test_textured_material_is_white_and_cut_out_by_its_image() -> None:
    (material,) = opened(sign()).mesh.materials
    assert (material.base_color, material.alpha_mode) == ((1, 1, 1, 1), "mask")
    assert (material.metallic, material.double_sided) == (0, False)


def test_texture_that_is_moved_is_read_where_fbx_reads_it() -> None:
    fbx = sign("")
    moved = 'P: "Translation", "Vector", "", "A",0.25,0,0\nP: "Scaling", "Vector", "", "A",2,4,1\n'
    fbx.texture(400, "wood.png", more=f"Properties70:  {{\n{moved}}}\n")
    fbx.connect(400, 300, "DiffuseColor")
    (material,) = opened(fbx).mesh.materials
    texture = material.textures["base_color"]
    u, v = 0.5, 0.25
    # FBX places the texture on the surface, with v upwards: twice as wide and four times as high.
    expected = ((u - 0.25) / 2, 1 - (1 - v) / 4)
    assert texture.rotation == pytest.approx(0)
    found = (u * texture.scale[0] + texture.offset[0], v * texture.scale[1] + texture.offset[1])
    assert found == pytest.approx(expected)


def skinned() -> Fbx:
    fbx = sign("")
    fbx.bone(210, "hip")
    fbx.bone(211, "hand", parent=210)
    fbx.skin(100, {210: [(0, 1), (1, 1), (2, 0.5)], 211: [(2, 1.5), (3, 2)]})
    return fbx


def test_skin_keeps_joints_and_weights_that_sum_to_one() -> None:
    gltf = decode_gltf(call_apart(skinned()), "a.fbx")
    assert decode_skin(gltf, 0).joint_names == ("hip", "hand")
    mesh = opened(skinned()).mesh
    assert mesh.joints is not None
    assert mesh.weights is not None
    assert mesh.weights.values[:, :2].tolist() == [[1, 0], [1, 0], [0.75, 0.25], [1, 0]]
    assert mesh.joints.values[:, :2].tolist() == [[0, 0], [0, 0], [1, 0], [1, 0]]


def converted(fbx: Fbx) -> tuple:
    """Return the glTF of a file and what the conversion warned of."""
    dotted = "encoders.kit.source.conversion:encode_glb"
    outputs = call(dotted, {"source": fbx.data()}, {"source": "a.fbx"})
    warnings = outputs.get(WARNINGS, b"").decode().splitlines()
    return decode_gltf(outputs["glb"], "a.fbx"), warnings


def character(at=(0, 0, 0)) -> Fbx:
    """Two meshes of one character: they share the hip, and each has a bone of its own."""
    fbx = Fbx()
    for number, name in ((210, "hip"), (211, "hand"), (212, "foot")):
        fbx.bone(number, name, parent=0 if number == 210 else 210)
    for mesh, bone, skin in ((100, 211, 500), (110, 212, 600)):
        fbx.mesh(mesh)
        fbx.node(mesh + 100, f"part{mesh}")
        fbx.connect(mesh, mesh + 100)
        place = at if mesh == 110 else (0, 0, 0)
        fbx.skin(mesh, {210: [(0, 1), (1, 1)], bone: [(2, 1), (3, 1)]}, skin, place)
    return fbx


def test_meshes_of_one_character_have_one_skin() -> None:
    gltf, warnings = converted(character())
    assert [len(skin.joints) for skin in gltf.document.skins] == [3]
    assert decode_skin(gltf, 0).joint_names == ("hip", "hand", "foot")
    assert [node.skin for node in gltf.document.nodes if node.mesh is not None] == [0, 0]
    assert warnings == []
    mesh = open_model({"a.fbx": call_apart(character())}, "a.fbx").mesh
    assert sorted(set(mesh.joints.values[:, 0].tolist())) == [0, 1, 2]


def test_meshes_that_were_bound_in_different_places_keep_their_skins() -> None:
    gltf, _ = converted(character(at=(5, 0, 0)))
    names = [decode_skin(gltf, number).joint_names for number in range(2)]
    assert names == [("hip", "hand"), ("hip", "foot")]


def test_joints_of_a_vertex_past_eight_are_left_out_with_a_warning() -> None:
    fbx = sign("")
    for number in range(210, 220):
        fbx.bone(number, f"bone{number}")
    fbx.skin(100, {number: [(0, number - 209)] for number in range(210, 220)})
    _, warnings = converted(fbx)
    mesh = open_model({"a.fbx": call_apart(fbx)}, "a.fbx").mesh
    assert mesh.joints.values[0].tolist() == [9, 8, 7, 6, 5, 4, 3, 2]
    (warning,) = warnings
    assert 'mesh "sign": 1 vertices have more than 8 joints' in warning


def test_blend_shapes_are_left_out_with_a_warning() -> None:
    fbx = sign("")
    fbx.shape(100, ("smile", "blink"))
    _, warnings = converted(fbx)
    (warning,) = warnings
    assert warning.startswith("a.fbx: mesh ")
    assert "has 2 blend shapes, which were ignored" in warning


@pytest.mark.parametrize("data", [b"", b"\0", b"Kaydara FBX Binary  \0", sign().data()[:400]])
def test_damaged_file_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(EncodeError, match="the FBX is damaged") as caught:
        call("encoders.kit.source.conversion:encode_glb", {"source": data}, {"source": "a.fbx"})
    assert caught.value.facts["file"] == "a.fbx"


def test_missing_package_is_named_with_what_installs_it(monkeypatch) -> None:
    for name in [one for one in sys.modules if one.startswith("encoders.kit.source.fbx.")]:
        if not name.endswith(".format"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ufbx", None)
    from encoders.kit.source.registry import load

    load.cache_clear()
    with pytest.raises(EncodeError, match="ufbx is needed to read FBX") as caught:
        convert(b"", "a.fbx")
    form = format_of("a.fbx")
    assert form is not None
    assert f'pip install "cartwright-build[{form.extra}]"' in caught.value.hint


def test_conversion_is_marked_to_run_in_a_process_of_its_own() -> None:
    from encoders.kit.isolate import MARK

    assert hasattr(encode_glb, MARK)


@pytest.mark.parametrize("angle", [0.0, 0.5, -2.0])
def test_texture_that_is_turned_is_read_where_fbx_reads_it(angle: float) -> None:
    from encoders.kit.source.fbx.material import texture_transform

    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    affine = np.eye(4)
    affine[:2, :2], affine[:2, 3] = turn @ np.diag([2, 3]), (0.25, -0.5)
    found = texture_transform(affine)
    texture = Texture(scale=found.scale, rotation=found.rotation, offset=found.offset)
    given = np.array([[0.1, 0.7], [0.4, 0.2], [0, 0]], np.float32)
    upwards = np.column_stack((given[:, 0], 1 - given[:, 1]))
    expected = upwards @ affine[:2, :2].T + affine[:2, 3]
    expected[:, 1] = 1 - expected[:, 1]
    assert transform_uv(texture, given) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("number", ["1e39", "-1e300"])
def test_position_beyond_float32_is_refused_by_name(number: str) -> None:
    data = sign().data()
    start = data.index(b"Vertices")
    damaged = data[:start] + re.sub(
        rb"\ba: *-?[\d.]+", b"a: " + number.encode(), data[start:], count=1
    )
    assert damaged != data
    with pytest.raises(EncodeError, match="position is not finite") as caught:
        call("encoders.kit.source.conversion:encode_glb", {"source": damaged}, {"source": "a.fbx"})
    assert caught.value.facts["file"] == "a.fbx"


def test_a_file_after_an_empty_one_is_converted() -> None:
    dotted = "encoders.kit.source.conversion:encode_glb"
    for _ in range(3):
        call(dotted, {"source": Fbx().data()}, {"source": "empty.fbx"})
        assert call_apart(sign())[:4] == b"glTF"
