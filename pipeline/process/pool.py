"""A pool of worker processes that live for the whole run, each at the end of a pipe.

A worker that crashes fails only its own call. Workers end with the driver, however it ends, and
never get Ctrl-C themselves: the driver decides what it means.
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
from time import monotonic
from types import ModuleType
from typing import Any

from encoders.kit.error import EncodeError
from pipeline.process import capacity
from pipeline.process.standard_library import imports_of_own
from pipeline.process.worker import PACKAGE_FOLDER, answer, run_worker

# A second batch waits in the pipe, so that a worker has no gap while the driver is busy.
BATCHES_PER_WORKER = 2
# Quick calls are sent in batches of about this much work, so that what a small node costs is
# not mostly the way to the worker and back.
BATCH_SECONDS, MAX_BATCH = 0.02, 128
# A call that is expected to take longer is alone with its worker: another worker could make what
# waits behind it.
SLOW_SECONDS = 0.1
KILLED = 9  # the signal with which Linux ends a process when memory runs out
OUT_OF_MEMORY = "Most likely the system had too little memory for it, although it ran alone."
CALLS_IN_DRIVER = 8  # how many quick calls the driver makes before it polls for answers again


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Block Ctrl-C in processes started in the block, from before their first line runs."""
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
    """Keep processes started in the block from importing the main program, which is doit."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@dataclass(slots=True, eq=False)
class Call:
    """A call to make; after a worker died with it and others, it is suspect and made alone.

    `seconds` is how long it is expected to take, 0 where that is not known. `is_last` tells that
    the system killed its worker, most likely for want of memory: it is made once more, while
    nothing else is.
    """

    key: Any
    what: tuple[Callable[..., Any], tuple[Any, ...]]
    seconds: float = 0.0
    is_slow: bool = False
    is_suspect: bool = False
    is_last: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether no other call is given to the same worker."""
        return self.is_slow or self.is_suspect or self.is_last


class Worker:
    """A process, its pipe, and the calls that it has not answered yet, oldest first."""

    def __init__(self, context: Any, root: str) -> None:
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=run_worker, args=(theirs, root, list(sys.path), PACKAGE_FOLDER), daemon=True
        )
        # The game may have modules that are called like ours, or like those of Python.
        with _without_ctrl_c(), _without_main(), imports_of_own(os.path.dirname(PACKAGE_FOLDER)):
            self.process.start()
        # While this end is open here, the pipe of a dead worker would not report its end.
        theirs.close()
        self.calls: deque[Call] = deque()
        self.alone = 0  # how many of them are alone; counted here, as it is asked for each call
        self._since = 0.0  # when the oldest call began

    @property
    def is_late(self) -> bool:
        """Whether the oldest call takes long, which nobody may have known before."""
        return bool(self.calls) and monotonic() - self._since >= SLOW_SECONDS

    def send(self, calls: list[Call]) -> None:
        """Send calls, in one message."""
        if not self.calls:
            self._since = monotonic()
        self.calls += calls
        self.alone += sum(call.is_alone for call in calls)
        with suppress(BrokenPipeError):  # a dead worker is noticed when its answers are read
            self.connection.send([call.what for call in calls])

    def take_calls(self, count: int) -> list[Call]:
        """Return the oldest calls, which are no longer waited for."""
        calls = [self.calls.popleft() for _ in range(count)]
        self._since = monotonic()
        self.alone -= sum(call.is_alone for call in calls)
        return calls


def _load(worker: Worker) -> tuple[int, int]:
    """Return how much a worker has to do, to compare it with others."""
    return worker.alone or int(worker.is_late), len(worker.calls)


def _batch_size(call_seconds: float) -> int:
    """Return how many calls of that duration go into one message."""
    return min(max(1, int(BATCH_SECONDS / max(call_seconds, 1e-6))), MAX_BATCH)


class Pool:
    """Makes calls in worker processes; answers come in the order in which they are ready."""

    def __init__(self, size: int, root: str, on_exit: Callable[[], None] | None = None) -> None:
        """Prepare for calls; each worker calls `on_exit` before it ends."""
        self.size, self.root, self._on_exit = size, root, on_exit
        self.runs_in_driver = False  # whether the driver makes quick calls, too, where it waits
        # A forked child would inherit the locks, threads and SQLite handles of the driver.
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[Worker] = []
        self._waiting: deque[Call] = deque()
        self._killed: deque[Call] = deque()  # those to be made while nothing else is
        self._last: Worker | None = None  # the worker that makes one of these
        self._answers: deque[tuple[Any, Any]] = deque()
        self._batch = 1
        self._unanswered = 0
        self._slow = 0  # how many of them are slow
        # How long a call is expected to take, and how much of that calls have taken lately: a node
        # that is restored from the cache is much quicker than it was before.
        self.seconds_of: Callable[..., float] | None = None
        self._pace = 1.0
        self._cores = capacity.cores()

    @property
    def has_room(self) -> bool:
        """Tell whether another call would start at once, or soon."""
        # Workers with a slow call take no other.
        free = self.size - self._slow
        return self._unanswered - self._slow < free * BATCHES_PER_WORKER * self._batch

    def warm_up(self, call_seconds: float) -> None:
        """Start workers before the first call, for calls of that duration.

        One worker does quick calls as fast as the driver prepares them; more are started if it
        falls behind.
        """
        self._batch = _batch_size(call_seconds)
        while len(self._workers) < (self.size if self._batch == 1 else 1):
            self._workers.append(Worker(self._context, self.root))

    @property
    def is_warm(self) -> bool:
        """Tell whether all workers that were started are ready, or dead."""
        return all(worker.connection.poll() for worker in self._workers)

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return bool(self._answers) or self._unanswered > 0

    def submit(self, key: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Queue a call; its answer will come with the key."""
        call = Call(key, (function, arguments))
        if self.seconds_of is not None:
            self._expect(call, self.seconds_of(*arguments))
        self._unanswered += 1
        self._waiting.append(call)
        if len(self._waiting) >= self._batch:  # quick calls wait until a batch is full
            self._send_waiting()

    def _expect(self, call: Call, seconds: float) -> None:
        """Take note of how long a call will take; the next calls are taken to be like it."""
        if seconds > 0:
            call.seconds = seconds
            call.is_slow = seconds * self._pace >= SLOW_SECONDS
            self._slow += call.is_slow
            self._batch = _batch_size(seconds * self._pace)

    def _send_waiting(self) -> None:
        """Send waiting calls to workers, as evenly as possible."""
        if self._last is not None and self._last.calls:
            return
        if self._killed and not self._waiting and not any(one.calls for one in self._workers):
            self._send_killed()
            return
        # Rounded up, so that no call is left over.
        share = -(-len(self._waiting) // max(len(self._workers), 1))
        while self._waiting:
            worker = min(self._workers, key=_load, default=None)
            if self._wants_another(worker):
                worker = Worker(self._context, self.root)
                self._workers.append(worker)
            assert worker is not None
            # A suspect call is alone with its worker, so that a death has one possible cause. What
            # waited behind a call that takes long would wait for it while other workers are idle.
            if self._is_full(worker) or worker.alone or worker.is_late:
                return
            if self._waiting[0].is_alone and worker.calls:
                return
            worker.send(self._take(share))

    def _send_killed(self) -> None:
        """Make a call once more whose worker the system killed, while there is no other worker."""
        self.close()  # idle workers keep memory, and the system may have killed one of them, too
        self._last = Worker(self._context, self.root)
        self._workers.append(self._last)
        self._last.send([self._killed.popleft()])

    def _wants_another(self, idlest: Worker | None) -> bool:
        """Tell whether to start another worker.

        For quick calls it pays only when the others are full and a processor is free beside the
        driver's, because preparing quick calls keeps the driver busy.
        """
        if idlest is None or len(self._workers) >= self.size:
            return idlest is None
        if self._batch == 1 or self._waiting[0].is_slow:
            return bool(idlest.calls)
        if idlest.alone and any(call.is_slow for call in idlest.calls):
            return True
        return self._is_full(idlest) and len(self._workers) < self._cores - 1

    def _is_full(self, worker: Worker) -> bool:
        return len(worker.calls) > (BATCHES_PER_WORKER - 1) * self._batch

    def _take(self, share: int) -> list[Call]:
        """Return the next batch, of at most a worker's share, or a call that goes alone."""
        batch = [self._waiting.popleft()]
        if batch[0].is_alone:
            return batch
        limit, seconds = min(self._batch, share), batch[0].seconds
        while self._waiting and len(batch) < limit and not self._waiting[0].is_alone:
            seconds += self._waiting[0].seconds
            if seconds * self._pace > BATCH_SECONDS:
                break
            batch.append(self._waiting.popleft())
        return batch

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for an answer; a call that killed its worker is answered with an EncodeError."""
        answer = self.answer_or_wake(None)
        assert answer is not None
        return answer

    def answer_or_wake(self, wake: Connection | None) -> tuple[Any, Any] | None:
        """Wait for an answer; None where `wake` has something to read first."""
        while not self._answers:
            self._send_waiting()
            by_connection = {one.connection: one for one in self._workers if one.calls}
            if self.runs_in_driver and self._call_here(list(by_connection)):
                break
            ready = wait([*by_connection, wake] if wake else list(by_connection))
            for connection in ready:
                if connection is not wake:
                    self._receive_answers(by_connection[connection])
            if wake in ready and not self._answers:
                return None
        return self._answers.popleft()

    def _call_here(self, connections: list[Connection]) -> bool:
        """Make quick calls in the driver instead of waiting; tell whether any was made."""
        # Only quick calls: a slow one would keep the driver from feeding its workers.
        if self._batch < CALLS_IN_DRIVER or not self._waiting or wait(connections, 0):
            return False
        for _ in range(min(CALLS_IN_DRIVER, len(self._waiting))):
            if self._waiting[-1].is_alone:  # it is slow, or may kill the process that makes it
                break
            # From the end: the next batch for the workers is at the front.
            call = self._waiting.pop()
            self._unanswered -= 1
            self._answers.append((call.key, answer(*call.what)))
        return bool(self._answers)

    def _receive_answers(self, worker: Worker) -> None:
        try:
            seconds, answers = worker.connection.recv()
        except (EOFError, OSError):
            self._requeue_calls_of(worker)
            return
        calls = worker.take_calls(len(answers))
        self._unanswered -= len(calls)
        self._slow -= sum(call.is_slow for call in calls)
        self._answers.extend(
            (call.key, answer) for call, answer in zip(calls, answers, strict=True)
        )
        # The size of batches follows the last answers, because nodes of one kind come together.
        if answers:
            self._batch = _batch_size(seconds / len(answers))
        expected = sum(call.seconds for call in calls)
        if expected > 0:
            self._pace = min(1.0, seconds / expected)

    def _requeue_calls_of(self, worker: Worker) -> None:
        """Requeue a dead worker's calls, each alone, until it is clear which one kills."""
        self._workers.remove(worker)
        worker.process.join()
        code = worker.process.exitcode or 0
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        # With a single call there is no doubt which one it was.
        if len(worker.calls) == 1:
            call = worker.calls.popleft()
            self._slow -= call.is_slow
            call.is_slow = False
            if code == -KILLED and not call.is_last:
                call.is_last = True
                self._killed.append(call)
                return
            hint = OUT_OF_MEMORY if code == -KILLED else ""
            self._unanswered -= 1
            error = EncodeError("the worker process died", {"how": how}, hint)
            self._answers.append((call.key, error))
        # To the front and in order: what was submitted first is still answered early.
        for call in reversed(worker.calls):
            call.is_suspect = True
            self._waiting.appendleft(call)

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Make all calls and yield the answers in order."""
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
        """Let the workers finish, and wait until they have ended."""
        for worker in self._workers:
            with suppress(OSError):
                if self._on_exit is not None:
                    worker.connection.send([(self._on_exit, ())])
                worker.connection.send(None)
        for worker in self._workers:
            worker.process.join()
        self._workers = []

    def abandon(self) -> None:
        """End without waiting for calls that are under way."""
        self.kill()

    def kill(self) -> None:
        """Stop all workers at once."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
        self._workers = []
