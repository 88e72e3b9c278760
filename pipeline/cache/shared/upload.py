"""Uploads in the background: a bounded queue, a few threads, a bounded wait at the end of the run.

The queue holds fingerprints and no bytes; these are read from the local cache when their turn
comes. An upload that fails is queued again at the end of the run, once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from pipeline.cache.local import Cache

THREADS = 4
LONGEST_QUEUE = 50_000


class Uploads:
    """The queue of results to be sent, and the threads that send them."""

    def __init__(self, send: Callable[[str, Cache], bool]) -> None:
        self._send = send
        self._queue: deque[tuple[str, Cache]] = deque()
        self._failed: list[tuple[str, Cache]] = []
        self._left_out: list[str] = []  # the queue was full, or closed
        self._under_way: list[str] = []
        self._changed = threading.Condition()
        self._threads = 0
        self._over = False

    def add(self, fingerprint: str, cache: Cache) -> None:
        """Queue a result; where the queue is full it is left out, rather than hold up the build."""
        with self._changed:
            if self._over or len(self._queue) >= LONGEST_QUEUE:
                self._left_out.append(fingerprint)
            else:
                self._enqueue(fingerprint, cache)

    def _enqueue(self, fingerprint: str, cache: Cache) -> None:
        self._queue.append((fingerprint, cache))
        # One thread more while there is work for it; builds without uploads start none.
        if self._threads < min(THREADS, len(self._queue) + len(self._under_way)):
            self._threads += 1
            threading.Thread(target=self._work, daemon=True).start()
        self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._over)
                if not self._queue:
                    return
                fingerprint, cache = self._queue.popleft()
                self._under_way.append(fingerprint)
            sent = False
            with suppress(Exception):  # it counts as failed, and the thread goes on with others
                sent = self._send(fingerprint, cache)
            with self._changed:
                self._under_way.remove(fingerprint)
                if not sent:
                    self._failed.append((fingerprint, cache))
                self._changed.notify_all()

    def give_up(self) -> None:
        """Send nothing more."""
        with self._changed:
            self._left_out += [fingerprint for fingerprint, _ in self._queue]
            self._queue.clear()
            self._over = True
            self._changed.notify_all()

    def finish(self, seconds: float) -> int:
        """Wait at most so long until all is sent, and return the number of results that are not."""
        end = monotonic() + seconds
        self._await_idle(end)
        with self._changed:
            # Once is enough to get over a hiccup; a server that fails again is left to the next
            # run, because the user waits for the end of this one.
            again, self._failed = ([], self._failed) if self._over else (self._failed, [])
            for fingerprint, cache in again:
                self._enqueue(fingerprint, cache)
        self._await_idle(end)
        self.give_up()
        return len(self.unsent())

    def _await_idle(self, end: float) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._over or not (self._queue or self._under_way), end - monotonic()
            )

    def unsent(self) -> list[str]:
        """Return the results that were not sent, oldest first; those under way count as such."""
        with self._changed:
            failed = [fingerprint for fingerprint, _ in self._failed]
            return [*failed, *self._under_way, *self._left_out]
