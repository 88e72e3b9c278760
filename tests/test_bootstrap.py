"""The two commands of the README, on a machine that is set up already."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bootstrap
from tests.pipeline.game import ROOT


@pytest.fixture
def set_up() -> None:
    """Never set up anew from inside the very environment that would be cleared."""
    dev = bootstrap.wanted_stamp(bootstrap.DEV_LOCK)
    if not (
        bootstrap.is_current(bootstrap.STAMP, bootstrap.wanted_stamp())
        and bootstrap.is_current(bootstrap.DEV_STAMP, dev)
    ):
        pytest.skip(".venv is not what bootstrap.py would make now")


@pytest.mark.usefixtures("set_up")
@pytest.mark.parametrize(
    "command", [["doit", "list"], ["pytest", "--version"], ["ruff", "version"]]
)
def test_a_command_runs_at_once_in_the_environment(command: list[str]) -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    done = subprocess.run(
        [base, "bootstrap.py", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Setting up" not in done.stderr


@pytest.mark.usefixtures("set_up")
def test_the_command_s_own_exit_code_comes_back() -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "bootstrap.py", "python", "-c", "raise SystemExit(7)"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 7


def test_no_command_is_an_error_that_says_what_to_type() -> None:
    with pytest.raises(SystemExit, match="such as doit or pytest"):
        bootstrap.main([])


def test_every_file_that_decides_the_set_up_is_part_of_the_stamp() -> None:
    names = {path.name for path in bootstrap.decisive_files()}
    assert {"requirements.lock", "pyproject.toml", "setup.py", "module.c"} <= names


def locked(path: Path) -> set[str]:
    """Return the names that a lock pins, as package indexes spell them."""
    lines = path.read_text().splitlines()
    names = [re.match(r"[\w.-]+", line) for line in lines if line[:1].isalnum()]
    return {normalized(name[0]) for name in names if name}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirements: list[str]) -> set[str]:
    return {normalized(re.match(r"[\w.-]+", one)[0]) for one in requirements}


def test_a_build_installs_its_dependencies_and_no_developer_tools() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    build, dev = locked(bootstrap.LOCK), locked(bootstrap.DEV_LOCK)
    assert required(project["project"]["dependencies"]) | {"setuptools"} <= build
    assert required(project["dependency-groups"]["dev"]) <= build | dev
    assert build & dev == set()
    assert {"pytest", "mypy", "usd-core", "distributed"} <= dev


@pytest.mark.parametrize(
    ("command", "adds"), [("doit", False), ("cartwright", False), ("pytest", True), ("ruff", True)]
)
def test_developer_tools_are_added_only_for_commands_that_need_them(monkeypatch, command, adds):
    added = []
    monkeypatch.setattr(bootstrap, "is_current", lambda stamp, _: stamp == bootstrap.STAMP)
    monkeypatch.setattr(bootstrap, "add_developer_tools", lambda: added.append(command))
    monkeypatch.setattr(os, "execve", lambda *_: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0))
    bootstrap.main([command])
    assert bool(added) == adds


def test_the_whole_suite_runs_on_all_cores(monkeypatch):
    ran = []
    monkeypatch.setattr(bootstrap, "is_current", lambda *_: True)
    monkeypatch.setattr(os, "execve", lambda _, command, __: ran.append(command[1:]))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0))
    for arguments in (["pytest"], ["pytest", "tests/kit"]):
        bootstrap.main(arguments)
    assert ran == [["-n", "auto"], ["tests/kit"]]
