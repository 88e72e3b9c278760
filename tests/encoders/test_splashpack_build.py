"""Scenes from a game's repository, through doit, as a user has them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.encoders.splashpack_reader import Console, read
from tests.encoders.splashpack_scene import SQUARE, noise, plain, png
from tests.kit.glb_builder import quad
from tests.pipeline.game import Game

MANIFEST = """target = "splashpack"

[[scene]]
name = "hall"
source = ["assets/hall/*.obj", "assets/hall/sign.glb"]

[[scene]]
name = "yard"
source = "assets/yard.gltf"
scale = 10
"""


def embedded(picture: bytes, **node) -> bytes:
    builder = quad(**node)
    builder.add("images", name="my sign", bufferView=builder.view(picture), mimeType="image/png")
    builder.add("textures", source=0)
    builder.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.glb()


def referring(uri: str, mode: str = "OPAQUE") -> bytes:
    builder = quad()
    builder.add("images", uri=uri)
    builder.add("textures", source=0)
    pbr = {"baseColorTexture": {"index": 0}}
    builder.add("materials", name="ground", pbrMetallicRoughness=pbr, alphaMode=mode)
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.gltf("yard.bin")


@pytest.fixture
def game(tmp_path: Path) -> Game:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.write("manifests/splashpack.toml", MANIFEST)
    game.write("assets/hall/wall.obj", SQUARE.replace("a.mtl", "wall.mtl"))
    game.write("assets/hall/wall.mtl", "newmtl m\nmap_Kd ../brick.png\n")
    game.write("assets/hall/sign.glb", embedded(plain(8, 8, (255, 0, 0)), translation=[0, 0, 9]))
    game.write("assets/brick.png", png(noise(16, 16) // 64 * 64))
    game.write("assets/yard.gltf", referring("grass.png"))
    game.write("assets/yard.bin", bytes(quad().binary))
    game.write("assets/grass.png", png(noise(32, 32, 1)))
    return game


def names(*ends: str, scene: str = "hall") -> list[str]:
    return sorted([f"splashpack:{scene}", *(f"splashpack:{scene}/{end}" for end in ends)])


def test_each_scene_becomes_a_file_and_a_picture(game):
    ran = game.doit()
    assert ran.code == 0
    assert ran.built == sorted(
        [
            *names("images/sign", "layout", "mesh/sign", "mesh/wall"),
            "splashpack:hall/texture/brick",
            "splashpack:hall/texture/my_sign",
            *names("layout", "mesh/yard", "texture/grass", scene="yard"),
        ]
    )
    assert sorted(game.outputs()) == [
        f"build/splashpack/{name}"
        for name in ("hall.splashpack", "hall.vram.png", "yard.splashpack", "yard.vram.png")
    ]
    found = read(game.read("build/splashpack/hall.splashpack"))
    assert [len(one["triangles"]) for one in found["objects"]] == [2, 2]
    assert found["objects"][1]["position"] == (0, 0, 369)
    console, triangle = Console(found), found["objects"][1]["triangles"][0]
    assert console.texel(triangle, *triangle["uv"][0]) == 0x001F
    assert game.doit().built == []


def test_painted_texture_builds_itself_and_moves_nothing(game):
    game.doit()
    before = read(game.read("build/splashpack/hall.splashpack"))
    game.write("assets/brick.png", png(noise(16, 16, 7) // 64 * 64))
    assert game.doit().built == names("layout", "texture/brick")
    after = read(game.read("build/splashpack/hall.splashpack"))
    assert before["objects"] == after["objects"]
    assert before != after


@pytest.mark.parametrize(
    ("name", "content", "built"),
    [
        ("assets/hall/wall.obj", SQUARE.replace("a.mtl", "wall.mtl") + "#", ["mesh/wall"]),
        (
            "assets/hall/wall.obj",
            SQUARE.replace("a.mtl", "wall.mtl").replace("v 1 1 0", "v 9 1 0"),
            ["mesh/wall", ""],
        ),
        (
            "assets/hall/sign.glb",
            embedded(plain(8, 8, (255, 0, 0)), translation=[0, 5, 9]),
            ["images/sign", "mesh/sign", ""],
        ),
        (
            "assets/hall/sign.glb",
            embedded(plain(8, 8, (0, 255, 0)), translation=[0, 0, 9]),
            ["images/sign", "mesh/sign", "texture/my_sign", "layout", ""],
        ),
        ("assets/hall/wall.mtl", "newmtl m\nmap_Kd ../brick.png\nKd 1 0 0\n", ["mesh/wall", ""]),
    ],
)
def test_edit_builds_only_what_it_shows_in(game, name, content, built):
    game.doit()
    game.write(name, content)
    expected = [f"splashpack:hall/{end}".rstrip("/") for end in built]
    assert game.doit().built == sorted(expected)


def test_missing_texture_fails_its_mesh_and_its_coming_mends_it(game):
    game.remove("assets/brick.png")
    ran = game.doit()
    assert ran.code == 1
    assert ran.failed == names("layout", "mesh/wall")
    assert "splashpack:yard" in ran.built
    assert (
        "splashpack:hall/mesh/wall  texture not found\n"
        '  asset     assets/hall/wall.obj, material "m"\n'
        "  file      assets/brick.png\n"
        "  named in  assets/hall/wall.mtl, line 2\n"
        "Add the image, or take `map_Kd` out of the material.\n"
    ) in ran.out
    game.write("assets/brick.png", plain(4, 4))
    ran = game.doit()
    assert (ran.code, ran.built) == (0, names("layout", "mesh/wall", "texture/brick"))


def test_broken_scene_does_not_hold_up_another(game):
    game.write("assets/yard.gltf", "{")
    ran = game.doit()
    assert (ran.code, ran.failed) == (1, ["splashpack:yard"])
    assert "splashpack:hall" in ran.built
    game.write("assets/yard.gltf", referring("grass.png"))
    assert game.doit().code == 0


def test_damaged_image_fails_its_texture_alone(game):
    game.write("assets/brick.png", b"\x89PNG\r\n\x1a\nno")
    ran = game.doit()
    assert (ran.code, ran.failed) == (1, names("layout", "texture/brick"))
    assert "splashpack:yard" in ran.built
    assert "assets/brick.png" in ran.out


def depth(game: Game, scene: str, number: int = 0) -> int:
    found = read(game.read(f"build/splashpack/{scene}.splashpack"))
    return found["objects"][number]["triangles"][0]["page"] >> 7 & 3


@pytest.mark.parametrize(
    ("match", "scene", "number"),
    [
        ("brick.png", "hall", 0),
        ("brick", "hall", 0),
        ("bri*", "hall", 0),
        ("assets/brick.png", "hall", 0),
        ("my_sign", "hall", 1),
        ("my sign", "hall", 1),
        ("grass.*", "yard", 0),
    ],
)
def test_texture_table_finds_images_by_name(game, match, scene, number):
    rows = f'[[texture]]\nmatch = "*"\nbpp = 4\n[[texture]]\nmatch = "{match}"\nbpp = 16\n'
    game.write("manifests/splashpack.toml", MANIFEST + rows)
    game.doit()
    found = [depth(game, "hall", 0), depth(game, "hall", 1), depth(game, "yard")]
    place = number if scene == "hall" else 2
    assert found == [2 if n == place else 0 for n in range(3)]


def test_a_row_that_matches_no_texture_is_told_with_its_line(game):
    rows = '[[texture]]\nmatch = "bri*"\n[[texture]]\nmatch = "*.jpg"\n'
    game.write("manifests/splashpack.toml", MANIFEST + rows)
    line = (MANIFEST + rows).splitlines().index('match = "*.jpg"') + 1
    said = 'texture[2].match "*.jpg" matches no texture; there are, for example, brick, grass'
    for _ in range(2):  # also when nothing is to do
        out = game.doit().out
        assert said in out
        assert f" (line {line}) [no-effect]" in out
        assert "texture[1]" not in out


def test_alpha_mode_of_the_material_says_whether_there_are_holes(game):
    picture = np.full((8, 8, 4), (255, 255, 255, 0), np.uint8)
    game.write("assets/grass.png", png(picture))
    for mode, word in (("OPAQUE", 0x7FFF), ("MASK", 0), ("BLEND", 0)):
        game.write("assets/yard.gltf", referring("grass.png", mode))
        assert game.doit().code == 0
        found = read(game.read("build/splashpack/yard.splashpack"))
        assert Console(found).texel(found["objects"][0]["triangles"][0], 3, 3) == word


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('[[texture]]\nmatch = "a"\nbpp = 5\n', '4, 8, 16, "auto"'),
        ("[[texture]]\nbpp = 4\n", "match"),
        ("[vram]\nframebuffers = [[0, 0, 320]]\n", "a list of 4"),
        ("[vram]\nreserved = [[1000, 0, 64, 10]]\n", "an area does not lie in VRAM"),
        ("[vram]\nreservd = []\n", "reserved"),
        ('[[scene]]\nname = "x"\nsource = "assets/yard.gltf"\nscale = 0\n', "a number from"),
    ],
)
def test_wrong_manifest_is_an_error_before_anything_runs(game, lines, message):
    game.write("manifests/splashpack.toml", MANIFEST + lines)
    ran = game.doit()
    assert ran.code == 3
    assert message in ran.out + ran.err


def test_vram_table_moves_atlases(game):
    rows = "[vram]\nreserved = [[320, 0, 640, 512]]\n"
    game.write("manifests/splashpack.toml", MANIFEST + rows)
    game.write("manifests/splashpack.toml", MANIFEST + rows + '[[texture]]\nmatch = "*"\nbpp = 4\n')
    game.doit()
    found = read(game.read("build/splashpack/yard.splashpack"))
    assert [(one["x"], one["y"]) for one in found["atlases"]] == [(960, 0)]


def test_crowded_scene_fails_with_a_table(game):
    rows = '[vram]\nreserved = [[384, 0, 640, 512]]\n[[texture]]\nmatch = "*"\nbpp = 16\n'
    game.write("manifests/splashpack.toml", MANIFEST + rows)
    assert game.doit().code == 0
    game.write("assets/grass.png", png(noise(256, 200)))
    ran = game.doit()
    assert ran.failed == names("layout", scene="yard")
    assert "splashpack:yard/layout  the textures do not fit VRAM\n" in ran.out
    assert "16 bpp            1 textures, 51,200 words = 3.1 columns\n" in ran.out
    assert "It would fit with `bpp = 4` for assets/grass.png.\n" in ran.out


def test_inspection_shows_validates_and_draws(game):
    game.doit()
    ran = game.doit("inspect", "build/splashpack/hall.splashpack")
    assert ran.code == 0
    for line in ("objects  2", "triangles  4", "atlases  1", "cluts  2"):
        assert f"\n{line}\n" in ran.out
    path = str(game.path("shot.png"))
    ran = game.doit("inspect", "build/splashpack/hall.splashpack", "--json", "--render", path)
    assert len(json.loads(ran.out)["mesh"]["uv"]) == 4
    with Image.open(path) as shot:
        assert shot.size == (320, 240)
    data = bytearray(game.read("build/splashpack/hall.splashpack"))
    game.write("bad.splashpack", bytes(data[:-2]))
    ran = game.doit("inspect", "bad.splashpack")
    assert ran.code == 1
    assert "not as long as its parts" in ran.err


def test_other_process_and_hash_seed_give_the_same_bytes(game):
    game.doit()
    first = game.outputs()
    game.remove("build")
    game.remove("cache")
    assert game.process("-n", "2", PYTHONHASHSEED="7").code == 0
    assert game.outputs() == first


def test_textures_of_one_palette_are_built_with_one_clut(game):
    rows = '\n[[texture]]\nmatch = "*"\nbpp = 4\npalette = "all"\n'
    game.write("manifests/splashpack.toml", MANIFEST + rows)
    game.write("assets/hall/sign.glb", embedded(png(noise(8, 8, 5)), translation=[0, 0, 9]))
    assert "splashpack:hall/palette/all" in game.doit().built
    assert len(read((game.root / "build/splashpack/hall.splashpack").read_bytes())["cluts"]) == 1
    game.write("assets/brick.png", png(noise(16, 16, 6)))
    built = game.doit().built
    # The palette depends on all of its pictures, and so do the textures.
    assert {"splashpack:hall/palette/all", "splashpack:hall/texture/my_sign"} <= {*built}
    assert "splashpack:yard/palette/all" not in built
