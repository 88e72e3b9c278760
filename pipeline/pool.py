"""Worker processes that live for the whole run, each at the end of a pipe.

A worker that crashes takes only its own job with it. Workers leave when the driver does, however
it went, and never see Ctrl-C themselves.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.kernel import use_native
from pipeline.code import add_project_encoders

# A second job waits in the pipe, so that a worker has no gap while the driver is busy.
DEPTH = 2
PURE_VARIABLE = "CARTWRIGHT_PURE"
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def prepare_process(root: str) -> None:
    """Make a process ready to run encoders: the project's own targets, one thread a library."""
    for variable in SINGLE_THREADED:
        os.environ.setdefault(variable, "1")
    add_project_encoders(root)
    if os.environ.get(PURE_VARIABLE) == "1":
        use_native(False)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def plain_error(error: EncodeError) -> EncodeError:
    """Give an error that can travel: of a class that every process has, with facts alone."""
    return EncodeError(error.problem, error.facts, error.hint)


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return function(*arguments)
    except EncodeError as error:
        return plain_error(error)
    except (Exception, SystemExit) as error:
        return EncodeError(f"{type(error).__name__}: {error}")


def _serve(connection: Connection, root: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    prepare_process(root)
    calls: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    while (call := calls.get()) is not None:
        connection.send(_answer(*call))


def _receive(connection: Connection, calls: SimpleQueue[Any]) -> None:
    """Take calls out of the pipe at any time, lest both ends wait for the other to read."""
    call: Any = True
    while call:
        try:
            call = connection.recv()
        except (EOFError, OSError):
            call = None
        calls.put(call)


class Worker:
    """A process, its pipe, and the calls that it has not answered yet, oldest first."""

    def __init__(self, context: Any, root: str) -> None:
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, root), daemon=True)
        self.process.start()
        theirs.close()
        self.calls: deque[tuple[Any, Any]] = deque()


class Pool:
    """Runs calls in worker processes; answers come back in the order in which they are ready."""

    def __init__(self, size: int, root: str) -> None:
        self.size, self.root = size, root
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[Worker] = []
        self._waiting: deque[tuple[Any, Any]] = deque()

    @property
    def has_room(self) -> bool:
        """Tell whether another call would start at once, or soon."""
        busy = sum(len(worker.calls) for worker in self._workers) + len(self._waiting)
        return busy < self.size * DEPTH

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return bool(self._waiting) or any(worker.calls for worker in self._workers)

    def submit(self, key: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a call made; its answer will come with the key."""
        self._waiting.append((key, (function, arguments)))
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting:
            worker = min(self._workers, key=lambda one: len(one.calls), default=None)
            if (worker is None or worker.calls) and len(self._workers) < self.size:
                worker = Worker(self._context, self.root)
                self._workers.append(worker)
            if worker is None or len(worker.calls) >= DEPTH:
                return
            key, call = self._waiting.popleft()
            worker.calls.append((key, call))
            with suppress(BrokenPipeError):  # a dead worker is found out when it is waited for
                worker.connection.send(call)

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for an answer; a worker's death is the answer to what it was doing."""
        answer = self.answer_unless(None)
        assert answer is not None
        return answer

    def answer_unless(self, bell: Connection | None) -> tuple[Any, Any] | None:
        """Wait for an answer; None where the bell has something to read before there is one."""
        by_connection = {one.connection: one for one in self._workers if one.calls}
        heard = wait([*by_connection, bell] if bell else list(by_connection))
        worker = next((by_connection[one] for one in heard if one in by_connection), None)
        if worker is None:
            return None
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            answer = self._bury(worker)
        key, _ = worker.calls.popleft()
        if worker not in self._workers:
            self._waiting.extendleft(reversed(worker.calls))
        self._hand_out()
        return key, answer

    def _bury(self, worker: Worker) -> EncodeError:
        self._workers.remove(worker)
        worker.process.join()
        code = worker.process.exitcode or 0
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return EncodeError("the worker process died", {"how": how})

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Make all calls and give the answers in order."""
        answers: dict[int, Any] = {}
        for number, arguments in enumerate(calls):
            while not self.has_room:
                key, answer = self.next_answer()
                answers[key] = answer
            self.submit(number, function, *arguments)
        while self.is_busy:
            key, answer = self.next_answer()
            answers[key] = answer
        yield from (answers[number] for number in sorted(answers))

    def close(self) -> None:
        """Let the workers finish and leave."""
        for worker in self._workers:
            with suppress(OSError):
                worker.connection.send(None)
        for worker in self._workers:
            worker.process.join()
        self._workers = []

    def kill(self) -> None:
        """Stop all workers at once."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
        self._workers = []
