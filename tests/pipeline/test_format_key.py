"""Readers of source formats in the key: those that a node loads by name, and no others."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from encoders.emberware.view import write_wav
from encoders.kit.source.registry import (
    FORMATS,
    OPENERS,
    SUFFIXES,
    index_suffixes,
    modules_loaded_by,
)
from pipeline.content.code import Code, digest_file
from tests.kit.fbx_maker import sign
from tests.kit.glb_builder import quad
from tests.kit.raster import make_psd
from tests.kit.test_compressed_sound import FILES as SOUNDS
from tests.kit.test_trimesh_format import QUADS
from tests.kit.usd_maker import sign as usd_sign
from tests.pipeline.game import ROOT, Game

SOURCE = "encoders.kit.source"
OBJ = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl m\nf 1/1 2/1 3/1\n"
MTL = "newmtl m\nmap_Kd wood.png\n"
GAME = '[game]\nid = "t"\ntitle = "T"\nauthor = "A"\nversion = "1"\n'
MANIFESTS = {
    "emberware": f'{GAME}[[asset]]\nsource = "assets/*"\n',
    "kac": '[[asset]]\nsource = "assets/*"\n',
    "rp2350": '[[asset]]\nsource = "assets/*"\n[defaults.texture]\nscale_to = "power_of_two"\n',
    "splashpack": '[[scene]]\nname = "s"\nsource = "assets/*"\n',
    "untold": '[[scene]]\nname = "s"\nsource = "assets/*"\nlods = []\nhlod = 0\n',
}


digest_once = cache(digest_file)


def table(encoder: str, *suffixes: str) -> set[str]:
    return set(Code(digest_once).table(encoder, suffixes))


def test_the_parsers_below_trimesh_are_in_the_key() -> None:
    encoder = f"{SOURCE}.conversion:encode_glb"
    assert {"trimesh", "collada"} <= table(encoder, ".dae")
    assert {"trimesh", "lxml", "networkx"} <= table(encoder, ".3mf")
    assert "collada" not in table(encoder, ".ply")


def picture(form: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 100, 50)).save(stream, form)
    return stream.getvalue()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of Cartwright's packages, to be edited."""
    folder = tmp_path / "package"
    for name in ("encoders", "pipeline"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "cartwright_doit.py", folder)
    return folder


@pytest.fixture
def game(tmp_path: Path) -> Game:
    made = Game(tmp_path / "game")
    made.remove("encoders")
    made.remove("manifests/toy.toml")
    return made


def run(game: Game, package: Path, *arguments: str):
    ran = game.process(*arguments, PYTHONPATH=f"{package}{os.pathsep}{ROOT}", within_s=300)
    assert ran.code == 0, ran.out + ran.err
    return ran


def edit(path: Path) -> None:
    """Change what a module is, but not what it does."""
    path.write_text(path.read_text() + "\nEDITED = 1\n")


def test_an_obj_node_has_the_obj_reader_in_its_key_and_no_other_model_reader() -> None:
    found = table("encoders.kac.node_mesh:encode_mesh", ".mtl", ".obj")
    expected = {"obj.model", "obj.decode", "mtl.decode", "png.decode", "jpeg.decode"}
    assert {f"{SOURCE}.{name}" for name in expected} <= found
    assert not [name for name in found if name.startswith((f"{SOURCE}.gltf", f"{SOURCE}.fbx"))]
    assert not {"ufbx", "DracoPy"} & found


def test_a_node_of_a_converted_source_has_the_gltf_reader_in_its_key() -> None:
    found = table("encoders.kac.node_mesh:encode_mesh", ".fbx")
    assert {f"{SOURCE}.gltf.model", f"{SOURCE}.fbx.format"} <= found
    assert not {"ufbx", f"{SOURCE}.fbx.convert", f"{SOURCE}.obj.decode"} & found


def test_only_the_conversion_has_its_library_in_its_key() -> None:
    found = table(f"{SOURCE}.conversion:encode_glb", ".fbx")
    assert {"ufbx", f"{SOURCE}.fbx.convert", f"{SOURCE}.fbx.mesh"} <= found


def test_all_image_formats_count_where_images_are_told_by_content() -> None:
    found = table("encoders.emberware.node_texture:encode_texture", ".png")
    assert {f"{SOURCE}.png.decode", f"{SOURCE}.jpeg.decode", f"{SOURCE}.jpeg.format"} <= found
    surveyed = table(f"{SOURCE}.image_survey:survey_image", ".png")
    assert {f"{SOURCE}.png.survey", f"{SOURCE}.jpeg.survey"} <= surveyed
    assert f"{SOURCE}.png.decode" not in surveyed


def test_an_encoder_that_opens_no_source_has_no_reader_in_its_key() -> None:
    for encoder in (
        "encoders.untold.node_tile:encode_tile",
        "encoders.rp2350.node_module:encode_module",
    ):
        assert table(encoder, ".obj", ".png") == table(encoder)
    assert modules_loaded_by({"encoders.kac.node_mesh"}, SUFFIXES) == set()


def test_a_suffix_belongs_to_one_format() -> None:
    with pytest.raises(ValueError, match=r"\.obj is claimed by OBJ and by"):
        index_suffixes([*FORMATS, type(FORMATS[0])(name="other", suffixes=(".obj",))])


# The nodes that an edit of a reader outdates.
OUTDATED = {
    "obj/decode.py": ["kac:a"],
    "mtl/decode.py": ["kac:a"],
    "gltf/model.py": ["kac:b", "kac:c"],
    "fbx/mesh.py": ["kac:c/convert/assets/c.fbx"],
    "png/decode.py": ["kac:a", "kac:b", "kac:c"],
    "wav/decode.py": [],
    "obj/survey.py": [],
}


def test_an_edit_of_a_reader_outdates_exactly_the_nodes_that_read_such_sources(
    game: Game, package: Path
) -> None:
    pytest.importorskip("ufbx")
    pytest.importorskip("pxr")
    pytest.importorskip("opengl_basisu")
    sources = {"a.obj": OBJ, "a.mtl": MTL, "wood.png": picture("PNG")}
    sources |= {"b.glb": quad().glb(), "c.fbx": sign("").data()}
    for name, data in sources.items():
        game.write(f"assets/{name}", data)
    game.write("manifests/kac.toml", f'target = "kac"\n{MANIFESTS["kac"]}')
    assert len(run(game, package).built) == 4
    found = {}
    for module in OUTDATED:
        edit(package / "encoders/kit/source" / module)
        found[module] = run(game, package).built
    assert found == OUTDATED


def test_a_format_that_appears_is_taken_and_outdates_nothing(game: Game, package: Path) -> None:
    game.write("assets/a.obj", OBJ.replace("usemtl m\n", ""))
    game.write("assets/b.mesh", OBJ.replace("usemtl m\n", ""))
    game.write("manifests/kac.toml", f'target = "kac"\n{MANIFESTS["kac"]}')
    assert run(game, package).built == ["kac:a"]
    assert run(game, package).built == []
    folder = package / "encoders/kit/source/mesh"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    text = (package / "encoders/kit/source/obj/format.py").read_text()
    (folder / "format.py").write_text(text.replace('"OBJ"', '"MESH"').replace(".obj", ".mesh", 1))
    assert run(game, package).built == ["kac:b"]


def test_only_the_openers_load_what_formats_name() -> None:
    """Any other caller would run code that is in no key."""
    loaders = {f"{SOURCE}.registry.{name}" for name in ("load", "load_reader", "*")}
    callers = set()
    for path in sorted((ROOT / "encoders").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if loaders & set(digest_once(str(path), name).imports):
            callers.add(name)
    assert callers == set(OPENERS)


# Builds a game and notes for which node or survey each reader was loaded, and what its key has.
PROBE = """
import json, os, sys
from encoders.kit.source import registry

plain, keys, loaded = registry.load, [None], []

def load(function):
    module = function.partition(":")[0]
    loaded.append([function, keys[-1] is not None and module in keys[-1]])
    return plain(function)

registry.load = load
from pipeline.build import work
from pipeline.content.code import Code
from pipeline.plan import survey
from pipeline.process import capacity, worker
from pipeline.process.scratch import install_scratch

capacity.cores = lambda: 1  # everything happens in this process

def within(key, function, *arguments):
    keys.append(key)
    try:
        return function(*arguments)
    finally:
        keys.pop()

encode, code = work._call, Code()
work._call = lambda job, inputs: within(set(job.code), encode, job, inputs)
worker.install_runner = lambda root: None

def call(dotted, data, name, *layers):
    key = set(code.table(dotted, (registry.suffix_of(name),)))
    return within(key, work.load_function(dotted), data, name, *layers)

install_scratch(os.path.abspath('../scratch'))

survey.call = call
from doit.doit_cmd import DoitMain
result = DoitMain().run([])
json.dump({"code": result, "loaded": loaded}, open("loaded.json", "w"))
"""


def test_every_reader_that_is_loaded_is_in_the_key_of_the_node_it_is_loaded_for(game: Game) -> None:
    pytest.importorskip("ufbx")
    pytest.importorskip("opengl_basisu")
    sources = {"a.obj": OBJ, "a.mtl": MTL, "wood.png": picture("PNG"), "b.jpg": picture("JPEG")}
    sources |= {"f.webp": picture("WEBP"), "g.avif": picture("AVIF")}
    sources |= {"h.bmp": picture("BMP"), "i.tga": picture("TGA"), "j.gif": picture("GIF")}
    sources |= {"k.tif": picture("TIFF"), "l.dds": picture("DDS")}
    sources |= {"m.psd": make_psd(np.zeros((3, 8, 8), np.uint8))}
    sources |= {"c.glb": quad().glb(), "d.fbx": sign("").data(), "s.usda": usd_sign("")}
    sources |= {f"n{name}": SOUNDS[name] for name in ("a.ogg", "c.flac", "e.mp3")}
    sources |= {f"q{k}{name}": data for k, (name, data) in enumerate(QUADS.items())}
    sources["wood grain.png"] = picture("PNG")
    sources |= {"r.ktx2": (ROOT / "tests/kit/data/ktx2/uastc.ktx2").read_bytes()}
    sources |= {"e.wav": write_wav(np.zeros(100, np.int16))}
    for name, data in sources.items():
        game.write(f"assets/{name}", data)
    for target, text in MANIFESTS.items():
        game.write(f"manifests/{target}.toml", f'target = "{target}"\n{text}')
    ran = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=game.root,
        env=game.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = json.loads(game.read("loaded.json"))
    assert not found["code"], ran.stdout + ran.stderr
    assert [function for function, is_in_key in found["loaded"] if not is_in_key] == []
    # Nothing was left out: every function that a format names for the registry was loaded.
    named = {getattr(one, field) for one in FORMATS for field in ("model", "image", "sound")}
    named |= {function for one in FORMATS for function in (one.convert, one.layers)}
    named |= {one.survey for one in FORMATS if one.image}
    assert {function for function, _ in found["loaded"]} == named - {""}
