"""Large sources that are cut into parts: the same scene, and less work after an edit."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.untold.scene import source_part
from tests.encoders.untold_reader import corners_of
from tests.encoders.untold_scene import Scene, build, cube_arrays, plain

PATH = "assets/city.glb"
# The third reaches over the border between two tiles.
PLACES = ((5.0, -5.0), (10.0, -12.0), (24.0, -5.0), (40.0, -5.0), (60.0, -30.0))


def city(count: int = len(PLACES)) -> Scene:
    """Cubes below a turned and mirrored node, each with a mesh of its own, in two materials."""
    scene = Scene()
    image = scene.image(plain(4, 4, (200, 80, 60)))
    texture = scene.add("textures", source=image)
    shown = {"pbrMetallicRoughness": {"baseColorTexture": {"index": texture}}}
    scene.add("materials", name="brick", doubleSided=True, **shown)
    scene.add("materials", name="lead")
    children = []
    for number, (x, z) in enumerate(PLACES[:count]):
        mesh = scene.shape(f"cube {number}", cube_arrays(), number % 2)
        place = {"translation": [-x, 2, z], "scale": [4, 4, 4]}
        # One without a name, as many files have them.
        label = {} if number == 1 else {"name": f"NM_house {number}"}
        children.append(scene.add("nodes", mesh=mesh, **place, **label))
    root = scene.add("nodes", name="all", children=children, scale=[-1, 1, 1])
    scene.json["scenes"][0]["nodes"].append(root)
    return scene


@pytest.fixture
def in_parts(monkeypatch):
    monkeypatch.setattr(source_part, "LEAST_TRIANGLES", 1)


def part_names(built) -> set[str]:
    return {node.name for node in built.nodes if node.encoder.endswith(":encode_part")}


def corner_rows(found: dict) -> list:
    """The triangles of a file, in an order that does not depend on that of its objects."""
    return sorted(np.asarray(corners_of(found)).reshape(-1, 9).tolist())


def test_scene_in_parts_shows_what_the_whole_one_does(monkeypatch):
    files = {PATH: city().glb()}
    whole = build(files)
    monkeypatch.setattr(source_part, "LEAST_TRIANGLES", 1)
    parts = build(files)
    assert not part_names(whole)
    assert len(part_names(parts)) == 3
    assert sorted(parts.files) == sorted(whole.files)
    assert sorted(parts.warnings) == sorted(whole.warnings)
    for name, content in whole.files.items():
        if not name.endswith(".untold"):
            assert parts.files[name] == content, name
            continue
        tile = name.removeprefix("city/").removesuffix(".untold")
        one, other = whole.read(tile), parts.read(tile)
        assert corner_rows(one) == corner_rows(other), name
        assert one["materials"] == other["materials"], name


def test_object_that_moves_changes_its_part_and_its_tile_alone(in_parts):
    scene = city()
    before = build({PATH: scene.glb()})
    scene.json["nodes"][3]["translation"][1] += 0.5
    after = build({PATH: scene.glb()})
    cut = "city/read/city.glb"
    changed = {role for role in after.made[cut] if after.made[cut][role] != before.made[cut][role]}
    assert changed == {"part_tile_1_0_0"}
    files = {name for name, data in after.files.items() if before.files[name] != data}
    assert {name for name in files if "tile_" in name} == {
        f"city/tile_1_0_0{level}.untold" for level in ("", "_lod1", "_lod2", "_hlod")
    }
    for name in part_names(after) - {f"{cut}/tile_1_0_0"}:
        params = {node.name: node.params for node in before.nodes}
        assert next(one for one in after.nodes if one.name == name).params == params[name]


def test_new_object_leaves_parts_of_named_objects_alone(in_parts):
    before, after = (build({PATH: city(count).glb()}) for count in (4, 5))
    cut = "city/read/city.glb"
    same = {role for role, data in before.made[cut].items() if after.made[cut][role] == data}
    assert same == set(before.made[cut])


def test_part_without_area_is_a_warning_where_others_have_triangles(in_parts):
    scene = city()
    position, normal, uv, triangles = cube_arrays()
    flat = scene.shape("flat", (position * [0, 1, 0], normal, uv, triangles))
    scene.json["scenes"][0]["nodes"].append(
        scene.add("nodes", name="flat", mesh=flat, translation=[110, 1, -5])
    )
    built = build({PATH: scene.glb()})
    assert any("without an area were left out (12)" in one for one in built.warnings)
    assert "city/tile_0_0_0.untold" in built.files


@pytest.mark.parametrize(
    "options", [{"shading": "smooth"}, {"triangles": 50}, {"simplify": 0.5}], ids=str
)
def test_source_whose_objects_depend_on_each_other_is_read_at_once(in_parts, options):
    assert not part_names(build({PATH: city().glb()}, lods=[], hlod=0, **options))


def test_mesh_that_many_parts_show_is_not_stored_in_each(in_parts):
    scene = Scene()
    scene.shape("cube", cube_arrays())
    for number in range(4):
        scene.put(f"house {number}", "cube", translation=[5 + 25 * number, 1, -5])
    assert not part_names(build({PATH: scene.glb()}))
