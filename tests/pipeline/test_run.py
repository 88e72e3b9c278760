"""Running: failures, worker processes, interruptions, two builds at once."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pipeline.process.pool
from pipeline.cache.bundle import scan_records
from tests.pipeline.game import Game
from tests.pipeline.naive import Naive

# An encoder that takes its time, so that there is a moment to be interrupted in.
SLOW = "    for _ in range({rounds}):\n        sum(range(1000))\n    text = inputs"


def make_slow(game: Game, rounds: int) -> None:
    code = game.read("encoders/toy.py").decode()
    game.write("encoders/toy.py", code.replace("    text = inputs", SLOW.format(rounds=rounds), 1))


def fill(game: Game, count: int) -> None:
    for number in range(count):
        game.write(f"assets/{number:03}.txt", f"text {number} " * 20)
    game.write("assets/w.bst", "x y z")


def test_a_failing_node_fails_alone_and_says_what_and_why(game):
    game.write("assets/a.txt", "boom")
    game.write("assets/l.lst", "fine\n")
    ran = game.doit()
    assert ran.code == 1
    assert ran.failed == ["toy:a", "toy:pack"]
    assert game.read("build/toy/l/0.line") == b"fine"
    story = "toy:a  it went boom\n  file  assets/a.txt\nTake the boom out.\n"
    assert story in ran.out
    assert "toy:pack  not built\n  needs  toy:a" in ran.out
    assert "Traceback" not in ran.out + ran.err


def test_a_failing_node_is_tried_again_until_it_is_mended(game):
    game.write("assets/a.txt", "boom")
    assert [game.doit().code for _ in range(2)] == [1, 1]
    game.write("assets/a.txt", "calm")
    assert game.doit().built == ["toy:a", "toy:pack"]


def test_a_failure_keeps_what_was_built_before(game):
    game.write("assets/a.txt", "fine")
    game.doit()
    game.write("assets/a.txt", "boom")
    assert game.doit().code == 1
    assert game.read("build/toy/a.out") == b"FINE"


def test_an_asset_that_cannot_be_planned_keeps_what_it_had_made(game):
    game.write("assets/l.lst", "one\ntwo\n")
    game.doit()
    game.write("assets/l.lst", b"\xff")
    ran = game.doit()
    assert ran.code == 1
    assert "toy:l  not a text\n  file  assets/l.lst\nWrite it again." in ran.out
    assert game.read("build/toy/l/1.line") == b"two"
    game.write("assets/l.lst", "one\n")
    assert game.doit().code == 0
    assert not game.path("build/toy/l/1.line").exists()


def test_a_bug_in_an_encoder_is_called_one(game):
    game.write("assets/a.txt", "bug")
    ran = game.doit()
    assert ran.code == 1
    assert "toy:a  ValueError: a bug" in ran.out
    assert "a mistake in the encoder" in ran.out
    assert "Traceback" not in ran.out


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_the_traceback_of_a_bug_is_shown_to_whoever_asks(game, options):
    game.write("assets/a.txt", "bug")
    out = game.process("-v", "2", *options).out
    assert out.count("Traceback") == 1
    assert 'raise ValueError("a bug")' in out
    assert out.index("a mistake in the encoder") < out.index("Traceback")


def test_an_encoder_that_breaks_its_promise_fails(game):
    code = game.read("encoders/toy.py").decode()
    game.write("encoders/toy.py", code.replace('"length": str(len(text)).encode()', '"size": b""'))
    game.write("assets/a.txt", "a")
    ran = game.doit()
    assert ran.code == 1
    assert "promised but not made: ['length']; made but not promised: ['size']" in ran.out
    assert not game.path("build/toy/a.out").exists()


def test_warnings_of_encoders_are_shown_in_the_summary(game):
    game.write("assets/a.txt", "lossy")
    ran = game.doit()
    assert "warning: toy:a: something was lost" in ran.out
    assert "1 warning" in ran.out


def test_reports_of_assets_are_shown_while_they_are_few(game):
    game.write("assets/a.txt", "tell")
    assert "\ntoy:a\n  told\n" in game.doit().out
    for number in range(9):
        game.write(f"assets/{number}.txt", f"tell {number}")
    ran = game.doit()
    assert len(ran.built) == 10
    assert "told" not in ran.out


def test_reports_of_scenes_are_shown_beside_those_of_many_assets(game):
    code = game.read("encoders/toy.py").decode()
    planned = code.replace('asset.kind == "text"', 'asset.kind in ("text", "scene")')
    kinds = planned.replace(
        '"list": Kind((".lst",)),',
        '"list": Kind((".lst",)),\n"scene": Kind((".txt",), {'
        '"case": Option(Choice(("upper",)), "upper", ""), "times": Option(Number(1, 9), 1, ""),'
        ' "beside": Option(Text(), "", "")}, table="scene"),',
    )
    game.write("encoders/toy.py", kinds)
    manifest = game.read("manifests/toy.toml").decode()
    for number in range(9):
        game.write(f"assets/{number}.txt", f"tell {number}")
    for number in range(7):
        manifest += f'\n[[scene]]\nname = "scene{number}"\nsource = "assets/{number}.txt"\n'
    game.write("manifests/toy.toml", manifest)
    told = [line for line in game.doit().out.splitlines() if line.startswith("toy:scene")]
    assert told == [f"toy:scene{number}" for number in range(7)]


def test_the_summary_counts_what_was_done(game):
    game.write("assets/a.txt", "a")
    game.write("assets/l.lst", "l\n")
    assert "toy: 3 built, 0 unchanged, 6 B" in game.doit().out
    assert "toy: 3 unchanged, 6 B in build/toy\nnothing to do" in game.doit().out


def test_the_summary_does_not_call_unchanged_what_nobody_asked_for(game):
    fill(game, 3)
    assert "toy: 1 built, 0 unchanged, 5 not built" in game.doit("toy:001").out
    assert "toy: 1 unchanged, 5 not built" in game.doit("toy:001").out
    assert "toy: 5 built, 1 unchanged" in game.doit().out


def test_the_summary_tells_what_is_ignored(game):
    fill(game, 2)
    game.doit()
    game.doit("ignore", "toy:001")
    game.write("assets/001.txt", "changed")
    assert "toy: 3 unchanged, 2 ignored, 304 B in build/toy\nnothing done (" in game.doit().out
    game.write("assets/000.txt", "changed")
    assert "toy: 1 built, 2 unchanged, 2 ignored, 171 B in build/toy\ndone (" in game.doit().out


def test_a_file_where_an_output_folder_should_be_is_a_mistake_with_its_name(game):
    game.write("assets/a.txt", "a")
    game.write("build/toy", "a file")
    ran = game.doit()
    assert ran.code == 3
    assert '"build/toy" is a file; outputs need a folder of their own' in ran.err
    assert game.read("build/toy") == b"a file"


@pytest.mark.parametrize("workers", ["1", "2", "4"])
def test_workers_give_the_same_bytes(game, tmp_path, workers):
    fill(game, 12)
    other = Game(tmp_path / "elsewhere" / "with another path")
    fill(other, 12)
    assert game.process(PYTHONHASHSEED="1").code == 0
    ran = other.process("-n", workers, PYTHONHASHSEED="2")
    assert ran.code == 0
    assert other.outputs() == game.outputs()
    assert len(ran.built) == 15


def test_a_failure_in_a_worker_is_told_as_without(game):
    game.write("assets/a.txt", "boom")
    game.write("assets/b.txt", "fine")
    ran = game.process("-n", "2")
    assert ran.code == 1
    assert "toy:a  it went boom\n  file  assets/a.txt\nTake the boom out.\n" in ran.out
    assert game.read("build/toy/b.out") == b"FINE"


def test_a_worker_that_dies_takes_only_its_own_node_along(game):
    code = game.read("encoders/toy.py").decode()
    dying = (
        '    if b"die" in inputs["source"]:\n        __import__("os")._exit(9)\n    text = inputs'
    )
    game.write("encoders/toy.py", code.replace("    text = inputs", dying, 1))
    fill(game, 8)
    game.write("assets/003.txt", "die")
    ran = game.process("-n", "2")
    assert ran.code == 1
    assert ran.failed == ["toy:003", "toy:pack"]
    assert "toy:003  the worker process died" in ran.out
    assert "exit code 9" in ran.out
    assert game.read("build/toy/004.out").startswith(b"TEXT 4")


def test_code_that_changes_during_a_build_is_never_taken_for_the_old(game):
    """The encoder's file is edited by the first node that runs."""
    path = game.path("encoders/late.py")
    game.write(
        "encoders/toy.py",
        game.read("encoders/toy.py")
        .decode()
        .replace(
            '    text = inputs["source"].decode()',
            f'    open({str(path)!r}, "w").write("WORD = 2")\n    import encoders.late\n'
            '    text = inputs["source"].decode() + str(encoders.late.WORD)',
            1,
        ),
    )
    game.write("encoders/late.py", "WORD = 1")
    game.write("assets/a.txt", "a")
    ran = game.process()
    assert ran.code in (0, 1)
    ran = game.process()
    assert ran.code == 0
    assert game.read("build/toy/a.out") == b"A2"


@pytest.mark.parametrize(("workers", "count", "rounds"), [([], 24, 150), (["-n", "2"], 600, 5)])
def test_a_killed_build_loses_nothing_and_leaves_nothing_half_made(game, workers, count, rounds):
    fill(game, count)
    make_slow(game, rounds)
    chance = random.Random(len(workers))
    expected, _, _ = Naive(game).build("upper")
    encoded = 0
    for _ in range(6 if count < 100 else 3):
        process = start(game, *workers)
        time.sleep(0.25 + chance.random())
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        done = game.outputs() if game.path("build").exists() else {}
        assert all(data == expected[path] for path, data in done.items())
        finished = receipts_in(game.path("cache"))
        assert finished >= encoded
        encoded = finished
    ran = game.process(*workers)
    assert ran.code == 0
    assert game.outputs() == expected
    assert len(ran.built) <= count + 3 - encoded
    assert game.process().built == []


def receipts_in(cache: Path) -> int:
    """Count the results in a cache, each in a file of its own or in a bundle."""
    single = sum(path.is_file() for path in (cache / "v2/receipts").rglob("*"))
    return single + sum(
        len(list(scan_records(str(path)))) for path in cache.glob("v2/bundles/*.bundle")
    )


@pytest.mark.parametrize(("left_s", "processes"), [(0.0, [2]), (60.0, [])])
def test_workers_are_called_in_once_a_build_proves_long(game, monkeypatch, left_s, processes):
    started = []

    class Noted(pipeline.process.pool.Pool):
        def __init__(self, size, *others):
            started.append(size)
            super().__init__(size, *others)

    monkeypatch.setattr("pipeline.process.pool.Pool", Noted)
    monkeypatch.setattr("pipeline.process.capacity.cores", lambda: 2)
    monkeypatch.setattr("pipeline.build.executor.BUSY_SECONDS", 0.0)
    monkeypatch.setattr("pipeline.build.executor.LEFT_SECONDS", left_s)
    monkeypatch.setattr(Noted, "is_warm", True)
    fill(game, 40)
    ran = game.doit()
    assert started == processes
    assert (ran.code, len(ran.built)) == (0, 43)
    assert game.outputs() == Naive(game).build("upper")[0]


def test_ctrl_c_stops_at_once_keeps_what_is_finished_and_leaves_no_process(game):
    fill(game, 40)
    make_slow(game, 1500)
    process = start(game, "-n", "2")
    expect_soon(lambda: len(list(game.path("build").rglob("*.out"))) >= 4)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    # What a worker had finished a moment ago, the driver may not have heard of yet.
    told = r"^toy: (\d+ built, )?0 unchanged, \d+ not built(, .*)?\nstopped \("
    assert re.search(told, out, re.M), out
    assert "Traceback" not in err
    assert "What was finished is kept." in err
    expect_soon(lambda: not is_alive(process.pid))
    finished = len(list(game.path("build").rglob("*.out")))
    assert len(game.process("-n", "2").built) <= 43 - finished


def test_workers_leave_when_the_driver_is_killed(game):
    fill(game, 40)
    make_slow(game, 1500)
    process = start(game, "-n", "2")
    expect_soon(lambda: list(game.path("build").rglob("*.out")))
    process.kill()
    process.communicate(timeout=60)
    expect_soon(lambda: not is_alive(process.pid))


def test_two_builds_at_once_both_end_right(game):
    fill(game, 16)
    make_slow(game, 8000)
    first = start(game)
    end = time.monotonic() + 60
    while not game.outputs() and time.monotonic() < end:
        time.sleep(0.01)
    processes = [first, start(game, "-n", "2")]
    stories = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], stories
    assert any("waiting" in err for _, err in stories)
    expected, _, _ = Naive(game).build("upper")
    assert game.outputs() == expected
    assert game.doit().built == []


def test_two_first_builds_at_once_both_end_right(game):
    fill(game, 3)
    processes = [start(game) for _ in range(4)]
    stories = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, stories
    assert game.outputs() == Naive(game).build("upper")[0]


def test_many_new_sources_are_surveyed_in_worker_processes(game):
    for number in range(300):
        game.write(f"assets/{number:03}.lst", "line\n" * (number % 3))
    game.write("assets/bad.lst", b"\xff")
    ran = game.process("-v")
    assert ran.failed == ["toy:bad"]
    assert len(ran.built) + len(ran.restored) == 300


def test_a_project_without_manifests_says_so(game):
    game.remove("manifests")
    ran = game.doit()
    assert ran.code == 0
    assert "There are no manifests yet" in ran.out


def test_an_unknown_task_is_an_error_of_the_command_line(game):
    game.write("assets/a.txt", "a")
    ran = game.doit("nosuch")
    assert ran.code == 3
    assert "nosuch" in ran.err


def start(game: Game, *arguments: str) -> subprocess.Popen[str]:
    """Start doit in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "doit", *arguments],
        cwd=game.root,
        env=game.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def expect_soon(condition) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come about")


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
