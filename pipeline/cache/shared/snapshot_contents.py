"""The bytes of a snapshot by digest: large files by themselves, small ones out of bundles.

What will be asked for is planned, so that requests are made ahead. A piece is kept for a while
after its use: files with the same bytes at other paths are in it, too.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Self

from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.snapshot import SnapshotBundle, SnapshotError, SnapshotFile

AT_ONCE = 16  # requests
AHEAD_BYTES, KEPT_BYTES = 1 << 26, 1 << 26


class Piece(NamedTuple):
    """Bytes that are fetched with one request: a bundle, or a large file."""

    sha: str
    size: int


class SnapshotContents:
    """Fetches what a snapshot's files consist of; one thread asks."""

    def __init__(self, shared: SharedCache, bundles: Sequence[SnapshotBundle]) -> None:
        self._shared = shared
        self._places: dict[str, tuple[Piece, int]] = {}
        for bundle in bundles:
            self._places.update(_places_in(bundle))
        self._planned: deque[Piece] = deque()
        # Pieces under way or there: not asked for yet, and asked for, the latest last.
        self._ahead: dict[Piece, Future[bytes | None]] = {}
        self._used: dict[Piece, Future[bytes | None]] = {}
        self._last: tuple[Piece, bytes | None] | None = None  # hundreds of files in a row are in it
        self._threads = ThreadPoolExecutor(AT_ONCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def is_bundled(self, one: SnapshotFile) -> bool:
        """Tell whether a file is in a bundle, or needs none."""
        return one.sha in self._places or not one.size

    def plan(self, files: Iterable[SnapshotFile]) -> None:
        """Begin to fetch what these files need, in their order."""
        self._planned.extend(dict.fromkeys(self._place(one)[0] for one in files if one.size))
        self._fetch_ahead()

    def load(self, one: SnapshotFile) -> bytes:
        """Return the verified bytes of a file; raise SnapshotError where they cannot be had."""
        if not one.size:
            return b""
        piece, start = self._place(one)
        whole = self._fetch(piece)
        if whole is not None and piece.sha == one.sha:  # a request verifies all that it brings
            return whole
        data = whole[start : start + one.size] if whole is not None else None
        if data is None or hashlib.sha256(data).hexdigest() != one.sha:
            facts = {"file": one.path}
            if self._shared.problem:
                facts["because"] = self._shared.problem
            raise SnapshotError("the shared cache lacks a file of the snapshot", facts)
        return data

    def _place(self, one: SnapshotFile) -> tuple[Piece, int]:
        return self._places.get(one.sha) or (Piece(one.sha, one.size), 0)

    def _fetch(self, piece: Piece) -> bytes | None:
        if self._last is not None and self._last[0] == piece:
            return self._last[1]
        future = self._ahead.pop(piece, None) or self._used.pop(piece, None) or self._begin(piece)
        self._used[piece] = future
        kept = sum(one.size for one in self._used)
        while kept > KEPT_BYTES and len(self._used) > 1:
            oldest = next(iter(self._used))
            kept -= oldest.size
            del self._used[oldest]
        self._fetch_ahead()
        self._last = piece, future.result()
        return self._last[1]

    def _fetch_ahead(self) -> None:
        size = sum(one.size for one in self._ahead)
        while self._planned and len(self._ahead) < AT_ONCE and size < AHEAD_BYTES:
            piece = self._planned.popleft()
            if piece not in self._used:
                self._ahead[piece] = self._begin(piece)
                size += piece.size

    def _begin(self, piece: Piece) -> Future[bytes | None]:
        return self._threads.submit(self._shared.blob, piece.sha, piece.size)


def _places_in(bundle: SnapshotBundle) -> Iterator[tuple[str, tuple[Piece, int]]]:
    piece, start = Piece(bundle.sha, bundle.size), 0
    for sha, size in bundle.members:
        yield sha, (piece, start)
        start += size
