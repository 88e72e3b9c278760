"""Models from inputs by path, whatever their format."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.model import open_model
from encoders.kit.warning import group_of
from tests.kit.glb_builder import quad

OBJ = b"mtllib ../mat/a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl wood\nf 1 2 3\n"
MTL = b"newmtl wood\nmap_Kd tex/wood.png\n"


def test_image_of_an_obj_is_found_beside_its_mtl() -> None:
    inputs = {"assets/m/a.obj": OBJ, "assets/mat/a.mtl": MTL, "assets/mat/tex/wood.png": b"png"}
    model = open_model(inputs, "assets/m/a.obj")
    (material,) = model.mesh.materials
    assert model.image_name(material, "base_color") == "assets/mat/tex/wood.png"
    assert model.image_data(material, "base_color") == b"png"


def test_missing_image_is_named_with_its_material_and_line() -> None:
    model = open_model({"a/m/a.obj": OBJ, "a/mat/a.mtl": MTL}, "a/m/a.obj")
    with pytest.raises(EncodeError) as caught:
        model.image_data(model.mesh.materials[0], "base_color")
    assert caught.value.problem == "texture not found"
    assert caught.value.facts == {
        "asset": 'a/m/a.obj, material "wood"',
        "file": "a/mat/tex/wood.png",
        "named in": "a/mat/a.mtl, line 2",
    }
    assert caught.value.hint == "Add the image, or take `map_Kd` out of the material."


def test_missing_library_is_a_warning_with_its_line_and_leaves_plain_materials() -> None:
    model = open_model({"a/m/a.obj": b"# note\n" + OBJ}, "a/m/a.obj")
    (warning,) = model.warnings
    assert warning.startswith("a/m/a.obj, line 2: a/mat/a.mtl was not found")
    assert group_of(warning) == "missing"
    assert model.mesh.materials[0].name == "wood"
    assert not model.mesh.materials[0].textures


def test_missing_library_does_no_harm_where_no_material_is_used() -> None:
    plain = OBJ.replace(b"usemtl wood\n", b"")
    assert open_model({"a/m/a.obj": plain}, "a/m/a.obj").mesh.triangle_count == 1


def test_buffer_of_a_gltf_is_found_by_its_percent_encoded_uri() -> None:
    builder = quad()
    inputs = {"a/m.gltf": builder.gltf("my%20data.bin"), "a/my data.bin": bytes(builder.binary)}
    assert open_model(inputs, "a/m.gltf").mesh.triangle_count == 2


def test_scene_without_triangles_is_refused() -> None:
    with pytest.raises(EncodeError, match="no triangles"):
        open_model({"a.gltf": b'{"asset": {"version": "2.0"}}'}, "a.gltf")


def test_animations_are_told_of() -> None:
    builder = quad()
    builder.add("animations", name="wave", samplers=[], channels=[])
    model = open_model({"a.glb": builder.glb()}, "a.glb")
    assert model.warnings == ("a.glb: animations were ignored [ignored]",)


def test_objects_of_an_obj_are_its_o_statements_and_stay_where_they_are() -> None:
    faces = b"f 1 2 3\n"
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\no a\n" + faces + b"g x\n" + faces + b"o b\n" + faces
    model = open_model({"a.obj": text}, "a.obj")
    assert [one.name for one in model.objects] == ["a", "b"]
    assert model.part_object.tolist() == [0, 0, 1]
    assert all((one.transform == np.eye(4)).all() for one in model.objects)


def test_objects_of_a_gltf_keep_what_the_target_asks_for() -> None:
    builder = quad()
    builder.json["nodes"][0] |= {"name": "sign", "translation": [1, 2, 3], "scale": [2, 2, 2]}

    def keep_place(world):
        kept, taken = np.eye(4), world.copy()
        kept[:3, 3], taken[:3, 3] = world[:3, 3], 0
        return kept, taken

    inputs = {"a.glb": builder.glb()}
    whole = open_model(inputs, "a.glb")
    split = open_model(inputs, "a.glb", split=keep_place)
    (found,) = split.objects
    assert found.name == "sign"
    assert found.transform[:3, 3].tolist() == [1, 2, 3]
    moved = split.mesh.position.values + np.float32([1, 2, 3])
    assert np.array_equal(moved, whole.mesh.position.values)


def test_materials_are_not_asked_for_where_none_are_needed() -> None:
    model = open_model({"a/m/a.obj": OBJ}, "a/m/a.obj", with_materials=False)
    assert [one.name for one in model.mesh.materials] == ["wood"]


@pytest.mark.parametrize("name", ["a.png", "a.mtl", "a.txt", "a"])
def test_what_is_no_model_is_refused_with_the_suffixes_that_are(name: str) -> None:
    with pytest.raises(EncodeError, match="no model") as caught:
        open_model({name: b""}, name)
    assert ".glb" in caught.value.facts["allowed"]
