"""`cartwright init`: the files of a new project, for what lies in the folder."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from encoders.kit.plan import Target
from pipeline.cli import init
from pipeline.cli.found_source import FoundSource, by_likelihood, clashing, copies, patterns
from pipeline.cli.init import InitError, start_project
from pipeline.content.code import target_names
from pipeline.manifest.json_schema import manifest_schema
from pipeline.manifest.mistake import Check
from pipeline.manifest.schema import read_manifest
from pipeline.plan.target import load_target
from tests.cli.new_game import make_folder
from tests.kit.glb_builder import quad
from tests.pipeline.game import ROOT, Game

TARGETS = ["emberware", "kac", "rp2350", "splashpack", "untold"]


def found(*paths: str) -> list[FoundSource]:
    return [FoundSource(path, len(path)) for path in paths]


def checked(name: str, text: str) -> tuple[Target, list[str]]:
    target, check = load_target(name), Check(f"manifests/{name}.toml")
    read_manifest(name, tomllib.loads(text), name, target, check)
    return target, [f"{one.key}: {one.problem}" for one in check.mistakes]


@pytest.mark.parametrize("below", ["", "assets", "assets/props"])
@pytest.mark.parametrize("name", TARGETS)
def test_each_first_manifest_has_no_mistake_and_fits_its_schema(tmp_path, name, below):
    make_folder(tmp_path, below)
    list(start_project(str(tmp_path), [name], None))
    text = (tmp_path / f"manifests/{name}.toml").read_text()
    target, mistakes = checked(name, text)
    assert mistakes == []
    jsonschema.validate(tomllib.loads(text), manifest_schema(name, target))
    assert f"#:schema ../.cartwright/schema/{name}.json\n" in text
    assert (tmp_path / f".cartwright/schema/{name}.json").is_file()


@pytest.mark.parametrize("name", TARGETS)
def test_every_commented_key_with_a_default_is_a_key_of_the_target(tmp_path, name):
    list(start_project(str(make_folder(tmp_path)), [name], None))
    lines = (tmp_path / f"manifests/{name}.toml").read_text().splitlines()
    keys = [line for line in lines if re.match(r"(# )?(\[|\w+ = [^…])", line)]
    text = "\n".join(line.removeprefix("# ") for line in keys if "# several" not in line)
    mistakes = checked(name, text)[1]
    # Tables that are comments name no files, which is the only thing that may be wrong with them.
    assert [one for one in mistakes if not one.startswith(("sound", "model"))] == []
    assert len(keys) > 10


def test_without_names_all_targets_that_fit_get_a_manifest(tmp_path):
    make_folder(tmp_path)
    lines = list(start_project(str(tmp_path), [], None))
    assert [line for line in lines if "manifests/" in line] == [
        f"wrote     manifests/{name}.toml" for name in TARGETS
    ]
    assert {*TARGETS} <= {*target_names()}


def test_a_folder_of_pictures_gets_no_manifest_of_a_target_that_takes_models(tmp_path):
    make_folder(tmp_path)
    (tmp_path / "sign.glb").unlink()
    list(start_project(str(tmp_path), [], None))
    names = sorted(path.stem for path in (tmp_path / "manifests").iterdir())
    assert names == ["emberware", "rp2350"]


def test_what_is_there_is_kept(tmp_path):
    make_folder(tmp_path)
    (tmp_path / "manifests").mkdir()
    mine = {"manifests/kac.toml": "# mine\n", "dodo.py": "# mine\n", ".gitignore": "/build\n*.o"}
    for name, text in mine.items():
        (tmp_path / name).write_text(text)
    lines = list(start_project(str(tmp_path), ["kac"], "github"))
    assert "kept      manifests/kac.toml" in lines
    assert "kept      dodo.py" in lines
    assert any(line.startswith("Add `from pipeline.doit_plugin.config import") for line in lines)
    assert (tmp_path / "manifests/kac.toml").read_text() == "# mine\n"
    assert (tmp_path / ".gitignore").read_text() == "/build\n*.o\ncache/\n.cartwright/\n"
    assert (tmp_path / ".github/workflows/content.yml").is_file()
    again = list(start_project(str(tmp_path), ["kac"], "github"))
    assert not [line for line in again if line.startswith("wrote")]


def test_an_unknown_target_is_refused_and_nothing_is_written(tmp_path):
    make_folder(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(InitError, match='"kack" is no target; did you mean "kac"'):
        list(start_project(str(tmp_path), ["kack"], None))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_empty_folder_is_told_how_to_start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert init.run([]) == 3
    said = capsys.readouterr().err
    assert "no source was found in assets/ or in this folder" in said
    assert "cartwright init emberware kac" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_inside_a_project_is_no_place_for_another(tmp_path):
    list(start_project(str(make_folder(tmp_path)), ["kac"], None))
    (tmp_path / "inner").mkdir()
    with pytest.raises(InitError, match="is a Cartwright project already"):
        list(start_project(str(tmp_path / "inner"), ["kac"], None))


@pytest.mark.parametrize("name", ["dodo.py", "doit.cfg"])
def test_the_files_of_a_new_project_are_those_of_this_repository(name):
    template = Path(init.__file__).parent / "template" / name
    assert template.read_bytes() == (ROOT / name).read_bytes()


def test_of_a_model_in_several_formats_one_is_taken():
    pack = found("a/chair.fbx", "a/chair.glb", "b/chair.obj", "b/table.obj", "chair.png")
    assert [one.path for one in copies(pack)] == ["a/chair.fbx", "b/chair.obj"]


def test_copies_of_models_are_not_built_although_a_pattern_matches_them(tmp_path):
    for name in ("chair.glb", "chair.obj", "chair.fbx", "table.obj"):
        (tmp_path / "assets").mkdir(exist_ok=True)
        (tmp_path / "assets" / name).write_bytes(b"no model")
    list(start_project(str(tmp_path), ["kac"], None))
    text = (tmp_path / "manifests/kac.toml").read_text()
    entry = tomllib.loads(text)["asset"][0]
    assert entry["source"] == ["assets/**/*.glb", "assets/**/*.obj"]
    assert entry["exclude"] == ["assets/chair.obj"]
    assert "# Left out: assets/**/*.fbx  # there in another format as well\n" in text


@pytest.mark.parametrize(
    ("parts", "ids"),
    [
        (1, {"ui/a/hero.png": "hero_png", "ui/b/Hero.png": "hero_png_2", "b/Hero.jpg": "hero_jpg"}),
        (2, {"ui/b/Hero.png": "hero_png"}),
        (0, {}),
    ],
)
def test_sources_get_an_id_where_outputs_would_be_called_alike(parts, ids):
    pack = found("ui/b/Hero.png", "hero.glb", "ui/a/hero.png", "b/Hero.jpg")
    assert clashing(pack, parts) == ids


def test_sources_that_differ_in_their_suffix_get_different_ids():
    pack = found("assets/ui/hero.png", "assets/ui/hero.glb", "assets/hero.glb")
    assert clashing(pack, 0) == {"assets/ui/hero.png": "hero_png"}


@pytest.mark.parametrize("name", ["emberware", "kac", "rp2350"])
def test_sources_of_one_name_can_be_built_with_a_first_manifest(tmp_path, name):
    for folder in ("assets/a", "assets/b"):
        make_folder(tmp_path, folder)
    list(start_project(str(tmp_path), [name], None))
    built = Game(tmp_path).doit()
    assert built.code == 0, built.out + built.err
    assert len(built.built) > 1


def test_a_scene_is_looked_for_in_folders_for_scenes_then_by_size():
    small, large, scene = FoundSource("a.glb", 1), FoundSource("b.glb", 9), FoundSource("maps/c", 5)
    assert by_likelihood([small, large, scene]) == [scene, large, small]


def test_patterns_reach_every_source_in_its_own_spelling():
    assert patterns(found("a.PNG", "b.png", "assets/x/c.png", "assets/d.glb")) == [
        "*.PNG",
        "*.png",
        "assets/**/*.glb",
        "assets/**/*.png",
    ]


def test_names_that_look_like_patterns_stand_for_themselves(tmp_path):
    game = Game(tmp_path / "game")
    for name in ("rock[1].obj", "rock1.obj", "*.obj", "other.obj"):
        game.write(f"assets/{name}", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for name in ("rock[1].glb", "*.glb", "b/rock[1].glb"):
        game.write(f"assets/{name}", quad().glb())
    game.remove("manifests/toy.toml")
    list(start_project(str(game.root), ["emberware"], None))
    first, other = tomllib.loads(game.read("manifests/emberware.toml").decode())["asset"]
    assert first["exclude"] == ["assets/[*].obj", "assets/rock[[]1].obj"]
    assert other["source"] == "assets/rock[[]1].glb"
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    built = {task.partition(":")[2].removesuffix(".mesh") for task in ran.built}
    assert {"*", "b/rock[1]", "other", "rock1", "rock_1_glb"} <= built
