"""The media of files between reports: SQLite, by digest of all that decides them.

A row lists the other files that were read for it, with their digests; it holds while they are the
same. What a report did not ask for in 30 days is removed. A damaged store is made anew.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import astuple
from types import TracebackType
from typing import Self

from pipeline.report.page.picture import Media

SCHEMA = """
CREATE TABLE IF NOT EXISTS media (
    key TEXT PRIMARY KEY, used INTEGER, files TEXT,
    thumbnail BLOB, small BLOB, glb BLOB, sound BLOB);
"""
KEPT_SECONDS = 30 * 86400
Files = dict[str, str | None]  # digests by path; None for a file that was not there


class MediaStore:
    """The file with the media of earlier reports."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._path, self._now = path, int(clock())
        try:
            self._open()
        except sqlite3.DatabaseError:
            with suppress(sqlite3.Error):
                self._database.close()
            # It is a cache: what is in it can be drawn again.
            with open(path, "wb"):
                pass
            self._open()

    def _open(self) -> None:
        self._database = sqlite3.connect(self._path, timeout=10)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.executescript(SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def find(self, key: str, digest_of: Callable[[str], str | None]) -> Media | None:
        """Return the media of a key, if the files that were read for them are still the same."""
        row = self._database.execute(
            "SELECT files, thumbnail, small, glb, sound FROM media WHERE key=?", (key,)
        ).fetchone()
        if row is None:
            return None
        files: Files = json.loads(row[0])
        if any(digest_of(path) != digest for path, digest in files.items()):
            return None
        return Media(*row[1:])

    def keep(self, key: str, files: Files, media: Media) -> None:
        """Keep the media of a key."""
        self._database.execute(
            "INSERT OR REPLACE INTO media VALUES (?,?,?,?,?,?,?)",
            (key, self._now, json.dumps(files), *astuple(media)),
        )

    def note_use(self, keys: Iterable[str]) -> None:
        """Note which rows a report asked for, and remove those that none did for long."""
        day = self._now - 86400
        rows = ((self._now, key, day) for key in keys)
        # Once a day is enough, and keeps a report of 5,000 nodes from writing as many rows.
        self._database.executemany("UPDATE media SET used=? WHERE key=? AND used<?", rows)
        self._database.execute("DELETE FROM media WHERE used<?", (self._now - KEPT_SECONDS,))

    def close(self) -> None:
        """Save and close."""
        self._database.commit()
        self._database.close()
