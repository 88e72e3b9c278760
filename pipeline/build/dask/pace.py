"""How many nodes go into one batch: as many as make the trip worth while.

A batch should keep a worker busy for a quarter of a second, beside which a message costs little;
but no batch is so large that another worker would have nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.build.dask.errand import Errand

TARGET_SECONDS = 0.25
FIRST_GUESS_SECONDS = TARGET_SECONDS / 4
WEIGHT = 0.3  # of the newest time in the running mean
ROUNDS = 2  # batches for each thread, so that the last ones end at about the same time
MOST_NODES = 250  # what is lost with a worker stays bounded, however quick the nodes are


class Pace:
    """What nodes took so far, by encoder."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def note(self, encoder: str, seconds: float) -> None:
        """Take in what a node took."""
        mean = self._seconds.get(encoder, seconds)
        self._seconds[encoder] = mean + WEIGHT * (seconds - mean)

    def expected(self, encoder: str) -> float:
        """Say what a node of an encoder may take."""
        return self._seconds.get(encoder, FIRST_GUESS_SECONDS)

    def batches(self, errands: Sequence[Errand], up: int, threads: int) -> Iterator[list[Errand]]:
        """Cut nodes into batches; `up` counts all that are waiting or under way."""
        most = min(MOST_NODES, max(1, up // (ROUNDS * threads)))
        batch: list[Errand] = []
        seconds = 0.0
        for errand in errands:
            batch.append(errand)
            seconds += self.expected(errand.job.encoder)
            if seconds >= TARGET_SECONDS or len(batch) >= most:
                yield batch
                batch, seconds = [], 0.0
        if batch:
            yield batch
