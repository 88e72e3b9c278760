"""The time that a request spends waiting for the server, and none of our own.

Only time blocked on the socket counts. From that the time is subtracted in which this process did
not get to run: an encoder that holds the interpreter's lock, a machine with more work than
processors, or one that was suspended. A thread that wakes at fixed intervals measures it: whatever
makes it late delays the threads that wait for answers too.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from socket import socket
from time import monotonic
from typing import Any

TICK_SECONDS = 0.25


class Lag:
    """Adds up by how much a thread that ticks at fixed intervals was late."""

    def __init__(self) -> None:
        # One tuple, replaced at once: other threads read it without a lock.
        self._lost_and_due = 0.0, float("inf")

    def tick(self, now: float) -> None:
        """Note that the ticking thread runs, and when it should run next."""
        self._lost_and_due = self.total(now), now + TICK_SECONDS

    def total(self, now: float) -> float:
        """Return the seconds lost so far, up to this moment."""
        lost, due = self._lost_and_due
        return lost + max(0.0, now - due)


@dataclass(slots=True)
class Wait:
    """How long one request has waited for the server, and how long it may.

    The thread that makes the request begins and ends waits; the ticking thread reads.
    """

    lag: Lag
    patience_seconds: float
    allowed_seconds: float
    seconds: float = 0.0
    longest_seconds: float = 0.0
    _began: tuple[float, float] | None = None  # when the current wait began, and the lag then

    def __enter__(self) -> None:
        """Start counting: the thread is about to block."""
        now = monotonic()
        self._began = now, self.lag.total(now)

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        current = self._current(monotonic())
        self._began = None
        self.seconds += current
        self.longest_seconds = max(self.longest_seconds, current)

    def _current(self, now: float) -> float:
        began = self._began
        if began is None:
            return 0.0
        return max(0.0, now - began[0] - (self.lag.total(now) - began[1]))

    def so_far(self, now: float) -> float:
        """Return how long the request has waited up to this moment."""
        return self.seconds + self._current(now)

    def is_over(self, now: float) -> bool:
        """Tell whether the server has had more time than it may have for what it sent so far."""
        return self.so_far(now) > self.allowed_seconds

    def is_too_late(self, error: OSError) -> bool:
        """Tell whether a request failed because the server took too long.

        The socket's own timeout knows nothing of our lag, which may be most of it.
        """
        timed_out = isinstance(error, TimeoutError)
        # Half, because a connection has less than the whole patience to be made.
        is_slow = self.longest_seconds > self.patience_seconds / 2
        return (timed_out and is_slow) or self.is_over(monotonic())


class TimedReader(io.RawIOBase):
    """The bytes of a socket, with the time counted that reading them blocks."""

    def __init__(self, sock: socket, wait: Wait) -> None:
        super().__init__()
        self._sock, self._wait = sock, wait

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Stand in for the socket where the standard library asks it for a file."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Tell that this can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, or wait for the first bytes."""
        with self._wait:
            return self._sock.recv_into(buffer)
