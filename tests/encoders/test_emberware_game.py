"""A game's repository built with doit: what is made, what is made again, what people are told."""

from __future__ import annotations

import io
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from encoders.emberware.ember_manifest import convert_ember
from encoders.emberware.format.rom_reader import unpack_rom
from encoders.emberware.node_sound import encode_sound
from encoders.emberware.profile import EMPTY_WASM
from encoders.emberware.view import write_wav
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS
from encoders.kit.source.gltf.document.container import decode_container
from tests.cli.new_game import textured_glb
from tests.encoders.emberware_reader import angle_between, read_clip, read_rom, read_skeleton
from tests.pipeline.game import ROOT, Game

DATA = Path(__file__).parent / "data/emberware"
CHAIN = (DATA / "export/chain.glb").read_bytes()
HEADER = '[game]\nid = "t"\ntitle = "T"\nauthor = "A"\nversion = "1"\n'
ALL = '[[asset]]\nsource = "assets/*"\n'
OUT = "build/emberware"
ROM = f"{OUT}/t.ewz"


def png(color: tuple[int, ...] = (255, 0, 0, 255)) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((4, 4, 4), color, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def game(tmp_path: Path) -> Game:
    made = Game(tmp_path / "game")
    made.remove("manifests/toy.toml")
    made.remove("encoders/toy.py")
    return made


def manifest(game: Game, text: str = ALL, top: str = "", more: str = "") -> None:
    game.write("manifests/emberware.toml", f'target = "emberware"\n{top}{HEADER}{more}{text}')


def edit_late(model: bytes) -> bytes:
    """Change a value of the clip called Late, and nothing else."""
    changed = bytearray(model)
    at = model.rindex(np.array([1, 1, 1], "<f4").tobytes())
    changed[at + 2] ^= 0x40
    return bytes(changed)


def test_a_game_without_assets_is_the_smallest_rom(game: Game) -> None:
    manifest(game, "")
    ran = game.doit()
    assert ran.code == 0
    assert game.read(ROM) == (DATA / "rom/minimal.C.exact.ewz").read_bytes()
    assert "no `wasm` in [game]" in ran.out


def test_everything_in_a_folder_becomes_loose_files_and_a_rom(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    game.write("assets/crate.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    game.write("assets/crate.mtl", b"newmtl a\n")
    game.write("assets/red.png", png())
    game.write("assets/beep.wav", write_wav(np.arange(50, dtype=np.int16)))
    game.write("assets/level.dat", b"\x09\x08\x07")
    manifest(game, ALL + '[[asset]]\nsource = "assets/*.dat"\nkinds = ["data"]\n')
    ran = game.doit()
    assert ran.code == 0
    assert sorted(path.removeprefix(f"{OUT}/") for path in game.outputs()) == [
        "assets/beep.ewzsnd",
        "assets/chain.ewzmesh",
        "assets/chain.ewzskel",
        "assets/chain_Bend.ewzanim",
        "assets/chain_Cubic.ewzanim",
        "assets/chain_Late.ewzanim",
        "assets/chain_Step.ewzanim",
        "assets/crate.ewzmesh",
        "assets/level.dat",
        "assets/red.ewztex",
        "t.ewz",
    ]
    pack = read_rom(game.read(ROM), "C")["data_pack"]
    ids = {key: [one["id"] for one in assets] for key, assets in pack.items()}
    assert ids == {
        "textures": ["red"],
        "meshes": ["chain", "crate"],
        "skeletons": ["chain"],
        "keyframes": ["chain_Bend", "chain_Step", "chain_Cubic", "chain_Late"],
        "fonts": [],
        "sounds": ["beep"],
        "data": ["level"],
    }
    assert "largest assets" in ran.out
    assert "left" in ran.out


def test_a_rom_without_loose_files_has_the_same_bytes_and_no_sound_is_compressed(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    game.write("assets/red.png", png())
    game.write("assets/crate.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    sound = write_wav(np.arange(50, dtype=np.int16))
    game.write("assets/beep.wav", sound)
    manifest(game)
    assert game.doit().code == 0
    rom = game.read(ROM)
    manifest(game, top="loose_files = false\n")
    assert game.doit().code == 0
    assert game.outputs() == {ROM: rom}
    monkeypatch.setattr("encoders.emberware.node_sound.pack_sound", None)
    params = {"source": "beep.wav", "quality": "default", "loose_file": False}
    assert encode_sound({"sound": sound}, params).keys() == {"samples", WARNINGS}


def test_editing_one_clip_makes_that_clip_and_the_rom_again(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    game.write("assets/red.png", png())
    manifest(game)
    assert game.doit().code == 0
    assert game.doit().built == []
    game.write("assets/chain.glb", edit_late(CHAIN))
    ran = game.doit()
    # The parts are cut anew, and only the part that changed is encoded.
    assert ran.built == [
        "emberware:chain.clip.Late",
        "emberware:chain.parts",
        "emberware:t.ewz",
    ]


def test_editing_a_texture_makes_that_texture_and_the_rom_again(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    game.write("assets/red.png", png())
    game.write("assets/blue.png", png((0, 0, 255, 255)))
    manifest(game)
    assert game.doit().code == 0
    game.write("assets/blue.png", png((0, 0, 254, 255)))
    assert game.doit().built == ["emberware:blue", "emberware:t.ewz"]


def test_one_clip_alone_is_called_like_the_asset(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    entry = '[[asset]]\nsource = "assets/chain.glb"\nkinds = ["animation"]\n'
    manifest(game, entry + 'id = "walk"\nclips = "Late"\n' + entry + 'id = "run"\nclips = [0, 2]\n')
    assert game.doit().code == 0
    pack = unpack_rom(game.read(ROM), "t.ewz")[1]["data_pack"]
    assert [one["id"] for one in pack["keyframes"]] == ["walk", "run_Bend", "run_Cubic"]
    assert [one["frame_count"] for one in pack["keyframes"]] == [23, 30, 30]


def test_options_reach_the_clips(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    entry = 'kinds = ["animation"]\nclips = ["Late"]\nid = "x"\nspace = "local"\nframe_rate = 12\n'
    manifest(game, f'[[asset]]\nsource = "assets/chain.glb"\n{entry}include_last_frame = true\n')
    assert game.doit().code == 0
    assert game.read(f"{OUT}/assets/x.ewzanim")[:4] == bytes((3, 0, 10, 0))


def test_the_newer_console_has_its_own_names_and_layout(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    game.write("game.wasm", EMPTY_WASM + b"code")
    game.write("thumb.png", png())
    more = (
        'wasm = "game.wasm"\ntags = ["a"]\nthumbnail = "thumb.png"\nscreenshots = ["thumb.png"]\n'
    )
    manifest(game, top='profile = "nczx"\n', more=more)
    assert game.doit().code == 0
    rom = read_rom(game.read(f"{OUT}/t.nczx"), "F")
    assert rom["metadata"]["netplay"]["max_players"] == 4
    assert bytes(rom["code"]) == EMPTY_WASM + b"code"
    assert bytes(rom["thumbnail"]) == bytes(rom["screenshots"][0]) == png()
    assert rom["data_pack"]["trackers"] == []
    assert game.path(f"{OUT}/assets/chain_Bend.nczxanim").exists()


def test_code_that_appears_is_linked(game: Game) -> None:
    manifest(game, "", more='wasm = "target/game.wasm"\n')
    ran = game.doit()
    assert ran.code == 1
    assert "emberware:t.ewz  game code not found" in ran.out + ran.err
    assert "target/game.wasm" in ran.out + ran.err
    game.write("target/game.wasm", EMPTY_WASM)
    assert game.doit().code == 0


def test_manifest_order_is_the_order_in_the_rom(game: Game) -> None:
    for name in "abc":
        game.write(f"assets/{name}.bin", name.encode())
    manifest(game, "".join(f'[[asset]]\nsource = "assets/{name}.bin"\n' for name in "cab"))
    assert game.doit().code == 0
    pack = unpack_rom(game.read(ROM), "t.ewz")[1]["data_pack"]
    assert [one["id"] for one in pack["data"]] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('wasm = "../game.wasm"\n', "a path inside the project"),
        ('wasm = "/game.wasm"\n', "a path inside the project"),
        ("max_players = 5\n", "a whole number from 1 to 4"),
        ('titel = "x"\n', 'did you mean "title"?'),
    ],
)
def test_mistakes_in_the_game_table_are_told(game: Game, more: str, problem: str) -> None:
    manifest(game, "", more=more)
    ran = game.doit()
    assert ran.code == 3
    assert problem in ran.out + ran.err


@pytest.mark.parametrize("bad", ["", ".", "..", "a/b", "a:b", "a.", "a ", 'a"b', "a\\b", "a\tb"])
def test_an_unsafe_game_id_is_refused(game: Game, bad: str) -> None:
    text = HEADER.replace('id = "t"', f"id = {json.dumps(bad)}")
    game.write("manifests/emberware.toml", f'target = "emberware"\n{text}')
    ran = game.doit()
    assert ran.code == 3
    assert "game.id" in ran.out + ran.err


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('clips = "Fly"', ("no such clip", "Fly", "Bend, Step, Cubic, Late", "doit inspect")),
        ('clips = "bend"', ("no such clip", 'Did you mean "Bend"?')),
        ('mesh = "body"', ("no such mesh", "body")),
        ("skin = 3", ("no such skin", "rig")),
    ],
)
def test_a_choice_that_is_not_there_lists_what_is(game: Game, entry: str, words) -> None:
    game.write("assets/chain.glb", CHAIN)
    game.write("assets/red.png", png())
    manifest(game, f'[[asset]]\nsource = "assets/*"\n[[asset]]\nsource = "assets/c*"\n{entry}\n')
    ran = game.doit()
    assert ran.code == 1
    for word in words:
        assert word in ran.out + ran.err
    assert "emberware:red" in ran.built


def test_a_kind_that_the_model_lacks_is_an_error_only_when_asked_for(game: Game) -> None:
    from tests.kit.glb_builder import quad

    game.write("assets/quad.glb", quad().glb())
    manifest(game)
    assert game.doit().code == 0
    manifest(game, ALL + 'kinds = ["skeleton"]\n')
    ran = game.doit()
    assert ran.code == 1
    assert "model has no skin" in ran.out + ran.err


def test_a_model_with_files_beside_it_is_built_again_when_they_change(game: Game) -> None:
    from tests.kit.glb_builder import quad

    model = quad()
    model.add("images", uri="skin.png")
    game.write("assets/quad.gltf", model.gltf("quad.bin"))
    manifest(game, '[[asset]]\nsource = "assets/*.gltf"\n')
    ran = game.doit()
    assert ran.code == 1
    assert "file that the model refers to is missing" in ran.out + ran.err
    assert "quad.bin" in ran.out + ran.err
    game.write("assets/quad.bin", bytes(model.binary))
    assert game.doit().code == 0
    # Its image is no part of a mesh.
    game.write("assets/skin.png", png())
    assert game.doit().built == []
    moved = bytearray(model.binary)
    moved[3] = 0x40
    game.write("assets/quad.bin", bytes(moved))
    assert game.doit().built == ["emberware:quad.mesh", "emberware:quad.parts", "emberware:t.ewz"]


NO_TEXTURE = "there is no texture of the picture"


def test_a_picture_that_gets_into_no_rom_is_one_warning_with_its_name(game: Game) -> None:
    game.write("assets/sign.glb", textured_glb())
    game.write("assets/grass.png", png())
    manifest(game)
    out = game.doit().out
    assert f'{NO_TEXTURE} "paint" of assets/sign.glb in the ROM: a mesh holds none' in out
    assert "[feature]" in out
    game.write("assets/board.glb", textured_glb())
    out = game.doit().out
    assert "2 pictures of models have no texture in the ROM, such as" in out


@pytest.mark.parametrize("name", ["sign.png", "Paint.png"])
def test_a_texture_called_like_a_model_or_its_picture_is_taken_to_be_it(game, name) -> None:
    game.write("assets/sign.glb", textured_glb())
    game.write(f"assets/{name}", png())
    manifest(game)
    assert NO_TEXTURE not in game.doit().out


def test_a_picture_file_of_a_model_has_to_be_an_asset(game: Game) -> None:
    game.write("assets/crate.obj", b"mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n")
    game.write("assets/m.mtl", b"newmtl a\nmap_Kd tex/wood.png\n")
    game.write("assets/tex/wood.png", png())
    manifest(game)
    assert f"{NO_TEXTURE} assets/tex/wood.png of assets/crate.obj in the ROM" in game.doit().out
    manifest(game, ALL.replace("assets/*", "assets/**/*"))
    assert NO_TEXTURE not in game.doit().out


def test_two_sources_of_one_id_are_refused(game: Game) -> None:
    game.write("assets/a.png", png())
    game.write("assets/b.png", png())
    entries = "".join(f'[[asset]]\nsource = "assets/{n}.png"\nid = "x"\n' for n in "ab")
    manifest(game, entries)
    ran = game.doit()
    assert ran.code != 0
    assert "would both write" in ran.out + ran.err


def test_an_entry_for_one_kind_leaves_other_files_alone(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    game.write("assets/red.png", png())
    manifest(game, ALL + '[[asset]]\nsource = "assets/*"\nkinds = ["mesh"]\n')
    assert game.doit().code == 0
    made = sorted(path.rpartition("/")[2] for path in game.outputs())
    assert made == ["chain.ewzmesh", "red.ewztex", "t.ewz"]


def test_a_file_of_another_kind_than_was_asked_for_is_a_mistake(game: Game) -> None:
    game.write("assets/red.png", png())
    manifest(game, '[[asset]]\nsource = "assets/red.png"\nkinds = ["mesh"]\n')
    ran = game.doit()
    assert ran.code == 3
    assert "assets/red.png" in ran.out + ran.err


def test_a_mesh_and_a_clip_of_two_files_may_share_an_id(game: Game) -> None:
    game.write("assets/a.glb", CHAIN)
    game.write("assets/b.glb", CHAIN)
    mesh = '[[asset]]\nsource = "assets/a.glb"\nid = "x"\nkinds = ["mesh"]\n'
    clip = '[[asset]]\nsource = "assets/b.glb"\nid = "x"\nkinds = ["animation"]\nclips = 0\n'
    manifest(game, mesh + clip)
    assert game.doit().code == 0
    assert game.path(f"{OUT}/assets/x.ewzmesh").exists()
    assert game.path(f"{OUT}/assets/x.ewzanim").exists()


def test_fbx_without_its_library_says_what_to_install(game: Game) -> None:
    game.write("assets/arm.fbx", (DATA / "arm.fbx").read_bytes())
    game.write("ufbx.py", "raise ImportError")
    game.write("assets/red.png", png())
    manifest(game)
    ran = game.process(PYTHONPATH=f"{game.root}:{ROOT}")
    assert ran.code == 1
    assert "emberware:arm  ufbx is needed to read FBX" in ran.out + ran.err
    assert 'pip install "cartwright-build[fbx]"' in ran.out + ran.err
    assert "emberware:red" in ran.built


def test_fbx_clips_are_sampled_like_any_other(game: Game) -> None:
    pytest.importorskip("ufbx")
    game.write("assets/arm.fbx", (DATA / "arm.fbx").read_bytes())
    manifest(game, ALL + "frame_rate = 10\ninclude_last_frame = true\n")
    assert game.doit().code == 0
    frames = read_clip(game.read(f"{OUT}/assets/arm_Wave.ewzanim"))
    assert len(frames) == 11
    turned = (0, 0, 0.5**0.5, 0.5**0.5)
    assert angle_between(frames[10][1][0], turned) < 0.25
    # Centimetres became metres, and the lower bone turned with the upper one.
    assert frames[0][1][1] == (1, 2, 0)
    assert frames[10][1][1] == pytest.approx((-1, 0, 0), abs=1e-3)
    assert len(read_skeleton(game.read(f"{OUT}/assets/arm.ewzskel"))) == 2
    shown = game.doit("inspect", "assets/arm.fbx")
    assert "name Wave  duration 1" in shown.out


def test_a_damaged_fbx_is_refused(game: Game) -> None:
    pytest.importorskip("ufbx")
    game.write("assets/arm.fbx", b"Kaydara FBX Binary  \0")
    manifest(game)
    ran = game.doit()
    assert ran.code == 1
    assert "the FBX is damaged" in ran.out + ran.err


def test_inspect_lists_a_model_so_that_a_manifest_can_be_written(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    ran = game.doit("inspect", "assets/chain.glb")
    assert ran.code == 0
    assert "joints [root, mid, tip]" in ran.out
    assert "name Late  duration 0.75" in ran.out
    for python in ("None", "{", "'"):
        assert python not in ran.out


def test_inspect_lists_and_extracts_a_rom_and_refuses_a_damaged_one(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    manifest(game)
    game.doit()
    listed = game.doit("inspect", ROM)
    assert "id chain_Late  bone_count 3  frame_count 23" in listed.out
    found = json.loads(game.doit("inspect", ROM, "--json").out)
    assert found["counts"]["keyframes"] == 4
    clip = game.read(f"{OUT}/assets/chain_Bend.ewzanim")
    assert found["data_pack"]["keyframes"][0]["data"] == clip[4:].hex()
    assert game.doit("inspect", ROM, "--extract", "out").code == 0
    for kind, name in (("meshes", "chain.ewzmesh"), ("keyframes", "chain_Bend.ewzanim")):
        assert game.read(f"out/{kind}/{name}") == game.read(f"{OUT}/assets/{name}")
    game.write("bad.ewz", game.read(ROM)[:-1])
    assert game.doit("inspect", "bad.ewz").code == 1


@pytest.mark.parametrize("name", ["chain.ewzmesh", "chain.ewzskel", "chain_Bend.ewzanim"])
def test_inspect_reads_every_loose_file(game: Game, name: str) -> None:
    game.write("assets/chain.glb", CHAIN)
    manifest(game)
    game.doit()
    assert game.doit("inspect", f"{OUT}/assets/{name}").code == 0
    if name.endswith("mesh"):
        assert game.doit("inspect", f"{OUT}/assets/{name}", "--obj", "x.obj").code == 0
        assert game.read("x.obj").startswith(b"v ")


EMBER = """
[game]
id = "arena"
title = "Arena"
author = "Me"
version = "0.1.0"
[build]
wasm = "game.wasm"
[[assets.keyframes]]
id = "walk"
path = "art/walk.ewzanim"
[[assets.meshes]]
id = "hero"
path = "art/hero.ewzmesh"
[[assets.skeletons]]
id = "hero"
path = "art/hero.ewzskel"
[[assets.textures]]
id = "hero"
path = "art/hero.png"
"""


def test_the_consoles_own_manifest_builds_as_it_is(game: Game) -> None:
    game.write("ember.toml", EMBER)
    game.write("game.wasm", EMPTY_WASM)
    for name in ("mesh", "skel"):
        game.write(f"art/hero.ewz{name}", (DATA / f"export/chain.ewz{name}").read_bytes())
    clip = (DATA / "export/chain.anim0.4fps.upstream-local.ewzanim").read_bytes()
    game.write("art/walk.ewzanim", clip)
    game.write("art/hero.png", png())
    ran = game.doit("import-ember", "ember.toml")
    assert (ran.code, ran.out) == (0, "wrote manifests/emberware.toml\n")
    assert game.doit().code == 0
    rom = read_rom(game.read(f"{OUT}/arena.ewz"), "C")
    assert bytes(rom["data_pack"]["keyframes"][0]["data"]) == clip[4:]
    assert [len(assets) for assets in rom["data_pack"].values()] == [1, 1, 1, 1, 0, 0, 0]
    again = game.doit("import-ember", "ember.toml")
    assert again.code == 3
    assert "--force" in again.out + again.err
    assert game.doit("import-ember", "ember.toml", "--force").code == 0
    blocked = game.doit("import-ember", "ember.toml", "-o", "ember.toml/x.toml")
    assert (blocked.code, "Traceback" in blocked.err) == (3, False)
    assert "import-ember: ember.toml/x.toml: " in blocked.out + blocked.err


def test_the_consoles_own_manifest_as_a_git_lfs_pointer_is_told_so(game: Game) -> None:
    game.write("ember.toml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    ran = game.doit("import-ember", "ember.toml")
    assert (ran.code, game.path("manifests/emberware.toml").exists()) == (1, False)
    assert "this is a Git LFS pointer; run `git lfs pull`" in ran.err


def test_models_clips_and_netplay_of_a_newer_manifest_are_taken_over() -> None:
    text = """
[game]
id = "a"
title = "A"
author = "B"
version = "1"
tick_rate = 120
compress_textures = true
[netplay]
enabled = false
[[assets.meshes]]
id = "hero"
path = "hero.glb"
[[assets.animations]]
id = "hero"
path = "hero.glb"
animation_name = "Walk"
skin_name = "rig"
[[assets.animations]]
path = "other.glb"
id_prefix = "o-"
[[assets.trackers]]
id = "song"
path = "song.xm"
"""
    converted = convert_ember(text.encode(), "game/nether.toml")
    made = tomllib.loads(converted.text)
    assert (made["profile"], made["game"]["netplay"], made["game"]["tick_rate"]) == (
        "nczx", False, 120,
    )  # fmt: skip
    assert made["defaults"]["texture"]["format"] == "bc7"
    hero, other, song = made["asset"]
    assert hero == {
        "source": "game/hero.glb",
        "id": "hero",
        "kinds": ["mesh", "animation"],
        "mesh": 0,
        "space": "local",
        "skin": "rig",
        "clips": "Walk",
    }
    assert (other["source"], other["id_prefix"]) == ("game/other.glb", "o-")
    assert song == {"source": "game/song.xm", "id": "song", "kinds": ["tracker"]}
    assert any("names no `wasm`" in warning for warning in converted.warnings)


@pytest.mark.parametrize(
    "text",
    [
        "[game",
        "game = 1",
        "[game]\nid = 3",
        '[[assets.data]]\nid = "x"',
        '[[assets.data]]\npath = "a*"',
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(EncodeError):
        convert_ember(text.encode(), "ember.toml")


def test_keys_of_every_section_are_taken_over() -> None:
    text = """
[game]
name = "old"
version = "1"
[build]
wasm = "../out/game.wasm"
[[assets.skeletons]]
id = "rig"
path = "hero.glb"
skin_name = "Body"
[[assets.meshes]]
id = "crate"
path = "crate.obj"
[[assets.trackers]]
id = "boss"
path = "boss.it"
patterns = false
[[assets.fonts]]
id = "f"
path = "f.ttf"
"""
    converted = convert_ember(text.encode(), "nether.toml")
    made = tomllib.loads(converted.text)
    assert made["asset"] == [
        {
            "source": "crate.obj",
            "id": "crate",
            "kinds": ["mesh"],
            "flip_v": False,
            "weld": False,
        },
        {"source": "hero.glb", "id": "rig", "kinds": ["skeleton"], "skin": "Body"},
        {"source": "boss.it", "id": "boss", "kinds": ["tracker"], "patterns": False},
    ]
    assert "wasm" not in made["game"]
    told = "\n".join(converted.warnings)
    assert "[game] has no id, title, author" in told
    assert "'../out/game.wasm' lies outside of the project" in told
    assert "[[assets.fonts]]: 1 entries left out" in told


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/home/me/a.png", "write a path relative to the file"),
        ("C:\\art\\a.png", "write a path relative to the file"),
        ("..\\art\\a.png", "import from 1 folder further up"),
    ],
)
def test_paths_of_another_machine_are_left_out_and_do_not_stop_the_import(path, hint) -> None:
    text = f"[[assets.textures]]\nid = 'a'\npath = '{path}'\n"
    converted = convert_ember(text.encode(), "nether.toml")
    assert "asset" not in tomllib.loads(converted.text)
    assert any("is left out" in one and hint in one for one in converted.warnings)


def test_files_outside_of_the_project_are_left_out_with_the_way_to_get_them() -> None:
    text = '[[assets.textures]]\nid = "a"\npath = "../../shared/a.png"\n'
    text += '[[assets.textures]]\nid = "b"\npath = "b.png"\n'
    converted = convert_ember(text.encode(), "nether.toml")
    assert [one["id"] for one in tomllib.loads(converted.text)["asset"]] == ["b"]
    assert any("import from 2 folders further up" in one for one in converted.warnings)
    inside = convert_ember(text.encode(), "examples/one/nether.toml")
    first = tomllib.loads(inside.text)["asset"][0]
    assert first["source"] == "shared/a.png"
    assert not any("outside" in one for one in inside.warnings)


def test_builds_in_two_processes_with_two_hash_seeds_give_the_same_bytes(game: Game) -> None:
    game.write("assets/chain.glb", CHAIN)
    game.write("assets/red.png", png())
    manifest(game)
    made = []
    for seed in ("1", "2"):
        assert game.process(PYTHONHASHSEED=seed).code == 0
        made.append(game.outputs())
        game.remove("build")
        game.remove("cache")
    assert made[0] == made[1]


def test_a_skeleton_with_buffers_of_its_own_need_not_be_an_asset(game: Game) -> None:
    container = decode_container(CHAIN, "chain.glb")
    document = json.loads(bytes(container.json))
    name = document["animations"][0]["name"]
    document["buffers"][0]["uri"] = "hero%20data.bin"
    game.write("rigs/hero.gltf", json.dumps(document).encode())
    game.write("rigs/hero data.bin", bytes(container.binary))
    game.write("assets/chain.glb", CHAIN)
    one = f'[[asset]]\nsource = "assets/chain.glb"\nkinds = ["animation"]\nclips = "{name}"\n'
    manifest(game, one)
    assert game.doit().code == 0
    clip = game.read(f"{OUT}/assets/chain.ewzanim")
    manifest(game, f'{one}skeleton = "rigs/hero.gltf"\n')
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    assert game.read(f"{OUT}/assets/chain.ewzanim") == clip
    game.remove("rigs/hero data.bin")
    assert game.doit().code == 1
    game.write("rigs/hero data.bin", bytes(container.binary))
    assert game.doit().code == 0


def imported(text: str) -> tuple[list[dict], str]:
    converted = convert_ember(text.encode(), "nether.toml")
    return tomllib.loads(converted.text)["asset"], "\n".join(converted.warnings)


MESH_ROW = '[[assets.meshes]]\nid = "hero"\npath = "hero.glb"\n'
CLIP_ROW = '[[assets.animations]]\npath = "hero.glb"\n'


def test_rows_of_clips_of_one_file_stay_apart() -> None:
    text = f'{MESH_ROW}{CLIP_ROW}id_prefix = "h_"\n{CLIP_ROW}animation_name = "walk"\n'
    text += f'{CLIP_ROW}animation_name = "run"\nid_prefix = "fast_"\n{CLIP_ROW}skin_name = "cape"\n'
    assets, told = imported(text)
    source = {"source": "hero.glb", "space": "local"}
    mesh = {"kinds": ["mesh", "animation"], "mesh": 0}
    clip = {"kinds": ["animation"]}
    assert assets == [
        # All clips, below the mesh of the same name.
        {**source, "id": "hero", **mesh, "id_prefix": "h_"},
        # A clip that is named is called by its name where the row has no id.
        {**source, "id": "walk", **clip, "clips": "walk"},
        {**source, "id": "fast_run", **clip, "clips": "run"},
        # All clips of another skin; only the prefix is in their ids.
        {**source, "id": "hero_2", **clip, "skin": "cape", "id_prefix": ""},
    ]
    assert "left out" not in told


def test_rows_that_want_one_id_in_two_ways_are_a_warning() -> None:
    skeleton = '[[assets.skeletons]]\nid = "hero"\npath = "hero.glb"\nskin_name = "cape"\n'
    text = f'{MESH_ROW}{skeleton}{CLIP_ROW}id = "hero"\nskin_name = "body"\n'
    assets, told = imported(text)
    assert [one["kinds"] for one in assets] == [["mesh", "skeleton"]]
    assert assets[0]["skin"] == "cape"
    assert "[[assets.animations]] 'hero'" in told
    assert "give it another id" in told
