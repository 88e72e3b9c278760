"""What a run prints: doit's own reporters work, and every count follows one rule."""

from __future__ import annotations

import io
import json
import re

import pytest
from doit.task import Task

from pipeline.doit_plugin.reporter import Reporter
from pipeline.report.progress_bar import describe_running
from tests.pipeline.game import Game


@pytest.fixture
def mixed(game: Game) -> Game:
    """One node that fails, one that needs it, one that is built, one that is up to date."""
    game.write("assets/l.lst", "fine\n")
    assert game.doit().code == 0
    game.write("assets/a.txt", "boom")
    game.write("assets/b.txt", "fine")
    return game


def test_the_json_reporter_of_doit_tells_of_every_task(mixed):
    ran = mixed.doit("-r", "json")
    assert (ran.code, ran.err) == (1, "")
    results = {one["name"]: one["result"] for one in json.loads(ran.out)["tasks"]}
    assert results == {
        "toy": "fail",
        "toy:a": "fail",
        "toy:b": "success",
        "toy:pack": "fail",
    }
    again = mixed.doit("-r", "json", "toy:b", "toy:l.0")
    results = {one["name"]: one["result"] for one in json.loads(again.out)["tasks"]}
    assert (again.code, results) == (0, {"toy:b": "up-to-date", "toy:l.0": "up-to-date"})


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.parametrize(
    ("reporter", "lines"),
    [
        ("console", [".  toy:a", "TaskFailed - taskid:toy:a", "toy:a  it went boom", ".  toy:b"]),
        ("executed-only", [".  toy:a", "TaskFailed - taskid:toy:a", ".  toy:b"]),
        ("error-only", ["taskid:toy:a - TaskFailed", "toy:a  it went boom"]),
        ("zero", []),
    ],
)
def test_the_other_reporters_of_doit_tell_what_they_always_tell(mixed, reporter, lines, workers):
    ran = mixed.doit("-r", reporter, *workers)
    assert (ran.code, ran.err) == (1, "")
    assert [line for line in lines if line not in ran.out.splitlines()] == []
    assert bool(ran.out) == bool(lines)
    assert mixed.read("build/toy/b.out") == b"FINE"


def test_the_console_reporter_of_doit_passes_over_what_is_up_to_date(mixed):
    mixed.write("assets/a.txt", "calm")
    mixed.doit()
    assert mixed.doit("-r", "console", "toy:a").out == "-- toy:a\n"


def test_a_reporter_class_of_the_project_is_used(mixed):
    dodo = mixed.read("dodo.py").decode()
    own = """
from doit.reporter import ZeroReporter


class Mine(ZeroReporter):
    def add_success(self, task):
        self.write(f"mine {task.name}\\n")


DOIT_CONFIG = {"reporter": Mine}
"""
    mixed.write("dodo.py", dodo + own)
    config = mixed.read("doit.cfg").decode()
    mixed.write("doit.cfg", config.replace("reporter = cartwright\n", ""))
    assert "mine toy:b\n" in mixed.doit().out


def test_an_unknown_reporter_is_refused(mixed):
    ran = mixed.doit("-r", "nosuch")
    assert (ran.code, "Traceback" in ran.err, "'console'" in ran.err) == (3, False, True)


def counts(line: str) -> dict[str, int]:
    """Read the counts of a line such as `toy: 1 built, 2 unchanged`."""
    found = re.findall(r"(-?\d+) (built|restored|unchanged|failed|not built|ignored)", line)
    return {word: int(number) for number, word in found}


def last_counts(game: Game, *words: str) -> tuple[dict[str, int], dict[str, int], str]:
    """Run, and give the counts of the manifest's line, of the verdict, and the whole output."""
    out = game.doit(*words).out
    lines = [line for line in out.splitlines() if line]
    manifest = next(line for line in lines if line.startswith("toy: "))
    return counts(manifest), counts(lines[-1]), out


def test_lines_manifest_and_verdict_count_alike(mixed):
    manifest, verdict, out = last_counts(mixed)
    assert manifest == {"built": 1, "unchanged": 1, "failed": 1, "not built": 1}
    assert verdict == {"failed": 1, "not built": 1}
    assert re.findall(r"^(?:failed|not built) +\S+$", out, re.M) == [
        "failed    toy:a",
        "not built toy:pack",
    ]


def test_what_nobody_asked_for_is_no_part_of_the_verdict(mixed):
    manifest, verdict, out = last_counts(mixed, "toy:b")
    assert manifest == {"built": 1, "unchanged": 1, "not built": 2}
    assert (verdict, out.splitlines()[-1].startswith("done (")) == ({}, True)


def test_an_input_that_cannot_be_made_again_is_counted_once(game):
    """A pack whose input is gone from the cache has it made again, and that fails."""
    game.write("assets/a.txt", "hello")
    game.write("assets/b.txt", "hello too")
    assert game.doit().code == 0
    code = game.read("encoders/toy.py").decode()
    fails = '    raise EncodeError("no more")\n    text = inputs'
    game.remove("cache")
    game.remove("build/toy/all.pack")
    game.write("encoders/toy.py", code.replace("    text = inputs", fails, 1))
    manifest, verdict, out = last_counts(game, "--single", "toy:pack")
    assert min(manifest.values()) >= 0, out
    assert sum(manifest.values()) == 3, out
    assert verdict == {word: manifest[word] for word in verdict}, out


def test_a_node_is_named_whole_where_another_needs_it(game):
    game.write("assets/my first text.txt", "boom")
    game.write("assets/second.txt", "boom")
    ran = game.doit()
    assert "toy:pack  not built\n  needs  toy:my first text, toy:second\n" in ran.out


@pytest.mark.parametrize(
    ("submitted", "workers", "text"),
    [
        (519, 2, "2 running: toy:0"),
        (1, 4, "1 running: toy:0"),
        (7, None, "7 running: toy:0"),
        (0, 2, ""),
    ],
)
def test_the_bar_shows_no_more_running_than_there_are_workers(submitted, workers, text):
    tasks = {f"toy:{number}": None for number in range(submitted)}
    assert describe_running(tasks, workers) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("options", "workers"), [({"workers": 3}, 3), ({"workers": None}, None)])
def test_the_bar_is_told_how_many_workers_there_are(monkeypatch, options, workers):
    told = []
    monkeypatch.setattr("pipeline.report.progress_bar.Bar", lambda *given: told.append(given))
    task = Task("x", ["true"])
    Reporter(Terminal(), options).initialize({"x": task}, ["x"])
    assert told[0][1:] == (1, workers)


def test_a_task_of_the_project_that_could_not_run_counts_as_not_built(mixed):
    own = '\n\ndef task_ship():\n    return {"actions": ["true"], "task_dep": ["toy:pack"]}\n'
    mixed.write("dodo.py", mixed.read("dodo.py").decode() + own)
    last = mixed.doit().out.splitlines()[-1]
    assert last.startswith("1 failed, 2 not built")
