"""The two commands of the README, on a machine that is set up already."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bootstrap
from tests.pipeline.game import ROOT


@pytest.fixture(autouse=True)
def set_up() -> None:
    """Never set up anew from inside the very environment that would be cleared."""
    if not bootstrap.STAMP.exists() or bootstrap.STAMP.read_text() != bootstrap.wanted_stamp():
        pytest.skip(".venv is not what bootstrap.py would make now")


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
