"""KAC files from a game's repository, through doit, as a user has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from encoders.kac.reader import unpack_kac
from tests.encoders.kac_model import BARREL_MTL, SQUARE, barrel, gltf_square, plain
from tests.encoders.kac_reader import read
from tests.pipeline.game import Game

MANIFEST = """target = "kac"

[[asset]]
source = "assets/**/*"
"""


@pytest.fixture
def game(tmp_path: Path) -> Game:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.write("manifests/kac.toml", MANIFEST)
    game.write("assets/meshes/barrel.obj", barrel())
    game.write("assets/meshes/barrel.mtl", BARREL_MTL)
    game.write("assets/meshes/wood.png", plain(8, 8, (200, 150, 90)))
    game.write("assets/meshes/wood_normal.png", plain(8, 8, (128, 128, 255)))
    game.write("assets/props/sign.glb", gltf_square({}, plain(4, 4)).glb())
    return game


def test_every_model_becomes_a_file_at_its_path(game):
    ran = game.doit()
    assert (ran.code, ran.built) == (0, ["kac:meshes/barrel", "kac:props/sign"])
    outputs = game.outputs()
    assert sorted(outputs) == ["build/kac/meshes/barrel.kac", "build/kac/props/sign.kac"]
    assert len(read(outputs["build/kac/meshes/barrel.kac"])["3MSH"]) == 284
    assert game.doit().built == []


@pytest.mark.parametrize(
    ("name", "content", "built"),
    [
        ("assets/meshes/wood.png", plain(8, 8, (10, 20, 30)), ["kac:meshes/barrel"]),
        ("assets/meshes/barrel.mtl", BARREL_MTL + "# note\n", ["kac:meshes/barrel"]),
        ("assets/meshes/barrel.obj", barrel(12), ["kac:meshes/barrel"]),
        ("assets/props/sign.glb", gltf_square({}, plain(2, 2)).glb(), ["kac:props/sign"]),
        ("assets/meshes/wood_normal.png", plain(4, 4), []),
    ],
)
def test_edit_builds_only_what_it_shows_in(game, name, content, built):
    mtl = BARREL_MTL.replace("map_Kd wood.png", "map_Kd wood.png\nmap_Bump wood_normal.png")
    game.write("assets/meshes/barrel.mtl", mtl)
    game.doit()
    game.write(name, content)
    assert game.doit().built == built


def test_missing_texture_fails_its_model_alone_and_its_coming_mends_it(game):
    game.remove("assets/meshes/wood.png")
    ran = game.doit()
    assert (ran.code, ran.built, ran.failed) == (1, ["kac:props/sign"], ["kac:meshes/barrel"])
    assert (
        "kac:meshes/barrel  texture not found\n"
        '  asset     assets/meshes/barrel.obj, material "staves"\n'
        "  file      assets/meshes/wood.png\n"
        "  named in  assets/meshes/barrel.mtl, line 3\n"
        "Add the image, or take `map_Kd` out of the material.\n"
    ) in ran.out
    game.write("assets/meshes/wood.png", plain(2, 2))
    ran = game.doit()
    assert (ran.code, ran.built) == (0, ["kac:meshes/barrel"])


@pytest.mark.parametrize("library", ["barrel.obj", "wood.png", "barrel.txt", "barrel"])
def test_library_that_is_no_mtl_file_fails_its_model_with_both_names(game, library):
    if not game.path(f"assets/meshes/{library}").exists():
        game.write(f"assets/meshes/{library}", BARREL_MTL)
    obj = game.read("assets/meshes/barrel.obj").decode()
    game.write("assets/meshes/barrel.obj", obj.replace("mtllib barrel.mtl", f"mtllib {library}"))
    ran = game.doit()
    assert (ran.code, ran.failed) == (1, ["kac:meshes/barrel"])
    assert (
        "kac:meshes/barrel  the material library is no .mtl file\n"
        "  asset   assets/meshes/barrel.obj\n"
        f"  mtllib  assets/meshes/{library}\n"
    ) in ran.out


def test_texture_that_is_named_in_another_case_is_suggested(game):
    game.write("assets/meshes/barrel.mtl", BARREL_MTL.replace("wood.png", "Wood.PNG"))
    ran = game.doit()
    assert ran.failed == ["kac:meshes/barrel"]
    assert 'Did you mean "assets/meshes/wood.png"? Upper and lower case differ.\n' in ran.out


def test_resized_texture_is_a_warning_in_the_summary(game):
    game.write("assets/meshes/wood.png", plain(300, 100))
    ran = game.doit()
    assert ran.code == 0
    assert "assets/meshes/wood.png: resized from 300 x 100 to 256 x 256 [resize]\n" in ran.out


def test_options_of_the_manifest_reach_the_file(game):
    more = 'texture_size = 4\nfilter = "nearest"\nwrap = "clamp"\nshading = "flat"\nmirror = true\n'
    game.write("manifests/kac.toml", MANIFEST + more)
    assert game.doit().code == 0
    found = read(game.read("build/kac/meshes/barrel.kac"))
    (texture,) = found["TXTR"]
    assert (texture["side"], texture["linear"], texture["clamp"]) == (4, False, True)
    assert not any(material["smooth"] for material in found["MATE"])
    assert game.doit().built == []


def test_defaults_of_the_kind_hold_where_an_entry_says_nothing(game):
    game.write("manifests/kac.toml", MANIFEST + "[defaults.mesh]\ntexture_size = 2\n")
    game.doit()
    assert read(game.read("build/kac/props/sign.kac"))["TXTR"][0]["side"] == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("texture_size = 512", "a whole number from 2 to 256"),
        ('filter = "cubic"', '"linear", "nearest"'),
        ('wrap = "mirror"', '"repeat", "clamp"'),
        ('shading = "phong"', '"auto", "angle", "smooth", "flat"'),
        ("mirror = 1", "true or false"),
        ('overflow = "clip"', '"error", "split"'),
        ("texture_sise = 2", "texture_size"),
    ],
)
def test_wrong_option_is_a_manifest_error(game, line, message):
    game.write("manifests/kac.toml", MANIFEST + line + "\n")
    ran = game.doit()
    assert ran.code == 3
    assert message in ran.out + ran.err


def test_model_that_fits_keeps_its_name_where_it_may_be_split(game):
    game.write("manifests/kac.toml", MANIFEST + 'overflow = "split"\n')
    game.doit()
    assert sorted(game.outputs()) == ["build/kac/meshes/barrel.kac", "build/kac/props/sign.kac"]
    game.write("manifests/kac.toml", MANIFEST)
    game.doit()
    assert sorted(game.outputs()) == ["build/kac/meshes/barrel.kac", "build/kac/props/sign.kac"]


def test_models_that_would_make_one_file_are_refused_by_both_names(game):
    game.write("assets/props/sign.obj", SQUARE)
    game.write("assets/props/a.mtl", "newmtl m\n")
    ran = game.doit()
    assert ran.code == 3
    glb, obj = (f"kac:props/sign.{one} (assets/props/sign.{one})" for one in ("glb", "obj"))
    assert f"{glb} and {obj} would both write" in ran.err


def test_keys_that_exclude_each_other_are_a_mistake_of_the_manifest(game: Game) -> None:
    game.write("assets/props/sign.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    text = '[defaults.mesh]\ntriangles = 5\n[[asset]]\nsource = "assets/props/*"\nsimplify = 0.5\n'
    game.write("manifests/kac.toml", f'target = "kac"\n{text}')
    ran = game.doit("explain")
    assert ran.code == 3
    assert "asset[1].simplify  it excludes `triangles`; keep one of them (line 6)" in ran.err


def test_sign_that_a_task_cannot_have_is_in_the_file_s_name(game):
    game.write("assets/e=mc2.glb", gltf_square().glb())
    assert "kac:e%3Dmc2" in game.doit().built
    assert "build/kac/e=mc2.kac" in game.outputs()


def test_inspection_shows_counts_materials_and_textures(game):
    game.doit()
    ran = game.doit("inspect", "build/kac/meshes/barrel.kac")
    assert ran.code == 0
    for line in ("triangles  284", "vertices  144", "materials  2", "textures  1"):
        assert f"\n{line}\n" in ran.out
    assert "0  color [15, 15, 15, 15]  has_texture 1  texture_idx 0" in ran.out
    assert "0  side_length 8  levels 4  sample_linearly 1  clamp_uv 0" in ran.out


def test_inspection_as_json_has_everything(game):
    game.doit()
    found = json.loads(game.doit("inspect", "--json", "build/kac/meshes/barrel.kac").out)
    kac = unpack_kac(game.read("build/kac/meshes/barrel.kac"), "barrel.kac")
    assert found["VERT"] == kac.vertices.tolist()
    assert len(found["3MSH"]) == 284
    assert [len(level) for level in found["TXTR"][0]] == [64, 16, 4, 1]


def test_inspection_of_a_damaged_file_exits_with_the_reason(game):
    game.doit()
    data = game.read("build/kac/props/sign.kac")
    game.write("broken.kac", data[:-1])
    ran = game.doit("inspect", "broken.kac")
    assert ran.code == 1
    assert "the file is too short" in ran.err


def test_inspection_takes_out_geometry_and_pictures(game):
    game.doit()
    ran = game.doit("inspect", "--obj", "out/b.obj", "--extract", "out", "build/kac/props/sign.kac")
    assert ran.code == 0
    assert game.read("out/b.obj").count(b"\nf ") == 2
    assert game.path("out/texture_0_level_2.png").is_file()


def test_build_in_guarded_worker_processes_gives_the_same_bytes(game):
    game.doit()
    before = game.outputs()
    game.remove("build")
    game.remove("cache")
    ran = game.process("run", "--lint", "-n", "2")
    assert ran.code == 0, ran.out + ran.err
    assert game.outputs() == before
