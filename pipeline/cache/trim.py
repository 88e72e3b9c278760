"""Trimming the cache: the least recently used results go first, what the build needs never.

A result is a receipt and the objects that no other receipt names. Other processes may be using
the cache meanwhile: whatever they miss afterwards they encode again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from stat import S_ISREG

from pipeline.cache.local import DAMAGED, OBJECTS, RECEIPTS, SCRATCH, Cache
from pipeline.cache.receipt import unpack_receipt
from pipeline.disk.file import read_if_there

# An object is stored before its receipt, and a temporary file before its rename: what is
# younger than this may belong to a build that is still running.
GRACE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of the cache: its digest, where it is, its size and when it was last of use."""

    digest: str
    path: str
    size: int
    used: float


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
        self.kept_bytes -= stored.size
        self.removed_bytes += stored.size
        self.removed_files += 1


def trim_cache(cache: Cache, max_bytes: int, needed: set[str], now: float) -> Trimmed:
    """Make the cache fit into `max_bytes`; `needed` fingerprints and digests stay in any case."""
    cache.unbundle()
    objects = {stored.digest: stored for stored in _stored(cache, OBJECTS)}
    receipts = {stored.digest: stored for stored in _stored(cache, RECEIPTS)}
    litter = list(_litter(cache))
    contents = {one: _digests_in(stored.path) for one, stored in receipts.items()}
    users = Counter(sha for shas in contents.values() for sha in shas)
    trimmed = Trimmed(sum(s.size for s in (*objects.values(), *receipts.values(), *litter)))
    orphans = [one for sha, one in objects.items() if sha not in users and sha not in needed]
    for stored in (*litter, *orphans):
        if stored.used + GRACE_S < now:
            trimmed.remove(stored)
    for fingerprint in sorted(receipts, key=lambda one: (receipts[one].used, one)):
        if trimmed.kept_bytes <= max_bytes:
            break
        if fingerprint not in needed:
            trimmed.remove(receipts[fingerprint])
            users.subtract(contents[fingerprint])
            for sha in sorted(contents[fingerprint]):
                if not users[sha] and sha in objects and sha not in needed:
                    trimmed.remove(objects[sha])
    return trimmed


def clear_litter(folder: str, before: float) -> Trimmed:
    """Remove the temporary files that were last written to before a moment."""
    found = [stored for name in _names(folder) for stored in _look(f"{folder}/{name}", name)]
    trimmed = Trimmed(sum(stored.size for stored in found))
    for stored in found:
        if stored.used < before:
            trimmed.remove(stored)
    return trimmed


def _stored(cache: Cache, kind: str) -> Iterator[Stored]:
    base = f"{cache.folder}/{kind}"
    for prefix in _names(base):
        for name in _names(f"{base}/{prefix}"):
            yield from _look(f"{base}/{prefix}/{name}", prefix + name)


def _litter(cache: Cache) -> Iterator[Stored]:
    for folder in (DAMAGED, SCRATCH):
        for name in _names(f"{cache.folder}/{folder}"):
            yield from _look(f"{cache.folder}/{folder}/{name}", name)


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


def _digests_in(path: str) -> set[str]:
    receipt = unpack_receipt(read_if_there(path) or b"")
    return {made.sha for made in receipt.made} if receipt else set()
