"""A process that has imported everything and forks for each run of doit.

Starting an interpreter takes longer than building the small game; a fork takes milliseconds. What
a run reads and writes is the same. `FaultyServer` can also let calls of the C library fail in a run
(see fault.c), those of SQLite among them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIBRARY = "TORTURE_FAULT_LIBRARY"


@dataclass(frozen=True)
class Fault:
    """A call that fails: its name, the error, which one it is, and whether later ones fail too."""

    call: str
    code: int
    at: int
    is_lasting: bool = False


def build_fault_library(folder: Path) -> Path:
    """Compile fault.c."""
    library = folder / "fault.so"
    command = ["cc", "-O1", "-fPIC", "-shared", "-o", str(library), str(HERE / "fault.c"), "-ldl"]
    subprocess.run(command, check=True)
    return library


class RunningBuild:
    """A run of doit in a fork."""

    def __init__(self, server: RunServer, process: int, log: Path) -> None:
        self._server, self.process, self._log = server, process, log
        self._code: int | None = None

    @property
    def is_alive(self) -> bool:
        """Tell whether the run goes on."""
        if self._code is None:
            self._code = self._server.ended.pop(self.process, None)
        return self._code is None

    def kill(self) -> None:
        """Kill the run with all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)

    def wait(self, seconds: float) -> tuple[int, str]:
        """Wait for the end; return the exit code and what was printed."""
        until = time.monotonic() + seconds
        while self.is_alive:
            if time.monotonic() > until:
                self.kill()
                raise subprocess.TimeoutExpired("doit", seconds)
            time.sleep(0.002)
        assert self._code is not None
        # A run that is killed at once has no log.
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return self._code, text


class RunServer:
    """The process that forks, for the game in one folder."""

    def __init__(self, game: Path, root: Path, library: Path | None = None) -> None:
        self.game = game
        self.ended: dict[int, int] = {}
        faulty = {"LD_PRELOAD": str(library), LIBRARY: str(library)} if library else {}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "torture_server.py")],
            cwd=game,
            env={**os.environ, "PYTHONPATH": str(root), **faulty},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._started: list[int] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "started" in message:
                self._started.append(message["started"])
            else:
                self.ended[message["ended"]] = message["code"]

    def start(self, *words: str, fault: Fault | None = None) -> RunningBuild:
        """Begin a run."""
        log = self.game.parent / f"{self.game.name}.log"
        log.unlink(missing_ok=True)
        message: dict[str, Any] = {"words": words, "log": str(log)}
        if fault is not None:
            message["fault"] = [fault.call, fault.code, fault.at, int(fault.is_lasting)]
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        while not self._started:
            if self._process.poll() is not None:
                raise RuntimeError("the server of runs has ended")
            time.sleep(0.001)
        return RunningBuild(self, self._started.pop(), log)

    def fired(self) -> list[str]:
        """Return a line for each call that failed in the last run."""
        path = self.game.parent / f"{self.game.name}.log.fired"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def serve() -> None:
    """Fork for every message; tell the process number, and later how it ended."""
    import_all()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        message = json.loads(line)
        child = os.fork()
        if not child:
            run(message)
            return  # the interpreter ends as after any run
        answers.write(json.dumps({"started": child}) + "\n")
        threading.Thread(target=_await_end, args=(child, answers), daemon=True).start()


def _await_end(child: int, answers: Any) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    answers.write(json.dumps({"ended": child, "code": code}) + "\n")


def import_all() -> None:
    """Import doit, the engine and what encoders use."""
    import doit.doit_cmd  # noqa: F401
    import numpy  # noqa: F401
    import PIL.Image

    import cartwright_doit  # noqa: F401 - first: it protects the imports of the others
    import encoders
    import pipeline.doit_plugin.command.run
    import pipeline.doit_plugin.reporter  # noqa: F401

    PIL.Image.init()
    for module in pkgutil.walk_packages(encoders.__path__, "encoders."):
        importlib.import_module(module.name)


def run(message: dict[str, Any]) -> None:
    """Run doit in this process, with its output in a file."""
    from doit.doit_cmd import DoitMain

    os.setsid()
    log = os.open(message["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, place in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(file, place)
    if message["words"] == []:
        # On one processor no workers are started, which take longer than the whole small game.
        os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
    sys.argv[1:] = message["words"]
    sys.path.insert(0, os.getcwd())
    if "fault" in message:
        _arm(message)
    sys.exit(DoitMain().run(message["words"]))


def _arm(message: dict[str, Any]) -> None:
    import ctypes

    call, code, at, is_lasting = message["fault"]
    record = os.open(message["log"] + ".fired", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    library = ctypes.CDLL(os.environ[LIBRARY])
    library.fault_arm(call.encode(), code, ctypes.c_long(at), is_lasting, os.getcwdb(), record)


if __name__ == "__main__":
    serve()
