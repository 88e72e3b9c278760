"""Finding results in packs: all indexes in memory, messages by parts of packs.

Packs never change, so an index is fetched once and kept on this machine. Which packs there are is
asked once, and again now and then while results are missing. Otherwise a result that no index has
costs no request. Results that were made together lie together and are asked for together, so a
part is larger than the message that it is fetched for, and doubles with every further part of the
same pack. A part is fetched once: look-ups for messages in it wait for that one request.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
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
from pipeline.cache.shared.client import WrongAnswerError
from pipeline.disk.file import read_if_there, write_whole

BLOCK_BYTES = 1 << 16  # parts are whole blocks: look-ups that come out of order share them
MOST_BLOCKS = 1 << 6  # of a part
KEPT_BYTES = 1 << 26  # of parts in memory
INDEXES_AT_ONCE = PARTS_AT_ONCE = 16
AHEAD = 4  # parts of messages that lie close together are so many times as long as these
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
class Part:
    """Some blocks of a pack: fetched by one thread, and read by all that wait for it."""

    start: int
    end: int
    blocks: range
    data: bytes | None = None
    fetched: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Pack:
    """A pack as it is read: where its messages begin, and its parts by block.

    One that is gone or cut short is lost: it is not asked for again, since hundreds of its results
    would fail alike.
    """

    name: str
    starts: list[int]
    end: int
    parts: dict[int, Part] = field(default_factory=dict)
    is_lost: bool = False

    def add_part(self, place: Slice, most_blocks: int) -> Part:
        """Plan a part that begins with the block of a message and ends before the next part."""
        first = last = place.start // BLOCK_BYTES
        while last + 1 < first + most_blocks and last + 1 not in self.parts:
            last += 1
        # A message belongs to the block in which it begins, so the last one is fetched whole.
        after = bisect_left(self.starts, (last + 1) * BLOCK_BYTES)
        end = self.starts[after] if after < len(self.starts) else self.end
        start = max(first * BLOCK_BYTES, self.starts[0])  # the index is known
        part = Part(start, end, range(first, last + 1))
        self.parts.update(dict.fromkeys(part.blocks, part))
        return part

    def drop_part(self, part: Part) -> None:
        """Forget a part, so that its blocks are fetched again when they are needed."""
        for block in part.blocks:
            if self.parts.get(block) is part:
                del self.parts[block]


class PackReader:
    """The packs of a bucket; any thread may ask."""

    def __init__(self, bucket: Bucket, folder: str) -> None:
        self._bucket, self._folder = bucket, folder
        self._listing_lock, self._parts_lock = threading.Lock(), threading.Lock()
        self._slices: dict[str, tuple[Slice, ...]] = {}
        self._listed = float("-inf")
        self._packs: dict[str, Pack] = {}
        self._kept: list[tuple[Pack, Part]] = []  # the oldest first
        self._next_blocks, self._bytes_fetched, self._bytes_read = 1, 0, 0

    def messages(self, fingerprint: str, limit: int) -> Iterator[bytes]:
        """Give the messages of a result, one for each pack that has it."""
        for place in self._places(fingerprint):
            data = self._read(place) if place.length <= limit else None
            if data is not None:
                yield data

    def at_hand(self, fingerprint: str, limit: int) -> bytes | None:
        """Return the message of a result that only one pack has, if it is in memory."""
        places = self._slices.get(fingerprint, ())
        if len(places) != 1 or places[0].length > limit:
            return None
        place = places[0]
        part = self._packs[place.pack].parts.get(place.start // BLOCK_BYTES)
        return self._cut(part, place) if part is not None else None

    def bring(self, fingerprints: Iterable[str], limit: int) -> None:
        """Fetch the parts that messages are in, some at once, so that they are at hand.

        Longer messages than `limit` and those that several packs have are left out.
        """
        wanted: dict[str, list[Slice]] = {}
        for one in fingerprints:
            places = self._places(one)
            if len(places) == 1 and places[0].length <= limit:
                wanted.setdefault(places[0].pack, []).append(places[0])
        parts = [one for places in wanted.values() for one in self._plan_parts(sorted(places))]
        with ThreadPoolExecutor(PARTS_AT_ONCE) as threads:
            for _ in threads.map(lambda one: self._fetch(*one), parts):
                pass

    def _plan_parts(self, places: list[Slice]) -> list[tuple[Pack, Part]]:
        """Plan what is not planned yet of the parts that messages of one pack are in.

        Where they lie close together, their neighbours are likely to be asked for next.
        """
        pack = self._packs[places[0].pack]
        size = sum(one.length for one in places)
        is_dense = 2 * size >= places[-1].end - places[0].start
        most = min(AHEAD * -(-size // BLOCK_BYTES), MOST_BLOCKS) if is_dense else 1
        planned = []
        with self._parts_lock:
            for one in () if pack.is_lost else places:
                if one.start // BLOCK_BYTES not in pack.parts:
                    part = pack.add_part(one, most)
                    self._bytes_fetched += part.end - part.start
                    planned.append((pack, part))
        return planned

    def has(self, fingerprint: str) -> bool:
        """Tell whether there is a message of a result."""
        return bool(self._places(fingerprint))

    def _places(self, fingerprint: str) -> tuple[Slice, ...]:
        found = self._slices.get(fingerprint, ())
        if found:  # without the lock, so that nobody waits for a listing that they do not need
            return found
        with self._listing_lock:  # one thread asks, the others wait for its answer
            # Other machines send while we build, so what is missing is asked for now and then.
            if monotonic() - self._listed > LISTING_SECONDS:
                self._load()
            return self._slices.get(fingerprint, ())

    def _load(self) -> None:
        """Find out which packs there are, and read the indexes of new ones."""
        # Sorted: of two that have a result, the same one is asked first on every machine.
        names = sorted(one for one in self._bucket.list_packs() if index_bytes(one))
        new = [one for one in names if one not in self._packs]
        with ThreadPoolExecutor(INDEXES_AT_ONCE) as threads:
            for name, found in zip(new, threads.map(self._index, new), strict=True):
                starts = sorted(one.start for one in found.values())
                end = max((one.end for one in found.values()), default=0)
                self._packs[name] = Pack(name, starts, end)
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
        try:
            data = self._bucket.get_part(FOLDER + name, 0, index_bytes(name) or 0)
            if data is None:  # it was removed since the listing
                return {}
            found = unpack_index(name, data)
        except (PackError, WrongAnswerError) as error:  # one damaged pack must not cost all others
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
        pack, block = self._packs[place.pack], place.start // BLOCK_BYTES
        while not pack.is_lost:
            with self._parts_lock:
                part = pack.parts.get(block)
                is_ours = part is None
                part = part or self._add_part(pack, place)
            if is_ours:
                self._fetch(pack, part)
            else:
                part.fetched.wait()
            data = self._cut(part, place)
            if data is not None or is_ours:
                return data
            # The request of another thread failed. It has said so; this one makes its own.
        return None

    def _add_part(self, pack: Pack, place: Slice) -> Part:
        """Plan a part: larger ones while most of what was fetched is read, else smaller ones.

        A fresh clone reads everything, and a build after an edit here and there a message.
        """
        part = pack.add_part(place, self._next_blocks)
        if 2 * self._bytes_read >= self._bytes_fetched:
            self._next_blocks = min(2 * self._next_blocks, MOST_BLOCKS)
        else:
            self._next_blocks = max(self._next_blocks // 2, 1)
        self._bytes_fetched += part.end - part.start
        return part

    def _cut(self, part: Part, place: Slice) -> bytes | None:
        """Return a message of a part; None while that is not fetched."""
        if part.data is None:
            return None
        self._bytes_read += place.length  # an estimate, so threads need no lock for it
        first = place.start - part.start
        return part.data[first : first + place.length]

    def _fetch(self, pack: Pack, part: Part) -> None:
        """Fetch a part, and wake whoever waits for it, with or without data."""
        try:
            part.data = self._bucket.get_part(FOLDER + pack.name, part.start, part.end)
            pack.is_lost = part.data is None
        except WrongAnswerError:
            pack.is_lost = True
            raise
        finally:
            with self._parts_lock:
                if part.data is None:
                    pack.drop_part(part)
                else:
                    self._keep(pack, part)
            part.fetched.set()

    def _keep(self, pack: Pack, part: Part) -> None:
        """Drop the oldest parts where too many bytes are in memory."""
        self._kept.append((pack, part))
        size = sum(one.end - one.start for _, one in self._kept)
        while size > KEPT_BYTES and len(self._kept) > 1:
            owner, oldest = self._kept.pop(0)
            size -= oldest.end - oldest.start
            owner.drop_part(oldest)
