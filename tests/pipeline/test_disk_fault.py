"""Errors of the disk fail what they meet, and nothing of them is left in the next run."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from types import ModuleType

import pytest

from pipeline import setting
from pipeline.disk.file import read_file
from pipeline.plan import survey
from pipeline.report import last_build
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
