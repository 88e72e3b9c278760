"""The workers of a cluster: which are there, which were refused and why, how long to wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from distributed import Client

from pipeline.build.dask.error import ClusterError

CONTACT_SECONDS = 5.0  # how long one question to the scheduler may take
NAMES_SHOWN = 3


class Workers:
    """The state of the workers. Only the main thread refreshes it."""

    def __init__(
        self,
        client: Client,
        address: str,
        wait_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._address = client, address
        self._wait_seconds, self._clock = wait_seconds, clock
        self._last_contact = self._last_usable = clock()
        self._thread_counts: dict[str, int] = {}
        self._refused: dict[str, tuple[str, ...]] = {}
        self.refresh()

    @property
    def threads(self) -> int:
        """The number of jobs that can run at once; at least 1, for workers that are yet to come."""
        return max(1, sum(self._thread_counts[one] for one in self._usable()))

    def _usable(self) -> list[str]:
        return [one for one in self._thread_counts if one not in self._refused]

    def allowed(self) -> list[str] | None:
        """Return the addresses of the workers that may get jobs; None for any."""
        # None while no worker is refused: then workers that join later may do the jobs, too.
        return self._usable() if self._refused else None

    def are_gone(self, workers: list[str] | None) -> bool:
        """Tell whether none of the workers that may do something is left."""
        return workers is not None and not set(workers) & set(self._thread_counts)

    def begin_waiting(self) -> None:
        """Count from now how long there is no worker.

        An adaptive cluster has none while there is nothing to do, and starts some when there is.
        """
        self._last_contact = self._last_usable = self._clock()

    def refuse(self, worker: str, reasons: Sequence[str]) -> None:
        """Send no more jobs to a worker, for these reasons."""
        self._refused[worker] = tuple(reasons)

    def refresh(self) -> None:
        """Ask the scheduler for its workers; raise ClusterError where waiting is no use."""
        now = self._clock()
        try:
            self._thread_counts = self._client.nthreads(callback_timeout=CONTACT_SECONDS)
        # Dask's client reconnects by itself, so one question without an answer is no loss yet.
        # RuntimeError is what it raises while it gives up.
        except (OSError, TimeoutError, ValueError, RuntimeError):
            if self._client.status == "closed" or now - self._last_contact > self._wait_seconds:
                waited = f"{self._wait_seconds:.0f} s"
                raise ClusterError(
                    f"{self._address}: no answer from the scheduler for {waited}"
                ) from None
            return
        self._last_contact = now
        if self._usable():
            self._last_usable = now
        # A refused worker stays refused: its code and its settings do not change while it runs.
        elif self._thread_counts:
            raise ClusterError("\n".join(["no worker of the cluster is fit:", *self.refusals()]))
        elif now - self._last_usable > self._wait_seconds:
            raise ClusterError(f"the cluster had no worker for {self._wait_seconds:.0f} s")

    def refusals(self) -> list[str]:
        """Describe the refused workers: one line for all that have the same reasons."""
        by_reasons: dict[tuple[str, ...], list[str]] = {}
        for worker, reasons in sorted(self._refused.items()):
            by_reasons.setdefault(reasons, []).append(worker)
        return [
            f"{_names(workers)} refused: {'; '.join(reasons)}"
            for reasons, workers in by_reasons.items()
        ]


def _names(workers: list[str]) -> str:
    more = len(workers) - NAMES_SHOWN
    names = ", ".join(workers[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"worker{'s' if len(workers) > 1 else ''} {names}"
