"""JUnit's XML, Chrome's trace and GitHub's annotations, from the events of a run."""

from __future__ import annotations

import json
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from pipeline.build.event import BUILT, BuildLog, NodeEvent
from pipeline.report.github import annotation
from pipeline.report.trace import chrome_trace
from pipeline.timeline import LOOK_UPS, PLANNING, Span
from tests.pipeline.game import Game


@pytest.fixture
def mixed(game: Game) -> Game:
    game.write("assets/a.txt", "boom")
    game.write("assets/b.txt", "lossy")
    game.write("manifests/two.toml", 'target = "toy"\n[[asset]]\nsource = "assets/b.txt"\n')
    return game


def test_junit_has_a_suite_for_each_manifest_and_a_case_for_each_node(mixed):
    mixed.doit("--junit", "out/junit.xml")
    root = ET.fromstring(mixed.read("out/junit.xml"))
    suites = {suite.get("name"): suite for suite in root}
    assert {name: [case.get("name") for case in suite] for name, suite in suites.items()} == {
        "toy": ["a", "b", "pack"],
        "two": ["b", "pack"],
    }
    toy = suites["toy"]
    counts = [toy.get(key) for key in ("tests", "failures", "skipped")]
    assert counts == ["3", "1", "1"]
    assert [root.get(key) for key in ("tests", "failures", "skipped", "errors")] == list("5110")
    failure = toy.find("testcase[@name='a']/failure")
    assert failure is not None
    assert failure.get("type") == "failed"
    assert failure.get("message") == "it went boom"
    assert failure.text == "file: assets/a.txt\nTake the boom out."
    assert toy.find("testcase[@name='pack']/skipped") is not None
    assert toy.findtext("testcase[@name='b']/system-out") == "something was lost"


def test_junit_of_a_run_with_nothing_to_do_has_every_case(mixed):
    mixed.write("assets/a.txt", "fine")
    mixed.doit()
    mixed.doit("--junit", "junit.xml")
    assert len(ET.fromstring(mixed.read("junit.xml")).findall("testsuite/testcase")) == 5


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_trace_has_every_node_that_ran_in_the_lane_of_its_worker(mixed, workers):
    mixed.doit("-n", workers, "--trace", "trace.json")
    trace = json.loads(mixed.read("trace.json"))
    events = trace["traceEvents"]
    lanes = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    nodes = {one["name"]: one for one in events if one["ph"] == "X" and ":" in one["name"]}
    assert set(nodes) == {"toy:a", "toy:b", "two:b", "two:pack"}
    assert all(lanes[one["tid"]].startswith("process ") for one in nodes.values())
    assert all(one["ts"] > 0 and one["dur"] > 0 for one in nodes.values())
    phases = {lanes[one["tid"]] for one in events if one.get("cat") == "phase"}
    assert phases == {"planning", "survey"}
    assert_no_overlap(events)


def assert_no_overlap(events):
    by_lane: dict[int, list] = {}
    for one in events:
        if one["ph"] == "X":
            by_lane.setdefault(one["tid"], []).append((one["ts"], one["ts"] + one["dur"]))
    for spans in by_lane.values():
        spans.sort()
        assert all(a[1] <= b[0] + 0.01 for a, b in pairwise(spans))


def test_what_happens_at_once_is_in_lanes_of_its_own():
    log = BuildLog({"t:a": NodeEvent("t:a", BUILT, seconds=1, worker="process 1", began=12.0)})
    spans = [Span(LOOK_UPS, "x", 10.5, 2), Span(LOOK_UPS, "y", 11, 1), Span(PLANNING, "t", 10, 0.5)]
    events = json.loads(chrome_trace(log, spans, 10.0))["traceEvents"]
    names = [one["args"]["name"] for one in events if one["ph"] == "M"]
    assert names == ["cartwright", "planning", "look-ups", "look-ups 2", "process 1"]
    assert next(one["ts"] for one in events if one["name"] == "t:a") == 2e6
    assert_no_overlap(events)


def test_an_annotation_is_one_line_whatever_is_in_it():
    line = annotation("error", "100 %\nof it", file="a,b:c.txt", title="t")
    assert line == "::error file=a%2Cb%3Ac.txt,title=t::100 %25%0Aof it"
