"""Worker processes that live for the whole run, each at the end of a pipe.

A worker that crashes takes only its own job with it. Workers leave when the driver does, however
it went, and never see Ctrl-C themselves.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from encoders.kit.error import EncodeError
from pipeline.process.worker import answer, serve

# A second batch waits in the pipe, so that a worker has no gap while the driver is busy.
DEPTH = 2
# A batch is a single call, or of quick ones so many seconds of work, and so many at the most.
BATCH_S, MOST = 0.02, 128
AT_A_TIME = 8  # how many quick calls the driver makes before it looks for answers again


def cores() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Let what is started here never see Ctrl-C, not even before its own first line runs."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_main() -> Iterator[None]:
    """Let what is started here not load the program that runs: it has no use for doit."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@dataclass(slots=True, eq=False)
class Call:
    """A call that is to be made; one whose worker died is a suspect, and made alone."""

    key: Any
    what: tuple[Callable[..., Any], tuple[Any, ...]]
    is_suspect: bool = False


class Worker:
    """A process, its pipe, and the calls that it has not answered yet, oldest first."""

    def __init__(self, context: Any, root: str) -> None:
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=serve, args=(theirs, root), daemon=True)
        with _without_ctrl_c(), _without_main():
            self.process.start()
        theirs.close()
        self.calls: deque[Call] = deque()

    def send(self, calls: list[Call]) -> None:
        """Hand calls over, in one message."""
        self.calls += calls
        with suppress(BrokenPipeError):  # a dead worker is found out when it is waited for
            self.connection.send([call.what for call in calls])


def _batch_of(call_s: float) -> int:
    """Say how many calls that take so long go into one message."""
    return min(max(1, int(BATCH_S / max(call_s, 1e-6))), MOST)


class Pool:
    """Runs calls in worker processes; answers come back in the order in which they are ready.

    The quicker the calls prove to be, the more of them go to a worker in one message: what a
    small node costs must not be mostly the way there and back.
    """

    def __init__(self, size: int, root: str, farewell: Callable[[], None] | None = None) -> None:
        """Get ready for calls; `farewell` is what each worker does before it leaves."""
        self.size, self.root, self._farewell = size, root, farewell
        self.driver_works_too = False  # whether the driver, too, may make quick calls
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[Worker] = []
        self._waiting: deque[Call] = deque()
        self._answers: deque[tuple[Any, Any]] = deque()
        self._batch = 1
        self._up = 0  # calls that are not answered yet
        self._cores = cores()

    @property
    def has_room(self) -> bool:
        """Tell whether another call would start at once, or soon."""
        return self._up < self.size * DEPTH * self._batch

    def warm_up(self, call_s: float) -> None:
        """Start workers for calls that will take so long, before there is one.

        Of quick calls one worker may do as many as the driver can hand out; should it not keep
        up, others follow.
        """
        self._batch = _batch_of(call_s)
        while len(self._workers) < (self.size if self._batch == 1 else 1):
            self._workers.append(Worker(self._context, self.root))

    @property
    def is_warm(self) -> bool:
        """Tell whether all workers that were started are up, or have died of it."""
        return all(worker.connection.poll() for worker in self._workers)

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return bool(self._answers) or self._up > 0

    def submit(self, key: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a call made; its answer will come with the key."""
        self._up += 1
        self._waiting.append(Call(key, (function, arguments)))
        if len(self._waiting) >= self._batch:  # quick calls wait for company
            self._hand_out()

    def _hand_out(self) -> None:
        """Give waiting calls to workers, as evenly as can be."""
        share = -(-len(self._waiting) // max(len(self._workers), 1))
        while self._waiting:
            worker = min(self._workers, key=lambda one: len(one.calls), default=None)
            if self._wants_another(worker):
                worker = Worker(self._context, self.root)
                self._workers.append(worker)
            assert worker is not None
            if self._is_full(worker) or any(call.is_suspect for call in worker.calls):
                return
            if self._waiting[0].is_suspect and worker.calls:
                return
            worker.send(self._take(share))

    def _wants_another(self, idlest: Worker | None) -> bool:
        """Tell whether to start a worker.

        Quick calls are worth one only when the others are full, and while there is a processor
        for it beside the driver's: that is as busy as any.
        """
        if idlest is None or len(self._workers) >= self.size:
            return idlest is None
        if self._batch == 1:
            return bool(idlest.calls)
        return self._is_full(idlest) and len(self._workers) < self._cores - 1

    def _is_full(self, worker: Worker) -> bool:
        return len(worker.calls) > (DEPTH - 1) * self._batch

    def _take(self, share: int) -> list[Call]:
        """Give the next batch, of at most a worker's share, or a suspect alone."""
        count = 1 if self._waiting[0].is_suspect else min(self._batch, share, len(self._waiting))
        return [self._waiting.popleft() for _ in range(count)]

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for an answer; a worker's death is the answer to the call that killed it."""
        answer = self.answer_unless(None)
        assert answer is not None
        return answer

    def answer_unless(self, bell: Connection | None) -> tuple[Any, Any] | None:
        """Wait for an answer; None where the bell has something to read before there is one."""
        while not self._answers:
            self._hand_out()
            by_connection = {one.connection: one for one in self._workers if one.calls}
            if self.driver_works_too and self._do_some(list(by_connection)):
                break
            heard = wait([*by_connection, bell] if bell else list(by_connection))
            for connection in heard:
                if connection is not bell:
                    self._take_in(by_connection[connection])
            if bell in heard and not self._answers:
                return None
        return self._answers.popleft()

    def _do_some(self, connections: list[Connection]) -> bool:
        """Make quick calls here that no worker has yet, rather than wait; tells whether it did."""
        if self._batch < AT_A_TIME or not self._waiting or wait(connections, 0):
            return False
        for _ in range(min(AT_A_TIME, len(self._waiting))):
            if self._waiting[-1].is_suspect:  # it may kill whoever makes it
                break
            call = self._waiting.pop()
            self._up -= 1
            self._answers.append((call.key, answer(*call.what)))
        return bool(self._answers)

    def _take_in(self, worker: Worker) -> None:
        try:
            seconds, answers = worker.connection.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        self._up -= len(answers)
        self._answers.extend((worker.calls.popleft().key, answer) for answer in answers)
        if answers:
            self._batch = _batch_of(seconds / len(answers))

    def _bury(self, worker: Worker) -> None:
        """Have a dead worker's calls made again, each alone, until it is clear which one kills."""
        self._workers.remove(worker)
        worker.process.join()
        code = worker.process.exitcode or 0
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if len(worker.calls) == 1:
            error = EncodeError("the worker process died", {"how": how})
            self._up -= 1
            self._answers.append((worker.calls.popleft().key, error))
        for call in reversed(worker.calls):
            call.is_suspect = True
            self._waiting.appendleft(call)

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
                if self._farewell is not None:
                    worker.connection.send([(self._farewell, ())])
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
