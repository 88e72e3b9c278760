"""How much of a scene is planned: bounds are what a file declares, and they may be wrong."""

from __future__ import annotations

import pytest

from encoders.kit.error import EncodeError
from encoders.untold.scene.grid import MAX_CUT_TILES, Box, Grid, assign_tiles, count_tiles
from tests.encoders.untold_scene import Scene, build, cube_arrays, grid_arrays, houses

GLB = "assets/city.glb"
GRID = Grid((25.0, 10.0, 25.0))


def house_with_bounds(low: list[float], high: list[float]) -> bytes:
    scene = houses([(5, -5)])
    scene.json["accessors"][0] |= {"min": low, "max": high}
    return scene.glb()


@pytest.mark.parametrize("height", [1e14, 1e30, -1e12])
def test_tall_bounds_that_lie_plan_no_more_than_one_bucket(height: float):
    built = build({GLB: house_with_bounds([0, 0, 0], [1, height, 1])}, lods=[], hlod=0)
    assert built.manifest["tiles"] == []
    assert built.manifest["shared_bucket"] is not None


def test_tall_object_is_cut_where_tiles_are_few_and_shared_otherwise():
    most = assign_tiles(Box((1, 0, 1), (2, 10.0 * MAX_CUT_TILES, 2)), GRID, clip=True)
    assert most is not None
    assert count_tiles(most) == MAX_CUT_TILES
    assert assign_tiles(Box((1, 0, 1), (2, 10.0 * MAX_CUT_TILES + 1, 2)), GRID, clip=True) is None


def test_scene_with_too_many_tiles_names_file_object_and_bounds():
    scene = Scene()
    scene.shape("sheet", grid_arrays(1, 490.0))
    scene.shape("cube", cube_arrays())
    scene.put("hut", "cube")
    for number in range(30):
        scene.put(f"field {number}", "sheet", translation=[0, 0, -500 * number])
    with pytest.raises(EncodeError) as caught:
        build({GLB: scene.glb()})
    assert caught.value.problem == "the scene has too many tiles"
    assert caught.value.facts["asset"] == GLB
    assert caught.value.facts["object"] == "field 0"
    assert caught.value.facts["bounds"] == "0 0 -490 to 490 0 0"


def test_object_out_of_reach_of_float32_names_file_object_and_bounds():
    with pytest.raises(EncodeError) as caught:
        build({GLB: house_with_bounds([1e12, 0, 0], [1e12, 1, 1])})
    assert caught.value.problem == "an object is too far from the origin"
    assert caught.value.facts["object"] == "house 0"
    assert caught.value.facts["bounds"] == "4e+12 2 -5 to 4e+12 6 -1"
    assert caught.value.facts["found"] == "x = 4e+12"
    assert caught.value.facts["allowed"] == "-4.1943e+08 to 4.1943e+08 with these tiles"
    assert caught.value.facts["precision"] == "float32 positions have steps of 262144 m there"
    assert "pivot" in caught.value.hint


def test_coordinate_that_is_named_is_the_one_that_is_too_far():
    with pytest.raises(EncodeError) as caught:
        build({GLB: house_with_bounds([1e9, 1e10, 0], [1e9, 1e10, 1])})
    assert caught.value.facts["found"] == "x = 4e+09"


@pytest.mark.parametrize("position", ["1e39 0 0", "0 -1e400 0"])
def test_position_beyond_float32_in_an_obj_says_what_is_allowed(position: str):
    with pytest.raises(EncodeError, match="a position is out of range") as caught:
        build({"assets/a.obj": f"v {position}\nv 0 1 0\nv 0 0 1\nf 1 2 3\n"})
    assert caught.value.facts["file"] == "assets/a.obj"
    assert caught.value.facts["found"] == f"v {position}"
    assert "float32" in caught.value.facts["allowed"]


@pytest.mark.parametrize("transform", [{"translation": [1e39, 0, 0]}, {"scale": [1e39, 1, 1]}])
def test_node_that_puts_positions_beyond_float32_is_named_with_its_value(transform: dict):
    scene = houses([(5, -5)])
    scene.json["nodes"][0] |= transform
    with pytest.raises(EncodeError, match="not finite") as caught:
        build({GLB: scene.glb()})
    assert caught.value.facts["file"] == GLB
    assert caught.value.facts["at"] == '"house 0" (nodes[0])'
    assert "1e+39" in caught.value.facts["found"]
    assert "float32" in caught.value.facts["allowed"]


@pytest.mark.parametrize("field", ["uv0", "uv1"])
def test_texture_coordinate_beyond_half_floats_names_file_object_and_value(field: str):
    scene = houses([(5, -5)])
    position, normal, uv, triangles = cube_arrays()
    more = {"TEXCOORD_1": uv * 1e6} if field == "uv1" else {}
    scene.shape("sign", (position, normal, uv * (1e6 if field == "uv0" else 1), triangles), **more)
    scene.put("sign", "sign", translation=[9, 0, -9])
    with pytest.raises(EncodeError, match="does not fit half floats") as caught:
        build({GLB: scene.glb()})
    assert caught.value.facts["file"] == GLB
    assert caught.value.facts["object"] == "sign"
    assert caught.value.facts["field"] == field
    assert "65504" in caught.value.facts["allowed"]


@pytest.mark.parametrize("number", ["1e38", "-3e38"])
def test_distant_obj_is_refused_whether_it_is_cut_or_not(number: str):
    text = f"v {number} 0 0\nv {number} 1 0\nv {number} 0 1\nf 1 2 3\n"
    for clip in (True, False):
        with pytest.raises(EncodeError, match="too far from the origin"):
            build({"assets/a.obj": text}, clip=clip)


@pytest.mark.parametrize("size", ["auto", [25, 10000, 25]])
@pytest.mark.parametrize("reach", [1e38, 1e300, -1.7e308])
def test_no_declared_bounds_are_beyond_planning(reach: float, size: object):
    data = house_with_bounds([-reach, -reach, -reach], [reach, reach, reach])
    assert build({GLB: data}, tile_size=size, lods=[], hlod=0).manifest is not None
