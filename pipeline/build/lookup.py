"""Look-ups: nodes are looked up in the shared cache before they go to the workers.

With workers, many look-ups are under way at once while the workers do what is ready. Without, they
go in batches: threads that read answers and a driver that encodes would contend for the
interpreter's lock, which costs more than either. A build that proves long gets workers half-way.

A node that was found is in the local cache then and is restored from there; any other is encoded. A
node that is quicker to encode than to look up is not looked up. One whose look-up takes longer than
its encoding did is encoded meanwhile, and the first of both wins: a worker that still encodes it is
not waited for. When the breaker trips, nodes stop waiting for the server at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from time import monotonic
from typing import Any, Protocol

from pipeline.build.executor import Executor, InProcess
from pipeline.build.job import Job
from pipeline.build.wakeup import Wakeup
from pipeline.cache.local import Cache
from pipeline.cache.shared.shared_cache import SharedCache

AT_ONCE = 32  # look-ups under way: each waits for the network, hardly for the processor
# More nodes are accepted than are looked up at once, so that every thread always has a next one.
ROOM = 4 * AT_ONCE
# A batch is worked on when all answers are there, or when none came for so long.
LINGER_SECONDS = 0.01
WATCH_SECONDS = 0.02
TRIPPED = 0  # the ticket of no look-up: it tells that the breaker has tripped


class Waitable(Executor, Protocol):
    """An executor that can be waited for together with something else."""

    def answer_or_wake(self, wake: Connection | None) -> tuple[Any, Any] | None:
        """Wait for an answer; None where `wake` has something to read first."""
        ...

    def abandon(self) -> None:
        """End without waiting for calls that are under way."""
        ...


class LookUps:
    """Stands before a pool, or before this process, and has the interface of a pool.

    Where there is no pool, `alone` does the nodes, until it has workers that take over.
    """

    def __init__(
        self,
        shared: SharedCache,
        cache: Cache,
        pool: Waitable | None,
        alone: InProcess | None = None,
    ) -> None:
        self._shared, self._cache, self._pool = shared, cache, pool
        self._alone = alone or InProcess()
        # A heap by ticket: jobs were submitted in the order in which they should start, whichever
        # answer comes first.
        self._ready: list[tuple[int, Any, Any]] = []
        self._pending: dict[int, tuple[Any, Any]] = {}
        self._requests: SimpleQueue[tuple[int, Job] | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[int, bool]] = SimpleQueue()
        self._batch: list[tuple[int, Job]] = []
        self._batch_answered = threading.Event()
        self._threads = 0
        self._serial = TRIPPED
        self._wakeup = Wakeup() if pool is not None else None
        self._deadlines: dict[int, float] = {}  # when nodes are encoded instead of waiting
        self._is_watched, self._over = False, threading.Event()
        self._overdue: dict[int, tuple[Any, Any]] = {}  # released, and not answered yet
        self._with_pool: dict[Any, int] = {}  # tickets of what the pool has, by key
        self._won: list[tuple[Any, Any]] = []  # found while a worker encodes them
        self._lost: set[Any] = set()  # keys of calls whose answers are no longer needed
        shared.breaker.when_tripped(lambda: self._answer(TRIPPED))

    @property
    def has_room(self) -> bool:
        """Tell whether another node would be looked up or done soon."""
        return len(self._pending) + len(self._ready) < ROOM

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return bool(self._pending or self._ready or self._won or self._with_pool)

    def submit(self, key: Any, function: Callable[..., Any], job: Job) -> None:
        """Queue a node: for a look-up where the local cache does not have it, else for the pool."""
        call = key, (function, job)
        self._serial += 1
        pays = job.config.require_cached or self._shared.pays(job.known_seconds)
        is_wanted = self._shared.is_on and pays and not job.config.encode_again
        # Unverified is enough: a damaged receipt is found and encoded again when the node is done.
        if not is_wanted or self._cache.has_receipt(job.fingerprint):
            heappush(self._ready, (self._serial, *call))
            return
        if self._take_at_hand(key, function, job):
            return
        self._pending[self._serial] = call
        if self._pool is None:
            self._batch.append((self._serial, job))
        else:
            self._request(self._serial, job)

    def _take_at_hand(self, key: Any, function: Callable[..., Any], job: Job) -> bool:
        """Let a node go on whose result came with others; hand-overs to threads would cost more."""
        try:
            receipt = self._shared.fetch_at_hand(job.fingerprint, job.outputs, self._cache)
        except OSError:  # a full disk, or no permission: doing the node reports it
            return False
        if receipt is None:
            return False
        # Workers read it from the cache: what is sent to them is copied more than once.
        ours = receipt if self._pool is None else None
        job = job._replace(is_fetched=True, receipt=ours)
        heappush(self._ready, (self._serial, key, (function, job)))
        return True

    def _request(self, ticket: int, job: Job) -> None:
        if job.known_seconds is not None and not job.config.require_cached:
            self._set_deadline(ticket, job.known_seconds)
        self._requests.put((ticket, job))
        # Threads are started as they are needed: most builds look few nodes up.
        if self._threads < min(AT_ONCE, len(self._pending)):
            self._threads += 1
            threading.Thread(target=self._look_up, daemon=True).start()

    def _set_deadline(self, ticket: int, seconds: float) -> None:
        """Let a node wait no longer for its answer than it would take to encode it."""
        self._deadlines[ticket] = monotonic() + max(seconds, LINGER_SECONDS)
        self._watch_deadlines()

    def _watch_deadlines(self) -> None:
        if self._wakeup is not None and self._deadlines and not self._is_watched:
            self._is_watched = True
            threading.Thread(target=self._watch, args=(self._wakeup,), daemon=True).start()

    def _watch(self, wakeup: Wakeup) -> None:
        """Wake the driver when a deadline has passed; with workers it waits for these alone."""
        while not self._over.wait(WATCH_SECONDS):
            now = monotonic()
            if any(due <= now for due in list(self._deadlines.values())):
                wakeup.set()

    def _release_overdue(self) -> None:
        """Encode nodes whose look-ups take longer than that, unless an answer comes before."""
        if not self._deadlines:
            return
        now = monotonic()
        overdue = [ticket for ticket, due in self._deadlines.items() if due <= now]
        for ticket in overdue:
            del self._deadlines[ticket]
            call = self._pending.pop(ticket, None)
            if call is not None:
                self._overdue[ticket] = call
                heappush(self._ready, (ticket, *call))

    def _look_up(self) -> None:
        """Answer requests, in a thread of its own, until there is a None among them."""
        while (request := self._requests.get()) is not None:
            ticket, job = request
            try:
                fetched = self._shared.fetch(job.fingerprint, job.outputs, self._cache)
            except OSError:  # a full disk, or no permission: doing the node reports it
                fetched = False
            except Exception as error:  # a mistake of ours: the build must not wait for it
                fetched = False
                self._shared.breaker.trip(f"{type(error).__name__} in a look-up")
            self._answer(ticket, fetched)

    def _answer(self, ticket: int, fetched: bool = False) -> None:
        """Hand an answer to the driver; any thread may call this."""
        self._answers.put((ticket, fetched))
        if self._wakeup is not None:
            self._wakeup.set()
        elif ticket == TRIPPED or self._answers.qsize() >= len(self._pending):
            self._batch_answered.set()

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for the result of a node; do one here where there are no workers."""
        answer = None
        while answer is None:
            if self._pool is None or self._wakeup is None:
                answer = self._do_here()
            else:
                answer = self._next_of_pool(self._pool, self._wakeup)
        return answer

    def _do_here(self) -> tuple[Any, Any] | None:
        """Do a node in this process; None where it was left to workers."""
        self._take_answers()
        while not self._ready:
            self._await_batch()
        ticket, key, (function, job) = heappop(self._ready)
        self._overdue.pop(ticket, None)
        if job.is_fetched:  # quick, and it tells nothing of what encoding takes
            return key, function(job)
        self._alone.submit(key, function, job)
        is_done = self._alone.has_answer
        if self._alone.workers is not None:
            self._hire(self._alone.workers)
        if is_done:
            return self._alone.next_answer()
        self._with_pool[key] = ticket
        return None

    def _hire(self, pool: Waitable) -> None:
        """Let workers take over that were started half-way."""
        # An answer that came before a thread could see the wakeup is taken before the next wait.
        self._pool, self._wakeup = pool, Wakeup()
        for ticket, job in self._batch:
            self._request(ticket, job)
        self._batch.clear()
        self._watch_deadlines()

    def _next_of_pool(self, pool: Waitable, wakeup: Wakeup) -> tuple[Any, Any] | None:
        # Before the answers are taken: one that comes after that wakes the driver again.
        wakeup.clear()
        self._take_answers()
        self._release_overdue()
        if self._won:
            return self._take_won()
        self._hand_on(pool)
        if pool.is_busy:
            return self._answer_of_pool(pool, wakeup)
        wait([wakeup.reader])
        return None

    def _answer_of_pool(self, pool: Waitable, wakeup: Wakeup) -> tuple[Any, Any] | None:
        """Wait for an answer; None where the driver has something else to do first."""
        answer = pool.answer_or_wake(wakeup.reader)
        if answer is None or answer[0] in self._lost:
            self._lost.discard(answer[0] if answer else None)
            return None
        self._overdue.pop(self._with_pool.pop(answer[0]), None)
        return answer

    def _take_won(self) -> tuple[Any, Any]:
        """Restore a node that was found while a worker encodes it; its answer is dropped."""
        key, (function, job) = self._won.pop()
        del self._with_pool[key]
        self._lost.add(key)
        return key, function(job)

    def _await_batch(self) -> None:
        """Look a batch up, and wait until all of it is answered, or none for a while."""
        for ticket, job in self._batch:
            self._request(ticket, job)
        self._batch.clear()
        known = 0
        while not self._batch_answered.wait(LINGER_SECONDS):
            self._release_overdue()
            if self._ready:
                break
            answered = self._answers.qsize()
            # One slow answer must not hold up the nodes that were answered.
            if answered and answered == known:
                break
            known = answered
        self._batch_answered.clear()
        self._take_answers()

    def _take_answers(self) -> None:
        # This thread alone takes answers, so a queue that has one still has it in the next line.
        while self._answers.qsize():
            self._release(*self._answers.get())

    def _release(self, ticket: int, fetched: bool) -> None:
        """Release the job; if the server was dropped, release all pending jobs."""
        late = self._overdue.pop(ticket, None)
        if late is not None and fetched:
            self._use_late_answer(ticket, late)
        # None for the ticket TRIPPED, and for a late answer about a job that was released before.
        call = self._pending.pop(ticket, None)
        self._deadlines.pop(ticket, None)
        if call is not None:
            key, (function, job) = call
            heappush(self._ready, (ticket, key, (function, job._replace(is_fetched=fetched))))
        if not self._shared.is_on:
            for waiting, one in self._pending.items():
                heappush(self._ready, (waiting, *one))
            self._pending.clear()

    def _use_late_answer(self, ticket: int, call: tuple[Any, Any]) -> None:
        """Let a node that was found be restored, although it was released to be encoded."""
        key, (function, job) = call
        found = function, job._replace(is_fetched=True)
        if key in self._with_pool:
            self._won.append((key, found))
            return
        others = [one for one in self._ready if one[0] != ticket]
        self._ready = [*others, (ticket, key, found)]
        heapify(self._ready)

    def _hand_on(self, pool: Waitable) -> None:
        while self._ready and pool.has_room:
            ticket, key, (function, job) = heappop(self._ready)
            self._with_pool[key] = ticket
            pool.submit(key, function, job)

    def close(self) -> None:
        """Let the workers finish what is still needed, and stop them."""
        self._stop_threads()
        if self._pool is not None and self._lost:
            self._pool.abandon()
        elif self._pool is not None:
            self._pool.close()
        else:
            self._alone.close()

    def kill(self) -> None:
        """Stop all workers at once."""
        self._stop_threads()
        if self._pool is not None:
            self._pool.kill()
        self._alone.kill()

    def _stop_threads(self) -> None:
        self._over.set()
        # Not joined: one may wait for the server for seconds, and all are daemons.
        for _ in range(self._threads):
            self._requests.put(None)
        self._threads = 0
