"""Commands are found: ours by entry points, those of targets by their declarations."""

from __future__ import annotations

import configparser
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points

import pytest
from doit.doit_cmd import DoitMain

from tests.pipeline.game import ROOT, Game

# doit does not close what it reads a command's words from.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
CONVERT = """

def convert(data, path):
    text = data.decode()
    if "bad" in text:
        raise EncodeError("not a list", {"file": path})
    lines = [f'[[asset]]\\nsource = "{one}"\\n' for one in text.split()]
    return Imported("target = \\"toy\\"\\n" + "".join(lines), ("one thing is lost",))


TARGET = replace(
    TARGET,
    commands={"from-list": Importer("encoders.toy:convert", "manifests/made.toml", "read a list")},
)
"""
IMPORTS = "from dataclasses import replace\nfrom encoders.kit.plan import Imported, Importer\n"


@pytest.fixture
def importing(game: Game) -> Game:
    """A game whose own target brings the command `from-list`."""
    code = game.read("encoders/toy.py").decode()
    head, future, rest = code.partition("from encoders.kit.error")
    game.write("encoders/toy.py", head + IMPORTS + future + rest + CONVERT)
    game.write("assets/a.txt", "hello")
    game.write("list", "assets/a.txt")
    return game


def registered() -> tuple[dict[str, str], dict[str, str]]:
    """Give the commands of pyproject.toml and those of doit.cfg, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    config = configparser.ConfigParser(delimiters=("=",))
    config.read(ROOT / "doit.cfg")
    return project["entry-points"]["doit.COMMAND"], dict(config["COMMAND"])


def test_every_file_of_a_command_is_registered_in_one_place() -> None:
    found, replaced = registered()
    folder = ROOT / "pipeline/doit_plugin/command"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "import_manifest"}
    assert not set(found) & set(replaced)
    named = {name.replace("-", "_"): place for name, place in {**found, **replaced}.items()}
    assert {*named} == files
    for name, place in named.items():
        module, _, called = place.partition(":")
        assert module == f"pipeline.doit_plugin.command.{name}"
        # A few have a longer name, because the plain one is that of what they work on.
        assert called.removesuffix("Command") == name.title().replace("_", "")


def test_an_entry_point_never_replaces_a_command_of_doit() -> None:
    core = {command.get_name() for command in DoitMain.DOIT_CMDS}
    found, replaced = registered()
    assert not set(found) & core
    assert set(replaced) <= core


def test_what_is_installed_is_what_the_project_says() -> None:
    found, _ = registered()
    installed = {one.name: one.value for one in entry_points(group="doit.COMMAND")}
    assert found.items() <= installed.items(), "install the project again: entry points changed"


@pytest.mark.parametrize("command", ["explain", "gc", "watch", "cargo x --into y"])
@pytest.mark.parametrize("is_inside", [True, False])
def test_a_command_outside_of_a_projects_root_says_so_and_leaves_nothing(
    importing, tmp_path, command, is_inside
):
    folder = importing.path("assets") if is_inside else tmp_path / "elsewhere"
    folder.mkdir(exist_ok=True)
    before = sorted(folder.iterdir())
    ran = subprocess.run(
        [sys.executable, "-m", "doit", *command.split()],
        cwd=folder,
        env=importing.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    where = f"change to {importing.root} and run it there" if is_inside else "doit.cfg is missing"
    said = f"ERROR: {command.split()[0]}: this is not the root of a Cartwright project; {where}\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", said)
    assert sorted(folder.iterdir()) == before


def test_inspect_runs_in_any_folder_and_leaves_nothing_there(importing):
    importing.doit()
    ran = subprocess.run(
        [sys.executable, "-m", "doit", "inspect", "../build/toy/all.pack"],
        cwd=importing.path("assets"),
        env=importing.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1, "a game's own targets are found in its root only"
    assert "no target knows this kind of file" in ran.stderr
    assert not importing.path("assets/.cartwright").exists()


def test_another_doit_project_of_the_environment_goes_on_as_before(tmp_path):
    (tmp_path / "dodo.py").write_text('def task_x():\n    return {"actions": ["true"]}\n')
    for words, said in (([], ".  x"), (["list"], "x "), (["help"], "explain"), (["forget"], "x")):
        ran = subprocess.run(
            [sys.executable, "-m", "doit", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert said in ran.stdout + ran.stderr, words
    assert not (tmp_path / ".cartwright").exists()


def test_a_command_of_a_games_own_target_writes_a_manifest(importing):
    ran = importing.doit("from-list", "list")
    expected = "warning: list: one thing is lost\nwrote manifests/made.toml\n"
    assert (ran.code, ran.out, ran.err) == (0, expected, "")
    assert importing.doit("made").built == ["made:a", "made:pack"]
    again = importing.doit("from-list", "list")
    said = "from-list: manifests/made.toml is already there; --force replaces it"
    assert (again.code, again.err) == (3, f"ERROR: {said}\n")
    assert importing.doit("from-list", "--force", "list").code == 0
    assert importing.doit("from-list", "list", "-o", "manifests/deep/x.toml").code == 0
    assert importing.read("manifests/deep/x.toml") == importing.read("manifests/made.toml")


def test_a_file_that_a_targets_command_cannot_read_is_refused_and_nothing_written(importing):
    importing.write("list", "bad")
    ran = importing.doit("from-list", "list")
    assert (ran.code, ran.err) == (1, "list  not a list\n  file: list\n")
    assert not importing.path("manifests/made.toml").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "from-list takes the path of one file"),
        (["a", "b"], "from-list takes the path of one file"),
        (["nosuch"], "from-list: there is no file nosuch"),
        (["list", "--forse"], "from-list has no option --forse; did you mean --force?"),
    ],
)
def test_a_wrong_line_of_a_targets_command_is_refused_in_one_sentence(importing, words, said):
    ran = importing.doit("from-list", *words)
    assert (ran.code, ran.err) == (3, f"ERROR: {said}\n")


def test_help_knows_the_commands_of_targets(importing):
    listed = importing.doit("help").out
    assert " from-list " in listed
    assert " import-ember " in listed
    for words in (("help", "from-list"), ("from-list", "--help")):
        shown = importing.doit(*words)
        assert shown.code == 0
        assert "read a list" in shown.out
        assert "--output" in shown.out


def test_help_on_a_slip_names_what_was_meant(importing):
    ran = importing.doit("help", "exlpain")
    assert (ran.code, 'did you mean "explain"?' in ran.err) == (3, True)


def test_a_manifest_and_a_task_of_the_same_name_come_before_a_targets_command(importing):
    importing.write("manifests/from-list.toml", importing.read("manifests/toy.toml"))
    assert "from-list:a" in importing.doit("from-list").built
    importing.remove("manifests/from-list.toml")
    own = 'def task_x():\n    return {"basename": "from-list", "actions": ["true"]}\n'
    importing.write("dodo.py", importing.read("dodo.py").decode() + own)
    assert "running   from-list" in importing.doit("from-list").out


def test_a_run_that_names_what_there_is_loads_no_other_targets(importing, monkeypatch):
    def fail(root: str) -> None:
        raise AssertionError("targets were loaded")

    monkeypatch.setattr("pipeline.doit_plugin.target_command.find_target_commands", fail)
    own = 'def task_own():\n    return {"actions": ["touch made"], "targets": ["made"]}\n'
    importing.write("dodo.py", importing.read("dodo.py").decode() + own)
    for words in ([], ["toy"], ["toy:a"], ["toy:*"], ["build/toy/a.out"], ["own"], ["made"]):
        assert importing.doit(*words).code == 0, words


def test_a_target_that_cannot_be_loaded_hides_no_other_targets_command(importing):
    importing.write("encoders/own_broken.py", "import nosuchmodule\n")
    assert importing.doit("from-list", "list").code == 0


def test_a_command_that_is_no_importer_is_a_mistake_in_the_target(game):
    code = game.read("encoders/toy.py").decode()
    game.write(
        "encoders/toy.py", code.replace("    link=link,", "    link=link, commands={'x': 1},")
    )
    ran = game.doit()
    assert ran.code == 3
    assert "encoders.toy.TARGET is no Target: its commands are not all of Importer" in ran.err
