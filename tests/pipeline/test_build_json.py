"""The machine-readable result: by its schema, true for every node, cheap where nothing is done."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from pipeline.build import work
from pipeline.build.event import BuildLog, NodeEvent
from pipeline.cache import local
from pipeline.doit_plugin.named_file import write_named_file
from pipeline.report import last_build, run_json
from tests.pipeline.game import MANIFEST, ROOT, Game

SCHEMA = json.loads((ROOT / "pipeline/report/build_schema.json").read_text(encoding="utf-8"))
LAST = ".cartwright/last-build.json"
OWN_TASK = """
def task_own():
    return {"actions": [lambda: False]}
"""
VOLATILE = ("seconds", "cpu_seconds", "peak_bytes", "worker", "started")


def load(game: Game, name: str = LAST) -> dict[str, Any]:
    """Read a result, and check it against the schema and against itself."""
    result: dict[str, Any] = json.loads(game.read(name))
    jsonschema.Draft202012Validator(SCHEMA).validate(result)
    tasks = [node["task"] for node in result["nodes"]]
    assert tasks == sorted(set(tasks))
    for node in result["nodes"]:
        for file in (*node["inputs"], *node["outputs"]):
            data = game.read(file["path"])
            assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    return result


def by_task(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["task"]: node for node in result["nodes"]}


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {task: node["outcome"] for task, node in by_task(result).items()}


@pytest.fixture
def toy(game: Game) -> Game:
    game.write("assets/a.txt", "ref b.inc\nlossy")
    game.write("assets/b.inc", "included")
    game.write("assets/c.bst", "one two")
    return game


def test_every_run_leaves_a_result_that_keeps_the_schema(toy):
    assert toy.doit().code == 0
    result = load(toy)
    assert (result["exit_code"], result["manifests"]) == (0, ["toy"])
    assert set(outcomes(result).values()) == {"built"}
    nodes = by_task(result)
    one = nodes["toy:a"]
    assert [file["path"] for file in one["inputs"]] == ["assets/a.txt", "assets/b.inc"]
    assert [file["path"] for file in one["outputs"]] == ["build/toy/a.out"]
    assert (one["target"], one["warnings"]) == ("toy", ["something was lost"])
    assert one["reason"] == [{"kind": "new", "detail": ""}]
    assert one["seconds"] > 0
    assert one["peak_bytes"] > 1_000_000
    assert re.fullmatch(r"process \d+", one["worker"])
    parts = [file["path"] for file in nodes["toy:parts"]["inputs"]]
    assert parts == ["build/toy/c_0.part", "build/toy/c_1.part"]


def test_a_run_with_nothing_to_do_has_every_node_unchanged(toy):
    toy.doit()
    first = by_task(load(toy))
    for _ in range(3):
        assert "nothing to do" in toy.doit("--json", "out.json").out
        result = load(toy)
        assert toy.read("out.json") == toy.read(LAST)
        assert set(outcomes(result).values()) == {"unchanged"}
        for task, node in by_task(result).items():
            same = ("inputs", "outputs", "warnings", "target")
            assert [node[key] for key in same] == [first[task][key] for key in same]
            assert (node["seconds"], node["worker"], node["reason"]) == (0, "", [])


def test_the_first_run_with_nothing_to_do_writes_what_a_look_at_every_node_gives(toy, monkeypatch):
    toy.doit()
    toy.doit()
    quick = toy.read(LAST)
    toy.write("assets/a.txt", "again")
    toy.doit()
    toy.write("assets/a.txt", "ref b.inc\nlossy")
    toy.doit()
    monkeypatch.setattr(last_build.LastBuild, "save_unchanged", lambda *_: False)
    toy.doit()

    def without_run_line(data: bytes) -> list[bytes]:
        lines = data.splitlines()
        return [lines[0], *lines[2:]]

    assert without_run_line(toy.read(LAST)) == without_run_line(quick)


def test_a_result_that_lost_lines_is_written_anew(toy):
    toy.doit()
    whole = toy.read(LAST)
    lines = whole.splitlines(keepends=True)
    toy.write(LAST, b"".join(lines[:4] + lines[5:]).decode())
    toy.doit()
    assert set(outcomes(load(toy)).values()) == {"unchanged"}
    assert len(load(toy)["nodes"]) == len(json.loads(whole)["nodes"])


def test_a_second_run_with_nothing_to_do_writes_the_time_alone(toy, monkeypatch):
    toy.rest()
    toy.doit()
    toy.doit()
    before = load(toy)
    toy.rest()
    monkeypatch.setattr(last_build, "NodeRows", None)
    toy.doit()
    after = load(toy)
    assert after["started"] > before["started"]
    assert after["nodes"] == before["nodes"]


def test_a_result_made_of_earlier_lines_is_the_one_made_from_the_state(toy):
    """Change, fail, restore, remove: reusing lines must not show what was true once."""

    def steps():
        yield lambda: toy.write("assets/c.bst", "one two three")
        yield lambda: toy.write("assets/a.txt", "boom")
        yield lambda: toy.write("assets/a.txt", "ref b.inc\nlossy")
        yield lambda: toy.path("build/toy/a.out").write_text("altered")
        yield lambda: toy.path("assets/c.bst").unlink()
        yield lambda: toy.write("assets/n.lst", "x\ny")
        yield lambda: None

    toy.doit()
    for step in steps():
        step()
        toy.doit()
        toy.doit("toy:a")
        reused = load(toy) | {"started": "", "seconds": 0}
        toy.remove(".cartwright/report/key")
        toy.doit("toy:a")
        made = load(toy) | {"started": "", "seconds": 0}
        assert without_times(reused) == without_times(made)


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    def strip(one: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in one.items() if key not in VOLATILE}

    return strip(result) | {"nodes": [strip(node) for node in result["nodes"]]}


def test_the_number_of_workers_changes_times_and_workers_alone(toy, tmp_path):
    for number in range(12):
        toy.write(f"assets/{number}.txt", f"text {number}" if number else "boom")
    found = []
    for workers in ("1", "2"):
        for folder in ("build", "cache", ".cartwright"):
            if toy.path(folder).exists():
                toy.remove(folder)
        assert toy.doit("-n", workers, "--json", f"{workers}.json").code == 1
        found.append(load(toy, f"{workers}.json"))
    assert without_times(found[0]) == without_times(found[1])
    assert found[0]["exit_code"] == 1


def test_of_nodes_with_one_key_the_first_is_built_whatever_was_ready_first(toy):
    for number in range(6):
        toy.write(f"assets/same{number}.txt", "the same text")
    toy.write("manifests/also.toml", toy.read("manifests/toy.toml").decode())
    found = []
    for options in (("-n", "1"), ("-n", "2"), ()):
        for folder in ("build", "cache", ".cartwright"):
            if toy.path(folder).exists():
                toy.remove(folder)
        assert toy.doit(*options).code == 0
        found.append(outcomes(load(toy)))
    assert found[0] == found[1] == found[2]
    same = [task for task in found[0] if ":same" in task]
    assert [found[0][task] for task in same] == ["built", *["restored"] * 11]


def test_of_nodes_with_one_key_the_second_is_restored_in_another_process_too(toy, monkeypatch):
    monkeypatch.setattr(local, "FEW", 0)  # results go into bundles, which each process knows
    plain = work.do_job

    def in_another_process(job):
        if job.task != "toy:z":
            return plain(job)
        ours, work._tools = work._tools, None
        try:
            return plain(job)
        finally:
            work.close_tools()
            work._tools = ours

    monkeypatch.setattr(work, "do_job", in_another_process)
    toy.write("assets/z.txt", "last")
    toy.write("manifests/toy_b.toml", MANIFEST)
    assert toy.doit().code == 0
    told = outcomes(load(toy))
    assert (told["toy:z"], told["toy_b:z"]) == ("built", "restored")


def test_equal_results_are_told_in_the_order_of_tasks():
    def event(task: str, outcome: str, worker: str, **more: Any) -> NodeEvent:
        return NodeEvent(task, outcome, worker=worker, fingerprint="f", **more)

    log = BuildLog()
    log.add(event("toy:c", "built", "first"))
    log.add(event("toy:b", "restored", "second", is_shared=True))
    log.add(event("toy:a", "restored", "third"))
    log.add(NodeEvent("toy:0", "restored", fingerprint="other"))
    log.order_equal_results()
    told = {task: (one.outcome, one.is_shared, one.worker) for task, one in log.nodes.items()}
    assert told["toy:a"] == ("built", False, "first")
    assert told["toy:b"] == ("restored", True, "second")
    assert told["toy:c"] == ("restored", False, "third")
    assert told["toy:0"] == ("restored", False, "")


def test_failures_are_data_and_their_readers_are_not_built(toy):
    toy.write("assets/a.txt", "boom")
    assert toy.doit().code == 1
    nodes = by_task(load(toy))
    assert nodes["toy:a"]["outcome"] == "failed"
    assert nodes["toy:a"]["error"] == {
        "problem": "it went boom",
        "facts": {"file": "assets/a.txt"},
        "hint": "Take the boom out.",
    }
    assert nodes["toy:pack"]["outcome"] == "not built"
    assert nodes["toy:pack"]["error"]["facts"] == {"needs": "toy:a"}
    assert nodes["toy:a"]["outputs"] == nodes["toy:pack"]["outputs"] == []
    assert [file["path"] for file in nodes["toy:a"]["inputs"]] == ["assets/a.txt"]


def test_nodes_that_could_not_be_built_say_why_they_were_to_be(toy):
    toy.doit()
    toy.write("assets/a.txt", "ref b.inc\nboom")
    toy.write("assets/broken.txt", b"\xff")
    assert toy.doit().code == 1
    nodes = by_task(load(toy))
    why = {
        task: (one["outcome"], *reason.values())
        for task, one in nodes.items()
        for reason in one["reason"]
    }
    assert why["toy:a"] == ("failed", "source changed", "assets/a.txt")
    assert why["toy:broken"] == ("failed", "new", "")
    assert why["toy:pack"] == ("not built", "source changed", "assets/a.txt, through toy:a")


def test_what_fails_a_run_beside_its_nodes_is_in_the_result(toy):
    toy.write("manifests/toy.toml", f'budget = "10 B"\n{MANIFEST}')
    strict = 'target = "toy"\n[[asset]]\nsource = ["assets/a.txt", "assets/none*.txt"]\n'
    toy.write("manifests/two.toml", strict)
    toy.write("dodo.py", OWN_TASK)
    for _ in range(2):  # with work to do, and without
        assert toy.doit("-c", "--strict=empty-glob").code == 1
        result = load(toy)
        found = [(one["manifest"], one["problem"]) for one in result["errors"]]
        assert found == [
            ("toy", "over its budget of files"),
            ("two", "a warning is a failure here"),
            ("", "the task own failed"),
        ]
        assert ["none*.txt" in one for one in result["warnings"]] == [True]
        assert not [one for one in result["nodes"] if one["error"]]
    toy.write("manifests/toy.toml", MANIFEST)
    toy.remove("manifests/two.toml")
    toy.write("dodo.py", OWN_TASK.replace("False", "True"))
    for _ in range(3):
        assert toy.doit().code == 0
        assert (load(toy)["errors"], load(toy)["warnings"]) == ([], [])


def test_a_mistake_in_a_manifest_is_a_result_and_hides_no_build(toy):
    toy.doit()
    built = load(toy)
    toy.write("manifests/toy.toml", f"budgt = 1\n{MANIFEST}")
    assert toy.doit("--json", "out.json", "--junit", "out.xml").code == 3
    result = load(toy)
    assert toy.read("out.json") == toy.read(LAST)
    assert (result["exit_code"], result["manifests"], result["nodes"]) == (3, [], [])
    (error,) = result["errors"]
    assert (error["manifest"], error["facts"]["line"]) == ("toy", "1")
    assert 'did you mean "budget"?' in error["problem"]
    failures = ElementTree.fromstring(toy.read("out.xml")).findall("testsuite/testcase/failure")
    assert [one.get("message") for one in failures] == [error["problem"]]
    assert "toy:a" in toy.doit("sizes").out
    assert "toy:a" in toy.doit("timings").out
    toy.write("manifests/toy.toml", MANIFEST)
    toy.write("assets/a.txt", "more")
    toy.doit()
    assert f"({built['started']})" in toy.doit("sizes").out


def test_a_run_with_nothing_to_do_after_a_mistake_tells_of_every_node(toy):
    toy.doit()
    toy.write("manifests/toy.toml", "")
    assert toy.doit().code == 3
    toy.write("manifests/toy.toml", MANIFEST)
    for _ in range(2):
        assert "nothing to do" in toy.doit().out
        assert set(outcomes(load(toy)).values()) == {"unchanged"}


def test_reasons_and_restored_nodes_are_named(toy):
    toy.doit()
    toy.remove("build/toy/a.out")
    toy.write("assets/c.bst", "other words")
    toy.doit()
    nodes = by_task(load(toy))
    assert nodes["toy:a"]["outcome"] == "restored"
    assert nodes["toy:a"]["reason"] == [
        {"kind": "output altered", "detail": "missing: build/toy/a.out"}
    ]
    assert nodes["toy:c"]["reason"] == [{"kind": "source changed", "detail": "assets/c.bst"}]
    assert nodes["toy:pack"]["outcome"] == "unchanged"


def test_a_node_that_is_encoded_again_on_request_says_so(toy):
    toy.doit()
    toy.doit("-a")
    node = by_task(load(toy))["toy:a"]
    assert (node["outcome"], node["reason"]) == ("built", [{"kind": "asked for", "detail": "-a"}])


def test_a_strict_run_with_nothing_to_do_has_failed_nodes(toy):
    toy.doit()
    for _ in range(2):
        assert toy.doit("--strict").code == 1
        node = by_task(load(toy))["toy:a"]
        assert (node["outcome"], node["warnings"]) == ("failed", ["something was lost"])
    toy.doit()
    assert set(outcomes(load(toy)).values()) == {"unchanged"}


def test_errors_of_strict_runs_with_nothing_to_do_come_and_go(toy):
    toy.write("manifests/two.toml", f'{MANIFEST}[[asset]]\nsource = "assets/none*.txt"\n')
    toy.doit()
    strict = ("--strict-group", "empty-glob")
    for words in (strict, (), (), strict, strict, ()):
        code = 1 if words else 0
        assert toy.doit(*words).code == code
        result = load(toy)
        assert (result["exit_code"], len(result["errors"])) == (code, code)


def test_a_run_for_one_manifest_lists_its_nodes_alone(toy):
    toy.write("manifests/two.toml", 'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n')
    for names, stems in ((("two",), ["two"]), ((), ["toy", "two"]), (("two",), ["two"])):
        toy.doit(*names)
        result = load(toy)
        assert result["manifests"] == stems
        assert {task.partition(":")[0] for task in outcomes(result)} == set(stems)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("assets", "--json: assets is a folder"),
        ("-", "standard output has the report"),
        ("build/toy/result.json", "is in the output folder of toy"),
    ],
)
def test_a_place_that_no_result_belongs_in_is_refused_before_anything_is_built(toy, path, said):
    ran = toy.doit("--json", path)
    assert (ran.code, "Traceback" in ran.err, said in ran.err) == (3, False, True)
    assert not toy.path("build").exists()
    assert toy.doit().code == 0


def test_a_file_that_cannot_be_written_is_an_error_of_the_command_line(toy):
    ran = toy.doit("--json", "assets/a.txt/result.json")
    assert (ran.code, "Traceback" in ran.err, "result.json: Not a dir" in ran.err) == (
        3,
        False,
        True,
    )


def test_a_result_goes_through_links_and_pipes_and_replaces_neither(toy):
    toy.path("link.json").symlink_to("real.json")
    os.mkfifo(toy.path("pipe.json"))
    with os.fdopen(os.open(toy.path("pipe.json"), os.O_RDWR | os.O_NONBLOCK), "rb") as pipe:
        assert toy.doit("--json", "link.json", "--junit", "pipe.json").code == 0
        assert pipe.read(5) == b"<?xml"
    assert toy.path("link.json").is_symlink()
    assert toy.read("real.json") == toy.read(LAST)


def test_a_link_does_not_lead_a_result_among_the_outputs(toy):
    toy.doit()
    toy.path("link.json").symlink_to("build/toy/a.out")
    before = toy.read("build/toy/a.out")
    ran = toy.doit("--json", "link.json")
    assert (ran.code, "is in the output folder of toy" in ran.err) == (3, True)
    assert toy.read("build/toy/a.out") == before


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no folder of memory")
def test_a_file_in_memory_is_replaced_and_not_continued(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for text in (b"one", b"two"):
            write_named_file(f"{folder}/result.json", text, str(tmp_path))
        assert Path(folder, "result.json").read_bytes() == b"two"


def test_the_schema_is_part_of_the_package():
    assert SCHEMA["$id"] == run_json.SCHEMA
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "build_schema.json" in pyproject
