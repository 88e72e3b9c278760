"""The media of files between reports: SQLite, by digest of all that decides them.

A row lists the other files that were read for it, with their digests; it holds while they are the
same. What a report did not ask for in 30 days is removed. A damaged store is made anew.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple
from types import TracebackType
from typing import Any, Self

from pipeline.report.page.picture import Media

SCHEMA = """
CREATE TABLE IF NOT EXISTS media (
    key TEXT PRIMARY KEY, used INTEGER, files TEXT,
    thumbnail BLOB, small BLOB, glb BLOB, sound BLOB, problem TEXT);
CREATE TABLE IF NOT EXISTS chart (key TEXT PRIMARY KEY, used INTEGER, chart TEXT);
"""
VERSION = 2  # of the tables; a store of another version is made anew
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
        if self._database.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            self._database.executescript("DROP TABLE IF EXISTS media; DROP TABLE IF EXISTS chart;")
            self._database.execute(f"PRAGMA user_version={VERSION}")
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
            "SELECT files, thumbnail, small, glb, sound, problem FROM media WHERE key=?", (key,)
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
            "INSERT OR REPLACE INTO media VALUES (?,?,?,?,?,?,?,?)",
            (key, self._now, json.dumps(files), *astuple(media)),
        )

    def find_chart(self, key: str) -> Any:
        """Return the chart of a key; None where it was not kept."""
        found = self._database.execute("SELECT chart FROM chart WHERE key=?", (key,)).fetchone()
        return None if found is None else json.loads(found[0])

    def keep_chart(self, key: str, chart: Mapping[str, Any]) -> None:
        """Keep a chart: the results that it is made from may go from the cache."""
        self._database.execute(
            "INSERT OR REPLACE INTO chart VALUES (?,?,?)", (key, self._now, json.dumps(chart))
        )

    def note_use(self, keys: Iterable[str]) -> None:
        """Note which rows a report asked for, and remove those that none did for long."""
        day = self._now - 86400
        rows = [(self._now, key, day) for key in keys]
        for table in ("media", "chart"):
            # Once a day is enough, and keeps a report of 5,000 nodes from writing as many rows.
            self._database.executemany(f"UPDATE {table} SET used=? WHERE key=? AND used<?", rows)
            self._database.execute(f"DELETE FROM {table} WHERE used<?", (self._now - KEPT_SECONDS,))

    def close(self) -> None:
        """Save and close."""
        self._database.commit()
        self._database.close()
