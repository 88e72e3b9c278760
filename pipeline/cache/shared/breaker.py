"""When to do without a server: it owes us time, and pays back by answering quickly.

Every second beyond what an answer may take is a debt, and so is every failure. A server whose
debt grows too large is left out for the rest of the run; one that stumbles now and then is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

QUICK_SECONDS = 0.5
SLOWEST_RATE = 1 << 18  # bytes a second
PATIENCE_SECONDS = 5.0  # for an answer to begin, and for every chunk of it
DEBT_SECONDS = 15.0
FAILURE_SECONDS = 3.0


def allowance(size: int) -> float:
    """Say how many seconds so many bytes may take."""
    return size / SLOWEST_RATE


class Breaker:
    """Counts what a server costs, and parts with it for good."""

    def __init__(self) -> None:
        self.reason = ""
        self.failed = 0
        self.refused = 0
        self.first_problem = ""
        self._debt = 0.0
        self._lock = threading.Lock()
        self._on_trip: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        """Tell whether the server is left out."""
        return bool(self.reason)

    def when_tripped(self, action: Callable[[], None]) -> None:
        """Have something done when the server is parted with."""
        self._on_trip.append(action)

    def trip(self, reason: str) -> None:
        """Leave the server out from here on; the first reason is the one that is told."""
        with self._lock:
            if self.reason:
                return
            self.reason = reason
        for action in self._on_trip:
            action()

    def note_answer(self, seconds: float, size: int) -> None:
        """Note how long an answer took."""
        self._owe(seconds - QUICK_SECONDS - allowance(size), "it is too slow")

    def note_failure(self, reason: str) -> None:
        """Note that there was no answer."""
        with self._lock:
            if self.reason:  # hanging up on a server makes calls fail that were under way
                return
            self.failed += 1
            self.first_problem = self.first_problem or reason
        self._owe(FAILURE_SECONDS, reason)

    def note_refusal(self, reason: str) -> None:
        """Note an answer that was not used because it is wrong."""
        with self._lock:
            if self.reason:
                return
            self.refused += 1
            self.first_problem = self.first_problem or reason
        self._owe(FAILURE_SECONDS, "too many answers are wrong")

    def _owe(self, seconds: float, reason: str) -> None:
        with self._lock:
            self._debt = max(0.0, self._debt + seconds)
            too_much = self._debt > DEBT_SECONDS
        if too_much:
            self.trip(reason)
