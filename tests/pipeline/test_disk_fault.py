"""Errors of the disk fail what they meet, and nothing of them is left in the next run."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pipeline import setting
from pipeline.disk.file import read_file
from pipeline.plan import survey
from pipeline.report import last_build
from tests.kit.png_maker import make_png
from tests.pipeline.game import Game

HOUR_SECONDS = 3600


def test_source_that_could_not_be_read_once_is_built_in_the_next_run(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = game.write("assets/a.txt", "one")
    # Old, so that the stamp of the file is trusted.
    old = time.time() - HOUR_SECONDS
    os.utime(path, (old, old))
    _make_stamps_trusted(monkeypatch)

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr(survey, "read_source", fail)
        ran = game.doit()
    assert ran.code == 1
    assert "Input/output error" in ran.out + ran.err
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    assert game.read("build/toy/a.out") == b"ONE"
    assert game.doit().built == []


def _make_stamps_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stamps be old enough: the change time of a file cannot be set."""
    from pipeline.disk import listing

    monkeypatch.setattr(listing, "is_trusted", lambda stamp, now_ns: True)


OBJ = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl m\nf 1/1 2/1 3/1\n"


def test_texture_of_before_is_gone_after_a_scene_could_not_be_read_once(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scene kept the files of its nodes meanwhile, and another node makes such files now."""
    scene = '[[scene]]\nname = "u"\nsource = "assets/*.obj"\nlods = []\nhlod = 0\n'
    game.remove("manifests/toy.toml")
    game.write("manifests/untold.toml", f'target = "untold"\n{scene}')
    game.write("assets/a.obj", OBJ)
    game.write("assets/a.mtl", "newmtl m\nmap_Kd p.png\n")
    game.write("assets/p.png", make_png([[[1, 2, 3]]], 8, 2))
    assert game.doit().code == 0
    (before,) = game.path("build/untold/u/Textures").iterdir()
    game.write("assets/p.png", make_png([[[3, 2, 1]]], 8, 2))
    game.write("assets/a.obj", OBJ + "# saved\n")

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr(survey, "read_source", fail)
        assert game.doit().code == 1
    assert game.doit().code == 0
    (after,) = game.path("build/untold/u/Textures").iterdir()
    assert after.name != before.name


@pytest.mark.parametrize("damage", [lambda data: data[:-30], lambda data: data[:900] + b"\xff" * 9])
def test_damaged_result_of_the_last_build_is_written_again(
    game: Game, damage: Callable[[bytes], bytes]
) -> None:
    game.write("assets/a.txt", "one")
    assert game.doit().code == 0
    game.write("assets/b.txt", "two")
    path = game.path(".cartwright/last-build.json")
    path.write_bytes(damage(path.read_bytes()))
    ran = game.doit()
    assert ran.code == 0, ran.err
    assert json.loads(path.read_bytes())["exit_code"] == 0


def test_error_of_reading_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"content")

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "read", fail)
    with pytest.raises(OSError, match=f"{path}"):
        read_file(str(path))


@pytest.mark.parametrize(
    ("module", "file"), [(last_build, "last-build.json"), (setting, "pyproject.toml")]
)
def test_file_of_the_project_that_cannot_be_read_is_named_without_a_traceback(
    game: Game, monkeypatch: pytest.MonkeyPatch, module: ModuleType, file: str
) -> None:
    game.write("assets/a.txt", "one")
    assert game.doit().code == 0
    game.write("assets/b.txt", "two")
    read = module.read_if_there

    def fail(path: str) -> bytes | None:
        if path.endswith(file):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        content: bytes | None = read(path)
        return content

    monkeypatch.setattr(module, "read_if_there", fail)
    ran = game.doit()
    assert ran.code == 3
    assert f"{file}: Input/output error" in ran.err
    assert "Traceback" not in ran.err
