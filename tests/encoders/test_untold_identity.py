"""What is one thing and what is several: objects by their nodes, pictures by their content."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.untold.scene.picture_survey import survey_gltf_pictures, survey_picture
from encoders.untold.view import export_obj
from tests.encoders.untold_reader import corners_of
from tests.encoders.untold_scene import Scene, build, cube_arrays, plain, png

GLB = "assets/city.glb"
LEVELS = ("", "_lod1", "_lod2", "_hlod")


def boxes(names: list[str | None]) -> Scene:
    """A tile full of boxes of many sizes, with these names; None is a node without a name."""
    random = np.random.default_rng(5)
    scene = Scene()
    scene.shape("cube", cube_arrays())
    for name in names:
        x, z = random.uniform(2, 23, 2).tolist()
        node = scene.put("", "cube", translation=[x, 1, -z], scale=[random.uniform(0.2, 1.5)] * 3)
        if name is None:
            del scene.json["nodes"][node]["name"]
        else:
            scene.json["nodes"][node]["name"] = name
    return scene


@pytest.mark.parametrize("name", [None, "", "box"])
def test_unnamed_and_same_named_nodes_are_parts_of_their_own(name):
    distinct = build({GLB: boxes([f"box {number}" for number in range(60)]).glb()})
    built = build({GLB: boxes([name] * 60).glb()})
    counts = [len(corners_of(built.read(f"tile_0_0_0{level}"))) for level in LEVELS]
    assert counts[0] == 720
    for count, share in zip(counts[1:], (0.5, 0.2, 0.1), strict=True):
        assert count <= 1.1 * share * counts[0]
    # Names decide nothing but the names in the file, and merged objects have none there.
    assert built.files == distinct.files
    assert built.warnings == []


def test_same_named_objects_that_are_never_merged_are_entities_of_their_own():
    built = build({GLB: boxes(["NM_door", "NM_door", "wall"]).glb()}, lods=[], hlod=0)
    found = built.read("tile_0_0_0")
    assert [one["name"] for one in found["entities"]] == ["tile_0_0_0", "NM_door", "NM_door"]
    assert [len(one["triangles"]) for one in found["meshes"]] == [12, 12, 12]


@pytest.mark.parametrize(
    "name", ["NM_a\nv 1 2 3", "NM_a\r\nf 1", "NM_a\x85\u2028b", "NM_a\\", "NM_a \\ "]
)
def test_exported_obj_keeps_its_lines_whatever_names_hold(name):
    scene = boxes([name])
    scene.json["meshes"][0]["primitives"][0]["material"] = scene.add("materials", name=name)
    built = build({GLB: scene.glb()}, lods=[], hlod=0)
    (text,) = export_obj(built.files["city/tile_0_0_0.untold"], "tile.untold").values()
    keywords = {line.split(b" ")[0] for line in text.splitlines()}
    assert keywords == {b"o", b"v", b"vt", b"vn", b"usemtl", b"f"}
    again = build({"assets/again.obj": text}, lods=[], hlod=0)
    assert len(corners_of(again.read("tile_0_0_0"))) == 12


def prop(picture: bytes, x: float, slots: tuple[str, ...] = ("base",), label: str = "") -> bytes:
    """A box at x whose material shows one picture in these slots."""
    scene = Scene()
    texture = {"index": scene.add("textures", source=scene.image(picture))}
    scene.json["images"][0]["name"] = label
    keys = {"emissive": "emissiveTexture", "normal": "normalTexture"}
    values = {keys[slot]: texture for slot in slots if slot in keys}
    pbr = {"baseColorTexture": texture} if "base" in slots else {}
    if "metal" in slots:
        pbr["metallicRoughnessTexture"] = texture
    number = scene.add("materials", name="colormap", pbrMetallicRoughness=pbr, **values)
    scene.shape("cube", cube_arrays(), number)
    scene.put(f"prop {x}", "cube", translation=[x, 0, -4])
    return scene.glb()


def textures_of(built) -> list[str]:
    return sorted(name for name in built.files if "/Textures/" in name)


@pytest.mark.parametrize("textures", ["png", "astc"])
def test_equal_pictures_of_several_files_are_one_texture_one_material_and_one_mesh(textures):
    if textures == "astc":
        pytest.importorskip("astc_encoder")
    picture = plain(4, 4, (200, 30, 30))
    files = {f"assets/prop{n}.glb": prop(picture, 2.0 * n + 2) for n in range(4)}
    files["assets/odd.glb"] = prop(plain(4, 4, (1, 2, 3)), 12.0)
    built = build(files, textures=textures)
    assert len(textures_of(built)) == 2
    for level in LEVELS[:2]:
        found = built.read(f"tile_0_0_0{level}")
        assert [one["name"] for one in found["materials"]] == ["colormap", "colormap"]
        assert len(found["textures"]) == 2
        assert sorted(len(one["triangles"]) for one in found["meshes"])[-1] >= 12
    whole = built.read("tile_0_0_0")
    assert sorted(len(one["triangles"]) for one in whole["meshes"]) == [12, 48]
    assert len([node for node in built.nodes if "/Textures/" in node.name]) == 2


def test_picture_in_a_file_of_its_own_gives_its_name_to_equal_ones_inside_of_models():
    picture = plain(4, 4, (200, 30, 30))
    obj = "mtllib a.mtl\nusemtl red\nv 1 0 -1\nv 2 0 -1\nv 1 1 -1\nf 1 2 3\n"
    files = {"assets/a.glb": prop(picture, 5.0), "assets/b.obj": obj, "assets/wall.png": picture}
    files["assets/a.mtl"] = "newmtl red\nmap_Kd wall.png\n"
    (name,) = textures_of(build(files))
    assert name.startswith("city/Textures/wall_")


@pytest.mark.parametrize(
    ("labels", "stem"),
    [
        (("color map.PNG", "color map.PNG"), "color_map"),
        (("wood.oak", "wood.oak"), "wood.oak"),
        (("a", "b"), "p1_image0"),
        (("", ""), "p1_image0"),
        (("x" * 300, "x" * 300), "x" * 64),
    ],
)
def test_picture_that_models_share_is_named_as_they_call_it(labels, stem):
    picture = plain(4, 4, (200, 30, 30))
    files = {
        f"assets/p{number}.glb": prop(picture, 4.0 * number, label=label)
        for number, label in enumerate(labels, 1)
    }
    (name,) = textures_of(build(files))
    assert name.rpartition("_")[0] == f"city/Textures/{stem}"
    # A further model, or one less, leaves the name as it is.
    if stem == "color_map":
        more = {**files, "assets/a.glb": prop(picture, 16.0, label=labels[0])}
        assert textures_of(build(more)) == [name]


def test_picture_in_several_slots_is_written_once_with_the_flags_of_all():
    picture = png(np.arange(48).reshape(4, 4, 3))
    built = build({GLB: prop(picture, 5.0, ("base", "emissive", "normal"))}, lods=[], hlod=0)
    assert len(textures_of(built)) == 1
    found = built.read("tile_0_0_0")
    (texture,) = found["textures"]
    assert texture["flags"] == 1 | 2 | 64
    # Channels of a picture are other pictures.
    built = build({GLB: prop(picture, 5.0, ("base", "metal"))}, lods=[], hlod=0)
    assert len(textures_of(built)) == 3


def test_normals_are_another_texture_than_colours_where_the_slot_decides_the_encoding():
    pytest.importorskip("astc_encoder")
    picture = plain(4, 4, (128, 128, 255))
    built = build({GLB: prop(picture, 5.0, ("base", "emissive", "normal"))}, textures="astc")
    assert len(textures_of(built)) == 2


def test_pictures_of_one_name_and_two_contents_stay_two():
    files = {f"assets/{n}/prop.glb": prop(plain(4, 4, (n, 0, 0)), 4.0 + 4 * n) for n in (1, 2)}
    names = textures_of(build(files))
    assert [name.rpartition("_")[0] for name in reversed(names)] == [
        "city/Textures/prop_image0",
        "city/Textures/prop_image0-2",
    ]


@pytest.mark.parametrize(
    "broken", [{"byteLength": 1 << 30}, {"buffer": 7}, {"byteOffset": 1 << 30}]
)
def test_picture_outside_of_its_file_is_refused_and_does_not_stop_the_survey(broken):
    scene = Scene()
    texture = {"index": scene.add("textures", source=scene.image(plain(2, 2)))}
    number = scene.add("materials", pbrMetallicRoughness={"baseColorTexture": texture})
    scene.shape("cube", cube_arrays(), number)
    scene.put("box", "cube")
    view = scene.json["images"][0]["bufferView"]
    scene.json["bufferViews"][view] |= broken
    assert "digest" not in survey_gltf_pictures(scene.glb(), GLB)["images"][0]
    with pytest.raises(EncodeError):
        build({GLB: scene.glb()})


def test_picture_in_a_data_uri_has_the_digest_of_its_file():
    picture = plain(4, 4, (9, 9, 9))
    uri = "data:image/png;base64," + base64.b64encode(picture).decode()
    document = json.dumps({"asset": {"version": "2.0"}, "images": [{"uri": uri}, {"uri": "a.png"}]})
    inside, file = survey_gltf_pictures(document.encode(), "assets/a.gltf")["images"]
    assert inside["digest"] == survey_picture(picture, "assets/a.png")["digest"]
    assert "digest" not in file
