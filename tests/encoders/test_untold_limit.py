"""How much of a scene is planned: bounds are what a file declares, and they may be wrong."""

from __future__ import annotations

import pytest

from encoders.kit.error import EncodeError
from encoders.untold.grid import MAX_CUT_TILES, Box, Grid, assign_tiles, count_tiles
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
