"""The `cartwright` command: what `doit` does, from any folder of the project."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from pipeline.cli import doctor, main
from pipeline.cli.completion import complete
from pipeline.cli.version import version_lines
from pipeline.cli.words import from_root
from pipeline.typed_command import PROGRAM
from tests.pipeline.game import ROOT, Game


@pytest.fixture
def game(tmp_path) -> Game:
    game = Game(tmp_path / "game")
    game.write("assets/a.txt", "one")
    return game


@pytest.fixture(autouse=True)
def program_is_forgotten(monkeypatch) -> None:
    """Keep what `cartwright` notes for its messages out of other tests."""
    monkeypatch.setenv(PROGRAM, "doit")


def rewritten(line: str, is_run: bool = True, root: str = "/p", here: str = "/p/sub") -> str:
    return " ".join(from_root(line.split(), root, here, is_run))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("kac --junit out.xml", "kac --junit sub/out.xml"),
        ("--json=r.json -n 4", "--json=sub/r.json -n 4"),
        ("--trace /abs/t.json", "--trace /abs/t.json"),
        ("kac:meshes/barrel", "kac:meshes/barrel"),
        ("", ""),
    ],
)
def test_paths_of_options_are_written_from_the_root(typed, expected):
    assert rewritten(typed) == expected


def test_json_is_a_flag_where_no_run_is_asked_for():
    assert rewritten("explain --json x", is_run=False) == "explain --json x"


def test_a_word_is_a_path_only_if_it_is_there_and_looks_like_one(tmp_path):
    (tmp_path / "sub/kac").mkdir(parents=True)
    (tmp_path / "sub/a.kac").write_bytes(b"")
    given = {"root": str(tmp_path), "here": str(tmp_path / "sub")}
    assert rewritten("inspect a.kac", **given) == "inspect sub/a.kac"
    assert rewritten("inspect ../sub/a.kac", **given) == "inspect sub/a.kac"
    assert rewritten("kac", **given) == "kac"
    assert rewritten("build/kac/b.kac", **given) == "build/kac/b.kac"


def test_a_build_from_a_folder_below_is_the_build_of_the_project(game):
    here = game.path("assets/deep/er")
    here.mkdir(parents=True)
    program = "import sys; from pipeline.cli.main import run; sys.exit(run(sys.argv[1:]))"
    subprocess.run(
        [sys.executable, "-c", program, "--json", "result.json"],
        cwd=here,
        env=game.environment(),
        check=True,
        timeout=100,
    )
    assert game.path("build/toy/a.out").is_file()
    assert (here / "result.json").is_file()


def test_where_there_is_no_project_the_message_says_how_to_start_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.run(["kac"]) == 3
    assert "`cartwright init` starts one" in capsys.readouterr().err
    assert main.run(["--help"]) == 0
    assert "cartwright doctor" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[""], ["toy", ""], ["explain", ""]])
def test_a_variable_that_was_not_set_is_no_traceback(game, monkeypatch, capsys, words):
    monkeypatch.chdir(game.root)
    assert main.run(words) == 3
    assert "one of the words is empty" in capsys.readouterr().err


def test_commands_that_need_no_project_run_in_an_empty_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = {one.name: one.load() for one in entry_points(group="doit.COMMAND")}
    free = [name for name, one in commands.items() if not getattr(one, "needs_project", True)]
    assert sorted(free) == sorted(main.ANYWHERE)
    assert main.run(["snapshot", "fetch"]) == 3
    assert "no shared cache is set" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dodo.py", "doit.cfg"])
def test_the_missing_one_of_the_two_files_of_a_project_is_named(game, name, monkeypatch, capsys):
    game.remove(name)
    monkeypatch.chdir(game.path("assets"))
    assert main.run([]) == 3
    assert f"but {name} is missing beside it" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "text"), [("pyproject.toml", "[tool.x"), ("doit.cfg", "x=[a\n")])
def test_settings_that_cannot_be_read_are_told_in_a_line(game, name, text, monkeypatch, capsys):
    game.write(name, text)
    monkeypatch.chdir(game.root)
    assert main.run([]) == 3
    found = capsys.readouterr().err
    assert found.startswith(f"ERROR: {name} cannot be read: ")
    assert found.count("\n") == 1


def test_the_doctor_finds_settings_that_cannot_be_read(game, monkeypatch, capsys):
    game.write("pyproject.toml", "[tool.x")
    monkeypatch.chdir(game.root)
    assert doctor.run([]) == 1
    assert "bad   settings      pyproject.toml cannot be read" in capsys.readouterr().out


def test_the_doctor_refuses_words_that_it_does_not_know(capsys):
    assert doctor.run(["--json"]) == 3
    assert "doctor: --json" in capsys.readouterr().err


def test_a_reader_of_the_help_that_has_seen_enough_is_no_error(tmp_path):
    program = "import sys; from pipeline.cli.main import run; sys.exit(run(['--help']))"
    line = f'"{sys.executable}" -c "{program}" | true; exit ${{PIPESTATUS[0]}}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    given = {"cwd": tmp_path, "env": environment, "timeout": 100}
    ran = subprocess.run(["bash", "-c", line], check=False, **given, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_the_version_names_doit_python_kernels_and_every_extra():
    text = "\n".join(version_lines())
    assert text.startswith("cartwright ")
    for word in ("\ndoit ", "\nPython ", "\nkernels ", "extra      usd: usd-core "):
        assert word in text


def test_the_doctor_is_content_with_a_good_project_and_fails_with_a_cache_it_cannot_write(
    game, monkeypatch, capsys
):
    monkeypatch.chdir(game.root)
    assert doctor.run([]) == 0
    assert f"ok    project       {game.root}" in capsys.readouterr().out
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert doctor.run([]) == 1
    assert "bad   cache" in capsys.readouterr().out


def test_the_doctor_tells_of_a_shared_cache_that_does_not_answer(game, monkeypatch, capsys):
    monkeypatch.chdir(game.root)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "http://127.0.0.1:9")
    assert doctor.run([]) == 0
    assert "note  shared cache  http://127.0.0.1:9 can't be used" in capsys.readouterr().out


def test_completion_knows_commands_targets_nodes_and_files(game, monkeypatch):
    game.doit()
    for line, expected in {
        "cartwright ins": ["inspect"],
        "cartwright do": ["doctor", "dodo.py", "doit.cfg"],
        "cartwright to": ["toy"],
        "cartwright toy:": ["toy:a", "toy:pack"],
        "cartwright inspect build/toy/a.": ["build/toy/a.out"],
        "cartwright inspect bu": ["build/"],
    }.items():
        monkeypatch.chdir(game.root)
        found = complete(line)
        assert sorted(expected) == found, line


def test_a_message_names_the_program_that_was_typed(game, monkeypatch, capsys):
    monkeypatch.chdir(game.root)
    monkeypatch.setenv("CARTWRIGHT_PROGRAM", "doit")  # put back afterwards
    assert main.run(["nothing-like-it"]) == 3
    assert "`cartwright list --all`" in capsys.readouterr().err


def test_options_are_completed_for_the_command_that_was_typed(game, monkeypatch):
    monkeypatch.chdir(game.root)
    assert "--strict" in complete("cartwright --st")
    assert complete("cartwright sizes --aga") == ["--against"]
    assert "--strict" not in complete("cartwright sizes --")
