"""What `doit watch` builds after a change."""

from __future__ import annotations

import pytest

import encoders
from pipeline.doit_plugin.command.watch import what_to_build
from tests.pipeline.game import MANIFEST, Game

SECOND = 'target = "toy"\nsource_root = "other"\n[[asset]]\nsource = "other/*.txt"\n'
LATE = MANIFEST + '[[asset]]\nsource = "late/x/y.txt"\n'


@pytest.fixture
def watched(game: Game, monkeypatch: pytest.MonkeyPatch) -> Game:
    monkeypatch.setattr(encoders, "__path__", list(encoders.__path__))
    game.write("assets/a.txt", "hello")
    game.write("other/x.txt", "x")
    game.write("manifests/second.toml", SECOND)
    assert game.doit().code == 0
    return game


def wanted(game: Game, *paths: str, names: tuple[str, ...] = ()) -> list[str] | None:
    return what_to_build(str(game.root), list(names), paths)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("assets/a.txt", ["toy:*"]),
        ("assets/new", ["toy:*"]),
        ("assets", ["toy:*"]),
        ("other/x.txt", ["second:*"]),
        ("manifests/toy.toml", ["toy:*"]),
        ("encoders/toy.py", ["second:*", "toy:*"]),
        ("encoders/new.py", ["second:*", "toy:*"]),
        ("build/toy/a.out", None),
        ("cache/objects", None),
        (".cartwright/state.db", None),
        ("encoders/__pycache__/toy.py", None),
        ("notes.txt", None),
    ],
)
def test_a_change_concerns_only_manifests_that_look_there(watched, path, expected):
    assert wanted(watched, path) == expected


@pytest.mark.parametrize("path", ["late", "late/x", "late/x/y.txt"])
def test_a_manifest_with_mistakes_waits_for_any_file(watched, path):
    watched.write("manifests/toy.toml", LATE)
    assert watched.doit().code == 3
    assert wanted(watched, path) == ["toy:*"]


@pytest.mark.parametrize("path", ["build/toy/a.out", "build/second/x.out"])
def test_a_manifest_with_mistakes_does_not_wait_for_outputs(watched, path):
    watched.write("manifests/toy.toml", LATE)
    assert wanted(watched, path) is None


@pytest.mark.parametrize("path", ["late", "late/x", "late/x/y.txt"])
def test_a_source_whose_folder_went_is_seen_when_the_folder_comes_back(watched, path):
    watched.write("manifests/toy.toml", LATE)
    watched.write("late/x/y.txt", "y")
    assert watched.doit().code == 0
    watched.remove("late")
    assert watched.doit().code == 3
    assert wanted(watched, path) == ["toy:*"]


def test_everything_is_built_when_a_manifest_is_gone_so_that_its_outputs_go(watched):
    watched.remove("manifests/second.toml")
    arguments = wanted(watched, "manifests/second.toml")
    assert arguments == []
    assert watched.doit("run", *arguments).code == 0
    assert not watched.path("build/second").exists()
    assert wanted(watched, "assets/a.txt") == ["toy:*"]


def test_only_what_was_named_is_built(watched):
    assert wanted(watched, "other/x.txt", names=("toy:a",)) is None
    assert wanted(watched, "assets/a.txt", names=("toy:a",)) == ["toy:a"]
    assert wanted(watched, "assets/a.txt", names=("toy",)) == ["toy:*"]
    watched.remove("manifests/second.toml")
    assert wanted(watched, "manifests/second.toml", names=("second",)) is None


@pytest.mark.parametrize("name", ["nosuch", "nosuch:a", "toy2"])
def test_to_watch_what_there_is_not_is_refused(watched, name):
    ran = watched.doit("watch", name)
    assert ran.code == 3
    expected = f'ERROR: watch: "{name}" is no manifest and no target; there are second, toy\n'
    assert ran.err == expected
