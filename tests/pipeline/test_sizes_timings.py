"""`doit timings` and `doit sizes`: read from results of runs."""

from __future__ import annotations

import json
import re

import pytest

from pipeline.project import Project
from pipeline.report.last_build import LastBuild
from pipeline.report.sizes import Change, compare, parse_limit
from pipeline.report.timings import critical_path, timing_lines
from pipeline.state.state import BUILDING
from tests.pipeline.game import Game


@pytest.fixture
def built(game: Game) -> Game:
    game.write("assets/a.txt", "a" * 1000)
    game.write("assets/b.txt", "b" * 10)
    game.write("assets/c.bst", "one two")
    game.rest()
    assert game.doit().code == 0
    return game


def test_timings_tell_of_the_last_run_that_built_something(built):
    first = built.doit("timings")
    assert first.code == 0
    assert first.out.startswith("5 nodes ran for ")
    for text in ("slowest nodes", "slowest kinds", "critical path", "workers: 1, busy for"):
        assert text in first.out
    built.doit()
    built.doit()
    assert built.doit("timings").out == first.out


def test_sizes_say_which_manifests_the_last_build_was_not_about(built):
    built.write("manifests/two.toml", built.read("manifests/toy.toml"))
    built.doit("two")
    assert built.doit("sizes").out.startswith("The last build was not about toy.\n")
    built.doit("-a")
    assert "not about" not in built.doit("sizes").out


def test_timings_of_a_file_are_those_of_its_run(built):
    built.remove("build")
    built.doit("--json", "night.json")
    assert built.doit("timings", "night.json").out == built.doit("timings").out


def test_timings_of_a_run_outlive_a_killed_build_and_a_run_that_only_removes(built):
    first = built.doit("timings")
    # What a build that is killed before its first node ends leaves behind.
    project = Project(str(built.root), print)
    LastBuild(project).begin()
    with project.state.transaction():
        project.state.set_facts(BUILDING, {"toy": "killed"})
    project.close()
    assert built.doit().code == 0
    assert built.doit("timings").out == first.out
    built.remove("assets/c.bst")
    assert "removed" in built.doit().out
    assert "nodes ran for" in built.doit("timings").out


def test_a_damaged_result_of_an_earlier_run_is_as_good_as_none(built):
    built.write("assets/a.txt", "a")
    built.doit()
    for name in ("last-build.json", "report/previous.json"):
        built.write(f".cartwright/{name}", built.read(f".cartwright/{name}")[:300])
    for command in ("sizes", "timings"):
        ran = built.doit(command)
        assert (ran.code, "run `doit` first" in ran.err) == (3, True)
    built.doit()
    assert built.doit("sizes").code == 0


def test_without_a_build_there_is_nothing_to_tell_of(game):
    for command in ("timings", "sizes"):
        ran = game.doit(command)
        assert (ran.code, "run `doit` first" in ran.err) == (3, True)


def node(task, seconds, inputs=(), outputs=(), worker="process 1", outcome="built"):
    files = {
        key: [{"path": path, "bytes": size, "sha256": ""} for path, size in rows]
        for key, rows in (("inputs", inputs), ("outputs", outputs))
    }
    times = {"seconds": seconds, "cpu_seconds": seconds, "peak_bytes": 5, "worker": worker}
    return {"task": task, "outcome": outcome, **times, **files}


def test_the_critical_path_is_the_longest_chain_of_files():
    nodes = [
        node("t:a", 1, outputs=[("a", 1)]),
        node("t:b", 5, outputs=[("b", 1)]),
        node("t:c", 3, inputs=[("a", 1)], outputs=[("c", 1)]),
        node("t:d", 2, inputs=[("c", 1), ("x", 1)]),
    ]
    assert critical_path(nodes) == (6, ("t:a", "t:c", "t:d"))
    assert critical_path([]) == (0, ())


def test_the_critical_path_goes_through_results_without_a_file():
    nodes = [
        node("t:a b", 1),
        node("t:c", 3) | {"key": {"inputs": {"t:a b mesh": "1"}}},
        node("t:d", 2) | {"key": {"inputs": {"t:c x": "1", "assets/t:c y": "2"}}},
    ]
    assert critical_path(nodes) == (6, ("t:a b", "t:c", "t:d"))


def test_the_use_of_workers_is_their_share_of_the_run():
    nodes = [node("t:a", 3, worker="process 1"), node("t:b", 1, worker="process 2")]
    lines = timing_lines({"seconds": 4.0, "nodes": nodes})
    assert "\nworkers: 2, busy for 50 % of the run" in lines


def test_sizes_are_by_target_and_node_with_what_changed(built):
    out = built.doit("sizes").out
    assert re.search(r"^ +1.0 kB  toy$", out, re.M)
    assert re.search(r"^ +1.0 kB  toy:a$", out, re.M)
    assert "since" not in out
    built.doit("--json", "night.json")
    built.write("assets/a.txt", "a" * 2000)
    built.write("assets/new.txt", "n" * 100)
    built.remove("assets/b.txt")
    built.doit()
    for words in ((), ("--against", "night.json")):
        ran = built.doit("sizes", *words)
        assert ran.code == 0
        assert re.search(r"2.0 kB  \+100.0%   toy:a$", ran.out, re.M), ran.out
        assert re.search(r"100 B  new       toy:new$", ran.out, re.M)
        assert re.search(r"0 B  gone      toy:b$", ran.out, re.M)
        assert built.doit("sizes", *words, "--limit", "+120%").code == 0
        beyond = built.doit("sizes", *words, "--limit", "+5%")
        assert (beyond.code, beyond.err) == (1, "grew by more than +5%: toy\n")


def test_what_failed_in_one_build_is_not_compared():
    before = {"manifests": ["t"], "nodes": [node("t:a", 1, outputs=[("a", 9)])]}
    now = {"manifests": ["t"], "nodes": [node("t:a", 1, outcome="failed")]}
    assert compare(now, before) == ([Change("t", 0, 0)], [])


@pytest.mark.parametrize(
    ("text", "before", "now", "is_passed"),
    [
        ("+5%", 100, 105, False),
        ("+5%", 100, 106, True),
        ("1kB", 0, 1001, True),
        ("0%", 9, 8, False),
    ],
)
def test_a_limit_is_a_share_or_a_size(text, before, now, is_passed):
    limit = parse_limit(text)
    assert limit is not None
    assert limit.is_passed(Change("t", before, now)) is is_passed


def test_wrong_limits_and_files_are_refused_in_one_sentence(built):
    built.write("other.json", json.dumps({"schema": "else"}))
    result = json.loads(built.read(".cartwright/last-build.json"))
    result["nodes"][0]["outputs"] = [{"path": 5}]
    built.write("altered.json", json.dumps(result))
    for words, said in (
        (("--limit", "much"), "found --limit much; allowed: such as +5% or +200kB"),
        (("--against", "none.json"), "none.json: No such file or directory"),
        (("--against", "altered.json"), "altered.json: it is no result of a build, or was altered"),
        (("--against", "other.json"), '"schema" has to be "cartwright.build/1"'),
        (("--limit", "+5%"), "there is no build before the last one"),
    ):
        ran = built.doit("sizes", *words)
        assert (ran.code, said in ran.err, "Traceback" in ran.err) == (3, True, False), ran.err


def test_sizes_say_what_they_do_not_compare_because_it_failed(built):
    built.write("assets/a.txt", "boom")
    built.doit()
    out = built.doit("sizes").out
    assert out.endswith(
        "not compared, because they failed in one of the builds, 2: toy:a, toy:pack\n"
    )


def test_a_run_that_mistakes_kept_from_building_is_nothing_to_compare_with(built):
    manifest = built.read("manifests/toy.toml")
    built.write("manifests/toy.toml", "target = 5")
    assert built.doit("--json", "night.json").code == 3
    built.write("manifests/toy.toml", manifest)
    for command in (("sizes", "--limit", "+5%"), ("explain",)):
        ran = built.doit(*command, "--against", "night.json")
        assert ran.code == 3
        assert "night.json: mistakes in manifests kept that run from building" in ran.err
