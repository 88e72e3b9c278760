"""Trimming the cache: least recently used results go first, results of the current build never.

A result is a receipt and the objects that no other receipt names. Receipts are files or records of
bundles; a record has the time of last use of its bundle. Records that go are marked as dropped. A
bundle is removed when no record is left in it, and rewritten when more than half of it is dropped
records, or when their space is needed.

Other processes may be using the cache meanwhile: what they miss afterwards they encode again.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from stat import S_ISREG

from pipeline.cache.bundle import (
    ENTRY,
    HEAD,
    INDEX,
    Record,
    drop_record,
    list_bundles,
    list_records,
    remove_bundle,
    rewrite_bundles,
    scan_records,
)
from pipeline.cache.local import BUNDLES, DAMAGED, OBJECTS, RECEIPTS, SCRATCH, VERSION, Cache
from pipeline.cache.receipt import unpack_receipt
from pipeline.disk.file import read_if_there
from pipeline.disk.temporary import GRACE_SECONDS

# An object is stored before its receipt, and a temporary file before its rename: what is
# younger than this may belong to a build that is still running.
GRACE_S = GRACE_SECONDS
# Whoever looks for a result that is not there asks every bundle, so many small ones are merged.
SMALL_BUNDLE_BYTES = 1 << 20
MOST_SMALL_BUNDLES = 16


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of the cache: its digest, path and size, and the time of its last use."""

    digest: str
    path: str
    size: int
    used: float


@dataclass(slots=True, eq=False)
class Bundle:
    """A bundle: its size with the index, the records that stay, and those that are to go.

    `dead_bytes` are those that a rewritten bundle would not have.
    """

    path: str
    size: int
    used: float
    end: int = 0
    dead_bytes: int = 0
    kept: dict[str, Record] = field(default_factory=dict)
    gone: list[tuple[str, Record]] = field(default_factory=list)

    def let_go(self, fingerprint: str) -> int:
        """Have a record dropped when the trim ends, and say how many bytes it has."""
        record = self.kept.pop(fingerprint)
        self.gone.append((fingerprint, record))
        self.dead_bytes += _record_bytes(record)
        return _record_bytes(record)


@dataclass(frozen=True, slots=True)
class Result:
    """A receipt and the objects that it names; it is a file, or a record of a bundle."""

    fingerprint: str
    used: float
    objects: frozenset[str]
    home: Stored | Bundle


@dataclass(slots=True)
class Trimmed:
    """What a trim did, in files and bytes."""

    kept_bytes: int = 0
    removed_bytes: int = 0
    removed_files: int = 0

    def remove(self, stored: Stored) -> None:
        """Remove a file and count it."""
        with suppress(FileNotFoundError):
            os.unlink(stored.path)
        self.removed_files += 1
        self.shrink(stored.size)

    def shrink(self, size: int) -> None:
        """Count bytes that are there no longer."""
        self.kept_bytes -= size
        self.removed_bytes += size


def trim_cache(cache: Cache, max_bytes: int, needed: set[str], now: float) -> Trimmed:
    """Make the cache fit into `max_bytes`; `needed` fingerprints and digests stay in any case."""
    trim = Trim(cache, max_bytes, needed)
    trim.remove_litter(now - GRACE_S)
    trim.remove_results()
    trim.tidy_bundles(now - GRACE_S)
    return trim.trimmed


class Trim:
    """One pass over the cache: find everything, remove results, then tidy the bundles."""

    def __init__(self, cache: Cache, max_bytes: int, needed: set[str]) -> None:
        self._cache, self._max_bytes, self._needed = cache, max_bytes, needed
        self._objects = {stored.digest: stored for stored in _stored(cache, OBJECTS)}
        self._litter = list(_litter(cache))
        singles = list(_stored(cache, RECEIPTS))
        self._bundles = list(_bundles(cache))
        self._results = _results(singles, self._bundles)
        self._users = Counter(sha for one in self._results for sha in one.objects)
        files = (*self._objects.values(), *self._litter, *singles)
        in_bundles = sum(one.size for one in self._bundles)
        self.trimmed = Trimmed(sum(one.size for one in files) + in_bundles)
        # What rewriting would free costs nobody a result, so it is not held against them.
        self._dead = sum(one.dead_bytes for one in self._bundles)

    def remove_litter(self, before: float) -> None:
        """Remove old temporary and damaged files, and old objects that no receipt names."""
        known = self._users.keys() | self._needed
        orphans = [one for sha, one in self._objects.items() if sha not in known]
        for stored in (*self._litter, *orphans):
            if stored.used < before:
                self.trimmed.remove(stored)

    def remove_results(self) -> None:
        """Remove results, least recently used first, until the rest fits."""
        for result in sorted(self._results, key=lambda one: (one.used, one.fingerprint)):
            if self.trimmed.kept_bytes - self._dead <= self._max_bytes:
                return
            # Needed results are passed over wherever they are: a build in daily use may restore
            # nothing, so that its results look as if nobody had used them for months.
            if result.fingerprint not in self._needed:
                self._remove(result)

    def _remove(self, result: Result) -> None:
        if isinstance(result.home, Stored):
            self.trimmed.remove(result.home)
        else:
            self._dead += result.home.let_go(result.fingerprint)
        self._users.subtract(result.objects)
        for sha in sorted(result.objects):
            if not self._users[sha] and sha in self._objects and sha not in self._needed:
                self.trimmed.remove(self._objects[sha])

    def tidy_bundles(self, before: float) -> None:
        """Remove, merge and rewrite bundles; mark what goes from those that stay as they are."""
        small = [
            one
            for one in self._bundles
            if one.kept and one.size < SMALL_BUNDLE_BYTES and one.used < before
        ]
        merged = small if len(small) > MOST_SMALL_BUNDLES else []
        for group in _groups(merged):
            with suppress(OSError):
                self._rewrite(group)
        others = [one for one in self._bundles if one not in merged]
        for bundle in sorted(others, key=lambda one: -one.dead_bytes):
            with suppress(OSError):  # another process was quicker, or holds it open (Windows)
                self._tidy(bundle)

    def _tidy(self, bundle: Bundle) -> None:
        is_too_much = self.trimmed.kept_bytes > self._max_bytes
        # A running build may have appended to it since we read it.
        has_grown = any(True for _ in scan_records(bundle.path, bundle.end))
        if not bundle.kept and not has_grown:
            self.trimmed.removed_files += 1 + os.path.exists(bundle.path + INDEX)
            remove_bundle(bundle.path)
            self.trimmed.shrink(bundle.size)
        elif 2 * bundle.dead_bytes > bundle.size or (bundle.dead_bytes and is_too_much):
            self._rewrite([bundle])
        else:
            for fingerprint, record in bundle.gone:
                drop_record(record, fingerprint)

    def _rewrite(self, bundles: list[Bundle]) -> None:
        kept = [record for one in bundles for record in one.kept.values()]
        new = rewrite_bundles({one.path: one.end for one in bundles}, kept, self._cache.scratch)
        self.trimmed.shrink(sum(one.size for one in bundles) - _bundle_size(new))


def _groups(bundles: Iterable[Bundle]) -> Iterator[list[Bundle]]:
    """Divide small bundles into groups of about the same age that are worth a bundle each."""
    group: list[Bundle] = []
    for bundle in sorted(bundles, key=lambda one: one.used):
        group.append(bundle)
        if sum(one.size for one in group) >= SMALL_BUNDLE_BYTES:
            yield group
            group = []
    if group:
        yield group


def clear_litter(folder: str, before: float) -> Trimmed:
    """Remove the temporary files that were last written to before a moment."""
    found = [stored for name in _names(folder) for stored in _look(f"{folder}/{name}", name)]
    trimmed = Trimmed(sum(stored.size for stored in found))
    for stored in found:
        if stored.used < before:
            trimmed.remove(stored)
    return trimmed


def older_caches(folder: str) -> tuple[list[str], int]:
    """Name the folders that older versions keep their results in, and give their size.

    Nothing here ever removes them: another checkout may still use that version. The first version
    had its folders directly in the cache's.
    """
    versions = (re.fullmatch(r"v([0-9]{1,9})", name) for name in _names(folder))
    older = [one[0] for one in versions if one and int(one[1]) < VERSION]
    older += [name for name in (OBJECTS, RECEIPTS, BUNDLES) if name in _names(folder)]
    walks = (walk for one in older for walk in os.walk(f"{folder}/{one}"))
    files = (f"{path}/{name}" for path, _, names in walks for name in names)
    return older, sum(stored.size for path in files for stored in _look(path, ""))


def _results(singles: Iterable[Stored], bundles: Iterable[Bundle]) -> list[Result]:
    """Give every result once; of a receipt that is there twice all but one are let go."""
    results = []
    found = set()
    for stored in singles:
        objects = _objects_of(read_if_there(stored.path) or b"")
        results.append(Result(stored.digest, stored.used, objects or frozenset(), stored))
        if objects is not None:
            found.add(stored.digest)
    # The copy that was used last stays, so that the result keeps its place in the order.
    for bundle in sorted(bundles, key=lambda one: -one.used):
        for fingerprint, objects in _contents(bundle).items():
            if objects is None or fingerprint in found:
                bundle.let_go(fingerprint)
            else:
                found.add(fingerprint)
                results.append(Result(fingerprint, bundle.used, objects, bundle))
    return results


def _contents(bundle: Bundle) -> dict[str, frozenset[str] | None]:
    """Find the live records of a bundle; give the objects of each, None for a damaged receipt."""
    contents: dict[str, frozenset[str] | None] = {}
    with suppress(FileNotFoundError), open(bundle.path, "rb") as file:
        for head, record in list_records(bundle.path):
            bundle.end = record.end
            if head.is_live:
                file.seek(record.start + HEAD.size)
                contents[head.fingerprint] = _objects_of(file.read(record.length))
                bundle.kept[head.fingerprint] = record
    live = sum(map(_record_bytes, bundle.kept.values()))
    bundle.dead_bytes = max(0, bundle.size - live)
    return contents


def _objects_of(data: bytes) -> frozenset[str] | None:
    receipt = unpack_receipt(data)
    return frozenset(one.sha for one in receipt.made) if receipt else None


def _record_bytes(record: Record) -> int:
    """Count the bytes of a record and of its entry in the index."""
    return HEAD.size + record.length + ENTRY.size


def _bundle_size(path: str) -> int:
    return sum(stored.size for one in (path, path + INDEX) for stored in _look(one, ""))


def _bundles(cache: Cache) -> Iterator[Bundle]:
    for path in list_bundles(f"{cache.store}/{BUNDLES}"):
        for stored in _look(path, ""):
            yield Bundle(path, _bundle_size(path), stored.used)


def _stored(cache: Cache, kind: str) -> Iterator[Stored]:
    base = f"{cache.store}/{kind}"
    for prefix in _names(base):
        for name in _names(f"{base}/{prefix}"):
            yield from _look(f"{base}/{prefix}/{name}", prefix + name)


def _litter(cache: Cache) -> Iterator[Stored]:
    for folder in (DAMAGED, SCRATCH):
        for name in _names(f"{cache.store}/{folder}"):
            yield from _look(f"{cache.store}/{folder}/{name}", name)
    names = _names(f"{cache.store}/{BUNDLES}")
    for name in names:
        if name.endswith(INDEX) and name.removesuffix(INDEX) not in names:
            yield from _look(f"{cache.store}/{BUNDLES}/{name}", name)


def _look(path: str, digest: str) -> Iterator[Stored]:
    with suppress(FileNotFoundError):
        stat = os.stat(path)
        if not S_ISREG(stat.st_mode):  # somebody's own, and nothing that a build looks for
            return
        yield Stored(digest, path, stat.st_size, stat.st_mtime)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
