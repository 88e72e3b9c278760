"""Models from inputs by path, and the files that a source leads to."""

from __future__ import annotations

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.model import decode_model
from encoders.kit.source.reference import follow_references
from tests.kit.glb_builder import quad

OBJ = b"mtllib ../mat/a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl wood\nf 1 2 3\n"
MTL = b"newmtl wood\nmap_Kd tex/wood.png\n"
SURVEYS = {
    "assets/m/a.obj": {"refs": ["../mat/a.mtl", "b.mtl"]},
    "assets/mat/a.mtl": {
        "refs": ["both.png", "n.png", "tex/c.png"],
        "maps": {"base_color": ["both.png", "tex/c.png"], "normal": ["both.png", "n.png"]},
    },
}


def test_references_are_followed_relative_to_the_file_that_names_them() -> None:
    assert follow_references("assets/m/a.obj", SURVEYS) == [
        "assets/m/a.obj",
        "assets/mat/a.mtl",
        "assets/m/b.mtl",
        "assets/mat/both.png",
        "assets/mat/n.png",
        "assets/mat/tex/c.png",
    ]


def test_maps_of_other_slots_are_left_out_when_slots_are_named() -> None:
    found = follow_references("assets/m/a.obj", SURVEYS, ("base_color",))
    assert found[3:] == ["assets/mat/both.png", "assets/mat/tex/c.png"]


def test_survey_of_an_image_is_not_asked_for() -> None:
    surveys = {"a.obj": {"refs": ["a.png"]}, "a.png": {"refs": ["never.png"]}}
    assert follow_references("a.obj", surveys) == ["a.obj", "a.png"]


def test_image_of_an_obj_is_found_beside_its_mtl() -> None:
    inputs = {"assets/m/a.obj": OBJ, "assets/mat/a.mtl": MTL, "assets/mat/tex/wood.png": b"png"}
    model = decode_model(inputs, "assets/m/a.obj")
    (material,) = model.mesh.materials
    assert model.image_name(material, "base_color") == "assets/mat/tex/wood.png"
    assert model.image_data(material, "base_color") == b"png"


def test_missing_image_is_named_with_its_material_and_line() -> None:
    model = decode_model({"a/m/a.obj": OBJ, "a/mat/a.mtl": MTL}, "a/m/a.obj")
    with pytest.raises(EncodeError) as caught:
        model.image_data(model.mesh.materials[0], "base_color")
    assert caught.value.problem == "texture not found"
    assert caught.value.facts == {
        "asset": 'a/m/a.obj, material "wood"',
        "file": "a/mat/tex/wood.png",
        "named in": "a/mat/a.mtl, line 2",
    }
    assert caught.value.hint == "Add the image, or take `map_Kd` out of the material."


def test_missing_library_is_named_with_its_line() -> None:
    with pytest.raises(EncodeError) as caught:
        decode_model({"a/m/a.obj": b"# note\n" + OBJ}, "a/m/a.obj")
    assert caught.value.facts["file"] == "a/mat/a.mtl"
    assert caught.value.facts["named in"] == "a/m/a.obj, line 2"


def test_missing_library_does_no_harm_where_no_material_is_used() -> None:
    plain = OBJ.replace(b"usemtl wood\n", b"")
    assert decode_model({"a/m/a.obj": plain}, "a/m/a.obj").mesh.triangle_count == 1


def test_buffer_of_a_gltf_is_found_by_its_percent_encoded_uri() -> None:
    builder = quad()
    inputs = {"a/m.gltf": builder.gltf("my%20data.bin"), "a/my data.bin": bytes(builder.binary)}
    assert decode_model(inputs, "a/m.gltf").mesh.triangle_count == 2


def test_scene_without_triangles_is_refused() -> None:
    with pytest.raises(EncodeError, match="no triangles"):
        decode_model({"a.gltf": b'{"asset": {"version": "2.0"}}'}, "a.gltf")


def test_animations_are_told_of() -> None:
    builder = quad()
    builder.add("animations", name="wave", samplers=[], channels=[])
    model = decode_model({"a.glb": builder.glb()}, "a.glb")
    assert model.warnings == ("a.glb: animations were ignored",)
