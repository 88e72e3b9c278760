"""Output that can't be written: the build goes on, and the exit code depends on the build alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tests.pipeline.game import Game

MANY = 350  # with their long names more than a pipe holds


@pytest.fixture
def full(game: Game) -> Game:
    for number in range(MANY):
        game.write(f"assets/{number:04}_{'long' * 50}.txt", f"text {number}")
    return game


def run(game: Game, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell, in which $DOIT is doit; its last word is doit's exit code."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=game.root,
        env=game.environment(DOIT=f"{sys.executable} -m doit"),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.parametrize("line", ["$DOIT | head -1", "$DOIT | true", "$DOIT -n 2 | true"])
def test_a_reader_that_closes_the_pipe_early_does_not_stop_the_build(full, line):
    ran = run(full, f"{line}; exit ${{PIPESTATUS[0]}}")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(full.outputs()) == MANY + 1


@pytest.mark.parametrize("place", ["| true", ">&-", "> /dev/full", ">&- 2>&-", ">&- 2>&- <&-"])
def test_a_failed_build_exits_with_1_although_its_output_is_lost(game, place):
    game.write("assets/a.txt", "boom")
    game.write("assets/l.lst", "fine\n")
    ran = run(game, f"$DOIT {place}")
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    assert game.read("build/toy/l/0.line") == b"fine"


@pytest.mark.parametrize("place", ["| true", ">&-", "> /dev/full", "2>&-", ">&- 2>&- <&-"])
def test_a_build_succeeds_although_its_output_is_lost(game, place):
    game.write("assets/a.txt", "fine")
    ran = run(game, f"$DOIT {place}")
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False)
    assert game.read("build/toy/a.out") == b"FINE"
    assert game.doit().built == []


def test_output_to_a_full_disk_gives_a_warning(game):
    game.write("assets/a.txt", "fine")
    assert "output is lost: No space left on device" in run(game, "$DOIT > /dev/full").stderr


def test_a_closed_pipe_does_not_stop_a_build_with_a_reporter_of_doits(full):
    assert run(full, "$DOIT -r console | true").returncode == 0
    assert len(full.outputs()) == MANY + 1


def test_a_task_of_the_project_may_print_to_a_closed_pipe(game):
    speak = 'def task_speak():\n    return {"actions": [_speak], "verbosity": 2}\n'
    game.write(
        "dodo.py",
        f"{game.read('dodo.py').decode()}\n\ndef _speak():\n"
        f'    print("word " * 99999, flush=True)\n    open("spoken", "w").close()\n\n\n{speak}',
    )
    assert run(game, "$DOIT | true").returncode == 0
    assert game.path("spoken").exists()


PRINTING = ["list --all", "list --all --status", "info toy", "explain"]
LOST = [(command, "| head -1") for command in PRINTING] + [
    ("list --all", ">&-"),
    ("explain", "> /dev/full"),
]


@pytest.mark.parametrize(("command", "place"), LOST)
def test_a_command_that_only_prints_exits_with_0_although_its_output_is_lost(full, command, place):
    ran = run(full, f"$DOIT {command} {place}; exit ${{PIPESTATUS[0]}}")
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr


@pytest.mark.parametrize("command", ["list", "info toy:a", "explain"])
def test_ctrl_c_ends_a_command_that_prints_without_a_traceback(game, command):
    code = game.read("encoders/toy.py").decode()
    wait = '    open("begun", "w").close()\n    __import__("time").sleep(60)\n    source = Source'
    game.write("encoders/toy.py", code.replace("    source = Source", wait, 1))
    game.write("assets/a.txt", "a")
    process = subprocess.Popen(
        [sys.executable, "-m", "doit", *command.split()],
        cwd=game.root,
        env=game.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    while not game.path("begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert (process.returncode, err) == (130, "")
