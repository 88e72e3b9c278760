"""Sources by content: a file is read again only when its stamp is new or was too fresh to trust.

xxh3-128 tells whether a source changed; SHA-256, taken only then, goes into cache keys. All bytes
of sources that surveys and encoders get come from `read_source`.
"""

from __future__ import annotations

from typing import NamedTuple

import xxhash

from encoders.kit.error import EncodeError
from pipeline.disk.inside import OutsideError, read_inside, read_inside_if_there
from pipeline.disk.lfs import HINT, MAX_BYTES, PROBLEM, is_lfs_pointer, pointed_sha
from pipeline.disk.listing import UNKNOWN, Snapshot, Stamp, is_trusted
from pipeline.state.state import State


def _stamp_text(stamp: Stamp) -> str:
    return "{} {} {} {}".format(*stamp)


def link_error(path: str, leads_to: str) -> LinkError:
    """Return the error of a source that lies outside of the project."""
    facts = {"file": path, "leads to": leads_to}
    return LinkError("link leads out of the project", facts, "Copy the file into the project.")


class LinkError(EncodeError):
    """A source leads through a symbolic link to a file outside of the project."""


def read_source(root: str, path: str) -> bytes:
    """Read a source; raise EncodeError where its bytes are not the project's own."""
    try:
        data = read_inside(root, path)
    except OutsideError as error:
        raise link_error(path, error.leads_to) from None
    refuse_pointer(data, path)
    return data


def refuse_pointer(data: bytes, path: str) -> None:
    """Raise EncodeError where a file is a Git LFS pointer instead of its content."""
    if is_lfs_pointer(data):
        raise EncodeError(PROBLEM, {"file": path}, HINT)


XXH_BYTES = 16


class Digest(NamedTuple):
    """Two digests of a source's content."""

    xxh: str
    sha: str


class Sources:
    """Digests of the project's files, remembered between runs."""

    def __init__(self, root: str, snapshot: Snapshot, state: State, now_ns: int) -> None:
        self._root, self._snapshot, self._state, self._now_ns = root, snapshot, state, now_ns
        self.from_pointers = False  # whether a pointer counts as the content it stands for
        self.pointers: set[str] = set()  # files that do
        self._known: dict[str, bytes | None] = {}  # both digests in a row, for many files
        self._facts: dict[str, str] | None = None
        self._new: dict[str, str] = {}
        self._touched: dict[str, str] = {}

    def load_all(self) -> None:
        """Read all remembered digests in one query, which is faster when most are needed."""
        if self._facts is None:
            self._facts = self._state.facts("source")

    def digest(self, path: str) -> Digest | None:
        """Return the digest of a file as it is now, or None where there is no such file."""
        packed = self._packed(path)
        if packed is None:
            return None
        return Digest(packed[:XXH_BYTES].hex(), packed[XXH_BYTES:].hex())

    def _packed(self, path: str) -> bytes | None:
        if path not in self._known:
            found = self._find(path)
            self._known[path] = None if found is None else bytes.fromhex(found.xxh + found.sha)
        return self._known[path]

    def sha(self, path: str) -> str | None:
        """Return the SHA-256 of a file as it is now, or None where there is no such file."""
        packed = self._packed(path)
        return packed[XXH_BYTES:].hex() if packed else None

    def _find(self, path: str) -> Digest | None:
        stamp = self._snapshot.stamp(path)
        if stamp is None:
            return None
        known, xxh, sha = self._remembered(path)
        may_be_pointer = self.from_pointers and stamp[2] <= MAX_BYTES
        if known == _stamp_text(stamp) and not may_be_pointer:
            return Digest(xxh, sha)
        try:
            data = read_inside_if_there(self._root, path)
        except OSError:  # the node that has to read it reports why it can't
            data = None
        if data is None:
            return None
        now = xxhash.xxh3_128_hexdigest(data)
        pointed = pointed_sha(data) if may_be_pointer else None
        if pointed is not None:
            # Not kept: the next run may be one that takes pointers for what they are.
            self.pointers.add(path)
            return Digest(now, pointed)
        import hashlib  # a run with nothing to do must not pay for it

        digest = Digest(now, sha if now == xxh else hashlib.sha256(data).hexdigest())
        kept = stamp if is_trusted(stamp, self._now_ns) else UNKNOWN
        # New stamps of old content are kept apart, because saving 10,000 of them takes longer than
        # reading the files once more.
        notes = self._touched if now == xxh else self._new
        notes[path] = f"{_stamp_text(kept)} {digest.xxh} {digest.sha}"
        return digest

    def _remembered(self, path: str) -> list[str]:
        """Return the stamp and both digests that are remembered of a file, as texts."""
        if self._facts is not None:
            fact = self._facts.pop(path, None)  # what is known of it is kept from here on
        else:
            fact = self._state.fact("source", path)
        return fact.rsplit(" ", 2) if fact else ["", "", ""]

    def save(self, new_stamps: bool) -> None:
        """Keep new digests, in the caller's transaction.

        New stamps of old content may be left out: where the folder's listing is kept they are
        not needed, and elsewhere the file is only read once more.
        """
        self._state.set_facts("source", self._new | (self._touched if new_stamps else {}))
        self._new, self._touched = {}, {}
