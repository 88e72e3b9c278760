"""Executors: who does the jobs of a run.

There are four: this process, worker processes of this machine (`process/pool.py`), workers of a
Dask cluster (`dask/cluster.py`), and a look-up in the shared cache before any of them
(`lookup.py`). The driver submits jobs while there is room and takes answers as they come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from pipeline.process.pool import Pool, cores

# Starting workers costs about a tenth of a second. It pays when jobs have kept this process busy
# for that long, and those that are left would for this much longer.
BUSY_SECONDS, LEFT_SECONDS = 0.1, 0.5
START_AT_ONCE_FROM = 1000  # so many jobs take long enough, however quick they are
QUICK_SECONDS = 0.0001  # the duration that jobs are taken to have until it is known


class Executor(Protocol):
    """Does jobs. Answers come with the key under which a job was submitted."""

    @property
    def has_room(self) -> bool:
        """Tell whether another job should be submitted before an answer is taken."""
        ...

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        ...

    def submit(self, key: Any, function: Callable[..., Any], job: Any) -> None:
        """Arrange for `function(job)` to be called."""
        ...

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for the next answer: a key, and a Result or an EncodeError."""
        ...

    def close(self) -> None:
        """Let workers finish, and end them."""
        ...

    def kill(self) -> None:
        """End all workers at once."""
        ...


class InProcess:
    """Does each job at once, in this process.

    With `pool`, worker processes are started when the build proves long, and take over when they
    are ready; until then jobs are done here. `count_left` tells how many jobs are left.
    """

    def __init__(self, pool: Pool | None = None, count_left: Callable[[], int] = int) -> None:
        self._answers: deque[tuple[Any, Any]] = deque()
        self._pool, self._count_left = pool, count_left
        self._is_starting = self._has_taken_over = False
        self._done, self._seconds = 0, 0.0
        if pool is not None and count_left() > START_AT_ONCE_FROM:
            self._start_workers(QUICK_SECONDS)

    @property
    def has_room(self) -> bool:
        """Tell whether another job should be submitted: one at a time here."""
        return self._workers.has_room if self._workers else not self._answers

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return bool(self._answers) or (self._workers is not None and self._workers.is_busy)

    @property
    def _workers(self) -> Pool | None:
        return self._pool if self._has_taken_over else None

    def submit(self, key: Any, function: Callable[..., Any], job: Any) -> None:
        """Do the job, here or by the workers."""
        if self._workers is not None:
            self._workers.submit(key, function, job)
            return
        began = monotonic()
        self._answers.append((key, function(job)))
        self._done += 1
        self._seconds += monotonic() - began
        self._consider_workers()

    def _consider_workers(self) -> None:
        pool = self._pool
        if pool is None:
            return
        if not self._is_starting and self._seconds > BUSY_SECONDS:
            each = self._seconds / self._done
            if each * (self._count_left() - 1) > LEFT_SECONDS:
                self._start_workers(each)
        self._has_taken_over = self._is_starting and pool.is_warm

    def _start_workers(self, job_seconds: float) -> None:
        assert self._pool is not None
        self._is_starting = True
        self._pool.runs_in_driver = True
        self._pool.warm_up(job_seconds)

    def next_answer(self) -> tuple[Any, Any]:
        """Return the next answer."""
        if self._answers:
            return self._answers.popleft()
        assert self._workers is not None
        return self._workers.next_answer()

    def close(self) -> None:
        """Let workers finish; nobody waits for those that are not ready yet."""
        if self._workers is not None:
            self._workers.close()
        elif self._pool is not None:
            self._pool.kill()

    def kill(self) -> None:
        """End all workers at once."""
        if self._pool is not None:
            self._pool.kill()


def growing_executor(pool: Pool, count_left: Callable[[], int]) -> InProcess:
    """Return an executor that works alone at first; with one processor it stays alone."""
    return InProcess(pool if cores() > 1 else None, count_left)
