"""What a target plans with: the same of every model, whatever its format."""

from __future__ import annotations

from typing import Any

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.mtl.survey import survey_mtl
from encoders.kit.source.obj.survey import survey_obj
from encoders.kit.source.outline import outline_model
from tests.kit.glb_builder import quad

OBJ = b"""mtllib ../mat/b.mtl ../mat/a.mtl
v 0 0 0
v 1 0 0
v 0 1 0
o sign
usemtl wood
f 1 2 3
usemtl unused
"""
SOURCE, LIBRARY, OTHER = "assets/m/a.obj", "assets/mat/a.mtl", "assets/mat/b.mtl"


def obj_surveys(**libraries: bytes) -> dict[str, Any]:
    found = {f"assets/mat/{name}.mtl": survey_mtl(data, name) for name, data in libraries.items()}
    return {SOURCE: survey_obj(OBJ, SOURCE), **found}


def test_materials_of_an_obj_are_those_of_its_libraries() -> None:
    mtl = b"newmtl wood\nd .5\nmap_Kd tex/wood.png\nmap_d hole.png\nnewmtl other\n"
    outline = outline_model(SOURCE, obj_surveys(a=mtl))
    wood, unused = outline.materials
    assert (wood.key, wood.alpha_mode, wood.alpha) == ("wood", "blend", 0.5)
    image = wood.images["base_color"]
    assert (image.name, image.is_inside) == ("assets/mat/tex/wood.png", False)
    assert (image.place, image.keyword) == (f"{LIBRARY}, line 3", "map_Kd")
    assert (unused.name, dict(unused.images)) == ("unused", {})


def test_first_library_that_has_a_material_holds() -> None:
    surveys = obj_surveys(a=b"newmtl wood\nmap_Kd a.png\n", b=b"newmtl wood\nmap_Kd b.png\n")
    outline = outline_model(SOURCE, surveys)
    assert outline.materials[0].images["base_color"].name == "assets/mat/b.png"
    assert outline.files == (SOURCE, OTHER, LIBRARY)


def test_library_that_is_missing_is_still_a_file_that_is_needed() -> None:
    outline = outline_model(SOURCE, obj_surveys())
    assert outline.files == (SOURCE, OTHER, LIBRARY)
    assert dict(outline.materials[0].images) == {}


def test_only_images_that_triangles_show_in_the_slots_are_listed() -> None:
    mtl = b"newmtl wood\nmap_Kd a.png\nnorm n.png\nnewmtl unused\nmap_Kd u.png\n"
    outline = outline_model(SOURCE, obj_surveys(a=mtl))
    names = [image.name for image in outline.images(("base_color", "alpha"))]
    assert names == ["assets/mat/a.png"]


def test_materials_of_a_gltf_are_inside_and_go_by_number() -> None:
    builder = quad()
    builder.json["images"] = [{"uri": "my%20wood.png"}, {"uri": "data:,", "name": "hidden"}]
    builder.json["textures"] = [{"source": 0}, {"source": 1}]
    builder.json["materials"] = [
        {
            "name": "wood",
            "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}},
            "normalTexture": {"index": 1},
            "alphaMode": "MASK",
            "alphaCutoff": 0.25,
        }
    ]
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    builder.json["nodes"][0]["name"] = "sign"
    outline = outline_model(
        "a/m.gltf", {"a/m.gltf": survey_gltf(builder.gltf("m.bin"), "a/m.gltf")}
    )
    assert outline.files == ("a/m.gltf", "a/m.bin")
    (part,) = outline.parts
    assert (part.object, part.node, part.materials) == ("sign", 0, (0,))
    (wood,) = outline.materials
    assert (wood.key, wood.alpha_mode, wood.alpha_cutoff) == ("0", "mask", 0.25)
    base, normal = wood.images["base_color"], wood.images["normal"]
    assert base.name == "a/my wood.png"
    assert base.place == "a/m.gltf, materials[0], base_color texture"
    assert (normal.name, normal.number, normal.label) == ("a/m.gltf, images[1]", 1, "hidden")


def test_material_that_is_not_there_is_refused_when_a_gltf_is_surveyed() -> None:
    builder = quad()
    builder.json["meshes"][0]["primitives"][0]["material"] = 7
    with pytest.raises(EncodeError, match="index points at nothing"):
        survey_gltf(builder.glb(), "a.glb")
