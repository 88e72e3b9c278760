"""Digests of encoder modules, kept per machine by content.

Parsing the modules of a target takes longer than a small game's first build. Installed modules
are the same in every project, so what was found out about one is kept in the user's cache folder.
Losing the file costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cached_property

import xxhash

from pipeline.content import module as module_module
from pipeline.content import syntax
from pipeline.content.module import Module, is_package_file
from pipeline.disk.file import read_file, read_if_there, write_whole
from pipeline.state.serial import freeze, thaw

Entries = dict[bytes, tuple[str, str, tuple[str, ...]]]

CHECKSUM_BYTES = 16
# Each edit of a module adds an entry of some 300 bytes; the oldest are dropped.
MAX_ENTRIES = 4096


class DigestStore:
    """Digest modules, and remember the results for every project of this machine."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._new: Entries = {}

    def digest_file(self, path: str, name: str) -> Module:
        """Digest the module of this name as it is on disk, or take what is known of its content."""
        source, is_package = read_file(path), is_package_file(path)
        parts = (self._rules, name.encode(), bytes([is_package]), source)
        key = xxhash.xxh3_128_digest(b"\0".join(parts))
        found = self._new.get(key) or self._kept.get(key)
        if found is None:
            found = self._new[key] = syntax.digest_source(source, name, is_package)
        return Module(*found)

    def save(self) -> None:
        """Add what was found out to the file, if that can be written."""
        if not self._new or self._folder is None:
            return
        # Read again: another process may have added to it meanwhile. What two processes write at
        # the same moment is lost for one of them, and digested again some day.
        entries = {**self._read(), **{key: tuple(one) for key, one in self._new.items()}}
        data = freeze(dict([*entries.items()][-MAX_ENTRIES:]))
        # A home that can't be written to costs time in every project, and is no error.
        with contextlib.suppress(OSError):
            write_whole(self._path, xxhash.xxh3_128_digest(data) + data, self._folder)
        self._new = {}

    @property
    def _path(self) -> str:
        return f"{self._folder}/modules"

    @cached_property
    def _kept(self) -> Entries:
        return self._read()

    def _read(self) -> Entries:
        data = None
        with contextlib.suppress(OSError):
            data = read_if_there(self._path) if self._folder else None
        if not data or xxhash.xxh3_128_digest(data[CHECKSUM_BYTES:]) != data[:CHECKSUM_BYTES]:
            return {}
        return dict(thaw(data[CHECKSUM_BYTES:]))

    @cached_property
    def _rules(self) -> bytes:
        """A digest of what decides the result beside the source: our own code and Python's."""
        files = (syntax.__file__, module_module.__file__)
        texts = [sys.version.encode(), *(read_file(file) for file in files)]
        return xxhash.xxh3_128_digest(b"\0".join(texts))
