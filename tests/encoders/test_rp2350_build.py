"""The RP2350 target through doit: what is built, when, and what users are told."""

import json

import numpy as np
import pytest
from PIL import Image

from tests.encoders.rp2350_game import ball, make_game, player, png, wood
from tests.pipeline.game import Game

OUT = "build/rp2350"


@pytest.fixture
def game(tmp_path):
    return make_game(tmp_path / "game")


def names(game):
    return {name.removeprefix(f"{OUT}/") for name in game.outputs()}


def test_a_build_makes_a_flat_folder_that_the_module_names(game):
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    made = names(game)
    assert {"mod.rs", "textures_player.rs", "textures_player_rgba4444.bin"} <= made
    assert {"textures_wood.rs", "textures_wood_bc1.bin", "meshes_ball.rs"} <= made
    patches = len([name for name in made if name.endswith(".bin") and "_patch" in name])
    includes = [f"meshes_ball_patch{number}.rs" for number in range(patches)]
    text = game.read(f"{OUT}/mod.rs").decode()
    listed = [line.split('"')[1] for line in text.splitlines() if line.startswith("include!")]
    assert listed == ["textures_player.rs", "textures_wood.rs", *includes, "meshes_ball.rs"]
    assert "// Source: assets/\n" in text
    assert game.doit().built == []


def test_an_edited_texture_builds_itself_and_nothing_else(game):
    game.doit()
    before = game.outputs()
    image = player()
    image[0, 0] = 255 - image[0, 0]
    game.write("assets/textures/player.png", png(image))
    ran = game.doit()
    assert ran.built == ["rp2350:textures/player"]
    changed = {name for name, data in game.outputs().items() if before[name] != data}
    assert changed == {f"{OUT}/textures_player_rgba4444.bin"}


def test_adding_and_removing_an_asset_touches_its_files_and_the_module_only(game):
    game.doit()
    before = game.outputs()
    game.write("assets/textures/enemy.png", png(player()))
    assert game.doit().built == ["rp2350:mod.rs", "rp2350:textures/enemy"]
    after = game.outputs()
    added = {f"{OUT}/textures_enemy.rs", f"{OUT}/textures_enemy_rgba4444.bin"}
    assert after.keys() - before.keys() == added
    assert {name for name in before if before[name] != after[name]} == {f"{OUT}/mod.rs"}
    game.remove("assets/textures/enemy.png")
    game.doit()
    assert game.outputs() == before


def test_a_mesh_that_shrinks_leaves_no_patch_behind(game):
    game.doit()
    assert f"{OUT}/meshes_ball_patch3.bin" in game.outputs()
    game.write("assets/meshes/ball.obj", ball(4, 2))
    assert game.doit().built == ["rp2350:meshes/ball", "rp2350:mod.rs"]
    patches = sorted(name for name in names(game) if "_patch" in name)
    assert patches == ["meshes_ball_patch0.bin", "meshes_ball_patch0.rs"]


def test_auto_changes_the_data_file_with_the_pixels(game):
    game.doit()
    image = wood()
    image[0, 0, 3] = 0
    game.write("assets/textures/wood.png", png(image))
    assert game.doit().built == ["rp2350:textures/wood"]
    made = names(game)
    assert "textures_wood_rgba4444.bin" in made
    assert "textures_wood_bc1.bin" not in made


def test_options_rebuild_only_what_they_concern(game):
    game.doit()
    game.write(
        "manifests/rp2350.toml",
        game.read("manifests/rp2350.toml").decode()
        + '[defaults.texture]\nquality = "best"\n[defaults.mesh]\nstrip = false\n',
    )
    assert game.doit().built == ["rp2350:meshes/ball", "rp2350:mod.rs", "rp2350:textures/wood"]


def test_no_assets_give_an_empty_module(game):
    game.remove("assets")
    assert game.doit().code == 0
    assert names(game) == {"mod.rs"}
    assert b"include!" not in game.read(f"{OUT}/mod.rs")


def test_colliding_sources_are_named_before_anything_is_built(game):
    game.write("assets/textures/foo@bar.png", png(player()))
    game.write("assets/textures/foo_bar.png", png(player()))
    game.write("assets/props/crate.png", png(player()))
    game.write("assets/props/crate.obj", ball(4, 2))
    game.write("assets/meshes/ball_patch7.png", png(player()))
    ran = game.doit()
    assert ran.code == 3
    said = ran.out + ran.err
    assert "assets/textures/foo@bar.png and assets/textures/foo_bar.png" in said
    assert "assets/props/crate.obj and assets/props/crate.png" in said
    assert "assets/meshes/ball_patch7.png and a patch of assets/meshes/ball.obj" in said
    assert game.outputs() == {}


def test_a_broken_asset_is_told_and_the_rest_is_built(game):
    game.write("assets/textures/odd.png", png(np.zeros((12, 8, 4), np.uint8)))
    ran = game.doit()
    assert ran.code == 1
    assert ran.failed == ["rp2350:mod.rs", "rp2350:textures/odd"]
    assert "rp2350:textures/odd  texture size is not a power of two" in ran.out
    assert "file     assets/textures/odd.png" in ran.out
    assert "Resize the image to 8x8 or 8x16." in ran.out
    made = names(game)
    assert "textures_player.rs" in made
    assert "mod.rs" not in made
    assert "textures_odd.rs" not in made


def test_missing_buffer_of_a_gltf_fails_by_name_until_it_is_there(game):
    document = {
        "asset": {"version": "2.0"},
        "buffers": [{"uri": "tri.bin", "byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
            | {"min": [0, 0, 0], "max": [1, 1, 0]}
        ],
        "images": [{"uri": "never.png"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    }
    game.write("assets/meshes/tri.gltf", json.dumps(document))
    ran = game.doit()
    assert "rp2350:meshes/tri" in ran.failed
    assert "tri.bin" in ran.out
    floats = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], "<f4").tobytes()
    game.write("assets/meshes/tri.bin", floats)
    ran = game.doit()
    assert ran.built == ["rp2350:meshes/tri", "rp2350:mod.rs"]
    assert game.read(f"{OUT}/meshes_tri_patch0.bin")[:6].hex() == "0000ffff0000"


def test_warnings_and_costs_are_told(game):
    game.write("assets/meshes/bare.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    ran = game.doit()
    assert "rp2350:meshes/bare: no corner has a UV" in ran.out
    assert "vertices stored per source vertex 1.000" in ran.out


def test_inspect_reads_every_file_and_exports_pictures_and_geometry(game):
    game.doit()
    for name in game.outputs():
        ran = game.doit("inspect", name, "--json")
        assert ran.code == 0, name + ran.err
        json.loads(ran.out)
    module = json.loads(game.doit("inspect", f"{OUT}/mod.rs", "--json").out)
    assert (module["textures"], module["meshes"]) == (2, 1)
    game.doit("inspect", f"{OUT}/textures_player.rs", "--render", "player.png")
    with Image.open(game.path("player.png")) as picture:
        assert np.array_equal(np.array(picture), player() // 16 * 17)
    game.doit("inspect", f"{OUT}/textures_wood.rs", "--render", "wood.png")
    with Image.open(game.path("wood.png")) as picture:
        assert np.abs(np.array(picture)[:32, :64].astype(int) - wood()).mean() < 6
    game.doit("inspect", f"{OUT}/meshes_ball.rs", "--obj", "ball.obj")
    lines = game.read("ball.obj").decode().splitlines()
    assert len([line for line in lines if line.startswith("f ")]) == 144
    ran = game.doit("inspect", f"{OUT}/meshes_ball.rs", "--render", "ball.png", "--size", "99x77")
    assert "wrote ball.png (" in ran.out
    with Image.open(game.path("ball.png")) as picture:
        assert picture.size == (99, 77)


def test_inspect_refuses_a_file_that_was_cut_or_lost_its_wrapper(game):
    game.doit()
    name = f"{OUT}/meshes_ball_patch0.bin"
    data = game.read(name)
    game.write(name, data[:-1])
    ran = game.doit("inspect", name)
    assert ran.code == 1
    assert "size that its wrapper says" in ran.err
    assert game.doit("inspect", f"{OUT}/mod.rs").code == 1
    game.write(name, data)
    assert game.doit("inspect", f"{OUT}/mod.rs").code == 0
    game.remove(f"{OUT}/meshes_ball_patch0.rs")
    assert "missing" in game.doit("inspect", name).err


def test_encoders_keep_their_hands_off_the_disk(game):
    assert game.doit("run", "--lint").code == 0


def test_any_process_with_any_hash_seed_and_any_workers_gives_the_same_bytes(tmp_path):
    made = []
    for number, words in enumerate([(), ("-n", "2")]):
        game = make_game(tmp_path / str(number))
        ran = game.process("run", *words, PYTHONHASHSEED=str(number))
        assert ran.code == 0, ran.err
        made.append(game.outputs())
    assert made[0] == made[1]
    game.doit("run", "--always-execute")
    assert game.outputs() == made[0]


def test_a_second_broken_model_of_the_same_content_is_named_by_its_own_path(tmp_path):
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    manifest = 'target = "rp2350"\n[[asset]]\nsource = "assets/*.obj"\n'
    game.write("manifests/rp2350.toml", manifest)
    for name in ("a", "c"):
        game.write(f"assets/{name}.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n")
        out = game.doit().out
    message = out.partition("\nrp2350:c  ")[2].partition("\n\n")[0]
    assert "assets/c.obj" in message
    assert "assets/a.obj" not in message
