"""Executors: who does the jobs of a run.

There are four: this process, worker processes of this machine (`process/pool.py`), workers of a
Dask cluster (`dask/cluster.py`), and a look-up in the shared cache before any of them
(`lookup.py`). The driver submits jobs while there is room and takes answers as they come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic, process_time
from typing import Any, Protocol

from pipeline.process.capacity import work_seconds
from pipeline.process.pool import SLOW_SECONDS, Pool

# Each worker imports what the encoders need, numpy above all, in up to half a second of CPU. It
# pays when jobs have kept this process busy, and those that are left would for much longer.
BUSY_SECONDS, LEFT_SECONDS = 0.1, 1.5
# The first job imports the encoder and its libraries, in about this time on a slow machine.
IMPORT_SECONDS = 0.5
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

    With `make_pool`, worker processes are started when the build proves long, and take over when
    they are ready; until then jobs are done here. `count_left` tells how many jobs are left. A
    job for which `wants_workers` is left to workers at once: done here, it would keep all others
    waiting. With `starts_early`, workers are started before the first of many jobs.
    """

    def __init__(
        self,
        make_pool: Callable[[], Pool] | None = None,
        count_left: Callable[[], int] = int,
        wants_workers: Callable[[Any], bool] = lambda _: False,
        *,
        starts_early: bool = True,
    ) -> None:
        self._wants_workers = wants_workers
        self._answers: deque[tuple[Any, Any]] = deque()
        self._make_pool, self._count_left = make_pool, count_left
        self._starting: Pool | None = None
        self._workers: Pool | None = None
        self._done, self._seconds, self._longest = 0, 0.0, 0.0
        # Workers take a while to start: with many jobs this goes on while the first are done here.
        if make_pool is not None and starts_early and count_left() > START_AT_ONCE_FROM:
            self._start_workers(make_pool, QUICK_SECONDS)

    @property
    def workers(self) -> Pool | None:
        """Return the workers that have taken over, if any have."""
        return self._workers

    @property
    def has_answer(self) -> bool:
        """Tell whether an answer is there without waiting."""
        return bool(self._answers)

    @property
    def has_room(self) -> bool:
        """Tell whether another job should be submitted: one at a time here."""
        return self._workers.has_room if self._workers else not self._answers

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return bool(self._answers) or (self._workers is not None and self._workers.is_busy)

    def submit(self, key: Any, function: Callable[..., Any], job: Any) -> None:
        """Do the job, here or by the workers."""
        if self._workers is None and self._make_pool is not None and self._wants_workers(job):
            self._start_workers(self._make_pool, SLOW_SECONDS)
            self._workers = self._starting
        if self._workers is not None:
            self._workers.submit(key, function, job)
            return
        began, cpu_began = monotonic(), process_time()
        self._answers.append((key, function(job)))
        seconds = work_seconds(monotonic() - began, process_time() - cpu_began)
        self._done += 1
        self._seconds += seconds
        self._longest = max(self._longest, seconds)
        self._consider_workers()

    def _busy_seconds(self) -> float:
        """Return how long jobs have taken that tell what those to come will take.

        The longest one is left out, because it may have been long for what it imported.
        """
        if self._done == 1:
            return max(0.0, self._seconds - IMPORT_SECONDS)
        return self._seconds - self._longest

    def _consider_workers(self) -> None:
        busy = self._busy_seconds()
        # Nodes of one build are often alike.
        each = busy / max(1, self._done - 1)
        is_busy = self._starting is None and busy > BUSY_SECONDS
        # Less one: the job that was just done is recorded only when its answer is taken.
        if self._make_pool and is_busy and each * (self._count_left() - 1) > LEFT_SECONDS:
            self._start_workers(self._make_pool, each)
        if self._starting is not None and self._starting.is_warm:
            # Started for many jobs, which were taken to be quick: by now it is known.
            self._starting.warm_up(each)
            self._workers = self._starting

    def _start_workers(self, make_pool: Callable[[], Pool], job_seconds: float) -> None:
        if self._starting is not None:
            return
        self._starting = make_pool()
        # Without `-n` the driver makes quick calls as well, instead of only waiting for answers.
        self._starting.runs_in_driver = True
        self._starting.warm_up(job_seconds)

    def next_answer(self) -> tuple[Any, Any]:
        """Return the next answer."""
        if self._answers:
            return self._answers.popleft()
        assert self._workers is not None
        return self._workers.next_answer()

    def close(self) -> None:
        """Let workers finish; kill those that are not ready yet, since they have no job."""
        if self._workers is not None:
            self._workers.close()
        elif self._starting is not None:
            self._starting.kill()

    def kill(self) -> None:
        """End all workers at once."""
        if self._starting is not None:
            self._starting.kill()
