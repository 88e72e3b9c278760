"""Uploads in the background: a bounded queue, a few threads, a bounded wait at the end of the run.

Results are sent one by one, or in batches where requests are dear: a batch goes when it is full,
when its oldest result has waited for long enough, and at the end of the run. The queue holds
fingerprints and no bytes; these are read from the local cache when their turn comes. An upload
that fails is queued again at the end of the run, once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from pipeline.cache.local import Cache

Upload = tuple[str, Cache]  # a fingerprint, and the cache that has its result
THREADS = 4
LONGEST_QUEUE = 50_000


class Batching(NamedTuple):
    """How results go together: `send` sends a batch and returns the fingerprints that arrived."""

    send: Callable[[Sequence[Upload]], Collection[str]]
    size: int
    seconds: float


class Uploads:
    """The queue of results to be sent, and the threads that send them.

    `send` sends a result and tells whether it arrived.
    """

    def __init__(
        self, send: Callable[[str, Cache], bool], batching: Batching | None = None
    ) -> None:
        self._batching = batching or Batching(
            lambda batch: [one[0] for one in batch if send(*one)], 1, 0.0
        )
        self._queue: deque[Upload] = deque()
        self._queued_since = 0.0  # when the oldest result in the queue came
        self._is_hurried = False  # whether batches go although they are not full
        self._failed: list[Upload] = []
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
        if not self._queue:
            self._queued_since = monotonic()
        self._queue.append((fingerprint, cache))
        # One thread more while there is work for it; builds without uploads start none.
        batches = (len(self._queue) + len(self._under_way) - 1) // self._batching.size + 1
        if self._threads < min(THREADS, batches):
            self._threads += 1
            threading.Thread(target=self._work, daemon=True).start()
        self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                batch = self._await_batch()
                if not batch:
                    return
                self._under_way += [fingerprint for fingerprint, _ in batch]
            sent: Collection[str] = ()
            with suppress(Exception):  # it counts as failed, and the thread goes on with others
                sent = self._batching.send(batch)
            with self._changed:
                for fingerprint, _ in batch:
                    self._under_way.remove(fingerprint)
                self._failed += [one for one in batch if one[0] not in sent]
                self._changed.notify_all()

    def _await_batch(self) -> list[Upload]:
        """Wait until a batch is due and take it; [] when uploads are over."""
        while not self._is_due():
            left = self._queued_since + self._batching.seconds - monotonic()
            self._changed.wait(max(left, 0.0) if self._queue else None)
        count = min(self._batching.size, len(self._queue))
        batch = [self._queue.popleft() for _ in range(count)]
        self._queued_since = monotonic()
        return batch

    def _is_due(self) -> bool:
        if self._over or not self._queue:
            return self._over
        is_full = len(self._queue) >= self._batching.size
        is_old = monotonic() - self._queued_since >= self._batching.seconds
        return is_full or is_old or self._is_hurried

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
        with self._changed:
            self._is_hurried = True
            self._changed.notify_all()
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
