"""USD in a project: every target builds it, layers are inputs, and other formats give the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from encoders.kit.source.model import open_model
from pipeline.process.isolate import call
from tests.encoders.test_source_format import GAME, MODELS, png
from tests.kit.fbx_maker import Fbx
from tests.kit.glb_builder import Builder
from tests.kit.usd_maker import mesh, package, rig, sign, usda
from tests.pipeline.game import ROOT, Game

pytest.importorskip("pxr")

OBJ = (
    "o sign\nv 3 0 0\nv 4 0 0\nv 4 2 0\nv 3 2 0\nvt 0 0\nvt 1 0\nvt 1 2\nvt 0 2\nvn 0 0 1\n"
    "f 1/1/1 2/2/1 3/3/1 4/4/1\n"
)
CONVERSION = "encoders.kit.source.conversion"
KAC = 'target = "kac"\n[[asset]]\nsource = "assets/*.usda"\nexclude = ["assets/part.usda"]\n'


@pytest.fixture
def game(tmp_path: Path) -> Game:
    made = Game(tmp_path / "game")
    made.remove("manifests/toy.toml")
    made.remove("encoders/toy.py")
    return made


def glb_sign() -> bytes:
    builder = Builder()
    points = [(0, 0, 0), (1, 0, 0), (1, 2, 0), (0, 2, 0)]
    attributes = {
        "POSITION": builder.accessor(points, bounds=True),
        "NORMAL": builder.accessor([(0, 0, 1)] * 4),
        "TEXCOORD_0": builder.accessor([(x, 1 - y) for x, y, _ in points]),
    }
    indices = builder.accessor([0, 1, 2, 0, 2, 3], "u2")
    builder.mesh(attributes, "sign", indices=indices)
    builder.add("nodes", name="sign", mesh=0, translation=[3, 0, 0])
    builder.add("scenes", nodes=[0])
    return builder.glb()


def fbx_sign() -> bytes:
    fbx = Fbx()
    fbx.mesh()
    fbx.node(200, "sign", at=(3, 0, 0))
    fbx.connect(100, 200)
    return fbx.data()


def test_the_same_model_in_four_formats_gives_the_same_files_in_every_target(game: Game) -> None:
    pytest.importorskip("ufbx")
    models = {"obj": OBJ.encode(), "glb": glb_sign(), "fbx": fbx_sign(), "usda": sign("")}
    for suffix, data in models.items():
        game.write(f"assets/{suffix}/sign.{suffix}", data)
        for target, (text, _) in MODELS.items():
            entry = text.replace("assets/sign.*", f"assets/{suffix}/sign.*")
            more = f'source_root = "assets/{suffix}"\n'
            game.write(f"manifests/{target}_{suffix}.toml", f'target = "{target}"\n{more}{entry}')
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    for target, (_, file) in MODELS.items():
        made = {suffix: game.outputs(f"build/{target}_{suffix}") for suffix in models}
        files = {
            suffix: {name.partition("/")[2].partition("/")[2]: data for name, data in one.items()}
            for suffix, one in made.items()
        }
        assert file in files["usda"]
        # OBJ counts v from the other end, so some targets number its vertices in another order.
        suffixes = ("glb", "fbx", "obj") if target in ("emberware", "untold") else ("glb", "fbx")
        for suffix in suffixes:
            assert without_text(files[suffix]) == without_text(files["usda"]), (target, suffix)


def without_text(files: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out Rust modules, whose comments name their source."""
    return {name: data for name, data in files.items() if not name.endswith(".rs")}


def test_the_same_model_in_four_formats_has_the_same_triangles() -> None:
    pytest.importorskip("ufbx")
    glbs = {
        "a.glb": glb_sign(),
        "a.fbx": call(f"{CONVERSION}:encode_glb", {"source": fbx_sign()}, {"source": "a.fbx"}),
        "a.usda": call(
            f"{CONVERSION}:encode_composed_glb",
            {"a.usda": sign("")},
            {"source": "a.usda", "layers": []},
        ),
        "a.obj": OBJ.encode(),
    }
    found = []
    for name, one in glbs.items():
        data = one["glb"] if isinstance(one, dict) else one
        mesh = open_model({name: data}, name).mesh
        assert mesh.normal is not None
        uv = mesh.uv[0].values * ([1, -1] if mesh.has_v_up else [1, 1])
        columns = [
            mesh.position.values[mesh.position.corner],
            mesh.normal.values[mesh.normal.corner],
            (uv + ([0, 1] if mesh.has_v_up else [0, 0]))[mesh.uv[0].corner],
        ]
        found.append(np.concatenate(columns, axis=2).tolist())
    assert found == [found[0]] * 4


def test_a_changed_layer_rebuilds_what_is_composed_with_it(game: Game) -> None:
    reference = 'def "sign" (\nprepend references = @./part.usda@</quad>\n)\n{\n}\n'
    game.write("assets/sign.usda", usda(reference))
    game.write("assets/other.usda", usda(mesh()))
    game.write("assets/part.usda", usda(mesh()))
    game.write("manifests/kac.toml", KAC)
    assert game.doit().built == [
        "kac:other", "kac:other/convert/assets/other.usda",
        "kac:sign", "kac:sign/convert/assets/sign.usda",
    ]  # fmt: skip
    before = game.read("build/kac/sign.kac")
    assert game.doit().built == []
    wide = mesh(points="[(0, 0, 0), (9, 0, 0), (9, 9, 0), (0, 9, 0)]")
    game.write("assets/part.usda", usda(wide))
    assert game.doit().built == ["kac:sign", "kac:sign/convert/assets/sign.usda"]
    assert game.read("build/kac/sign.kac") != before
    game.write("assets/part.usda", usda(mesh()))
    assert game.doit().restored
    assert game.read("build/kac/sign.kac") == before


def test_a_missing_layer_fails_until_it_appears(game: Game) -> None:
    reference = 'def "sign" (\nprepend references = @../lib/part.usda@</quad>\n)\n{\n}\n'
    game.write("assets/sign.usda", usda(reference + mesh("own")))
    game.write("manifests/kac.toml", KAC)
    ran = game.doit()
    assert ran.code == 1
    assert "a layer of the file is missing" in ran.out + ran.err
    assert "lib/part.usda" in ran.out + ran.err
    game.write("lib/part.usda", usda(mesh()))
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    assert "kac:sign" in ran.built


def test_a_package_with_its_texture_builds_for_every_target(game: Game) -> None:
    data = package({"a.usda": sign("t/c.png"), "t/c.png": png()})
    game.write("assets/sign.usdz", data)
    for target, (text, _) in MODELS.items():
        game.write(f"manifests/{target}.toml", f'target = "{target}"\n{text}')
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    for target, (_, file) in MODELS.items():
        assert f"build/{target}/{file}" in game.outputs(f"build/{target}")


def test_a_skinned_stage_gives_a_mesh_its_skeleton_and_its_clip(game: Game) -> None:
    game.write("assets/sign.usda", rig())
    asset = '[[asset]]\nsource = "assets/*"\n'
    game.write("manifests/ember.toml", f'target = "emberware"\n{GAME}{asset}')
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    found = game.outputs("build/ember")
    assert {"build/ember/assets/sign.ewzskel", "build/ember/assets/sign.ewzmesh"} <= set(found)
    assert [name for name in found if name.endswith(".ewzanim")]


def test_usd_without_its_package_says_what_to_install(game: Game) -> None:
    game.write("assets/sign.usda", sign(""))
    game.write("pxr.py", "raise ImportError")
    game.write("manifests/kac.toml", KAC)
    ran = game.process(PYTHONPATH=f"{game.root}:{ROOT}")
    assert ran.code == 1
    assert "usd-core is needed to read USD" in ran.out + ran.err
    assert 'pip install "cartwright-build[usd]"' in ran.out + ran.err
