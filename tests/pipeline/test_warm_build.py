"""Builds in a process that waits: as `doit run` would build, and never with edited code."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pipeline.doit_plugin import warm_build
from pipeline.doit_plugin.warm_build import BuildStarter, encoder_modules
from tests.pipeline.game import ROOT, Game


@pytest.fixture
def ready(game: Game, monkeypatch: pytest.MonkeyPatch) -> Game:
    game.write("assets/a.txt", "hello")
    monkeypatch.chdir(game.root)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return game


def test_a_process_that_waits_builds_what_it_is_told(ready):
    starter = BuildStarter(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    starter.prepare()
    waiting = starter._ready
    starter.prepare()
    assert starter._ready is waiting
    build = starter(["toy:a"])
    assert build is waiting
    out, _ = build.communicate(timeout=100)
    assert (build.returncode, "built     toy:a" in out) == (0, True), out
    assert ready.read("build/toy/a.out") == b"HELLO"
    assert not ready.path("build/toy/all.pack").exists()
    starter.close()


def test_a_process_that_waits_ends_with_the_watcher(ready):
    starter = BuildStarter()
    starter.prepare()
    waiting = starter._ready
    assert waiting is not None
    starter.close()
    assert waiting.returncode == 0
    assert not ready.path("build").exists()


def test_a_module_that_was_edited_since_is_imported_afresh(monkeypatch):
    told = []
    states = iter([{"a.py": (1, 1)}, {"a.py": (1, 1), "b.py": (1, 1)}, {"a.py": (2, 2)}])
    monkeypatch.setattr(warm_build, "stamps", lambda: next(states))
    monkeypatch.setattr(warm_build, "import_all", lambda _: None)
    monkeypatch.setattr(sys.stdin, "readline", lambda: '["toy"]\n', raising=False)

    def execute(program: str, words: list[str]) -> None:
        told.append(words)
        raise SystemExit

    monkeypatch.setattr(os, "execv", execute)
    with pytest.raises(SystemExit):
        warm_build.main()
    assert told == [[sys.executable, "-P", "-m", "doit", "run", "toy"]]


def test_modules_that_the_last_plan_used_are_known(game):
    game.write("manifests/kac.toml", 'target = "kac"\n[[asset]]\nsource = "assets/*.obj"\n')
    game.write("assets/a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    game.doit("kac")
    assert {"encoders.kac.target", "encoders.kac.writer"} <= set(encoder_modules(str(game.root)))
