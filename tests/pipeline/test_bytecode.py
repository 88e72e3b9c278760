"""Compiled modules are kept per machine by content, and only this user's are run."""

from __future__ import annotations

import marshal
import os
from pathlib import Path

import pytest
import xxhash

from pipeline.content import bytecode
from pipeline.content.bytecode import compile_module
from pipeline.disk.machine import machine_folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cartwright/bytecode"


def run(source: bytes, path: str = "/x.py") -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile_module(source, path), names)
    return names


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were compiled, in order."""
    paths: list[str] = []
    plain = bytecode._compile

    def note(source: bytes, path: str) -> object:
        paths.append(path)
        return plain(source, path)

    monkeypatch.setattr(bytecode, "_compile", note)
    return paths


def test_a_text_is_compiled_once(home: Path, compiled: list[str]) -> None:
    assert [run(b"x = 1")["x"] for _ in range(3)] == [1, 1, 1]
    assert len(compiled) == len(list(home.iterdir())) == 1


def test_another_text_path_or_level_of_optimisation_is_compiled(
    home: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(b"x = 1")["x"] == 1
    assert run(b"x = 2")["x"] == 2
    assert compile_module(b"x = 1", "/y.py").co_filename == "/y.py"

    class Flags:
        optimize = 2

    monkeypatch.setattr("sys.flags", Flags)
    run(b"x = 1")
    assert len(compiled) == 4


def test_damaged_bytecode_is_compiled_again(home: Path, compiled: list[str]) -> None:
    run(b"x = 1")
    (kept,) = home.iterdir()
    whole = kept.read_bytes()
    sealed = [marshal.dumps(1), b"\xe3", b"?"]
    wrong = [xxhash.xxh3_128_digest(one) + one for one in sealed]
    for damaged in (*wrong, b"", whole[:20], whole[:-1], whole[:-3] + b"???", bytes(len(whole))):
        kept.write_bytes(damaged)
        assert run(b"x = 1")["x"] == 1
        assert kept.read_bytes() == whole
    assert len(compiled) == 9


def test_a_mistake_in_a_module_is_reported_as_python_does(home: Path) -> None:
    with pytest.raises(SyntaxError) as caught:
        run(b"x = = 1", "/game/encoders/x.py")
    assert (caught.value.filename, caught.value.lineno) == ("/game/encoders/x.py", 1)
    assert not home.exists()


def test_the_oldest_are_removed_where_there_are_too_many(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytecode, "MAX_FILES", 4)
    monkeypatch.setattr(bytecode, "KEPT_FILES", 2)
    for number in range(4):
        run(b"x = %d" % number)
    assert len(list(home.iterdir())) == 4
    run(b"x = 4")
    assert len(list(home.iterdir())) == 2


@pytest.mark.parametrize("where", ["relative", "", "file"])
def test_without_a_folder_of_its_own_everything_is_compiled(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    tmp_path.joinpath("file").write_bytes(b"no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / where) if where == "file" else where)
    monkeypatch.setenv("HOME", "relative")
    assert machine_folder() is None
    assert [run(b"x = 1")["x"] for _ in range(2)] == [1, 1]
    assert len(compiled) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")
def test_a_folder_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert machine_folder() == f"{tmp_path}/cartwright"
    (tmp_path / "cartwright").chmod(0o770)
    assert machine_folder() is None
    (tmp_path / "cartwright").chmod(0o700)
    assert machine_folder() is not None
    monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert machine_folder() is None
