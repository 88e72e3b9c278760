"""A project's own doit tasks beside the content: they may name nodes and read outputs."""

from __future__ import annotations

import pytest

from pipeline.session import Session
from tests.pipeline.game import Game

# doit does not close what it reads a command's words from.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
NOTE = """

def _note(targets):
    import pathlib
    pathlib.Path(targets[0]).write_bytes(pathlib.Path("build/toy/all.pack").read_bytes())

"""
SECOND = 'target = "toy"\nsource_root = "other"\n[[asset]]\nsource = "other/*.txt"\n'


@pytest.fixture
def filled(game: Game) -> Game:
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "world")
    game.write("assets/w.bst", "x y z")
    return game


def add(game: Game, text: str) -> None:
    game.write("dodo.py", game.read("dodo.py").decode() + NOTE + text)


def task(name: str, **what: object) -> str:
    return f"def task_{name}():\n    return { ({'actions': ['true']} | what)!r}\n\n\n"


def fresh_then_clean(game: Game, *names: str) -> None:
    for _ in range(3):
        ran = game.doit(*names)
        assert (ran.code, ran.err) == (0, ""), ran.out


@pytest.mark.parametrize("kind", ["task_dep", "setup", "calc_dep"])
@pytest.mark.parametrize("name", ["toy:a", "toy:pack", "toy"])
def test_a_task_may_name_a_node_whether_it_is_dirty_or_not(filled, kind, name):
    add(filled, task("up", **{kind: [name]}))
    fresh_then_clean(filled)
    fresh_then_clean(filled, "up")


@pytest.mark.parametrize("pattern", ["toy:*", "toy:sub/*"])
def test_a_task_may_name_nodes_by_pattern(filled, pattern):
    add(filled, task("up", task_dep=[pattern], actions=["test -e build/toy/sub/b.out"]))
    fresh_then_clean(filled)
    filled.remove("build")
    fresh_then_clean(filled, "up")


def test_a_task_may_take_the_result_of_a_node(filled):
    add(filled, "from doit.tools import result_dep\n\n\n")
    add(filled, 'def task_up():\n    return {"actions": [], "uptodate": [result_dep("toy:a")]}\n')
    fresh_then_clean(filled)


def test_a_task_that_names_no_node_is_refused(filled):
    add(filled, task("up", task_dep=["toy:nosuch"]))
    for _ in range(2):
        ran = filled.doit()
        assert ran.code == 3
        assert "'toy:nosuch' does not exist" in ran.err


@pytest.mark.parametrize("name", ["second:x", "second", "second:*"])
def test_a_task_may_name_what_the_command_line_is_not_about(filled, name):
    filled.write("other/x.txt", "x")
    filled.write("manifests/second.toml", SECOND)
    add(filled, task("up", task_dep=[name], actions=["test -e build/second/x.out"]))
    fresh_then_clean(filled, "toy:a")
    assert not filled.path("build/second").exists()
    fresh_then_clean(filled, "up")


@pytest.mark.parametrize("names", [["toy:a"], ["toy"], ["build/toy/a.out"], ["toy:a", "up"]])
def test_default_tasks_may_be_nodes(filled, names):
    add(filled, task("up") + f'DOIT_CONFIG = {{"default_tasks": {names!r}}}\n')
    fresh_then_clean(filled)
    assert filled.read("build/toy/a.out") == b"HELLO"
    filled.write("assets/a.txt", "other")
    assert "toy:a" in filled.doit().built
    assert filled.doit("toy").code == 0


def copies(game: Game, path: str = "build/toy/all.pack") -> None:
    text = task("copy", file_dep=[path], targets=["copy"], actions=["NOTE"])
    add(game, text.replace("'NOTE'", "_note"))


@pytest.mark.parametrize("path", ["build/toy/all.pack", "./build/toy/../toy/all.pack"])
@pytest.mark.parametrize("name", [(), ("copy",), ("-n", "2")])
def test_a_task_that_reads_an_output_runs_after_it_is_built(filled, name, path):
    copies(filled, path)
    for text in ("hello", "longer than before", "the longest of all of these"):
        filled.write("assets/a.txt", text)
        ran = filled.doit(*name)
        assert ran.code == 0, ran.out
        assert filled.read("copy") == filled.read("build/toy/all.pack")
        assert f"a={len(text)}" in filled.read("copy").decode()
    assert "running" not in filled.doit(*name).out


def test_a_task_that_reads_an_output_that_could_not_be_built_is_not_run(filled):
    copies(filled)
    filled.write("assets/a.txt", "boom")
    ran = filled.doit()
    assert ran.code == 1
    assert "copy  not built\n  needs  toy:pack" in ran.out


def test_a_task_that_reads_one_of_a_family_runs_after_it_is_built(filled):
    path = "build/toy/w_1.part"
    text = task("part", file_dep=[path], targets=["part"], actions=[f"cp {path} part"])
    add(filled, text)
    for words in ("x y z", "x yy z"):
        filled.write("assets/w.bst", words)
        assert filled.doit().code == 0
        assert filled.read("part").decode() == words.split()[1]


@pytest.mark.parametrize("names", [(), ("late",)])
def test_tasks_that_are_made_while_running_know_all_nodes(filled, names):
    add(
        filled,
        "from doit import create_after\n\n\n"
        '@create_after(executed="toy:a")\ndef task_late():\n'
        '    yield {"name": "x", "actions": ["true"], "task_dep": ["toy:sub/b"],\n'
        '           "file_dep": ["build/toy/all.pack"]}\n',
    )
    fresh_then_clean(filled, *names)
    filled.write("assets/a.txt", "other")
    fresh_then_clean(filled, *names)


def test_a_task_may_find_out_while_running_what_it_reads(filled):
    add(
        filled,
        "def _reads():\n"
        '    return {"file_dep": ["build/toy/all.pack"], "task_dep": ["toy:a"]}\n\n\n'
        + task("reads", actions=["READS"]).replace("'READS'", "_reads")
        + task("up", calc_dep=["reads"], actions=["test -e build/toy/all.pack"]),
    )
    fresh_then_clean(filled, "up")


def test_a_project_without_tasks_of_its_own_asks_for_no_producers(filled, monkeypatch):
    asked = []
    for question in ("producers_of", "outputs_by_task", "all_tasks"):
        monkeypatch.setattr(Session, question, lambda *_: asked.append(1))
    assert [filled.doit().code for _ in range(2)] == [0, 0]
    assert asked == []


@pytest.mark.parametrize(
    ("path", "built"),
    [
        ("build/toy/a.out", ["toy:a"]),
        ("./build/toy/a.out", ["toy:a"]),
        ("build/toy/w_1.part", ["toy:w"]),
        ("build/toy/w.part", ["toy:w"]),
        ("build/toy/all.pack", ["toy:a", "toy:pack", "toy:sub/b"]),
    ],
)
def test_an_output_that_was_never_built_can_be_asked_for_by_its_file(filled, path, built):
    ran = filled.doit(path)
    assert (ran.code, ran.built) == (0, built), ran.err


@pytest.mark.parametrize("path", ["build/toy/nosuch.out", "build/toy/w_9.part", "assets/a.txt"])
def test_a_file_that_nothing_makes_cannot_be_asked_for(filled, path):
    filled.doit()
    ran = filled.doit(path)
    assert ran.code == 3
    assert path in ran.err


def test_groups_that_wait_for_each_other_are_told_and_no_traceback(filled):
    groups = (
        f'def task_{name}():\n    yield {{"name": None, "task_dep": ["{other}"]}}\n'
        '    yield {"name": "x", "actions": ["true"]}\n\n\n'
        for name, other in (("one", "two"), ("two", "one"))
    )
    add(filled, "".join(groups))
    ran = filled.doit("one")
    assert ran.code != 0
    assert "Cyclic/recursive dependencies" in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err
