"""Requests to a bucket: the same as `shared/client.py` makes to a server, and results in packs.

One thread runs all requests; any thread may ask for one and waits for it. How long a request waits
for the bucket is measured as for a server, with the same limits. A request that fails without a
reason that would stay is made again after a pause.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from time import monotonic
from typing import Any, TypeVar

from pipeline.cache.shared.address import Address
from pipeline.cache.shared.breaker import PATIENCE_SECONDS, Breaker, allowance
from pipeline.cache.shared.bucket.pack import FOLDER, pack_results, split_packs
from pipeline.cache.shared.bucket.reader import PackReader
from pipeline.cache.shared.bucket.request_loop import RequestLoop
from pipeline.cache.shared.bucket.store import open_store, translate_error
from pipeline.cache.shared.client import (
    CHUNK_BYTES,
    TOO_LATE,
    AccessError,
    RemoteError,
    UnreachableError,
    WrongAnswerError,
)
from pipeline.cache.shared.wait import TICK_SECONDS, Lag, Wait

Found = TypeVar("Found")
# Pauses before a failed request is made again, as shares of the patience: 0.2 and 1 seconds. The
# library does not tell what a bucket says of Retry-After.
PAUSES = 0.04, 0.2
MOST_PACKS = 1 << 16  # of a listing: it bounds memory and time


class BucketClient:
    """Requests to one bucket; any thread may make them.

    `index_folder` keeps the indexes of packs between runs; "" keeps none.
    """

    batch_size = 500  # results that are sent together
    batch_seconds = 20.0  # for how long results wait for others
    inline_bytes = 1 << 17  # outputs up to this size go with their results, if there is room

    def __init__(self, address: Address, breaker: Breaker, index_folder: str = "") -> None:
        self.address, self.breaker = address, breaker
        self.bytes_down = self.bytes_up = 0
        self.requests = 0
        self.round_trip_seconds: float | None = None  # the quickest so far
        self._patience = address.patience_seconds or PATIENCE_SECONDS
        self._store = open_store(address, self._patience)
        self._lock = threading.Lock()
        self._lag = Lag()
        self._loop: RequestLoop | None = None
        self._under_way: set[Future[Any]] = set()
        self._over = threading.Event()
        self._packs = PackReader(self, index_folder)

    def __repr__(self) -> str:
        return f"BucketClient({self.address})"

    def results(self, fingerprint: str, limit: int) -> Iterator[bytes]:
        """Give the messages that packs have of a result; there may be several, or none."""
        return self._packs.messages(fingerprint, limit)

    def result_at_hand(self, fingerprint: str, limit: int) -> bytes | None:
        """Return the message of a result that came with others."""
        return self._packs.at_hand(fingerprint, limit)

    def bring(self, fingerprints: Iterable[str], limit: int) -> None:
        """Fetch messages of at most so many bytes that packs have, so that they are at hand."""
        self._packs.bring(fingerprints, limit)

    def has_result(self, fingerprint: str) -> bool:
        """Tell whether a pack has a result."""
        return self._packs.has(fingerprint)

    def put_results(self, messages: Mapping[str, bytes]) -> None:
        """Send results together."""
        for pack in split_packs(messages.items()):
            name, data = pack_results(pack)
            self._put(FOLDER + name, data)

    def get(self, kind: str, sha: str, limit: int) -> bytes | None:
        """Fetch an object of at most so many bytes; None where there is none."""
        return self._ask(lambda wait: self._read(f"{kind}/{sha}", limit, wait, None))

    def get_part(self, path: str, start: int, end: int) -> bytes | None:
        """Fetch a part of an object; None where there is no such object."""
        data = self._ask(lambda wait: self._read(path, end - start, wait, (start, end)))
        if data is not None and len(data) != end - start:
            raise WrongAnswerError("an answer is cut short")
        return data

    def has(self, kind: str, sha: str) -> bool:
        """Ask whether there is an object."""

        async def head(_: Wait) -> bool:
            await self._store.head_async(f"{kind}/{sha}")
            return True

        return bool(self._ask(head))

    def put(self, kind: str, sha: str, data: bytes) -> None:
        """Send an object."""
        self._put(f"{kind}/{sha}", data)

    def list_packs(self) -> list[str]:
        """Return the names of all packs."""

        async def read(wait: Wait) -> list[str]:
            names: list[str] = []
            async for page in self._store.list(FOLDER):
                names += [one["path"].rpartition("/")[2] for one in page]
                wait.allowed_seconds = self._until_late(wait)
                if len(names) > MOST_PACKS:
                    raise WrongAnswerError("it has too many packs")
            return names

        return self._ask(read) or []

    def delete_packs(self, names: list[str]) -> None:
        """Remove packs whose results are in another."""

        async def delete(_: Wait) -> None:
            await self._store.delete_async([FOLDER + one for one in names])

        self._ask(delete)

    def close(self) -> None:
        """End all requests; those under way fail."""
        with self._lock:
            self._over.set()
            loop, self._loop = self._loop, None
            waiting = list(self._under_way)
        for one in waiting:
            one.cancel()
        if loop is not None:
            loop.close(is_busy=bool(waiting))

    def _put(self, path: str, data: bytes) -> None:
        # One request whatever the size: parts would cost money each, and an upload that ends before
        # its last part leaves the others in the bucket, unseen and charged for.
        async def put(_: Wait) -> None:
            await self._store.put_async(path, data, use_multipart=False)

        self._ask(put, len(data))
        with self._lock:
            self.bytes_up += len(data)

    async def _read(self, path: str, limit: int, wait: Wait, part: tuple[int, int] | None) -> bytes:
        result = await self._store.get_async(path, options={"range": part} if part else None)
        first, last = result.range
        if last - first > limit:
            raise WrongAnswerError("an answer is longer than it should be")
        chunks, size = [], 0
        async for chunk in result.stream(min_chunk_size=CHUNK_BYTES):
            size += len(chunk)
            if size > limit:
                raise WrongAnswerError("an answer is longer than it should be")
            chunks.append(chunk)
            wait.allowed_seconds = self._until_late(wait)
        if size != last - first:
            raise WrongAnswerError("an answer is cut short")
        with self._lock:
            self.bytes_down += size
        return b"".join(chunks)  # of buffers of the library: their bytes are copied once

    def _until_late(self, wait: Wait) -> float:
        """Return when a transfer that has just made progress is given up, unless it makes more."""
        return wait.so_far(monotonic()) + self._patience + allowance(CHUNK_BYTES)

    def _ask(
        self, request: Callable[[Wait], Coroutine[Any, Any, Found]], size: int = 0
    ) -> Found | None:
        """Make a request, again where that may help, and wait for it; None if nothing is there."""
        paused = 0.0
        for pause in PAUSES:
            try:
                return self._ask_once(request, size, paused)
            except (AccessError, UnreachableError, WrongAnswerError):
                raise
            except RemoteError:  # it is busy, or hung up
                if self._over.wait(pause * self._patience):
                    raise
                paused += pause * self._patience
        return self._ask_once(request, size, paused)

    def _ask_once(
        self, request: Callable[[Wait], Coroutine[Any, Any, Found]], size: int, paused: float
    ) -> Found | None:
        wait = Wait(self._lag, self._patience, self._patience + allowance(size))
        try:
            answer = self._await(request, wait)
        except RemoteError:
            raise
        except Exception as error:
            problem = translate_error(error)
            if problem is not None:
                raise problem from None
            answer = None
        # A transfer is judged by its rate while it lasts, so what counts here is the answer.
        received = len(answer) if isinstance(answer, bytes) else 0
        self.breaker.note_answer(paused + wait.seconds, size or received)
        quickest = self.round_trip_seconds
        self.round_trip_seconds = min(wait.seconds, quickest or wait.seconds)
        return answer

    def _await(self, request: Callable[[Wait], Coroutine[Any, Any, Found]], wait: Wait) -> Found:
        with self._lock:
            if self._over.is_set():
                raise RemoteError("the run is over")
            self.requests += 1
            future = self._running_loop().submit(request(wait))
            self._under_way.add(future)
        try:
            with wait:
                while not _is_done(future):
                    if wait.is_over(monotonic()):
                        raise UnreachableError(TOO_LATE)
                if future.cancelled():
                    raise RemoteError("the run is over")
                return future.result()
        finally:
            future.cancel()
            self._under_way.discard(future)

    def _running_loop(self) -> RequestLoop:
        if self._loop is None:
            # Ticks measure how late this process gets to run.
            self._loop = RequestLoop(lambda: self._lag.tick(monotonic()), TICK_SECONDS)
        return self._loop


def _is_done(future: Future[Any]) -> bool:
    """Wait for a moment, and tell whether a request has ended."""
    from concurrent.futures import wait

    return bool(wait([future], TICK_SECONDS).done)
