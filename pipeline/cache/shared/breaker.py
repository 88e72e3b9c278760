"""Circuit breaker: stop using a server that costs too much time, for the rest of the run.

It is a leaky bucket of seconds. Time lost to slow answers, failures and wrong answers fills it, and
every quick answer drains it a little, so occasional trouble does no harm. When it overflows the
breaker trips for good.

Users may set their patience. Waiting times are scaled by it before they are counted, so that one
number suits a slow server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

PATIENCE_SECONDS = 5.0  # for an answer to begin, and for every chunk of it
# With that patience: what an answer may take, the size of the bucket, and the cost of a failure.
QUICK_SECONDS = 0.5
DEBT_SECONDS = 15.0
FAILURE_SECONDS = 3.0
SLOWEST_RATE = 1 << 18  # bytes a second


def allowance(size: int) -> float:
    """Return the seconds that the transfer of so many bytes may take."""
    return size / SLOWEST_RATE


class Breaker:
    """Adds up the time that a server costs, and trips when it is too much."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.reason = ""
        self.failed = 0
        self.refused = 0
        self.first_problem = ""
        self._scale = patience_seconds / PATIENCE_SECONDS
        self._level = 0.0
        self._lock = threading.Lock()
        self._on_trip: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        """Tell whether the breaker has tripped, so that no more requests are made."""
        return bool(self.reason)

    def when_tripped(self, action: Callable[[], None]) -> None:
        """Add an action to be run when the breaker trips."""
        self._on_trip.append(action)

    def trip(self, reason: str) -> None:
        """Stop using the server; the first reason is the one that the user is told."""
        with self._lock:
            if self.reason:
                return
            self.reason = reason
        # Not under the lock: actions take locks of their own.
        for action in self._on_trip:
            action()

    def note_answer(self, seconds: float, size: int) -> None:
        """Count an answer of so many bytes for which we waited so long."""
        # Negative for a quick answer, which drains the bucket.
        lost = (seconds - allowance(size)) / self._scale - QUICK_SECONDS
        self._fill(lost, "it is too slow")

    def note_failure(self, reason: str) -> None:
        """Count a request without an answer."""
        with self._lock:
            # Tripping closes the connections, which makes requests fail that were under way.
            if self.reason:
                return
            self.failed += 1
            self.first_problem = self.first_problem or reason
        self._fill(FAILURE_SECONDS, reason)

    def note_refusal(self, reason: str) -> None:
        """Count an answer that was not used because it is wrong."""
        with self._lock:
            if self.reason:
                return
            self.refused += 1
            self.first_problem = self.first_problem or reason
        self._fill(FAILURE_SECONDS, "too many answers are wrong")

    def _fill(self, seconds: float, reason: str) -> None:
        """Add to the bucket, or drain it by a negative number, down to empty."""
        with self._lock:
            self._level = max(0.0, self._level + seconds)
            overflows = self._level > DEBT_SECONDS
        if overflows:
            self.trip(reason)
