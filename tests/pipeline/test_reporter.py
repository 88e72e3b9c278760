"""What a run prints: doit's own reporters work, and every count follows one rule."""

from __future__ import annotations

import io
import json
import re

import pytest
from doit.exceptions import TaskFailed
from doit.task import Task

from pipeline.build.event import BuildLog, NodeEvent
from pipeline.doit_plugin.reporter import Reporter
from pipeline.report.phase_line import CLEAR_LINE, PhaseLine
from pipeline.report.progress_bar import Bar
from pipeline.report.progress_log import ProgressLog
from pipeline.report.running import Running, describe_running, format_seconds
from pipeline.report.summary import not_built_lines
from pipeline.report.warning_text import Warned, group_warnings
from pipeline.timeline import SURVEY, Timeline
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
        (519, 2, "2 running: toy:0, toy:1"),
        (1, 4, "1 running: toy:0"),
        (3, None, "3 running: toy:0, toy:1, toy:2"),
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

    class Noted:
        def __init__(self, *given):
            told.append(given)

        def start(self):
            told.append("started")

    monkeypatch.setattr("pipeline.report.progress_bar.Bar", Noted)
    monkeypatch.setattr("pipeline.report.running.Running", lambda count: f"{count} workers")
    task = Task("x", ["true"])
    Reporter(Terminal(), options).initialize({"x": task}, ["x"])
    assert told[0][1:] == (1, f"{workers} workers")
    assert told[1] == "started"


def test_a_log_that_lists_each_node_names_a_slow_one_while_it_runs():
    out = io.StringIO()
    reporter = Reporter(out, {"verbosity": 2, "workers": 1})
    tasks = {f"toy:{number}": Task(f"toy:{number}", ["true"]) for number in range(300)}
    reporter.initialize(tasks, [])
    reporter.progress.close()
    reporter.running._clock = Clock()
    reporter.running.begin("toy:slow")
    reporter.running._clock.now += 6
    reporter.progress.tick()
    assert out.getvalue() == "running   toy:slow for 6 s\n"
    reporter._end("built", "toy:slow")
    assert out.getvalue().endswith("built     toy:slow\n")


@pytest.mark.parametrize("option", ["-a", "-c"])
def test_no_more_is_done_than_there_is_to_do(game, monkeypatch, option):
    game.write("assets/a.txt", "a")
    totals, ended = [], []
    monkeypatch.setattr(ProgressLog, "start", lambda self: totals.append(self._total))
    monkeypatch.setattr(ProgressLog, "end", lambda _, name: ended.append(name))
    assert game.doit(option).code == 0
    assert (totals, sorted(ended)) == ([2], ["toy:a", "toy:pack"])


def test_a_task_of_the_project_that_could_not_run_counts_as_not_built(mixed):
    own = '\n\ndef task_ship():\n    return {"actions": ["true"], "task_dep": ["toy:pack"]}\n'
    mixed.write("dodo.py", mixed.read("dodo.py").decode() + own)
    last = mixed.doit().out.splitlines()[-1]
    assert last.startswith("1 failed, 2 not built")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_bar_names_as_many_nodes_as_there_are_workers_and_goes_away():
    stream, clock = Terminal(), Clock()
    running = Running(2, clock)
    bar = Bar(stream, 5, running)
    bar.start()
    for number in range(4):
        running.begin(f"toy:{number}")
    clock.now = 7
    bar.close()
    shown = stream.getvalue()
    assert "toy:0 (7 s)" in shown
    assert "toy:1 (7 s)" in shown
    assert "toy:2" not in shown


def test_a_log_has_a_line_for_each_tenth_and_names_a_slow_node_once():
    clock, lines = Clock(), []
    running = Running(2, clock)
    log = ProgressLog(lines.append, 1000, running, clock=clock)
    for number in range(500):
        running.begin(f"toy:{number}")
        clock.now += 0.001
        running.end(f"toy:{number}")
        log.end(f"toy:{number}")
    assert len(lines) == 5
    assert lines[0].startswith("100 of 1,000 done, 1000/s")
    for name in ("toy:slow", "toy:other", "toy:waiting"):
        running.begin(name)
    clock.now += 6
    log.tick()
    log.tick()
    assert lines[5:] == ["running   toy:slow for 6 s\n", "running   toy:other for 6 s\n"]
    clock.now += 5
    log.tick()
    assert lines[7:] == ["500 of 1,000 done, 43/s, 2 running: toy:slow (11 s), toy:other (11 s)\n"]


def test_the_time_left_is_that_of_recorded_durations_where_there_are_any():
    running = Running(2)
    assert running.time_left(5) == ""
    running.expected_seconds = lambda _: 200.0
    assert running.time_left(5) == ", 3 min left"
    assert running.time_left(0) == ""
    assert [format_seconds(one) for one in (4.4, 59, 3700)] == ["4 s", "59 s", "1 h 2 min"]


def test_the_time_left_follows_the_pace_of_the_run_where_nodes_take_longer_than_was_expected():
    now, left = 0.0, 10.0
    running = Running(2, lambda: now)
    running.expected_seconds = lambda _: left
    running.begin("toy:a")
    assert running.time_left(9) == ", 10 s left"
    now, left = 50.0, 5.0  # what was expected to take five seconds took fifty
    assert running.time_left(5) == ", 42 s left"
    now, left = 5.0, 5.0
    assert running.time_left(5) == ", 5 s left"


def test_no_time_is_told_as_left_while_tasks_wait_of_which_nothing_is_known():
    running = Running(2, lambda: 0.0)
    running.expected_seconds = lambda _: 0.2
    assert running.time_left(3) == ""
    assert running.time_left(2) == ", 0 s left"


def test_a_task_that_waits_behind_others_does_not_run_yet():
    now = 0.0
    running = Running(1, lambda: now)
    running.begin("slow")
    running.begin("quick")
    now = 6.0
    assert running.slow() == [("slow", 6.0)]
    running.end("slow")
    now = 8.0
    assert running.slow() == []
    now = 11.0
    assert running.slow() == [("quick", 5.0)]


def test_a_node_that_waits_for_the_result_of_an_equal_one_does_not_run_yet(game, monkeypatch):
    for name in "abc":
        game.write(f"assets/{name}.txt", "the same")
    calls = []
    for name in ("begin", "end"):
        plain = getattr(Running, name)

        def noted(self, task, name=name, plain=plain):
            calls.append((name, task))
            plain(self, task)

        monkeypatch.setattr(Running, name, noted)
    assert game.doit("-n", "1").code == 0
    assert calls[:2] == [("begin", "toy:a"), ("end", "toy:a")]
    assert {task for name, task in calls if name == "begin"} > {"toy:b", "toy:c"}


def test_a_log_of_many_nodes_does_not_name_each_unless_it_is_asked_for(game):
    for number in range(220):
        game.write(f"assets/{number:03}.txt", f"text {number}")
    ran = game.doit()
    assert (ran.code, ran.built) == (0, [])
    assert len(ran.out.splitlines()) < 20
    assert "toy: 221 built" in ran.out
    game.remove("build")
    assert len(game.doit("-v").restored) == 221


def test_warnings_with_one_text_are_one_line_and_verbose_lists_all(game):
    for number in range(9):
        game.write(f"assets/{number}.txt", f"lossy {number}")
    out = game.doit().out
    told = "warning: something was lost: 9 assets, such as toy:0, toy:1, toy:2\n"
    assert out.count("something was lost") == 1
    assert told in out
    game.remove("build")
    assert game.doit("-v").out.count("something was lost") == 9


def test_warnings_that_differ_in_numbers_alone_are_one_line():
    texts = ["resized from 5 x 6 to 4 x 4 [resize]", "resized from 9 x 6 to 4 x 4 [resize]"]
    warnings = [Warned(f"toy:{n}", text) for n, text in enumerate(texts)]
    assert group_warnings(warnings) == [
        "resized from … x … to … x … [resize]: 2 assets: toy:0, toy:1"
    ]
    assert group_warnings(warnings[:1]) == [f"toy:0: {texts[0]}"]
    assert group_warnings([Warned("toy:0", "x")] * 2) == ["x: 2 times in toy:0"]
    assert group_warnings([Warned("", "a 1"), Warned("", "a 2")]) == ["a 1", "a 2"]


def test_warnings_that_differ_in_the_file_alone_are_one_line():
    texts = ["assets/a/x.wav: 2 bytes were ignored", "assets/b-1/y.wav: 30 bytes were ignored"]
    warnings = [Warned(f"toy:{n}", text) for n, text in enumerate(texts)]
    assert group_warnings(warnings) == ["… bytes were ignored: 2 assets: toy:0, toy:1"]


def test_failures_come_after_warnings_and_before_what_was_not_built(game):
    game.write("assets/a.txt", "boom")
    game.write("assets/b.txt", "lossy")
    out = game.doit().out
    order = ["warning: toy:b", "toy:a  it went boom", "Take the boom out.", "toy:pack  not built"]
    places = [out.index(text) for text in [*order, "toy: 1 built", "1 failed, 1 not built"]]
    assert places == sorted(places)


def test_many_nodes_that_were_not_built_are_counted():
    unmet = {f"toy:{number}": [f"toy:x{number}", *["toy:x"] * 6] for number in range(300)}
    lines = not_built_lines(unmet, lists_all=False)
    assert len(lines) == 11
    assert lines[0].endswith("needs  toy:x0, toy:x, toy:x, toy:x, toy:x and 2 more")
    assert lines[-1] == "and 290 more not built; -v lists all"
    assert len(not_built_lines(unmet, lists_all=True)) == 300


def test_nodes_that_were_not_built_for_the_same_reason_share_a_line():
    unmet = {f"toy:{number}": ["toy:x"] for number in range(300)}
    names = ", ".join(f"toy:{number}" for number in range(5))
    said = f"{names} and 295 more  not built\n  needs  toy:x"
    assert not_built_lines(unmet, lists_all=False) == [said]
    assert len(not_built_lines(unmet, lists_all=True)) == 300


@pytest.mark.parametrize(("no_color", "is_red"), [("", True), ("1", False)])
def test_failures_are_red_on_a_terminal_that_has_colours(monkeypatch, no_color, is_red):
    monkeypatch.setenv("NO_COLOR", no_color)
    stream = Terminal()
    reporter = Reporter(stream, {})
    reporter.failures = [("x", TaskFailed("it broke\nfor good"))]
    reporter.complete_run()
    assert ("\033[31mx  it broke\033[0m\nfor good" in stream.getvalue()) is is_red


def test_a_run_with_nothing_to_do_tells_of_standing_warnings_and_lists_them(game):
    game.write("assets/a.txt", "lossy")
    game.write("assets/b.txt", "lossy too")
    game.doit()
    told = "nothing to do, 2 warnings of earlier runs stand: `doit warnings` lists them ("
    assert told in game.doit().out
    assert game.doit("warnings").out == "toy:a: something was lost\ntoy:b: something was lost\n"
    assert game.doit("warnings", "toy:b").out == "toy:b: something was lost\n"
    wrong = game.doit("warnings", "toy:bb")
    assert (wrong.code, 'did you mean "toy:b"?' in wrong.err) == (3, True)
    for name in ("a", "b"):
        game.write(f"assets/{name}.txt", "fine")
    game.doit()
    assert (game.doit("warnings").out, game.doit("warnings").err) == ("", "No warnings.\n")


def test_a_run_that_builds_tells_of_warnings_of_other_nodes(game):
    game.write("assets/a.txt", "lossy")
    game.write("assets/b.txt", "lossy")
    game.doit()
    game.write("assets/b.txt", "lossy too")
    assert "done, 1 warning, 1 of earlier runs stand" in game.doit().out


@pytest.mark.parametrize("reporter", ["json", "zero", "console", "cartwright"])
def test_removed_files_are_named_with_every_reporter(game, reporter):
    game.write("assets/a.txt", "a")
    game.write("assets/b.txt", "b")
    game.doit()
    game.remove("assets/a.txt")
    ran = game.doit("-r", reporter)
    assert "removed   build/toy/a.out\n" in ran.out + ran.err


def test_github_gets_an_annotation_for_failures_and_warnings(game, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    game.write("assets/a.txt", "boom")
    game.write("assets/b.txt", "lossy")
    lines = game.doit().out.splitlines()
    assert "::warning::toy:b: something was lost" in lines
    error = "::error file=assets/a.txt,title=toy%3Aa::toy:a  it went boom%0A  file  assets/a.txt"
    assert f"{error}%0ATake the boom out." in lines
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::error" not in game.doit().out


def test_github_gets_an_annotation_for_warnings_that_are_failures(game, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    game.write("assets/b.txt", "lossy")
    errors = [one for one in game.doit("--strict").out.splitlines() if one.startswith("::error")]
    assert len(errors) == 1
    assert errors[0].startswith("::error file=assets/b.txt,title=toy%3Ab::")
    assert "something was lost" in errors[0]


def test_github_gets_the_line_of_a_source_that_an_error_names(game, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    target, plain = game.read("encoders/toy.py").decode(), '"it went boom", {"file": "source"'
    game.write("encoders/toy.py", target.replace(plain, f'{plain}, "line": "7"'))
    game.write("assets/a.txt", "boom")
    assert "\n::error file=assets/a.txt,line=7,title=toy%3Aa::toy:a  it went" in game.doit().out


def test_failures_are_sorted_by_task(game):
    for name in "cab":
        game.write(f"assets/{name}.txt", "boom")
    # Longest first: the largest source would be told of first otherwise.
    game.write("assets/b.txt", "boom" + " " * 4096)
    out = game.doit().out
    places = [out.index(f"toy:{name}  it went boom") for name in "abc"]
    assert places == sorted(places)


def test_a_phase_is_shown_on_a_terminal_and_cleared():
    stream, timeline = Terminal(), Timeline()
    PhaseLine(stream).watch(timeline)
    with timeline.phase(SURVEY, "3 sources of toy"):
        assert stream.getvalue().endswith("surveying 3 sources of toy ...")
    assert stream.getvalue().endswith(CLEAR_LINE)
    assert timeline.spans[0].name == "3 sources of toy"


def test_a_short_phase_is_not_in_a_log():
    stream, timeline = io.StringIO(), Timeline()
    PhaseLine(stream).watch(timeline)
    with timeline.phase(SURVEY, "toy"):
        pass
    assert stream.getvalue() == ""


def test_nodes_that_fail_alike_share_a_message_unless_all_is_asked(game):
    for name in "abcdefgh":
        game.write(f"assets/{name}.txt", "boom")
    game.write("assets/x.txt", "bug")
    out = game.doit().out
    assert out.count("it went boom") == 1
    also = ", ".join(f"toy:{name}" for name in "bcdef")
    said = f"toy:a  it went boom, and so 7 more\n  also  {also} and 2 more\n  file  assets/a.txt\n"
    assert f"{said}Take the boom out.\n" in out
    assert "toy:x  " in out
    verbose = game.doit("-v").out
    assert all(f"toy:{name}  it went boom\n  file  assets/{name}.txt" in verbose for name in "abh")


def test_the_last_line_has_the_nodes_and_bytes_of_all_manifests(game):
    game.write("assets/a.txt", "hello")
    last = game.doit().out.splitlines()[-1]
    assert re.fullmatch(r"done \(\d+\.\d\d s\), in all 2 nodes, 9 B", last)
    last = game.doit().out.splitlines()[-1]
    assert re.fullmatch(r"nothing to do \(\d+\.\d\d s\), in all 2 nodes, 9 B", last)


def test_a_log_of_many_nodes_names_few_failures_and_counts_them(game):
    for number in range(210):
        game.write(f"assets/{number:03}.txt", f"boom {number}")
    ran = game.doit()
    assert ran.out.count("failed    toy:") == 10
    assert re.search(r"^\d+ of 211 done, \d+ failed, ", ran.out, re.MULTILINE)
    assert "210 failed, 1 not built" in ran.out


def test_warnings_are_told_in_the_order_of_tasks_whichever_node_ends_first():
    log = BuildLog()
    for task in ("toy:b", "toy:c", "toy:a"):
        log.add(NodeEvent(task, "built", warnings=("second", "first")))
    assert [task for task, _ in log.warned()] == [f"toy:{name}" for name in "aabbcc"]
    assert log.warned()[0][1] == "second"


def test_the_bar_counts_failures_and_has_the_time_left_of_the_log():
    stream, clock = Terminal(), Clock()
    running = Running(1, clock)
    running.expected_seconds = lambda _: 10.0
    bar = Bar(stream, 5, running)
    bar.start()
    running.begin("toy:a")
    clock.now = 90  # nothing is done yet of what was to take ten seconds: the pace counts
    running.failed = 3
    bar.end("toy:a")
    bar.close()
    assert "3 failed" in stream.getvalue()
    assert "15 min" in stream.getvalue()


def test_a_source_that_fails_for_several_manifests_is_one_message_that_names_all_tasks(game):
    game.write("manifests/two.toml", game.read("manifests/toy.toml"))
    game.write("assets/a.txt", "boom")
    game.write("assets/b.txt", "boom")
    out = game.doit().out
    assert out.count("it went boom") == 1, out
    game.remove("assets/b.txt")
    game.write("manifests/three.toml", 'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n')
    out = game.doit().out
    said = "three:a  it went boom, and so 2 more\n  also  toy:a, two:a\n  file  assets/a.txt\n"
    assert said in out
    assert out.count("it went boom") == 1
