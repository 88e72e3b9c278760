"""`cartwright` imports doit without modules that a run does not use, and nothing else is other."""

import importlib.metadata
import subprocess
import sys
from importlib.machinery import PathFinder

import pytest

from pipeline.doit_plugin import quick_import
from tests.pipeline.game import ROOT

IMPORTS = """
import sys
from pipeline.doit_plugin.quick_import import LATER
from pipeline.doit_plugin.run_line import run_line
print(*(name for name in ("cloudpickle", "importlib.metadata", "email") if name in sys.modules))
print(*(name for name in LATER if name in sys.modules))
import cloudpickle, importlib.metadata, pdb
print(cloudpickle.dumps.__name__, importlib.metadata.version("doit") > "0", pdb.Pdb.__name__)
"""

USES = """
import sys
from pipeline.doit_plugin.run_line import run_line
from doit import action, dependency, runner
print(dependency.hashlib.md5(b"").hexdigest()[:8], action.subprocess.PIPE, action.pdb.Pdb.__name__)
print(runner.pickle.loads(runner.pickle_dumps("text")), runner.MRunner.Queue(1).empty())
print(action.subprocess.PIPE is sys.modules["subprocess"].PIPE, hasattr(action.pdb, "nothing"))
"""


def output_lines(program):
    words = [sys.executable, "-c", program]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def test_doit_is_imported_without_what_a_run_does_not_use_and_that_is_there_when_asked_for():
    assert output_lines(IMPORTS) == ["", "", "dumps True Pdb"]


def test_doit_uses_modules_that_are_imported_later_as_if_they_were_there():
    lines = ["d41d8cd9 -1 Pdb", "text True", "True False"]
    assert output_lines(USES) == lines


@pytest.mark.parametrize("group", ["COMMAND", "LOADER", "BACKEND", "REPORTER"])
def test_entry_points_are_those_that_python_finds(group):
    python = importlib.metadata.entry_points(group=f"doit.{group}")
    ours = quick_import.entry_points(group=f"doit.{group}")
    assert {(one.name, one.module, one.attr) for one in ours} == {
        (one.name, one.module, one.attr) for one in python
    }
    assert group != "COMMAND" or ours


def write_package(folder, name, text):
    info = folder / f"{name}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {name.partition('-')[0]}\n")
    (info / "entry_points.txt").write_text(text)


def test_the_first_of_two_packages_of_one_name_counts(tmp_path):
    write_package(tmp_path / "a", "My.Tool-1.0", "[doit.COMMAND]\nnew = mine:New [extra]\n")
    write_package(tmp_path / "b", "my_tool-0.9", "[doit.COMMAND]\nold = mine:Old\n")
    write_package(tmp_path / "b", "other-2", "# doit.COMMAND\n[console_scripts]\nx = y:z\n")
    path = (str(tmp_path / "a"), str(tmp_path / "gone"), str(tmp_path / "b"))
    assert quick_import.doit_points(path) == [("doit.COMMAND", "new", "mine", "New")]


def test_packages_that_are_not_in_folders_are_left_to_python(tmp_path, monkeypatch):
    (tmp_path / "packages.zip").touch()
    # Packages that other tests import bring finders of their own, and put Python's out of use.
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    monkeypatch.setattr(PathFinder, "find_distributions", None, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert not quick_import._is_unusual()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "packages.zip")])
    assert quick_import._is_unusual()
