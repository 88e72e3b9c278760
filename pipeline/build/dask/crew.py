"""The workers of a cluster: who is there, who was refused and why, and how long to wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from distributed import Client

from pipeline.build.dask.descriptor import Refusal
from pipeline.build.dask.error import ClusterError

CONTACT_SECONDS = 5.0
FEW_NAMES = 3


class Crew:
    """What is known of the workers; looked at from the main thread alone."""

    def __init__(
        self,
        client: Client,
        address: str,
        patience_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._address = client, address
        self._patience_seconds, self._clock = patience_seconds, clock
        self._heard = self._staffed = clock()
        self._there: dict[str, int] = {}
        self._refused: dict[str, tuple[str, ...]] = {}
        self.look()

    @property
    def threads(self) -> int:
        """How many nodes can be under way at once; one at least, for workers yet to come."""
        return max(1, sum(self._there[one] for one in self._fit()))

    def _fit(self) -> list[str]:
        return [one for one in self._there if one not in self._refused]

    def chosen(self) -> list[str] | None:
        """Name the workers that may be asked; None stands for any."""
        return self._fit() if self._refused else None

    def are_gone(self, workers: list[str] | None) -> bool:
        """Tell whether none of the workers that might do something is there any more."""
        return workers is not None and not set(workers) & set(self._there)

    def refuse(self, refusal: Refusal) -> None:
        """Ask a worker no more."""
        self._refused[refusal.worker] = refusal.reasons

    def look(self) -> None:
        """See who is there; raise when nobody is who could do the work, and none may come."""
        now = self._clock()
        try:
            self._there = self._client.nthreads(callback_timeout=CONTACT_SECONDS)
        except (OSError, TimeoutError, ValueError):
            if self._client.status == "closed" or now - self._heard > self._patience_seconds:
                raise ClusterError(self._lost()) from None
            return
        self._heard = now
        if self._fit():
            self._staffed = now
        elif self._there:
            raise ClusterError("\n".join(["no worker of the cluster is fit:", *self.complaints()]))
        elif now - self._staffed > self._patience_seconds:
            raise ClusterError(self._nobody())

    def _lost(self) -> str:
        return f"{self._address}: no answer from the scheduler for {self._patience_seconds:.0f} s"

    def _nobody(self) -> str:
        return f"the cluster had no worker for {self._patience_seconds:.0f} s"

    def complaints(self) -> list[str]:
        """Say who was refused: one line for all workers that have the same faults."""
        by_reasons: dict[tuple[str, ...], list[str]] = {}
        for worker, reasons in sorted(self._refused.items()):
            by_reasons.setdefault(reasons, []).append(worker)
        return [
            f"{_names(workers)} refused: {'; '.join(reasons)}"
            for reasons, workers in by_reasons.items()
        ]


def _names(workers: list[str]) -> str:
    more = len(workers) - FEW_NAMES
    names = ", ".join(workers[:FEW_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"worker{'s' if len(workers) > 1 else ''} {names}"
