"""Nodes are looked up in the shared cache before they go to whoever does them.

Many look-ups are under way at once while workers do what is ready. Without workers they go in
batches: threads that answer and a driver that works would take turns at the interpreter's lock,
which costs more than either. A node that was found is then in the local cache, and is done like
any other; one that was not is encoded. When the server is left out, nobody waits for its answers
any longer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import wait
from queue import SimpleQueue
from typing import Any

from pipeline.build.work import Job
from pipeline.cache.local import Cache
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.process.pool import Pool

AT_ONCE = 32
# More nodes are let in than are looked up at once, so that there is always a next one.
ROOM = 4 * AT_ONCE
LINGER_SECONDS = 0.01  # without news for so long, a batch is done as far as it is known
LEFT_OUT = 0  # the ticket of nobody: the server is left out


class LookUps:
    """Stands before a pool, or before this very process, and answers as a pool does."""

    def __init__(self, shared: SharedCache, cache: Cache, pool: Pool | None) -> None:
        self._shared, self._cache, self._pool = shared, cache, pool
        self._ready: deque[tuple[Any, Any]] = deque()
        self._looking: dict[int, tuple[Any, Any]] = {}
        self._asked: SimpleQueue[tuple[int, Job] | None] = SimpleQueue()
        self._told: SimpleQueue[tuple[int, bool]] = SimpleQueue()
        self._held_back: list[tuple[int, Job]] = []
        self._all_told = threading.Event()
        self._threads = 0
        self._serial = LEFT_OUT
        self._bell = Bell() if pool is not None else None
        shared.breaker.when_tripped(lambda: self._tell(LEFT_OUT))

    @property
    def has_room(self) -> bool:
        """Tell whether another node would be looked up or done soon."""
        return len(self._looking) + len(self._ready) < ROOM

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return bool(self._looking or self._ready) or (self._pool is not None and self._pool.is_busy)

    def submit(self, key: Any, function: Callable[..., Any], job: Job) -> None:
        """Have a node done, after a look-up where the local cache does not have it."""
        call = key, (function, job)
        is_asked = self._shared.is_on and not job.at.encode_again
        if not is_asked or self._cache.has_receipt(job.fingerprint):
            self._ready.append(call)
            return
        self._serial += 1
        self._looking[self._serial] = call
        if self._pool is None:
            self._held_back.append((self._serial, job))
        else:
            self._ask(self._serial, job)

    def _ask(self, ticket: int, job: Job) -> None:
        self._asked.put((ticket, job))
        if self._threads < min(AT_ONCE, len(self._looking)):
            self._threads += 1
            threading.Thread(target=self._look_up, daemon=True).start()

    def _look_up(self) -> None:
        while (asked := self._asked.get()) is not None:
            ticket, job = asked
            fetched = False
            try:
                fetched = self._shared.fetch(job.fingerprint, job.outputs, self._cache)
            except OSError:  # the disk is full, or not ours: whoever does the node will say so
                pass
            except Exception as error:  # a mistake of ours: the build must not wait for it
                self._shared.breaker.trip(f"{type(error).__name__} in a look-up")
            finally:
                self._tell(ticket, fetched)

    def _tell(self, ticket: int, fetched: bool = False) -> None:
        self._told.put((ticket, fetched))
        if self._bell is not None:
            self._bell.ring()
        elif ticket == LEFT_OUT or self._told.qsize() >= len(self._looking):
            self._all_told.set()

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for an answer, and do a node here where there are no workers."""
        if self._pool is None or self._bell is None:
            while not self._ready:
                self._await_batch()
            key, (function, job) = self._ready.popleft()
            return key, function(job)
        answer = None
        while answer is None:
            self._bell.hush()
            self._hear_all()
            self._hand_on(self._pool)
            if self._pool.is_busy:
                answer = self._pool.answer_unless(self._bell.reader)
            else:
                wait([self._bell.reader])
        return answer

    def _await_batch(self) -> None:
        """Look up what was held back, and wait until all is told, or nothing new for a while."""
        for ticket, job in self._held_back:
            self._ask(ticket, job)
        self._held_back.clear()
        known = 0
        while not self._all_told.wait(LINGER_SECONDS):
            told = self._told.qsize()
            if told and told == known:
                break
            known = told
        self._all_told.clear()
        self._hear_all()

    def _hear_all(self) -> None:
        while self._told.qsize():
            self._hear(*self._told.get())

    def _hear(self, ticket: int, fetched: bool) -> None:
        """Let go on what was looked up, or everything that nobody will answer any more."""
        call = self._looking.pop(ticket, None)
        if call is not None:
            key, (function, job) = call
            self._ready.append((key, (function, job._replace(is_fetched=fetched))))
        if not self._shared.is_on:
            self._ready.extend(self._looking.values())
            self._looking.clear()

    def _hand_on(self, pool: Pool) -> None:
        while self._ready and pool.has_room:
            key, (function, job) = self._ready.popleft()
            pool.submit(key, function, job)

    def close(self) -> None:
        """Let the workers finish and leave."""
        self._dismiss()
        if self._pool is not None:
            self._pool.close()

    def kill(self) -> None:
        """Stop all workers at once."""
        self._dismiss()
        if self._pool is not None:
            self._pool.kill()

    def _dismiss(self) -> None:
        for _ in range(self._threads):
            self._asked.put(None)
        self._threads = 0


class Bell:
    """Wakes the driver, which may be waiting for its workers' pipes at the same time."""

    def __init__(self) -> None:
        self.reader, self._writer = Pipe(duplex=False)
        self._lock = threading.Lock()
        self._rings = False

    def ring(self) -> None:
        """Wake the driver, once until it has listened."""
        with self._lock:
            if not self._rings:
                self._rings = True
                self._writer.send_bytes(b"!")

    def hush(self) -> None:
        """Be ready to be rung again."""
        with self._lock:
            if self._rings:
                self.reader.recv_bytes()
                self._rings = False
