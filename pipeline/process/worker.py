"""The loop of a worker process: make the calls that come through its pipe, and send the answers.

Answers to quick calls are sent together; none waits for a slow call. A worker ends with its driver.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from time import monotonic, sleep
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.warning import grouped
from pipeline.content.code import add_project_encoders
from pipeline.content.kernel import kernel_warning
from pipeline.content.target_error import describe_error
from pipeline.process.isolate import install_runner
from pipeline.process.standard_library import restore_imports

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KILL_FIRST, KILL_SCORE = "/proc/self/oom_score_adj", "500"  # proc(5), up to 1000
ANSWER_SECONDS = 0.02  # how long an answer may wait for others to be sent with
QUIET = "TF_ENV_SETTING_ALERTS_ENABLED"  # usd-core prints the variables that it finds set
PURE_VARIABLE = "CARTWRIGHT_PURE"
SINGLE_THREADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PXR_WORK_THREAD_LIMIT",
)


def prepare_process(root: str) -> list[str]:
    """Make a process ready to do nodes; return warnings about the installation."""
    install_runner(root)
    return prepare_encoders(root)


def prepare_encoders(root: str) -> list[str]:
    """Make a process ready to run encoders; return warnings about the installation.

    It finds the project's own targets, starts one thread a library, and uses native kernels only
    where they were built from the sources that are part of the key.
    """
    for variable in SINGLE_THREADED:
        os.environ.setdefault(variable, "1")
    os.environ.setdefault(QUIET, "0")
    add_project_encoders(root)
    # Only now, by our own loader: Python's would write bytecode beside the C sources, and a change
    # of that folder makes the next run look at everything.
    from encoders.kit.native import kernel

    if os.environ.get(PURE_VARIABLE) == "1":
        kernel.use_native(False)
        return []
    warning = kernel_warning(kernel.built_extension(), os.path.dirname(kernel.__file__))
    kernel.use_native(not warning)
    return [grouped("kernels", warning)] if warning else []


def _exit_with_parent() -> None:
    """End this process when the driver ends, however that happens."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _offer_to_be_killed() -> None:
    """Let the system end this process before others when memory runs out.

    Its call is made again, or fails alone; the driver, or a program of the user's, would be lost.
    """
    with suppress(OSError), open(KILL_FIRST, "w", encoding="ascii") as file:
        file.write(KILL_SCORE)


def plain_error(error: EncodeError) -> EncodeError:
    """Return an error that can be pickled: of a class that every process has."""
    return EncodeError(error.problem, error.facts, error.hint)


def answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Make a call; an exception is an answer, too."""
    try:
        return function(*arguments)
    except EncodeError as error:
        return plain_error(error)
    except (Exception, SystemExit) as error:
        return EncodeError(describe_error(error))


def run_worker(connection: Connection, root: str, path: list[str], package: str) -> None:
    """Make the calls that come through a pipe, until the driver closes it or is gone.

    `path` is the driver's path for imports, `package` the folder of its `pipeline`.
    """
    restore_imports(path, root)
    if package != PACKAGE_FOLDER:
        sys.exit(f"a worker process imported {PACKAGE_FOLDER} instead of {package}")
    # Ctrl-C goes to the whole group; only the driver decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A driver that is killed closes nothing, so the worker watches it.
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    _offer_to_be_killed()
    prepare_process(root)
    calls: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    answers = Answers(connection)
    connection.send((0.0, []))  # an empty reply: the worker is ready
    while (batch := calls.get()) is not None:
        answers.restart()
        for call in batch:
            answers.add(answer(*call))
        answers.send()


class Answers:
    """Collects answers and sends them to the driver, at the latest after 20 ms."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ready: list[Any] = []
        self._began = monotonic()
        self._is_waiting = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._send_regularly, daemon=True).start()

    def add(self, answer: Any) -> None:
        """Queue an answer."""
        with self._lock:
            self._ready.append(answer)
        self._is_waiting.set()

    def send(self) -> None:
        """Send all queued answers, with the seconds that they took."""
        with self._lock:
            now = monotonic()
            if self._ready:
                self._connection.send((now - self._began, self._ready))
            self._ready, self._began = [], now
            self._is_waiting.clear()

    def restart(self) -> None:
        """Start measuring again, after a time without calls."""
        self._began = monotonic()

    def _send_regularly(self) -> None:
        while self._is_waiting.wait():
            sleep(ANSWER_SECONDS)
            self.send()


def _receive(connection: Connection, calls: SimpleQueue[Any]) -> None:
    """Read calls at any time: if both ends only wrote, both pipes would fill and block."""
    batch: Any = True
    while batch:
        try:
            batch = connection.recv()
        except (EOFError, OSError):
            batch = None
        except BaseException:  # unpicklable here: this is other code than the driver's
            os._exit(1)
        calls.put(batch)
