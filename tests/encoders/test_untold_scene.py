"""Scenes become tiles: placement, cutting, transforms, levels and distances."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.untold.mesh import level_goal
from encoders.untold.mesh.simplify_tile import simplify_tile
from encoders.untold.mesh.tile_mesh import Tile, unpack_tile
from encoders.untold.node_manifest import list_shares
from encoders.untold.scene.grid import Box, Grid, assign_tiles, auto_size, classify
from encoders.untold.scene.streaming_distance import (
    Radii,
    half_diagonal,
    hlod_distance,
    lod_distances,
    shared_radii,
    tile_radii,
)
from tests.encoders.untold_reader import area, corners_of
from tests.encoders.untold_scene import Scene, build, cube_arrays, grid_arrays, houses, plain

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
GRID = Grid((25.0, 10000.0, 25.0))
GLB = "assets/city.glb"


def sheet(size: float, cells: int = 8, wave: float = 0.0, **node) -> Scene:
    scene = Scene()
    scene.shape("sheet", grid_arrays(cells, size, wave))
    scene.put("ground", "sheet", **node)
    return scene


def test_tiles_count_along_x_and_against_z():
    built = build({GLB: houses([(5, -5), (30, -5), (5, -30), (-5, 5)]).glb()})
    places = {name: found["bounds"] for name, found in built.tiles().items()}
    assert places == {
        "tile_0_0_0": ((3, 0, -7), (7, 4, -3)),
        "tile_1_0_0": ((28, 0, -7), (32, 4, -3)),
        "tile_0_0_1": ((3, 0, -32), (7, 4, -28)),
        "tile_-1_0_-1": ((-7, 0, 3), (-3, 4, 7)),
    }


def test_every_tile_has_its_levels_and_the_manifest_names_them():
    built = build({GLB: houses([(5, -5)]).glb()})
    stem = "city/tile_0_0_0"
    levels = [f"{stem}{suffix}.untold" for suffix in ("", "_hlod", "_lod1", "_lod2")]
    assert sorted(built.files) == ["city.json", *levels]
    (tile,) = built.manifest["tiles"]
    assert tile["path_relative_to_manifest"] == levels[0]
    assert tile["file_size_bytes"] == len(built.files[levels[0]])
    assert [one["path"] for one in tile["hlod_levels"]] == [levels[1]]
    assert [one["path"] for one in tile["lod_levels"]] == levels[2:]
    types = [built.read(name.removeprefix("city/")[:-7])["type"] for name in levels]
    assert types == [1, 3, 2, 2]


def test_manifest_has_every_required_key_with_its_type():
    built = build({GLB: houses([(5, -5), (60, -40)]).glb()})
    document = built.manifest
    assert (document["version"], document["partitioning_mode"]) == (3, "uniform_grid")
    assert document["tile_size"] == {"x": 25.0, "y": 10000.0, "z": 25.0}
    assert document["shared_bucket"] is None
    assert type(document["streaming_defaults"]["priority"]) is int
    for tile in document["tiles"]:
        low, high = tile["bounds"]["min"], tile["bounds"]["max"]
        assert tile["center"] == [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        assert type(tile["file_size_bytes"]) is int
        assert (low[1], high[1]) == (0, 4)


@pytest.mark.parametrize("clip", [True, False])
def test_no_surface_is_lost_or_doubled(clip):
    scene = sheet(70, 9, 2.0, translation=[-11, 1, 8])
    scene.shape("cube", cube_arrays())
    scene.put("on a border", "cube", translation=[25, 3, -25], scale=[6, 6, 6])
    built = build({GLB: scene.glb()}, clip=clip)
    whole = area(np.asarray(grid_arrays(9, 70, 2.0)[0])[grid_arrays(9, 70, 2.0)[3]]) + 6 * 36
    found = list(built.tiles().values())
    assert sum(area(corners_of(one)) for one in found) == pytest.approx(whole, rel=1e-5)
    assert len(found) == (16 if clip else 2)


def test_object_that_is_not_cut_belongs_to_the_tile_of_its_middle():
    built = build({GLB: houses([(26, -5), (24, -5)]).glb()}, clip=False)
    bounds = {name: found["bounds"] for name, found in built.tiles().items()}
    assert bounds == {
        "tile_0_0_0": ((22, 0, -7), (26, 4, -3)),
        "tile_1_0_0": ((24, 0, -7), (28, 4, -3)),
    }


def border_edges(corners: np.ndarray, axis: int, value: float) -> set:
    """The edges of triangles that lie in a plane, as unordered pairs of exact positions."""
    found = set()
    for triangle in corners:
        for one, other in ((0, 1), (1, 2), (2, 0)):
            ends = triangle[[one, other]]
            if (ends[:, axis] == np.float32(value)).all():
                found.add(frozenset(tuple(end) for end in ends.tolist()))
    return found


@pytest.mark.parametrize("suffix", ["", "_lod1", "_lod2", "_hlod"])
def test_tiles_meet_at_equal_vertices_on_every_level(suffix):
    built = build({GLB: sheet(50, 30, 3.0).glb()})
    left = corners_of(built.read(f"tile_0_0_0{suffix}"))
    right = corners_of(built.read(f"tile_1_0_0{suffix}"))
    edges = border_edges(left, 0, 25)
    assert len(edges) >= 15
    assert edges == border_edges(right, 0, 25)


@pytest.mark.parametrize("suffix", ["", "_lod1", "_lod2", "_hlod"])
@pytest.mark.parametrize("line", [25, 12])
def test_two_objects_that_meet_stay_together_on_every_level(suffix, line):
    """Grounds that are mirrored at a line: the border of two tiles, or one within a tile."""
    scene = sheet(line, 20, 3.0)
    scene.put("mirrored", "sheet", translation=[2 * line, 0, 0], scale=[-1, 1, 1])
    built = build({GLB: scene.glb()})
    tiles = {name.split("_")[1] for name in built.tiles()}
    corners = np.concatenate([corners_of(built.read(f"tile_{x}_0_0{suffix}")) for x in tiles])
    assert len(border_edges(corners, 0, line)) >= 20
    assert not [edge for edge in open_rim(corners) if edge[0][0] == edge[1][0] == line]


@QUICK
@given(
    st.floats(-60, 60), st.floats(-60, 60), st.floats(5, 60), st.integers(1, 5), st.floats(0, 6.2)
)
def test_cut_keeps_area_and_winding_wherever_it_falls(x, z, size, cells, angle):
    turn = [0.0, float(np.sin(angle / 2)), 0.0, float(np.cos(angle / 2))]
    scene = sheet(size, cells, 0.5, translation=[x, 0, z], rotation=turn)
    built = build({GLB: scene.glb()}, lods=[], hlod=0)
    position, _, _, triangles = grid_arrays(cells, size, 0.5)
    found = np.concatenate([corners_of(one) for one in built.tiles().values()])
    assert area(found) == pytest.approx(area(position[triangles]), rel=1e-4)
    normal = np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0])
    # All of the sheet faces up; slivers may be as flat as rounding makes them.
    assert (normal[:, 1] > -1e-4).all()
    for name, one in built.tiles().items():
        tx, _, tz = map(int, name.split("_")[1:])
        low, high = one["bounds"]
        assert 25 * tx - 1e-3 <= low[0] <= high[0] <= 25 * (tx + 1) + 1e-3
        assert -25 * (tz + 1) - 1e-3 <= low[2] <= high[2] <= -25 * tz + 1e-3


def test_attributes_are_interpolated_along_a_cut():
    built = build({GLB: sheet(50, 1).glb()}, lods=[], hlod=0)
    for found in built.tiles().values():
        (mesh,) = found["meshes"]
        expected = np.stack([mesh["position"][:, 0] / 50, -mesh["position"][:, 2] / 50], axis=1)
        assert np.abs(mesh["uv"] - expected).max() < 1e-3
        assert np.allclose(mesh["normal"], [0, 1, 0])
        assert np.allclose(mesh["tangent"], [1, 0, 0, 1])


def test_mirrored_node_keeps_its_winding_and_normals_turn_with_the_surface():
    scene = Scene()
    scene.shape("cube", cube_arrays())
    turned = [0, 0, float(np.sin(0.4)), float(np.cos(0.4))]
    scene.put("a", "cube", translation=[9, 9, -9], rotation=turned, scale=[-1, 5, 2])
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    (mesh,) = found["meshes"]
    corners = mesh["position"][mesh["triangles"]]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    faces /= np.linalg.norm(faces, axis=1, keepdims=True)
    outward = corners.mean(axis=1) - mesh["position"].mean(axis=0)
    assert ((faces * outward).sum(axis=1) > 0).all()
    assert np.abs(mesh["normal"][mesh["triangles"]] - faces[:, None]).max() < 2e-3


def test_parents_transforms_are_composed():
    scene = Scene()
    scene.shape("cube", cube_arrays())
    child = scene.put("child", "cube", translation=[1, 0, 0])
    scene.json["scenes"][0]["nodes"] = [
        scene.add(
            "nodes", name="parent", translation=[10, 4, -10], scale=[2, 2, 2], children=[child]
        )
    ]
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    assert found["bounds"] == ((11, 3, -11), (13, 5, -9))


def test_one_mesh_for_each_material_of_a_tile_and_names_with_nm_stay_apart():
    scene = houses([(4, -4), (12, -4)], 2.0, {"name": "brick"})
    other = scene.add("materials", name="slate")
    scene.shape("roof", cube_arrays(), other)
    scene.put("roof", "roof", translation=[4, 5, -4])
    scene.put("NM_door", "roof", translation=[8, 5, -4])
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    names = [(one["name"], len(one["triangles"])) for one in found["meshes"]]
    assert names == [("tile_0_0_0_brick", 24), ("tile_0_0_0_slate", 12), ("NM_door_slate", 12)]
    assert [one["name"] for one in found["entities"]] == ["tile_0_0_0", "NM_door"]
    assert [one["name"] for one in found["materials"]] == ["brick", "slate"]


def test_equal_materials_of_two_sources_are_one():
    obj = "mtllib a.mtl\nusemtl red\nv {0} 0 -1\nv {1} 0 -1\nv {0} 1 -1\nf 1 2 3\n"
    files = {"assets/a.mtl": "newmtl red\nKd 1 0 0\n"}
    files |= {f"assets/{n}.obj": obj.format(n, n + 1) for n in (1, 2)}
    (found,) = build(files, lods=[], hlod=0).tiles().values()
    assert [len(one["triangles"]) for one in found["meshes"]] == [2]
    assert found["materials"][0]["color"] == (1, 0, 0, 1)


def test_objects_of_an_obj_file_are_placed_by_their_parts():
    text = "v 1 0 -1\nv 2 0 -1\nv 1 1 -1\nv 41 0 -1\nv 42 0 -1\nv 41 1 -1\n"
    text += "o near\nf 1 2 3\no far\ng wing\nf 4 5 6\n"
    built = build({"assets/a.obj": text}, lods=[], hlod=0)
    assert sorted(built.tiles()) == ["tile_0_0_0", "tile_1_0_0"]


def test_coordinates_of_obj_stay_and_those_of_gltf_turn_over():
    text = "v 1 0 -1\nv 2 0 -1\nv 1 1 -1\nvt 0 0.25\nvt 1 0.25\nvt 0 0.75\nf 1/1 2/2 3/3\n"
    (found,) = build({"assets/a.obj": text}, lods=[], hlod=0).tiles().values()
    assert sorted(found["meshes"][0]["uv"].tolist()) == [[0, 0.25], [0, 0.75], [1, 0.25]]
    scene = Scene()
    scene.shape(
        "t",
        (
            [[1, 0, -1], [2, 0, -1], [1, 1, -1]],
            None,
            [[0, 0.25], [1, 0.25], [0, 0.75]],
            [[0, 1, 2]],
        ),
    )
    scene.put("t", "t")
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    assert sorted(found["meshes"][0]["uv"].tolist()) == [[0, 0.25], [0, 0.75], [1, 0.75]]


def test_far_coordinates_come_near_by_whole_turns():
    scene = Scene()
    position, normal, uv, triangles = grid_arrays(2, 8)
    scene.shape("t", (position, normal, uv + np.array([1000.0, -77.0]), triangles))
    scene.put("t", "t", translation=[1, 0, -1])
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    stored = found["meshes"][0]["uv"]
    assert np.abs(stored).max() <= 2
    expected = {tuple(one) for one in (np.array([uv[:, 0], 1 - uv[:, 1]]).T % 1).tolist()}
    assert {tuple(one) for one in (stored % 1).tolist()} == expected


def test_texture_that_repeats_too_often_is_a_warning():
    scene = Scene()
    position, normal, uv, triangles = grid_arrays(2, 8)
    scene.shape("t", (position, normal, uv * 200, triangles))
    scene.put("t", "t", translation=[1, 0, -1])
    warnings = build({GLB: scene.glb()}, lods=[], hlod=0).warnings
    assert any("half floats blur" in one for one in warnings)


def test_second_coordinates_and_colours_are_kept():
    scene = Scene()
    position, normal, uv, triangles = grid_arrays(1, 8)
    color = np.tile([1.0, 0.5, 0.0, 1.0], (4, 1))
    scene.shape("t", (position, normal, uv, triangles), TEXCOORD_1=uv / 2, COLOR_0=color)
    scene.put("t", "t", translation=[1, 0, -1])
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    (mesh,) = found["meshes"]
    assert mesh["color"].tolist() == [[255, 128, 0, 255]] * 4
    assert np.allclose(1 - mesh["uv1"][:, 1], (1 - mesh["uv"][:, 1]) / 2)


def test_own_tangents_are_kept():
    scene = Scene()
    position, normal, uv, triangles = grid_arrays(1, 8)
    tangent = np.tile([0.0, 0.0, 1.0, -1.0], (4, 1))
    scene.shape("t", (position, normal, uv, triangles), TANGENT=tangent)
    scene.put("t", "t", translation=[1, 0, -1])
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    assert np.allclose(found["meshes"][0]["tangent"], [0, 0, 1, -1])


def test_surface_without_coordinates_has_plain_ones():
    scene = Scene()
    position, normal, _, triangles = grid_arrays(1, 8)
    scene.shape("t", (position, normal, None, triangles))
    scene.put("t", "t", translation=[1, 0, -1])
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    assert not found["meshes"][0]["uv"].any()
    assert np.allclose(found["meshes"][0]["tangent"], [1, 0, 0, 1])


def test_surface_without_normals_is_flat():
    scene = Scene()
    position, _, uv, triangles = cube_arrays()
    scene.shape("t", (position, None, uv, triangles))
    scene.put("t", "t", translation=[5, 0, -5])
    (found,) = build({GLB: scene.glb()}, lods=[], hlod=0).tiles().values()
    assert np.allclose(np.abs(found["meshes"][0]["normal"]).max(axis=1), 1)


def test_levels_have_their_share_of_triangles_and_stay_in_shape():
    built = build({GLB: sheet(24, 40, 1.0, translation=[0.5, 0, -0.5]).glb()})
    counts = {
        suffix: len(corners_of(built.read(f"tile_0_0_0{suffix}")))
        for suffix in ("", "_lod1", "_lod2", "_hlod")
    }
    assert counts[""] == 3200
    assert 0.9 * 1600 <= counts["_lod1"] <= 1600
    assert 0.9 * 640 <= counts["_lod2"] <= 640
    assert 0.9 * 320 <= counts["_hlod"] <= 320
    whole = area(corners_of(built.read("tile_0_0_0")))
    for suffix in ("_lod1", "_lod2", "_hlod"):
        found = corners_of(built.read(f"tile_0_0_0{suffix}"))
        assert area(found) == pytest.approx(whole, rel=0.02)
        normal = np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0])
        assert (normal[:, 1] > 0).all()


LEVELS = ("", "_lod1", "_lod2", "_hlod")


def ball_arrays(rings: int, far: float) -> tuple[np.ndarray, ...]:
    """A ball of radius 2 without poles, whose middle is `far` up."""
    down, round_ = np.meshgrid(np.arange(1, rings), np.arange(2 * rings), indexing="ij")
    across, turn = np.pi * down / rings, np.pi * round_ / rings
    normal = np.stack(
        [np.sin(across) * np.cos(turn), np.cos(across), np.sin(across) * np.sin(turn)]
    )
    normal = normal.reshape(3, -1).T.astype(np.float32)
    rows, columns = (one[:-1].reshape(-1) for one in (down - 1, round_))
    width = 2 * rings
    one, other = rows * width + columns, rows * width + (columns + 1) % width
    triangles = np.stack([one, other, one + width, one + width, other, other + width], axis=1)
    position = (2 * normal + [0, far, 0]).astype(np.float32)
    return position, normal, normal[:, :2], triangles.reshape(-1, 3)


@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_no_vertex_of_a_level_leaves_the_bounds_of_its_tile(far):
    scene = Scene()
    scene.shape("ball", ball_arrays(12, far))
    scene.put("ball", "ball", translation=[12, 0, -12])
    built = build({GLB: scene.glb()})
    (tile,) = built.manifest["tiles"]
    low, high = (np.float32(tile["bounds"][end]) for end in ("min", "max"))
    for suffix in LEVELS:
        found = built.read(f"tile_0_0_0{suffix}")
        corners = corners_of(found).reshape(-1, 3)
        assert (corners >= low).all()
        assert (corners <= high).all()
        assert (np.float32(found["bounds"][0]) >= low).all()
        assert (np.float32(found["bounds"][1]) <= high).all()


def village(seed: int, boxes: int, reach: float) -> Scene:
    """Boxes of many sizes on an uneven ground, anywhere between 1 and `reach` in x and -z."""
    random = np.random.default_rng(seed)
    scene = sheet(reach, 6, 0.3)
    scene.shape("cube", cube_arrays())
    for number in range(boxes):
        x, z = random.uniform(1, reach - 1, 2).tolist()
        size = random.uniform(0.2, 1.5, 3).tolist()
        scene.put(f"box {number}", "cube", translation=[x, 2, -z], scale=size)
    return scene


def counts_of(built, tile: str) -> list[int]:
    return [len(corners_of(built.read(f"{tile}{suffix}"))) for suffix in LEVELS]


def test_village_of_boxes_reaches_the_asked_shares_within_a_twentieth():
    built = build({GLB: village(1, 120, 24).glb()})
    whole, *levels = counts_of(built, "tile_0_0_0")
    assert whole == 120 * 12 + 72
    for count, share in zip(levels, (0.5, 0.2, 0.1), strict=True):
        assert 0.95 * share <= count / whole <= 1.05 * share
    assert built.warnings == []


@pytest.mark.parametrize("seed", range(2))
def test_levels_of_a_village_shrink_and_borders_stay_equal_on_both_sides(seed):
    built = build({GLB: village(seed, 60, 50).glb()}, lods=[0.6, 0.3, 0.15])
    for tile in built.tiles():
        names = [f"{tile}{suffix}" for suffix in ("", *(f"_lod{n}" for n in range(1, 4)), "_hlod")]
        counts = [len(corners_of(built.read(name))) for name in names]
        assert counts == sorted(counts, reverse=True)
    for suffix in LEVELS:
        sides = [corners_of(built.read(f"tile_{x}_0_0{suffix}")) for x in (0, 1)]
        left, right = (border_edges(side, 0, 25) for side in sides)
        assert len(left) >= 3
        assert left == right


@pytest.mark.parametrize("height", [10000, 1.5])
def test_corner_that_reaches_a_little_into_a_tile_is_not_flattened_into_the_border(height):
    scene = Scene()
    # Without a floor or a roof, so that its rims end at the border; turned, so that a corner is
    # all that lies in the other tile.
    position, normal, uv, triangles = cube_arrays()
    walls = triangles[(normal[triangles[:, 0], 1] == 0)]
    scene.shape("walls", (position, normal, uv, walls))
    turn = [0, np.sin(np.pi / 8), 0, np.cos(np.pi / 8)]
    corner = 4 * np.sqrt(0.5)
    for z, reach in ((-6, 0.05), (-12, 0.15), (-18, 0.3)):
        place = [25 - corner + reach, 2, z]
        scene.put(f"hut {z}", "walls", translation=place, scale=[4, 4, 4], rotation=turn)
    built = build({GLB: scene.glb()}, tile_size=[25, height, 25])
    edges = 0
    for tile in built.tiles():
        x, y, z = tile.removeprefix("tile_").split("_")
        if x == "0" and f"tile_1_{y}_{z}" in built.tiles():
            for suffix in LEVELS:
                names = (f"tile_{x}_{y}_{z}{suffix}" for x in (0, 1))
                left, right = (border_edges(corners_of(built.read(one)), 0, 25) for one in names)
                assert left == right
                edges += len(left)
    assert edges > 0


def test_no_level_loses_a_large_part():
    scene = village(2, 80, 24)
    scene.put("house", "cube", translation=[12, 12, -12], scale=[8, 8, 8])
    built = build({GLB: scene.glb()})
    for suffix in LEVELS:
        assert corners_of(built.read(f"tile_0_0_0{suffix}"))[:, :, 1].max() == 16


def test_corners_that_moved_across_a_seam_have_a_normal_of_their_side():
    built = build({GLB: village(3, 40, 24).glb()})
    for mesh in built.read("tile_0_0_0_lod1")["meshes"]:
        corners = mesh["position"][mesh["triangles"]]
        facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        facing /= np.linalg.norm(facing, axis=1, keepdims=True)
        fit = (mesh["normal"][mesh["triangles"]] * facing[:, None]).sum(axis=2)
        assert (fit > 0).all()


def test_tile_that_misses_shares_is_one_warning_with_all_of_them(monkeypatch):
    monkeypatch.setattr(level_goal, "SPARE_TRIANGLES", 12)
    # Nothing of these boxes can be left out: each is more than half as wide as a tile.
    built = build({GLB: houses([(12, -12), (12.2, -12), (12.4, -12), (12.6, -12)], 13).glb()})
    assert counts_of(built, "tile_0_0_0") == [48] * 4
    assert [one.partition(" are kept")[0] for one in built.warnings] == [
        "tile_0_0_0: of 48 triangles lod1 100.0% (asked: 50.0%), lod2 100.0% (asked: 20.0%), "
        "hlod 100.0% (asked: 10.0%)"
    ]


def test_tiles_that_are_mostly_borders_are_one_warning_for_the_scene(monkeypatch):
    monkeypatch.setattr(level_goal, "SPARE_TRIANGLES", 12)
    built = build({GLB: sheet(75, 20, 1.0).glb()})
    (warning,) = built.warnings
    assert warning.startswith("levels of 9 of 9 tiles keep more triangles than asked for")
    assert "make tiles larger" in warning
    assert build({GLB: sheet(75, 20, 1.0).glb()}, tile_size=[80, 10000, 80]).warnings == []


def test_the_report_says_what_levels_keep_of_all_triangles_against_what_was_asked():
    built = build({GLB: sheet(75, 20, 1.0).glb()}, lods=[0.2], hlod=0)
    tiles = built.manifest["tiles"]
    full, kept = (
        sum(len(corners_of(built.read(f"{tile['tile_id']}{suffix}"))) for tile in tiles)
        for suffix in ("", "_lod1")
    )
    share = f"{100 * kept / full:.0f} %"
    assert share != "20 %"
    assert built.report == [f"level keeps {share} of {full:,} triangles; asked for 20 %"]
    assert build({GLB: sheet(75, 20, 1.0).glb()}, lods=[], hlod=0).report == []


def test_shares_are_listed_as_a_sentence_has_them():
    assert list_shares([0.523, 0.2, 0.004]) == "52 %, 20 % and 0.4 %"
    assert list_shares([1.0]) == "100 %"


def test_less_than_a_quarter_of_tiles_held_by_borders_is_no_warning(monkeypatch):
    monkeypatch.setattr(level_goal, "SPARE_TRIANGLES", 12)

    def scene(more: int) -> Scene:
        found = houses([(112 + 25 * number, -12) for number in range(more)])
        found.shape("sheet", grid_arrays(20, 75, 1.0))
        found.put("ground", "sheet")
        return found

    (warning,) = build({GLB: scene(27).glb()}).warnings
    assert warning.startswith("levels of 9 of 36 tiles")
    assert build({GLB: scene(28).glb()}).warnings == []


@pytest.fixture(scope="module")
def village_tiles() -> list[Tile]:
    built = build({GLB: village(5, 30, 40).glb()}, lods=[], hlod=0)
    return [unpack_tile(one["tile"]) for name, one in built.made.items() if name.endswith("_cut")]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=5))
def test_no_level_has_more_triangles_than_the_one_before(village_tiles, shares):
    for whole in village_tiles:
        levels = simplify_tile(whole, shares, (25.0, 10000.0, 25.0))
        counts = [whole.full_count, *(level.triangle_count for level in levels)]
        assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("hlod", [0.9, 1.0])
def test_hlod_is_at_most_the_last_lod_whatever_it_asks_for(hlod):
    built = build({GLB: village(7, 30, 30).glb()}, lods=[1.0, 0.3], hlod=hlod)
    for tile in built.tiles():
        whole, first, second, last = counts_of(built, tile)
        assert whole == first > second == last


def spared(*places: float) -> Scene:
    """Two tiles with a house each; sheets at these x make a tile reach any share by themselves."""
    scene = houses([(12, -12), (38, -12)], 12)
    scene.shape("sheet", grid_arrays(20, 10))
    for x in places:
        scene.put(f"sheet {x}", "sheet", translation=[x, 20, -2])
    return scene


@pytest.mark.parametrize("places", [(), (2,), (38,), (2, 38)])
def test_part_across_a_border_goes_on_both_sides_or_stays_whatever_else_is_there(places):
    scene = spared(*places)
    scene.put("small", "cube", translation=[25, 1, -12], scale=[1.5, 1, 1])
    scene.put("large", "cube", translation=[25, 1, -3], scale=[8, 2, 2])
    beam = cube_arrays()[0] * 0.4 + [3.75, 0, 0]
    two_parts(scene, "barn with a beam", cube_arrays()[0] * 7, beam)
    scene.put("barn", "barn with a beam", translation=[21.25, 4, -20])
    built = build({GLB: scene.glb()})
    found = {}
    for suffix in LEVELS:
        sides = [corners_of(built.read(f"tile_{x}_0_0{suffix}")) for x in (0, 1)]
        edges = [border_edges(side, 0, 25) for side in sides]
        assert edges[0] == edges[1]
        depths = {end[2] for edge in edges[0] for end in edge}
        found[suffix] = [any(abs(z - middle) < 2 for z in depths) for middle in (-3, -12, -20)]
    assert found[""] == [True, True, True]
    assert found["_hlod"] == [True, False, False]


def two_parts(scene: Scene, name: str, *shapes: np.ndarray) -> None:
    """Make one mesh of cubes whose corners are elsewhere."""
    parts = []
    for number, position in enumerate(shapes):
        scene.shape(f"{name} {number}", (position, *cube_arrays()[1:]))
        parts += scene.json["meshes"][scene.meshes[f"{name} {number}"]]["primitives"]
    scene.meshes[name] = scene.add("meshes", name=name, primitives=parts)


def height_of(built, suffix: str, low: list[float], high: list[float]) -> float:
    """Return the height of what a level of tile 0 has within bounds; nothing has none."""
    corners = corners_of(built.read(f"tile_0_0_0{suffix}"))
    found = corners[((corners >= low) & (corners <= high)).all(axis=(1, 2)), :, 1]
    return float(found.max() - found.min()) if len(found) else 0.0


@pytest.mark.parametrize("is_part", [False, True])
def test_thin_pipe_longer_than_two_metres_is_still_there_in_the_first_level(is_part):
    # Nothing of the houses can be left out, so that the level has to lose all it may.
    scene = houses([(12 + number / 10, -12) for number in range(12)], 8)
    pipe, cube = [0.1, 2.2, 0.1], cube_arrays()[0]
    places = [[8 + number, 2, -7.8] for number in range(9)]
    if is_part:
        pipes = [cube * pipe + np.subtract(place, [12, 0, -12]) for place in places]
        two_parts(scene, "house with pipes", cube * 6 + [0, 3, 0], *pipes)
        scene.put("house with pipes", "house with pipes", translation=[12, 0, -12])
    else:
        for number, place in enumerate(places):
            scene.put(f"pipe {number}", "cube", translation=place, scale=pipe)
    # A wire is as long, but nobody sees it from where the level is shown.
    scene.put("wire", "cube", translation=[2, 2, -20], scale=[0.01, 2.2, 0.01])
    built = build({GLB: scene.glb()})
    for suffix in ("", "_lod1"):
        for x, _, z in places:
            seen = height_of(built, suffix, [x - 0.1, 0, z - 0.1], [x + 0.1, 4, z + 0.1])
            assert seen == pytest.approx(2.2)
        wire = height_of(built, suffix, [1.9, 0, -20.1], [2.1, 4, -19.9])
        assert wire == pytest.approx(0.0 if suffix else 2.2)


def test_window_that_became_a_sheet_is_still_before_its_wall():
    scene = houses([(12, -12)], 8)
    position, normal, uv, triangles = cube_arrays()
    # No back, and no bottom: nothing but the front is left of it.
    scene.shape(
        "window", (position, normal, uv, triangles[normal[triangles[:, 0], 1:].min(1) >= 0])
    )
    for number, (x, y) in enumerate([(10, 2), (14, 2), (10, 6), (14, 6)]):
        scene.put(f"window {number}", "window", translation=[x, y, -8], scale=[3.2, 3.2, 0.2])
    built = build({GLB: scene.glb()}, lods=[0.5, 0.2], hlod=0.0)
    counts = []
    for suffix in LEVELS[:3]:
        corners = corners_of(built.read(f"tile_0_0_0{suffix}"))
        before = corners[(corners[:, :, 2] > -7.99).all(axis=1)]
        assert area(before) == pytest.approx(4 * 3.2 * 3.2, rel=0.02)
        counts.append(len(corners))
    assert counts == [44, 44, 20]


@pytest.mark.parametrize("length", [0.6, 1.5, 3.0])
def test_crown_of_a_tree_never_floats_without_its_trunk(length):
    scene = Scene()
    cube = cube_arrays()[0]
    trunk = cube * [0.25, length, 0.25] + [0, length / 2, 0]
    two_parts(scene, "tree", cube * 3.4 + [0, length + 1.7, 0], trunk)
    places = [(x, z) for x in (3, 9, 15, 21) for z in (-3, -9)]
    for x, z in places:
        scene.put(f"tree {x} {z}", "tree", translation=[x, 0, z])
    built = build({GLB: scene.glb()})
    for suffix in LEVELS:
        for x, z in places:
            crown = [x - 2, length - 0.1, z - 2], [x + 2, length + 3.5, z + 2]
            below = [x - 0.2, -0.1, z - 0.2], [x + 0.2, length + 0.1, z + 0.2]
            there = [height_of(built, suffix, *box) > 0 for box in (crown, below)]
            assert there[0] == there[1]
            assert there[0] or suffix in ("_lod2", "_hlod")


def lathe(radii: np.ndarray, height: float, sides: int) -> tuple[np.ndarray, ...]:
    """Return an upright surface of revolution, open at both ends."""
    position, _, uv, triangles = grid_arrays(sides, 1.0)
    angle, level = 2 * np.pi * uv[:, 0], 1 - uv[:, 1]
    radius = np.interp(level, np.linspace(0, 1, len(radii)), radii)
    normal = np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=-1)
    position = normal * radius[:, None] + np.outer(level, [0, height, 0])
    return position, normal, uv, triangles


def outlines(corners: np.ndarray) -> np.ndarray:
    """Return the area that closed shapes cover as seen from four sides and from above."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
    turn = np.pi / 4 * np.arange(4)
    views = np.stack([np.cos(turn), 0 * turn, np.sin(turn)], axis=1)
    return np.abs(normal @ np.vstack([views, [0, 1, 0]]).T).sum(axis=0) / 2


def test_tree_does_not_become_a_sliver_in_the_first_level():
    scene = Scene()
    level = np.linspace(-1, 1, 25)
    crown = 1.6 * np.sqrt(1 - level * level) * (1 + 0.1 * np.sin(10 * level))
    for name, radii, height in (("crown", crown, 3.2), ("trunk", np.full(2, 0.15), 2.4)):
        scene.shape(name, lathe(radii, height, 14))
    for x in (4, 12, 20):
        scene.put(f"crown {x}", "crown", translation=[x, 1.8, -8])
        scene.put(f"trunk {x}", "trunk", translation=[x, 0, -8])
    built = build({GLB: scene.glb()}, lods=[0.1, 0.05], hlod=0.02)
    levels = [corners_of(built.read(f"tile_0_0_0{suffix}")) for suffix in LEVELS[:2]]
    assert len(levels[1]) <= 0.1 * len(levels[0])
    for x in (4, 12, 20):
        whole, first = (outlines(one[(np.abs(one[:, :, 0] - x) < 2).all(axis=1)]) for one in levels)
        assert (first > 0.9 * whole).all()


def test_nothing_is_left_of_a_small_object_across_a_border():
    scene = spared(2, 38)
    cube = cube_arrays()[0]
    two_parts(scene, "hut", cube, cube * [0.2, 1, 0.2] + [1, 1, 0])
    scene.put("hut", "hut", translation=[24.8, 0.5, -12], scale=[0.7, 0.7, 0.7])
    built = build({GLB: scene.glb()})
    for suffix, is_there in (("", True), ("_hlod", False)):
        for x in (0, 1):
            corners = corners_of(built.read(f"tile_{x}_0_0{suffix}"))
            # The hut is between the two houses, which end at 18 and begin at 32.
            middle = corners.mean(axis=1)[:, 0]
            assert ((middle > 19) & (middle < 31)).any() == is_there


def test_tile_that_has_nothing_else_keeps_no_edge_of_a_part_that_its_neighbour_drops():
    scene = houses([(12, -12)], 8)
    scene.put("hut", "cube", translation=[25, 0.75, -12], scale=[1.5, 1.5, 1.5])
    built = build({GLB: scene.glb()})
    for suffix, is_there in (("_lod2", True), ("_hlod", False)):
        sides = [corners_of(built.read(f"tile_{x}_0_0{suffix}")) for x in (0, 1)]
        edges = [border_edges(side, 0, 25) for side in sides]
        assert edges[0] == edges[1]
        assert bool(edges[0]) == is_there
        # A file of no triangles could not be read.
        assert len(sides[1]) > 0


def test_two_materials_of_one_surface_stay_together_on_every_level():
    position, normal, uv, triangles = grid_arrays(30, 24, 2.0)
    west = position[triangles].mean(axis=1)[:, 0] < 12
    scene = Scene()
    colours = [scene.add("materials", name=name) for name in ("grass", "sand")]
    for name, chosen, colour in zip("we", (west, ~west), colours, strict=True):
        scene.shape(name, (position, normal, uv, triangles[chosen]), colour)
    halves = [scene.json["meshes"][scene.meshes[name]]["primitives"][0] for name in "we"]
    scene.meshes["both"] = scene.add("meshes", name="both", primitives=halves)
    scene.put("ground", "both", translation=[0.5, 0, -0.5])
    built = build({GLB: scene.glb()})
    lengths = []
    for suffix in LEVELS:
        meshes = built.read(f"tile_0_0_0{suffix}")["meshes"]
        rims = [open_rim(one["position"][one["triangles"]]) for one in meshes]
        shared = rims[0] & {(end, start) for start, end in rims[1]}
        # Along the line between both, all that is open of one is open of the other.
        assert {edge for edge in rims[0] if edge[0][0] == edge[1][0] == 12.5} <= shared
        lengths.append(len(shared))
    assert lengths[0] == 30
    assert lengths[-1] < 30


def open_rim(corners: np.ndarray) -> set:
    """The edges of triangles that no other triangle has, as pairs of positions."""
    edges = {
        (tuple(one), tuple(other))
        for triangle in corners.tolist()
        for one, other in zip(triangle, triangle[1:] + triangle[:1], strict=True)
    }
    return {(one, other) for one, other in edges if (other, one) not in edges}


def test_texture_keeps_its_scale_where_corners_cross_seams():
    """A ball of flat faces, each with its own part of the texture, loses half of its triangles."""
    ring, turn = np.meshgrid(np.arange(17), np.arange(32), indexing="ij")
    angle, rise = 2 * np.pi * turn / 32, np.pi * ring / 16
    ball = np.stack(
        [np.sin(rise) * np.cos(angle), np.cos(rise), np.sin(rise) * np.sin(angle)], axis=-1
    )
    low = (32 * ring[:-1] + turn[:-1]).reshape(-1)
    right = (32 * ring[:-1] + (turn[:-1] + 1) % 32).reshape(-1)
    quads = np.concatenate(
        [np.stack([low, right, right + 32], 1), np.stack([low, right + 32, low + 32], 1)]
    )
    corners = 3 * ball.reshape(-1, 3)[quads]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    corners = corners[np.linalg.norm(normal, axis=1) > 1e-6]
    flat = corners.reshape(-1, 3)
    scene = Scene()
    uv = flat[:, [0, 2]] / 10
    scene.shape("ball", (flat, None, uv, np.arange(len(flat)).reshape(-1, 3)))
    scene.put("ball", "ball", translation=[12, 4, -12])
    built = build({GLB: scene.glb()}, lods=[0.5], hlod=0)
    (mesh,) = built.read("tile_0_0_0_lod1")["meshes"]
    assert len(mesh["triangles"]) <= 0.55 * len(corners)
    expected = (mesh["position"][:, [0, 2]] - [12, -12]) / 10
    drawn = np.stack([mesh["uv"][:, 0], 1 - mesh["uv"][:, 1]], axis=1)
    # A face that turned shows a little of what is beside its own part of the texture.
    assert np.abs(drawn - expected).max() < 0.1


def test_levels_have_the_materials_and_textures_of_their_tile():
    built = build({GLB: houses([(5, -5)], 4.0, {"name": "brick"}).glb()})
    found = [built.read(f"tile_0_0_0{suffix}") for suffix in ("", "_lod1", "_lod2", "_hlod")]
    assert all(one["materials"] == found[0]["materials"] for one in found)
    assert all(one["entities"] == found[0]["entities"] for one in found)


def test_number_of_levels_is_that_of_the_options():
    built = build({GLB: houses([(5, -5)]).glb()}, lods=[0.7, 0.5, 0.3], hlod=0)
    (tile,) = built.manifest["tiles"]
    assert [one["path"][-11:] for one in tile["lod_levels"]] == [
        "lod1.untold",
        "lod2.untold",
        "lod3.untold",
    ]
    assert tile["hlod_levels"] == []


def test_spanning_object_is_cut_where_tiles_are_few_and_shared_otherwise():
    most = Box((0, 0, -490), (490, 1, 0))
    assert assign_tiles(most, GRID, clip=True) == ((0, 19), (0, 0), (0, 19))
    built = build({GLB: sheet(90).glb()}, lods=[], hlod=0)
    assert len(built.manifest["tiles"]) == 16
    assert built.manifest["shared_bucket"] is None
    built = build({GLB: sheet(530).glb()}, lods=[], hlod=0)
    shared = built.manifest["shared_bucket"]
    assert built.manifest["tiles"] == []
    assert shared["path_relative_to_manifest"] == "city/city_shared.untold"
    assert built.read("city_shared")["type"] == 4
    assert (shared["streaming_radius"], shared["unload_radius"]) == (374.767, 562.15)
    assert any("shared bucket" in one for one in built.warnings)


def test_dense_object_is_cut_into_as_many_tiles_as_its_triangles_are_worth():
    box = Box((0, 0, -1000), (1000, 50, 0))
    assert assign_tiles(box, GRID, clip=True, triangles=64 * 1600) == ((0, 39), (0, 0), (0, 39))
    assert assign_tiles(box, GRID, clip=True, triangles=64 * 1600 - 1) is None
    huge = Box((0, 0, -10000), (10000, 50, 0))
    assert assign_tiles(huge, GRID, clip=True, triangles=1 << 40) is None


def test_dense_terrain_is_cut_without_loss_into_more_tiles_than_others(monkeypatch):
    monkeypatch.setattr("encoders.untold.scene.grid.MAX_CUT_TILES", 4)
    terrain = sheet(70, 20, 3.0).glb()
    built = build({GLB: terrain}, lods=[], hlod=0)
    assert len(built.manifest["tiles"]) == 9
    assert built.manifest["shared_bucket"] is None
    assert built.warnings == []
    whole = area(np.concatenate([corners_of(one) for one in built.tiles().values()]))
    uncut = build({GLB: terrain}, tile_size=[100, 10000, 100], lods=[], hlod=0)
    assert whole == pytest.approx(area(corners_of(uncut.read("tile_0_0_0"))), rel=1e-4)
    sparse = build({GLB: sheet(70, 6, 3.0).glb()}, lods=[], hlod=0)
    assert sparse.manifest["tiles"] == []


def test_warning_of_the_shared_bucket_names_a_tile_size_that_cuts_the_object(monkeypatch):
    monkeypatch.setattr("encoders.untold.scene.grid.MAX_CUT_TILES", 16)
    built = build({GLB: sheet(1200).glb()}, lods=[], hlod=0)
    (warning,) = (one for one in built.warnings if "shared bucket" in one)
    assert '"ground"' in warning
    assert "`tile_size = [375, 10000, 375]`" in warning
    built = build({GLB: sheet(1200).glb()}, tile_size=[375, 10000, 375], lods=[], hlod=0)
    assert built.manifest["shared_bucket"] is None
    assert not any("shared bucket" in one for one in built.warnings)
    uncut = build({GLB: sheet(1200).glb()}, clip=False, lods=[], hlod=0)
    assert any("`clip = true`" in one for one in uncut.warnings)


def test_too_many_vertices_in_the_shared_bucket_do_not_advise_smaller_tiles(monkeypatch):
    monkeypatch.setattr("encoders.untold.node_level.VERTEX_LIMIT", 40)
    built = build({GLB: sheet(1200).glb()}, lods=[], hlod=0)
    (warning,) = (one for one in built.warnings if "vertices" in one)
    assert "get its objects into tiles" in warning
    assert "smaller" not in warning


def test_spanning_object_is_shared_where_nothing_is_cut():
    built = build({GLB: sheet(120).glb()}, clip=False, lods=[], hlod=0)
    assert built.manifest["tiles"] == []
    assert built.manifest["shared_bucket"]["tile_id"] == "city_shared"


def test_object_without_declared_bounds_is_shared():
    scene = houses([(5, -5)])
    for accessor in scene.json["accessors"]:
        accessor.pop("min", None)
    built = build({GLB: scene.glb()})
    assert built.manifest["shared_bucket"] is not None
    assert built.manifest["tiles"] == []


def test_object_outside_of_its_declared_bounds_is_refused():
    scene = houses([(5, -5)])
    scene.json["accessors"][0]["max"] = [0.0, 0.5, 0.5]
    scene.json["accessors"][0]["min"] = [-0.5, -0.5, -0.5]
    scene.json["nodes"][0]["scale"] = [45, 4, 4]
    with pytest.raises(EncodeError, match="not within the bounds"):
        build({GLB: scene.glb()})


def test_turned_object_makes_no_empty_tile():
    scene = Scene()
    scene.shape("cube", cube_arrays())
    scene.shape("rod", (cube_arrays()[0] * [30, 1, 0.1], *cube_arrays()[1:]))
    turned = [0, float(np.sin(np.pi / 8)), 0, float(np.cos(np.pi / 8))]
    scene.put("rod", "rod", translation=[25, 1, -22], rotation=turned)
    built = build({GLB: scene.glb()})
    planned = {node.name for node in built.nodes if node.name.endswith("_cut")}
    assert len(planned) == 4
    assert len(built.manifest["tiles"]) == 3
    names = {name.split(".")[0].removeprefix("city/") for name in built.files}
    assert sum(1 for name in names if name.startswith("tile") and "od" not in name) == 3


def test_tiles_split_by_height_count_from_the_lowest_point():
    scene = Scene()
    scene.shape("cube", cube_arrays())
    scene.put("tower", "cube", translation=[5, 12, -5], scale=[2, 30, 2])
    built = build({GLB: scene.glb()}, tile_size=[25, 10, 25], lods=[], hlod=0)
    assert sorted(built.tiles()) == ["tile_0_0_0", "tile_0_1_0", "tile_0_2_0"]
    assert built.tiles()["tile_0_0_0"]["bounds"][0][1] == -3


def test_too_many_vertices_in_a_tile_are_a_warning(monkeypatch):
    monkeypatch.setattr("encoders.untold.node_level.VERTEX_LIMIT", 20)
    warnings = build({GLB: houses([(5, -5)]).glb()}, lods=[], hlod=0).warnings
    assert any("24 vertices" in one for one in warnings)


def test_scene_without_triangles_is_refused():
    scene = Scene()
    scene.add("nodes", name="empty")
    with pytest.raises(EncodeError, match="no triangles"):
        build({GLB: scene.glb()})


def test_distances_are_those_of_a_real_scene():
    radii = tile_radii(25.0, 110.101)
    assert (round(radii.streaming, 3), round(radii.unload, 3)) == (38.535, 57.803)
    hlod = hlod_distance(radii)
    assert round(hlod, 2) == 53.80
    assert [round(one, 2) for one in lod_distances(radii, 2, hlod)] == [44.15, 48.15]


def normalised(radii: Radii, hlod: float | None, lods: list[float]) -> tuple:
    """What the runtime makes of distances: it moves what is too near and drops what is left."""
    unload = max(radii.unload, radii.streaming + 4)
    if hlod is not None:
        hlod = min(max(hlod, radii.streaming + 4), unload - 1)
    limit = unload - 4 if hlod is None else hlod - 4
    least, found = max(1.0, 0.35 * radii.streaming), []
    for one in sorted(lods):
        # Decimal fractions are not exact in binary.
        found.append(one if one >= least - 1e-9 else least)
        least = found[-1] + 4
    return unload, hlod, [one for one in found if one <= limit + 1e-9]


@given(st.floats(0, 5000), st.floats(0.01, 1e6), st.integers(0, 8), st.booleans())
def test_runtime_takes_every_distance_as_it_is_written(half, tile, count, has_hlod):
    radii = tile_radii(tile, half, count, has_hlod=has_hlod)
    hlod = hlod_distance(radii, count) if has_hlod else None
    found = lod_distances(radii, count, hlod)
    assert len(found) == count
    assert normalised(radii, hlod, found) == (radii.unload, hlod, found)
    assert [round(one, 2) for one in found] == found
    assert radii.unload <= 500
    assert radii.streaming >= 0


def test_small_and_large_scenes_have_levels_that_the_runtime_keeps():
    for size, tile_size in ((4.0, [25, 10000, 25]), (600.0, [600, 10000, 600])):
        scene = houses([(0, 0), (size, -size)], 1.0)
        document = build({GLB: scene.glb()}, tile_size=tile_size).manifest
        defaults = document["streaming_defaults"]
        radii = Radii(defaults["streaming_radius"], defaults["unload_radius"])
        for tile in document["tiles"]:
            lods = [one["switch_distance"] for one in tile["lod_levels"]]
            (hlod,) = (one["switch_distance"] for one in tile["hlod_levels"])
            assert normalised(radii, hlod, lods) == (radii.unload, hlod, lods)


def test_radii_of_shared_and_small_scenes():
    assert half_diagonal(30, 40) == 25
    assert shared_radii(100.0).unload == 150
    assert tile_radii(25.0, 1000.0).streaming == 50
    assert tile_radii(25.0, 1000.0).unload == 75
    assert shared_radii(2.0).unload == 6


@pytest.mark.parametrize(
    ("low", "high", "label"),
    [
        ((0, 0, 0), (100, 1, 1), "local_overlap"),
        ((0, 0, 0), (100.5, 1, 1), "shared_bucket"),
        ((1, 0, 1), (99, 1, 99), "local_overlap"),
        ((-1, 0, -1), (98, 1, 98), "shared_bucket"),
        ((0, 0, 0), (1, 900, 1), "local_overlap"),
        ((0, 0, 0), (376, 1, 1), "future_split_candidate"),
    ],
)
def test_object_is_classified_by_its_size_on_the_ground(low, high, label):
    assert classify(Box(low, high), GRID) == label


def test_touching_a_border_is_not_lying_across_it():
    assert assign_tiles(Box((0, 0, -25), (25, 5, 0)), GRID, clip=True) == ((0, 0), (0, 0), (0, 0))
    assert assign_tiles(Box((0, 0, -25), (25.001, 5, 0)), GRID, clip=True) == (
        (0, 1),
        (0, 0),
        (0, 0),
    )
    assert assign_tiles(Box((25, 0, 0), (25, 5, 0)), GRID, clip=True) == ((1, 1), (0, 0), (0, 0))


def test_chosen_tile_size_keeps_tiles_small_and_few():
    boxes = [Box((x, 0, z), (x + 1, 1, z + 1)) for x in range(0, 300, 5) for z in range(0, 300, 5)]
    size = auto_size(boxes)[0]
    assert size % 5 == 0
    assert 5 <= size <= 30
    assert auto_size(boxes[:1]) == (5.0, 10000.0, 5.0)
    built = build({GLB: houses([(5, -5), (80, -90)]).glb()}, tile_size="auto")
    assert built.manifest["tile_size_mode"] == "auto"


def test_lower_versions_warn_of_light_and_newer_ones_keep_it():
    glow = {"name": "lamp", "emissiveFactor": [1, 0.5, 0]}
    old = build({GLB: houses([(5, -5)], 4.0, glow).glb()})
    assert any("emissive" in one for one in old.warnings)
    new = build({GLB: houses([(5, -5)], 4.0, glow).glb()}, format_version=4)
    assert new.warnings == []
    found = new.read("tile_0_0_0")
    assert (found["version"], found["materials"][0]["emissive"]) == (4, (1, 0.5, 0))


def test_hashed_names_are_the_same_everywhere():
    built = build({GLB: houses([(5, -5)]).glb()}, hashed_names=True)
    (tile,) = built.manifest["tiles"]
    paths = [tile["path_relative_to_manifest"]]
    paths += [one["path"] for one in (*tile["lod_levels"], *tile["hlod_levels"])]
    assert all(path in built.files for path in paths)
    assert all(len(path.split("_")[-1].split(".")[0]) == 16 for path in paths)
    manifests = [name for name in built.files if name.endswith(".json")]
    assert len(manifests) == 2
    assert len({built.files[name] for name in manifests}) == 1


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_tiles_hold_the_same(compression):
    if compression == "zstd":
        pytest.importorskip("zstandard")
    scene = sheet(24, 20, 1.0).glb()
    plain, packed = build({GLB: scene}), build({GLB: scene}, compression=compression)
    one, other = plain.read("tile_0_0_0"), packed.read("tile_0_0_0")
    assert set(other["compressed"]) == {6, 7}
    assert np.array_equal(corners_of(one), corners_of(other))
    (tile,) = packed.manifest["tiles"]
    assert tile["file_size_bytes"] < plain.manifest["tiles"][0]["file_size_bytes"]
    refused = [one for one in packed.warnings if "engines released so far refuse" in one]
    assert len(refused) == (compression == "zstd")


def test_order_of_nodes_changes_only_what_is_in_their_tile():
    places = [(5, -5), (30, -5), (55, -5)]
    before = build({GLB: houses(places).glb()})
    scene = houses(places)
    scene.json["nodes"][1]["translation"][1] += 1
    after = build({GLB: scene.glb()})
    changed = {name for name in after.files if before.files.get(name) != after.files[name]}
    assert all("tile_1_0_0" in name or name == "city.json" for name in changed)
    assert len(changed) == 5


@pytest.mark.parametrize("place", [(-60, -5), (90, -5), (5, 60), (5, -90)])
def test_building_at_any_edge_renames_and_changes_no_other_tile(place):
    places = [(5, -5), (30, -5)]
    before = build({GLB: houses(places).glb()})
    after = build({GLB: houses([*places, place]).glb()})
    for name, data in before.files.items():
        if name != "city.json":
            assert after.files[name] == data
    assert len(json.loads(after.files["city.json"])["tiles"]) == 3


def test_normal_mapped_surface_has_one_tangent_on_both_sides_of_a_cut():
    scene = Scene()
    scene.image(plain(2, 2, (128, 128, 255)))
    scene.add("textures", source=0)
    number = scene.add("materials", name="bumps", normalTexture={"index": 0})
    scene.shape("sheet", grid_arrays(10, 50, 4.0), number)
    scene.put("sheet", "sheet")
    built = build({GLB: scene.glb()}, lods=[], hlod=0)
    sides = []
    for name in ("tile_0_0_0", "tile_1_0_0"):
        (mesh,) = built.read(name)["meshes"]
        rows = np.flatnonzero(mesh["position"][:, 0] == 25)
        sides.append({tuple(mesh["position"][row]): tuple(mesh["tangent"][row]) for row in rows})
    assert len(sides[0]) >= 6
    assert sides[0] == sides[1]


def test_fine_terrain_is_cut_into_tiles_of_the_default_size():
    built = build({GLB: sheet(100, 24, 5.0).glb()}, lods=[], hlod=0)
    assert len(built.tiles()) == 16
    assert built.warnings == []
