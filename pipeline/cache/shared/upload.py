"""Sending results in the background: a bounded queue, a few threads, a bounded wait at the end.

The queue holds names and no bytes; those are read from the local cache when their turn comes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from pipeline.cache.local import Cache

THREADS = 4
LONGEST_QUEUE = 50_000


class Uploads:
    """Results on their way out."""

    def __init__(self, send: Callable[[str, Cache], bool]) -> None:
        self._send = send
        self._waiting: deque[tuple[str, Cache]] = deque()
        self._changed = threading.Condition()
        self._threads = 0
        self._under_way = 0
        self._not_sent = 0
        self._over = False

    def add(self, fingerprint: str, cache: Cache) -> None:
        """Have a result sent; where too many wait already, it is left out."""
        with self._changed:
            if self._over or len(self._waiting) >= LONGEST_QUEUE:
                self._not_sent += 1
                return
            self._waiting.append((fingerprint, cache))
            if self._threads < min(THREADS, len(self._waiting) + self._under_way):
                self._threads += 1
                threading.Thread(target=self._work, daemon=True).start()
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._over)
                if not self._waiting:
                    return
                fingerprint, cache = self._waiting.popleft()
                self._under_way += 1
            sent = False
            with suppress(Exception):  # it counts as not sent, and the others have their turn
                sent = self._send(fingerprint, cache)
            with self._changed:
                self._under_way -= 1
                self._not_sent += not sent
                self._changed.notify_all()

    def give_up(self) -> None:
        """Send nothing more."""
        with self._changed:
            self._not_sent += len(self._waiting)
            self._waiting.clear()
            self._over = True
            self._changed.notify_all()

    def finish(self, seconds: float) -> int:
        """Wait at most so long until all is sent, and say how many results were not."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._over or not (self._waiting or self._under_way), seconds
            )
        self.give_up()
        with self._changed:
            return self._not_sent + self._under_way
