"""Scenes of UntoldEngine from a game's repository, through doit, as a user has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.encoders.untold_reader import corners_of, read
from tests.encoders.untold_scene import houses, plain
from tests.pipeline.game import Game

MANIFEST = """target = "untold"

[[scene]]
name = "city"
source = "assets/city.glb"
"""
PLACES = [(5, -5), (30, -5), (55, -5)]
LEVELS = ("", "_hlod", "_lod1", "_lod2")
WALL = """mtllib wall.mtl
usemtl brick
v 1 0 -1
v 4 0 -1
v 1 3 -1
vt 0 0
vt 1 0
vt 0 1
f 1/1 2/2 3/3
"""


@pytest.fixture
def game(tmp_path: Path) -> Game:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.write("manifests/untold.toml", MANIFEST)
    game.write("assets/city.glb", houses(PLACES).glb())
    return game


def add_wall(game: Game) -> None:
    game.write("manifests/untold.toml", MANIFEST.replace('"assets/city.glb"', '"assets/*"'))
    game.write("assets/wall.obj", WALL)
    game.write("assets/wall.mtl", "newmtl brick\nmap_Kd brick.png\n")
    game.write("assets/brick.png", plain(4, 4, (200, 80, 60)))


def tile_tasks(*tiles: str) -> list[str]:
    suffixes = ("", "_cut", "_simplified", *LEVELS[1:])
    return [f"untold:city/{tile}{suffix}" for tile in tiles for suffix in suffixes]


def test_scene_becomes_tiles_levels_and_a_manifest(game):
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    tiles = [f"tile_{x}_0_0" for x in range(3)]
    assert ran.built == sorted(["untold:city", "untold:city/read/city.glb", *tile_tasks(*tiles)])
    files = [f"build/untold/city/{tile}{level}.untold" for tile in tiles for level in LEVELS]
    assert sorted(game.outputs()) == sorted(["build/untold/city.json", *files])
    assert game.doit().built == []


def test_object_that_moves_within_its_tile_builds_its_tile_alone(game):
    game.doit()
    scene = houses(PLACES)
    scene.json["nodes"][1]["translation"][1] += 0.5
    game.write("assets/city.glb", scene.glb())
    ran = game.doit()
    assert ran.built == sorted(
        ["untold:city", "untold:city/read/city.glb", *tile_tasks("tile_1_0_0")]
    )


def test_object_that_moves_to_another_tile_builds_both(game):
    game.doit()
    game.write("assets/city.glb", houses([PLACES[0], PLACES[1], (30, -15)]).glb())
    ran = game.doit()
    assert ran.built == sorted(
        ["untold:city", "untold:city/read/city.glb", *tile_tasks("tile_1_0_0")]
    )
    assert not any("tile_2" in name for name in game.outputs())


@pytest.mark.parametrize("place", [(-20, -5), (80, -5), (5, 20), (5, -40)])
def test_building_at_any_edge_builds_its_tile_alone(game, place):
    game.doit()
    before = game.outputs()
    game.write("assets/city.glb", houses([*PLACES, place]).glb())
    ran = game.doit()
    assert len(ran.built) == 8
    after = game.outputs()
    same = {name for name in before if after.get(name) == before[name]}
    assert set(before) - same == {"build/untold/city.json"}


def test_source_of_its_own_builds_what_it_lies_in(game):
    add_wall(game)
    game.doit()
    game.write("assets/wall.obj", WALL.replace("v 1 3", "v 1 2"))
    # The HLOD is without the wall, which is 3 m wide; files stay as large, so the manifest stays.
    suffixes = ("", "_cut", "_simplified", "_lod1", "_lod2")
    tasks = [f"untold:city/tile_0_0_0{suffix}" for suffix in suffixes]
    assert game.doit().built == sorted(["untold:city/read/wall.obj", *tasks])


def test_image_builds_the_tiles_that_show_it(game):
    add_wall(game)
    game.doit()
    game.write("assets/brick.png", plain(4, 4, (1, 2, 3)))
    ran = game.doit()
    levels = [f"untold:city/tile_0_0_0{level}" for level in LEVELS]
    # The manifest says nothing of textures.
    assert ran.built == sorted(["untold:city/Textures/brick", *levels])
    textures = [name for name in game.outputs() if "Textures" in name]
    assert len(textures) == 1


def test_image_that_becomes_equal_to_another_shares_its_texture_until_it_differs(game):
    add_wall(game)
    game.write("assets/gate.obj", WALL.replace("wall.mtl", "gate.mtl"))
    game.write("assets/gate.mtl", "newmtl brick\nmap_Kd gate.png\n")
    game.write("assets/gate.png", plain(4, 4, (1, 2, 3)))
    game.doit()
    apart = game.outputs()
    assert len([name for name in apart if "Textures" in name]) == 2
    game.write("assets/gate.png", (game.root / "assets/brick.png").read_bytes())
    assert game.doit().code == 0
    assert len([name for name in game.outputs() if "Textures" in name]) == 1
    assert game.doit("inspect", "build/untold/city.json").code == 0
    game.write("assets/gate.png", plain(4, 4, (1, 2, 3)))
    assert game.doit().code == 0
    assert game.outputs() == apart


def test_material_builds_the_tiles_that_show_it(game):
    add_wall(game)
    game.doit()
    game.write("assets/wall.mtl", "newmtl brick\nKd 1 0 0\nmap_Kd brick.png\n")
    assert game.doit().built == sorted(["untold:city/read/wall.obj", *tile_tasks("tile_0_0_0")])


def test_option_of_levels_leaves_the_tiles_alone(game):
    game.doit()
    game.write("manifests/untold.toml", MANIFEST + "lods = [0.5, 0.3]\n")
    ran = game.doit()
    # A box is as simple at any share, so of what hangs on these levels only the line about what
    # was asked for is new.
    assert ran.built == [
        "untold:city",
        *(f"untold:city/tile_{x}_0_0_{one}" for x in range(3) for one in ("lod2", "simplified")),
    ]


def test_missing_texture_fails_what_shows_it_and_its_coming_mends_it(game):
    add_wall(game)
    game.remove("assets/brick.png")
    ran = game.doit()
    assert ran.code == 1
    assert (
        "untold:city/Textures/brick  texture not found\n"
        '  asset     assets/wall.obj, material "brick"\n'
        "  file      assets/brick.png\n"
        "  named in  assets/wall.mtl, line 2\n"
        "Add the image, or take `map_Kd` out of the material.\n"
    ) in ran.out
    assert "untold:city/tile_1_0_0" in ran.built
    game.write("assets/brick.png", plain(2, 2))
    assert game.doit().code == 0
    assert "build/untold/city.json" in game.outputs()


def test_damaged_texture_fails_what_shows_it_alone(game):
    add_wall(game)
    game.write("assets/brick.png", plain(4, 4)[:40])
    ran = game.doit()
    assert ran.code == 1
    assert "untold:city/Textures/brick" in ran.failed
    assert "untold:city/tile_1_0_0" in ran.built


def test_image_of_a_material_that_nothing_uses_is_not_needed(game):
    add_wall(game)
    more = "newmtl brick\nmap_Kd brick.png\nnewmtl other\nmap_Kd absent.png\n"
    game.write("assets/wall.mtl", more)
    assert game.doit().code == 0
    assert len([name for name in game.outputs() if "Textures" in name]) == 1


def test_broken_scene_does_not_hold_up_another(game):
    game.write("assets/town.glb", b"glTF not at all")
    town = MANIFEST + '[[scene]]\nname = "town"\nsource = "assets/town.glb"\n'
    game.write("manifests/untold.toml", town)
    ran = game.doit()
    assert ran.code == 1
    assert ran.failed == ["untold:town"]
    assert "build/untold/city.json" in game.outputs()


def test_two_scenes_have_folders_of_their_own(game):
    game.write("assets/town.glb", houses([(5, -5)]).glb())
    town = MANIFEST + '[[scene]]\nname = "town"\nsource = "assets/town.glb"\nhlod = 0\nlods = []\n'
    game.write("manifests/untold.toml", town)
    assert game.doit("untold:town").code == 0
    names = sorted(game.outputs())
    assert names == ["build/untold/town.json", "build/untold/town/tile_0_0_0.untold"]


def test_hashed_names_change_with_the_content_and_old_files_go(game):
    game.write("manifests/untold.toml", MANIFEST + "hashed_names = true\n")
    game.doit()
    before = set(game.outputs())
    scene = houses(PLACES)
    scene.json["nodes"][1]["translation"][1] += 0.5
    game.write("assets/city.glb", scene.glb())
    game.doit()
    after = set(game.outputs())
    assert len(after) == len(before) == 14
    gone = {name.rpartition("_")[0] for name in before - after}
    assert gone == {f"build/untold/city/tile_1_0_0{level}" for level in LEVELS} | {
        "build/untold/city"
    }
    document = json.loads(game.read("build/untold/city.json"))
    for tile in document["tiles"]:
        assert f"build/untold/{tile['path_relative_to_manifest']}" in after
    assert game.doit("inspect", "build/untold/city.json").code == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tile_size = [25, 25]", "a list of 3"),
        ('tile_size = "large"', '"auto"'),
        ("tile_size = [0, 1, 1]", "a number from 0.01"),
        ("lods = [2]", "a number from 0.001 to 1"),
        ("hlod = -1", "a number from 0 to 1"),
        ("clip = 1", "true or false"),
        ('compression = "gzip"', '"none", "lz4"'),
        ("format_version = 2", "1, 4"),
        ('textures = "bc7"', '"png", "astc"'),
        ('hashed_names = "yes"', "true or false"),
        ("tile_sise = 2", "tile_size"),
    ],
)
def test_wrong_option_is_a_manifest_error(game, line, message):
    game.write("manifests/untold.toml", MANIFEST + line + "\n")
    ran = game.doit()
    assert ran.code == 3
    assert message in ran.out + ran.err


def test_inspection_shows_a_tile(game):
    game.doit()
    ran = game.doit("inspect", "build/untold/city/tile_0_0_0.untold")
    assert ran.code == 0
    for line in ("format  untold 1", "type  tile", "triangles  12", "vertices  24"):
        assert f"{line}\n" in ran.out
    found = json.loads(game.doit("inspect", "--json", "build/untold/city/tile_0_0_0.untold").out)
    other = read(game.read("build/untold/city/tile_0_0_0.untold"))["meshes"][0]
    assert found["VERTEX_DATA"][0]["position"] == other["position"].tolist()
    assert found["INDEX_DATA"][0] == other["triangles"].reshape(-1).tolist()


def test_inspection_with_an_export_prints_only_what_it_wrote(game):
    game.doit()
    tile = "build/untold/city/tile_0_0_0.untold"
    ran = game.doit("inspect", tile, "--render", "a.png", "--glb", "a.glb")
    assert ran.code == 0
    assert [line.partition(" (")[0] for line in ran.out.splitlines()] == [
        "wrote a.png",
        "wrote a.glb",
    ]
    both = game.doit("inspect", tile, "--json", "--obj", "a.obj")
    assert json.loads(both.out)["triangles"] == 12
    assert both.err.startswith("wrote a.obj (")
    game.write("bad.untold", game.read(tile)[:-1])
    bad = game.doit("inspect", "bad.untold", "--render", "b.png")
    assert (bad.code, bad.out) == (1, "")
    assert bad.err.startswith("bad.untold  ")
    assert not game.path("b.png").exists()


def test_a_run_tells_which_share_of_the_triangles_each_level_keeps(game):
    out = game.doit().out
    assert "levels keep " in out
    assert out.count("; asked for 50 %, 20 % and 10 %") == 1


def test_inspection_writes_a_tile_as_obj_that_builds_again(game):
    game.doit()
    tile = "build/untold/city/tile_1_0_0.untold"
    assert game.doit("inspect", "--obj", "assets/again.obj", tile).code == 0
    game.write("manifests/untold.toml", MANIFEST.replace("city.glb", "again.obj"))
    before = corners_of(read(game.read(tile)))
    assert game.doit().code == 0
    assert sorted(corners_of(read(game.read(tile))).tolist()) == sorted(before.tolist())


def test_inspection_checks_a_whole_scene(game):
    add_wall(game)
    game.doit()
    ran = game.doit("inspect", "build/untold/city.json")
    assert ran.code == 0
    for line in ("tiles  3", "files  12", "textures  1", "triangles  37"):
        assert f"{line}\n" in ran.out


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["tiles"][0].update(file_size_bytes=5), "a size is not that of the file"),
        (lambda d: d["tiles"][0]["bounds"]["max"].__setitem__(1, 99.0), "bounds are not those"),
        (lambda d: d["tiles"][0]["center"].__setitem__(1, 99.0), "a centre is not"),
        (lambda d: d["tiles"][0].pop("bounds"), "lacks a required key"),
        (lambda d: d["tiles"][0].update(file_size_bytes=5.0), "not a whole number"),
        (lambda d: d["tiles"][0]["lod_levels"][0].update(path="city/no.untold"), "file is missing"),
        (lambda d: d["tiles"][0]["lod_levels"][0].update(path="city/tile_1_0_0.untold"), "reaches"),
        (lambda d: d.pop("tiles"), "no scene manifest"),
        (lambda d: d.pop("version"), "no scene manifest"),
        (lambda d: d["streaming_defaults"].update(priority=1.5), "required key is missing"),
    ],
)
def test_inspection_refuses_a_manifest_that_does_not_fit_its_files(game, change, problem):
    game.doit()
    document = json.loads(game.read("build/untold/city.json"))
    change(document)
    game.write("build/untold/city.json", json.dumps(document))
    ran = game.doit("inspect", "build/untold/city.json")
    assert ran.code == 1
    assert problem in ran.err


def test_inspection_finds_a_missing_texture_and_a_damaged_tile(game):
    add_wall(game)
    game.doit()
    (texture,) = [name for name in game.outputs() if "Textures" in name]
    image = game.read(texture)
    game.remove(texture)
    ran = game.doit("inspect", "build/untold/city.json")
    assert (ran.code, "a texture is missing" in ran.err) == (1, True)
    game.write(texture, image)
    data = bytearray(game.read("build/untold/city/tile_2_0_0_hlod.untold"))
    data[-1] ^= 1
    game.write("build/untold/city/tile_2_0_0_hlod.untold", bytes(data))
    ran = game.doit("inspect", "build/untold/city.json")
    assert (ran.code, "hash" in ran.err) == (1, True)


def test_build_in_guarded_worker_processes_gives_the_same_bytes(game):
    add_wall(game)
    game.doit()
    before = game.outputs()
    game.remove("build")
    game.remove("cache")
    ran = game.process("run", "--lint", "-n", "2", PYTHONHASHSEED="7")
    assert ran.code == 0, ran.out + ran.err
    assert game.outputs() == before
