"""Every target takes every source format, also one that is nothing but a new folder."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from encoders.kit.source.registry import image_suffixes, model_suffixes, sound_suffixes
from pipeline.content.code import target_names
from pipeline.plan.target import load_target
from pipeline.process.isolate import call
from tests.kit.fbx_maker import Fbx, sign
from tests.pipeline.game import ROOT, Game

pytestmark = pytest.mark.usefixtures("forked_decoders")
GAME = '[game]\nid = "t"\ntitle = "T"\nauthor = "A"\nversion = "1"\n'
# What a manifest says beside its target to make something from a model, and what comes out.
MODELS = {
    "emberware": (f'{GAME}[[asset]]\nsource = "assets/sign.*"\n', "assets/sign.ewzmesh"),
    "kac": ('[[asset]]\nsource = "assets/sign.*"\n', "sign.kac"),
    "rp2350": ('[[asset]]\nsource = "assets/sign.*"\n', "sign_patch0.bin"),
    "splashpack": ('[[scene]]\nname = "s"\nsource = "assets/sign.*"\n', "s.splashpack"),
    "untold": ('[[scene]]\nname = "s"\nsource = "assets/sign.*"\nlods = []\nhlod = 0\n', "s.json"),
}


@pytest.fixture
def game(tmp_path: Path) -> Game:
    made = Game(tmp_path / "game")
    made.remove("manifests/toy.toml")
    made.remove("encoders/toy.py")
    return made


def png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 100, 50)).save(stream, "PNG")
    return stream.getvalue()


def made_from(game: Game, target: str, suffix: str, data: bytes) -> dict[str, bytes]:
    """Build a model for a target; give what was made, whatever the source was called."""
    game.write(f"assets/sign{suffix}", data)
    game.write("assets/textures/wood grain.png", png())
    text, _ = MODELS[target]
    game.write(f"manifests/{target}.toml", f'target = "{target}"\n{text}')
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    found = game.outputs(f"build/{target}")
    game.remove(f"assets/sign{suffix}")
    return {name: one for name, one in found.items() if not name.endswith(".rs")}


@pytest.mark.parametrize("target", sorted(MODELS))
def test_fbx_gives_what_the_same_glb_gives(game: Game, target: str) -> None:
    pytest.importorskip("ufbx")
    fbx = sign().data()
    dotted = "encoders.kit.source.conversion:encode_glb"
    glb = call(dotted, {"source": fbx}, {"source": "assets/sign.fbx"})["glb"]
    from_fbx = made_from(game, target, ".fbx", fbx)
    from_glb = made_from(game, target, ".glb", glb)
    assert f"build/{target}/{MODELS[target][1]}" in from_fbx
    assert from_fbx == from_glb


@pytest.mark.parametrize("target", sorted(MODELS))
def test_fbx_with_its_image_inside_builds(game: Game, target: str) -> None:
    pytest.importorskip("ufbx")
    found = made_from(game, target, ".fbx", sign(content=png()).data())
    assert f"build/{target}/{MODELS[target][1]}" in found


@pytest.mark.parametrize("target", sorted(MODELS))
def test_fbx_without_its_package_says_what_to_install(game: Game, target: str) -> None:
    game.write("assets/sign.fbx", sign().data())
    game.write("ufbx.py", "raise ImportError")
    game.write(f"manifests/{target}.toml", f'target = "{target}"\n{MODELS[target][0]}')
    ran = game.process(PYTHONPATH=f"{game.root}:{ROOT}")
    assert ran.code == 1
    assert "ufbx is needed to read FBX" in ran.out + ran.err
    assert 'pip install "cartwright-build[fbx]"' in ran.out + ran.err


def test_fbx_is_converted_once_for_all_nodes_of_a_scene(game: Game) -> None:
    pytest.importorskip("ufbx")
    game.write("assets/sign.fbx", sign(content=png()).data())
    game.write("manifests/splashpack.toml", f'target = "splashpack"\n{MODELS["splashpack"][0]}')
    ran = game.doit()
    converted = [task for task in ran.built if "/convert/" in task]
    assert converted == ["splashpack:s/convert/assets/sign.fbx"]
    assert {"splashpack:s/images/sign", "splashpack:s/mesh/sign"} <= set(ran.built)


def test_skinned_fbx_gives_a_skinned_mesh_and_its_skeleton(game: Game) -> None:
    pytest.importorskip("ufbx")
    fbx = sign("")
    fbx.bone(210, "hip")
    fbx.skin(100, {210: [(number, 1) for number in range(4)]})
    found = made_from(game, "emberware", ".fbx", fbx.data())
    assert "build/emberware/assets/sign.ewzskel" in found
    # Positions, UVs and normals of 16 bytes, then four joints and four weights.
    assert found["build/emberware/assets/sign.ewzmesh"][8] & 8


def test_fbx_that_shows_nothing_fails_alone(game: Game) -> None:
    pytest.importorskip("ufbx")
    game.write("assets/empty.fbx", Fbx().data())
    game.write("assets/sign.fbx", sign("").data())
    game.write("manifests/kac.toml", 'target = "kac"\n[[asset]]\nsource = "assets/*"\n')
    ran = game.doit()
    assert ran.code == 1
    assert ran.failed == ["kac:empty"]
    assert "kac:sign" in ran.built


def test_every_kind_of_a_target_takes_all_formats_of_what_it_needs() -> None:
    whole = {
        "model": set(model_suffixes()),
        "image": set(image_suffixes()),
        "sound": set(sound_suffixes()),
    }
    needs = {"mesh": "model", "scene": "model", "texture": "image", "sound": "sound"}
    for target in MODELS:
        for name, kind in load_target(target).kinds.items():
            if name in needs:
                assert whole[needs[name]] <= set(kind.suffixes), (target, name)


TRI_FORMAT = """
from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="TRI",
    suffixes=(".tri",),
    convert="encoders.kit.source.tri.convert:convert_tri",
)
"""
TRI_CONVERT = """
import numpy as np

from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder


def convert_tri(data, name):
    glb = GlbBuilder()
    points = np.array(data.split(), "<f4").reshape(-1, 3)
    position = glb.accessor(points, with_bounds=True)
    primitive = spec.Primitive(attributes={"POSITION": position})
    document = spec.Document(
        asset=spec.Asset(version="2.0"),
        nodes=(spec.Node(mesh=0),),
        meshes=(spec.Mesh(primitives=(primitive,)),),
    )
    return glb.finish(document)
"""


def test_new_format_is_a_folder_and_goes_into_every_target(game: Game, tmp_path: Path) -> None:
    """What is on trial is the promise that nothing else has to be touched."""
    package = tmp_path / "package"
    for name in ("encoders", "pipeline"):
        shutil.copytree(ROOT / name, package / name)
    shutil.copy(ROOT / "cartwright_doit.py", package)
    folder = package / "encoders/kit/source/tri"
    folder.mkdir()
    for name, text in (("__init__", ""), ("format", TRI_FORMAT), ("convert", TRI_CONVERT)):
        (folder / f"{name}.py").write_text(text)
    game.remove("encoders")
    game.write("assets/sign.tri", "0 0 0 1 0 0 0 1 0")
    for target, (text, _) in MODELS.items():
        game.write(f"manifests/{target}.toml", f'target = "{target}"\n{text}')
    ran = game.process(PYTHONPATH=f"{package}{os.pathsep}{ROOT}", within_s=300)
    assert ran.code == 0, ran.out + ran.err
    made = game.outputs()
    for target, (_, file) in MODELS.items():
        assert f"build/{target}/{file}" in made, target


def test_every_target_that_takes_models_is_tried_here() -> None:
    taking = {
        name
        for name in target_names()
        if any(".glb" in kind.suffixes for kind in load_target(name).kinds.values())
    }
    assert taking == set(MODELS)


def test_declarations_import_nothing_heavy() -> None:
    code = "import sys, encoders.kit.source.registry as r, encoders.kit.source.outline\n"
    code += "heavy = {'numpy', 'PIL', 'msgspec', 'ufbx'} & set(sys.modules)\n"
    code += "assert not heavy, heavy\nassert len(r.FORMATS) >= 7"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
