"""`doit explain`: files, failures, long lists, options in the user's words, another build."""

from __future__ import annotations

import json
import os
import sys

import pytest

import encoders
from pipeline.change.detect import Detector
from pipeline.change.key_parts import KeyParts
from pipeline.change.option_word import changed_options
from pipeline.inquiry import Inquiry
from pipeline.project import Project
from pipeline.report.ran_line import RanLines
from pipeline.session import Session
from pipeline.state.state import BUILDING, State
from tests.pipeline.game import MANIFEST, Game
from tests.pipeline.test_command import lines


@pytest.fixture
def built(game: Game) -> Game:
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "world")
    game.doit()
    return game


@pytest.mark.parametrize("file", ["assets/a.txt", "./assets/a.txt", "build/toy/a.out"])
def test_explain_of_a_file_names_the_nodes_that_read_or_write_it(built, file):
    built.write("assets/a.txt", "x")
    built.write("assets/sub/b.txt", "y")
    assert lines(built, file) == ["toy:a  source changed: assets/a.txt"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("assets/A.txt", "assets/a.txt"), ("build/toy/sub/bb.out", "build/toy/sub/b.out")],
)
def test_explain_of_a_misspelled_file_names_the_nearest_one(built, wrong, right):
    ran = built.doit("explain", wrong)
    assert (ran.code, f'did you mean "{right}"?' in ran.err) == (3, True)


def test_explain_says_of_a_node_that_failed_that_it_did(built):
    built.write("assets/n.txt", "boom")
    built.write("assets/a.txt", "boom")
    assert built.doit().code == 1
    assert lines(built, "toy:n", "toy:a") == [
        "toy:a  source changed: assets/a.txt (failed last time: it went boom)",
        "toy:n  new: failed last time: it went boom",
    ]
    built.write("assets/n.txt", "fine")
    built.write("assets/a.txt", "fine")
    built.doit()
    assert lines(built) == []
    built.write("assets/a.txt", "finer")
    assert lines(built, "toy:a") == ["toy:a  source changed: assets/a.txt"]


def test_explain_sums_up_a_long_list_unless_asked_for_all(built):
    for number in range(60):
        built.write(f"assets/n{number:02}.txt", "x")
    short = lines(built)
    assert short[0] == "toy: 60 new, such as toy:n00, toy:n01, toy:n02"
    assert short[-1] == "61 nodes; `doit explain -v` has a line for each"
    assert len(short) < 8
    assert len(lines(built, "-v")) == 61


def test_explain_as_json_marks_what_only_may_change(built):
    built.write("assets/a.txt", "x")
    found = json.loads(built.doit("explain", "--json").out)
    assert found["schema"] == "cartwright.explain/1"
    assert found["nodes"] == [
        {
            "task": "toy:a",
            "reason": [{"kind": "source changed", "detail": "assets/a.txt"}],
            "may_change": False,
        },
        {
            "task": "toy:pack",
            "reason": [{"kind": "source changed", "detail": "assets/a.txt, through toy:a"}],
            "may_change": True,
        },
    ]


def test_explain_names_no_option_that_the_user_never_wrote(built):
    code = built.read("encoders/toy.py").decode()
    for old, new in (
        ('"times": asset.options["times"]}', '"times": 1, "line_list": ["x" * 30] * count}'),
        (
            'refs = surveys[asset.source]["refs"]',
            'refs, count = [], surveys[asset.source]["lines"]',
        ),
    ):
        assert old in code
        code = code.replace(old, new)
    built.write("encoders/toy.py", code)
    built.doit()
    built.write("assets/a.txt", "one\ntwo\nthree")
    assert lines(built, "toy:a") == [
        "toy:a  source changed: assets/a.txt; planned line list changed"
    ]


def test_explain_shows_long_values_short():
    old, new = {"files": ["x" * 30] * 3}, {"files": ["x" * 30] * 4}
    assert changed_options(old, new, frozenset({"files"})) == ["`files` a list of 3 -> a list of 4"]
    old, new = {"game": {"title": "a", "id": "x"}}, {"game": {"title": "b", "id": "x"}}
    assert changed_options(old, new, frozenset({"game"})) == ['`game.title` "a" -> "b"']
    old, new = {"text": "y" * 50 + "a"}, {"text": "y" * 50 + "b"}
    assert changed_options(old, new, frozenset({"text"})) == ["`text` changed"]


def write_result(game: Game, name: str) -> None:
    """Write what another machine's build would leave: the parts of every node's key."""
    before, folders = os.getcwd(), list(encoders.__path__)
    os.chdir(game.root)
    project = Project(str(game.root), print)
    try:
        session = Session(project)
        with Inquiry(session).read_only_build((), map) as build:
            parts = KeyParts(build.nodes, build.evaluator)
            nodes = [{"task": task, "key": parts.of(task)} for task in session.all_tasks()]
        found = {"schema": "cartwright.build/1", "nodes": nodes, "code": parts.code}
        game.write(name, json.dumps(found))
    finally:
        project.close()
        os.chdir(before)
        encoders.__path__[:] = folders
        sys.modules.pop("encoders.toy", None)


def test_explain_against_another_build_names_the_part_of_the_key_that_differs(built):
    write_result(built, "other.json")
    assert lines(built, "--against", "other.json") == []
    built.write("assets/a.txt", "other words")
    built.write("assets/n.txt", "new")
    built.write("manifests/toy.toml", MANIFEST + '[defaults.text]\ncase = "lower"\n')
    said = lines(built, "--against", "other.json")
    assert (
        said[0] == 'toy:a  option changed: `case` "upper" -> "lower"; source changed: assets/a.txt'
    )
    assert "toy:n  new: not in the other build" in said
    assert 'toy:sub/b  option changed: `case` "upper" -> "lower"' in said


def test_explain_against_another_build_names_modules_and_libraries(built):
    write_result(built, "other.json")
    found = json.loads(built.read("other.json"))
    # As another machine would have it: other code under another digest.
    found["code"] = {
        f"other {digest}": {**table, "encoders.toy": "0" * 16, "numpy": "0.1"}
        for digest, table in found["code"].items()
    }
    for node in found["nodes"]:
        node["key"]["code"] = f"other {node['key']['code']}"
    built.write("other.json", json.dumps(found))
    said = lines(built, "--against", "other.json", "toy:a")[0]
    assert said.startswith("toy:a  code changed: encoders.toy, numpy 0.1 -> ")


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "x/9", "nodes": []}', '{"nodes": 3}'])
def test_a_file_that_is_no_build_is_refused(built, text):
    built.write("other.json", text)
    ran = built.doit("explain", "--against", "other.json")
    assert ran.code == 3
    assert "explain --against: other.json: " in ran.err


def test_what_comes_through_a_node_repeats_its_cause_and_no_more(built):
    built.write("assets/a.txt", "boom")
    built.doit()
    assert lines(built, "toy:pack") == [
        "toy:pack  source changed: assets/a.txt, through toy:a (may change)"
    ]


@pytest.mark.parametrize(
    ("name", "value"), [("DURABLE", "maybe"), ("REMOTE_CACHE", "ftp://x"), ("EXECUTOR", "dask")]
)
def test_a_wrong_setting_leaves_no_mark_of_a_running_build(built, monkeypatch, name, value):
    built.write("assets/a.txt", "other words")
    monkeypatch.setenv(f"CARTWRIGHT_{name}", value)
    assert built.doit().code == 3
    monkeypatch.delenv(f"CARTWRIGHT_{name}")
    state = State(str(built.path(".cartwright/state.db")), is_owner=False)
    assert state.facts(BUILDING) == {}
    state.close()
    planned = []
    monkeypatch.setattr(Detector, "_plan_again", lambda _, stem: planned.append(stem))
    assert built.doit().built == ["toy:a", "toy:pack"]
    assert planned == []


def test_the_result_that_a_build_leaves_explains_a_miss_on_another_machine(built):
    left = built.read(".cartwright/last-build.json")
    built.write("other.json", left)
    assert lines(built, "--against", "other.json") == []
    built.write("assets/a.txt", "other words")
    assert lines(built, "--against", "other.json") == ["toy:a  source changed: assets/a.txt"]


def test_a_machine_that_has_built_nothing_yet_has_the_keys_of_the_other(built):
    built.write("assets/c.bst", "one two")
    built.doit()
    built.write("other.json", built.read(".cartwright/last-build.json"))
    for name in (".cartwright", "cache", "build"):
        built.remove(name)
    assert lines(built, "--against", "other.json") == []
    built.write("assets/new.txt", "more")
    assert lines(built, "--against", "other.json") == [
        "toy:new  new: not in the other build",
        "toy:pack  source changed: toy:new length (not read there)",
    ]


def test_what_was_not_built_on_the_other_machine_is_not_taken_for_something_else(built):
    built.write("assets/a.txt", "boom")
    built.doit()
    built.write("other.json", built.read(".cartwright/last-build.json"))
    built.write("assets/a.txt", "hello")
    assert lines(built, "--against", "other.json") == ["toy:a  source changed: assets/a.txt"]
    for name in (".cartwright", "cache", "build"):
        built.remove(name)
    built.write("assets/a.txt", "boom")
    built.doit()
    built.write("other.json", built.read(".cartwright/last-build.json"))
    built.write("assets/a.txt", "hello")
    built.doit()
    (_, line) = lines(built, "--against", "other.json")
    assert line == "toy:pack  source changed: toy:a length (not known there)"


def test_a_failure_that_was_mended_is_not_told_of_a_lost_output(built):
    text = built.read("assets/a.txt")
    built.write("assets/a.txt", "boom")
    assert built.doit().code == 1
    built.write("assets/a.txt", text)
    assert built.doit().code == 0
    built.remove("build/toy/a.out")
    (line, *_) = lines(built, "toy:a")
    assert line.startswith("toy:a  output altered: missing")
    assert "failed" not in line


def test_the_line_of_a_node_that_ran_is_the_same_as_that_from_the_state(built, monkeypatch):
    def nodes() -> list[dict[str, object]]:
        found = json.loads(built.read(".cartwright/last-build.json"))["nodes"]
        measured = ("seconds", "cpu_seconds", "peak_bytes", "worker")
        return [{**one, **dict.fromkeys(measured)} for one in found]

    built.doit("-a")
    quick = nodes()
    monkeypatch.setattr(RanLines, "writer", lambda self, stem: lambda event: None)
    built.doit("-a")
    assert quick == nodes()
    assert any(one["key"]["inputs"] for one in quick)
