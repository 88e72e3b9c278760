"""How many jobs go into one batch, and when a batch is sent.

A batch should keep a worker busy for a quarter of a second, beside which the cost of a message is
small. No batch is so large that another worker would have nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.build.dask.message import BATCH_JOBS
from pipeline.build.dask.remote_job import RemoteJob

BATCH_SECONDS = 0.25
FIRST_GUESS_SECONDS = BATCH_SECONDS / 4
WEIGHT = 0.3  # of the newest duration in the running mean
BATCHES_PER_THREAD = 2  # so that all threads end at about the same time
LINGER_SECONDS = 0.02  # how long a job may wait for others to be sent with


class Batching:
    """Sizes batches by the durations of earlier jobs of the same encoder."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def note(self, encoder: str, seconds: float) -> None:
        """Add the duration of a job to the running mean of its encoder."""
        mean = self._seconds.get(encoder, seconds)
        self._seconds[encoder] = mean + WEIGHT * (seconds - mean)

    def expected(self, encoder: str) -> float:
        """Return the seconds that a job of an encoder is expected to take."""
        return self._seconds.get(encoder, FIRST_GUESS_SECONDS)

    def is_due(
        self, pending: Sequence[RemoteJob], in_flight: int, threads: int, waited_seconds: float
    ) -> bool:
        """Tell whether to send the pending jobs now.

        They are sent when they fill a batch for every thread, or have waited for more jobs while
        workers may soon have nothing to do.
        """
        # The first job stands for all: jobs that are ready together are mostly of one encoder.
        each = self.expected(pending[0].job.encoder)
        full = BATCH_SECONDS * threads
        if len(pending) * each >= full:
            return True
        are_workers_busy = in_flight * each > BATCHES_PER_THREAD * full
        return not are_workers_busy and waited_seconds >= LINGER_SECONDS

    def batches(
        self, jobs: Sequence[RemoteJob], unanswered: int, threads: int
    ) -> Iterator[list[RemoteJob]]:
        """Split jobs into batches; `unanswered` counts all jobs that are pending or in flight."""
        # A fair share for every thread: near the end of a build batches get smaller, so that one
        # worker is not left with a long batch while the others are idle.
        limit = min(BATCH_JOBS, max(1, unanswered // (BATCHES_PER_THREAD * threads)))
        batch: list[RemoteJob] = []
        seconds = 0.0
        for job in jobs:
            batch.append(job)
            seconds += self.expected(job.job.encoder)
            if seconds >= BATCH_SECONDS or len(batch) >= limit:
                yield batch
                batch, seconds = [], 0.0
        if batch:
            yield batch
