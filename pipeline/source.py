"""Sources by content: each is read again only when its stamp is new or was too fresh to trust.

xxh3-128 tells whether a source changed; SHA-256, taken only then, goes into cache keys.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import xxhash

from pipeline.files import read_if_there
from pipeline.photo import UNKNOWN, Tree, is_trusted
from pipeline.state import State


class Digest(NamedTuple):
    """A source's content, twice digested."""

    xxh: str
    sha: str


class Sources:
    """Digests of the project's files, remembered between runs."""

    def __init__(self, root: str, tree: Tree, state: State, now_ns: int) -> None:
        self._root, self._tree, self._state, self._now_ns = root, tree, state, now_ns
        self._known: dict[str, Digest | None] = {}
        self._facts: dict[str, list[object]] | None = None
        self._new: dict[str, list[object]] = {}

    def load_all(self) -> None:
        """Read all that is remembered at once, which is quicker when most of it will be asked."""
        if self._facts is None:
            self._facts = self._state.facts("source")

    def digest(self, path: str) -> Digest | None:
        """Give the digest of a file as it is now, or None where there is no such file."""
        if path not in self._known:
            self._known[path] = self._look(path)
        return self._known[path]

    def sha(self, path: str) -> str | None:
        """Give the SHA-256 of a file as it is now, or None where there is no such file."""
        digest = self.digest(path)
        return digest.sha if digest else None

    def _look(self, path: str) -> Digest | None:
        stamp = self._tree.stamp(path)
        if stamp is None:
            return None
        fact = (
            self._facts.get(path) if self._facts is not None else self._state.fact("source", path)
        )
        if fact and tuple(fact[:4]) == stamp:
            return Digest(str(fact[4]), str(fact[5]))
        try:
            data = read_if_there(f"{self._root}/{path}")
        except OSError:  # whoever has to read it will say why that can't be
            data = None
        if data is None:
            return None
        xxh = xxhash.xxh3_128_hexdigest(data)
        same = fact is not None and fact[4] == xxh
        digest = Digest(xxh, str(fact[5]) if same and fact else hashlib.sha256(data).hexdigest())
        kept = stamp if is_trusted(stamp, self._now_ns) else UNKNOWN
        self._new[path] = [*kept, digest.xxh, digest.sha]
        return digest

    def _remembered(self, path: str) -> list[object] | None:
        if self._facts is not None:
            return self._facts.get(path)
        fact: list[object] | None = self._state.fact("source", path)
        return fact

    def save(self) -> None:
        """Remember what was found out, in the caller's transaction."""
        self._state.set_facts("source", self._new)
        self._new = {}
