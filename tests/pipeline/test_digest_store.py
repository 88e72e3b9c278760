"""Digests of modules are kept per machine by content, and are never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.content import digest_store, syntax
from pipeline.content.digest_store import DigestStore
from pipeline.content.module import Module
from pipeline.content.syntax import digest_source
from tests.pipeline.game import Game

TEXT = b"import numpy\nfrom encoders.kit import error\nx = 1\n"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "x.py"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> str:
    made = tmp_path / "machine"
    made.mkdir()
    return str(made)


def count_parses(patch: pytest.MonkeyPatch) -> list[str]:
    """Note the name of every module that is parsed from now on."""
    parsed: list[str] = []

    def digest(source: bytes, name: str, is_package: bool) -> Module:
        parsed.append(name)
        return digest_source(source, name, is_package)

    patch.setattr(syntax, "digest_source", digest)
    return parsed


def fill(folder: str, module: Path) -> Module:
    store = DigestStore(folder)
    found = store.digest_file(str(module), "encoders.x")
    store.save()
    return found


def test_what_is_kept_is_what_parsing_gives(
    folder: str, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = digest_source(TEXT, "encoders.x", False)
    assert fill(folder, module) == expected
    parsed = count_parses(monkeypatch)
    assert fill(folder, module) == expected
    assert parsed == []


def test_another_content_name_or_kind_of_module_is_parsed(
    folder: str, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, module)
    package = module.with_name("__init__.py")
    package.write_bytes(b"from . import a\n")
    plain = module.with_name("y.py")
    plain.write_bytes(b"from . import a\n")
    parsed = count_parses(monkeypatch)
    store = DigestStore(folder)
    assert "encoders.x.a" in store.digest_file(str(package), "encoders.x").imports
    assert "encoders.a" in store.digest_file(str(plain), "encoders.x").imports
    assert "encoders.z.a" in store.digest_file(str(plain), "encoders.z.y").imports
    assert parsed == ["encoders.x", "encoders.x", "encoders.z.y"]


@pytest.mark.parametrize("rule", [syntax, digest_store.module_module])
def test_a_change_of_the_rules_makes_what_is_kept_useless(
    folder: str, module: Path, monkeypatch: pytest.MonkeyPatch, rule: object
) -> None:
    fill(folder, module)
    other = module.with_name("rules.py")
    other.write_bytes(b"other rules")
    monkeypatch.setattr(rule, "__file__", str(other))
    parsed = count_parses(monkeypatch)
    fill(folder, module)
    assert parsed == ["encoders.x"]


def test_a_damaged_file_is_not_believed(
    folder: str, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fill(folder, module)
    kept = Path(folder, "modules")
    whole = kept.read_bytes()
    parsed = count_parses(monkeypatch)
    for damaged in (b"", whole[:40], whole[:-1], whole[:60] + b"?" + whole[61:]):
        kept.write_bytes(damaged)
        assert fill(folder, module) == expected
    assert parsed == ["encoders.x"] * 4
    assert kept.read_bytes() == whole


def test_the_oldest_entries_are_dropped(
    folder: str, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest_store, "MAX_ENTRIES", 2)
    for number in range(3):
        module.write_bytes(b"x = %d" % number)
        fill(folder, module)
    parsed = count_parses(monkeypatch)
    for number in (2, 1, 0):
        module.write_bytes(b"x = %d" % number)
        DigestStore(folder).digest_file(str(module), "encoders.x")
        assert parsed == [] or number == 0
    assert parsed == ["encoders.x"]


def test_two_processes_lose_nothing_of_each_other(folder: str, module: Path) -> None:
    other = module.with_name("y.py")
    other.write_bytes(b"y = 1")
    one, two = DigestStore(folder), DigestStore(folder)
    one.digest_file(str(module), "encoders.x")
    two.digest_file(str(other), "encoders.y")
    one.save()
    two.save()
    assert len(DigestStore(folder)._kept) == 2


@pytest.mark.parametrize("where", [None, "file", "file/below", "absent"])
def test_a_folder_that_cannot_be_used_costs_nothing_but_time(
    tmp_path: Path, module: Path, where: str | None
) -> None:
    tmp_path.joinpath("file").write_bytes(b"no folder")
    folder = where and str(tmp_path / where)
    assert DigestStore(folder).digest_file(str(module), "encoders.x").imports
    store = DigestStore(folder)
    store.digest_file(str(module), "encoders.x")
    store.save()
    assert tmp_path.joinpath("file").read_bytes() == b"no folder"


def test_the_second_project_of_a_machine_parses_no_installed_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for name in ("first", "second"):
        game = Game(tmp_path / name)
        game.write("assets/a.txt", "text")
        parsed = count_parses(monkeypatch)
        assert game.doit().built == ["toy:a", "toy:pack"]
        assert bool(parsed) == (name == "first")
