"""Finding results in packs: all indexes in memory, messages by parts of packs.

Packs never change, so an index is fetched once and kept on this machine. Which packs there are is
asked once, and again now and then while results are missing. Otherwise a result that no index has
costs no request. Results that were made together lie
together and are asked for together, so a part that is fetched is larger than its first message,
and doubles with every further part of the same pack.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from pipeline.cache.shared.breaker import Breaker
from pipeline.cache.shared.bucket.pack import (
    FOLDER,
    PackError,
    Slice,
    index_bytes,
    unpack_index,
)
from pipeline.disk.file import read_if_there, write_whole

FIRST_PART_BYTES, LARGEST_PART_BYTES = 1 << 16, 1 << 22
KEPT_BYTES = 1 << 26  # of parts in memory
INDEXES_AT_ONCE = 16
LISTING_SECONDS = 30.0  # how old a listing may be that does not have what is looked for


class Bucket(Protocol):
    """The requests that reading packs takes."""

    breaker: Breaker

    def list_packs(self) -> list[str]:
        """Return the names of all packs."""
        ...

    def get_part(self, path: str, start: int, end: int) -> bytes | None:
        """Fetch a part of an object; None where there is no such object."""
        ...


@dataclass(slots=True)
class Pack:
    """A pack as it is read: its end, the part that was fetched last, the size of the next."""

    name: str
    end: int
    start: int = 0
    data: bytes = b""
    next_bytes: int = FIRST_PART_BYTES
    lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, place: Slice) -> bytes | None:
        """Return a message if it lies in the part that was fetched last."""
        data, first = self.data, place.start - self.start
        is_inside = first >= 0 and first + place.length <= len(data)
        return data[first : first + place.length] if is_inside else None


class PackReader:
    """The packs of a bucket; any thread may ask."""

    def __init__(self, bucket: Bucket, folder: str) -> None:
        self._bucket, self._folder = bucket, folder
        self._lock = threading.Lock()
        self._slices: dict[str, tuple[Slice, ...]] = {}
        self._listed = float("-inf")
        self._packs: dict[str, Pack] = {}
        self._recent: list[Pack] = []

    def messages(self, fingerprint: str, limit: int) -> Iterator[bytes]:
        """Give the messages of a result, one for each pack that has it."""
        for place in self._places(fingerprint):
            data = self._read(place) if place.length <= limit else None
            if data is not None:
                yield data

    def has(self, fingerprint: str) -> bool:
        """Tell whether there is a message of a result."""
        return bool(self._places(fingerprint))

    def _places(self, fingerprint: str) -> tuple[Slice, ...]:
        with self._lock:  # one thread asks, the others wait for its answer
            found = self._slices.get(fingerprint, ())
            # Other machines send while we build, so what is missing is asked for now and then.
            if not found and monotonic() - self._listed > LISTING_SECONDS:
                self._load()
                found = self._slices.get(fingerprint, ())
            return found

    def _load(self) -> None:
        """Find out which packs there are, and read the indexes of new ones."""
        # Sorted: of two that have a result, the same one is asked first on every machine.
        names = sorted(one for one in self._bucket.list_packs() if index_bytes(one))
        new = [one for one in names if one not in self._packs]
        with ThreadPoolExecutor(INDEXES_AT_ONCE) as threads:
            for name, found in zip(new, threads.map(self._index, new), strict=True):
                end = max((one.end for one in found.values()), default=0)
                self._packs[name] = Pack(name, end)
                for fingerprint, place in found.items():
                    self._slices[fingerprint] = (*self._slices.get(fingerprint, ()), place)
        self._listed = monotonic()
        self._forget_others(names)

    def _index(self, name: str) -> dict[str, Slice]:
        """Return the index of a pack, from this machine or the bucket; {} where it is damaged."""
        path = f"{self._folder}/{name}"
        kept = read_if_there(path) if self._folder else None
        if kept is not None:
            with suppress(PackError):
                return unpack_index(name, kept)
        data = self._bucket.get_part(FOLDER + name, 0, index_bytes(name) or 0)
        if data is None:  # it was removed since the listing
            return {}
        try:
            found = unpack_index(name, data)
        except PackError as error:  # one damaged pack must not cost all others
            self._bucket.breaker.note_refusal(str(error))
            return {}
        if self._folder:
            with suppress(OSError):  # a convenience, and the disk may be full
                write_whole(path, data, self._folder)
        return found

    def _forget_others(self, names: Iterable[str]) -> None:
        """Remove the kept indexes of packs that are gone."""
        if not self._folder or not os.path.isdir(self._folder):
            return
        for name in set(os.listdir(self._folder)) - set(names):
            with suppress(OSError):
                os.unlink(f"{self._folder}/{name}")

    def _read(self, place: Slice) -> bytes | None:
        pack = self._packs[place.pack]
        with pack.lock:  # one thread fetches a part, and others that wait for it find theirs in it
            found = pack.find(place)
            if found is not None:
                return found
            end = min(pack.end, max(place.end, place.start + pack.next_bytes))
            data = self._bucket.get_part(FOLDER + pack.name, place.start, end)
            if data is None:
                return None
            pack.start, pack.data = place.start, data
            pack.next_bytes = min(2 * pack.next_bytes, LARGEST_PART_BYTES)
            self._keep(pack)
            return data[: place.length]

    def _keep(self, pack: Pack) -> None:
        """Drop the parts of other packs where too many bytes are in memory."""
        with self._lock:
            self._recent = [one for one in self._recent if one is not pack] + [pack]
            size = sum(len(one.data) for one in self._recent)
            while size > KEPT_BYTES and len(self._recent) > 1:
                oldest = self._recent.pop(0)
                size -= len(oldest.data)
                oldest.data = b""
