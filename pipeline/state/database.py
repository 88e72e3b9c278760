"""What is known of the project from earlier runs, in one SQLite file.

Everything here can be found out again: a state that is damaged, torn or of another version is
dropped, and costs a re-check. Each finished node is committed by itself, so a build that is
killed loses nothing that it had finished. Rows that decide what is built carry a checksum, since
SQLite's pages have none.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any
from urllib.parse import quote

import xxhash

from pipeline.disk.listing import Listing, digest_listing, is_text, pack_listing, unpack_listing
from pipeline.state.damage import out_of_reach
from pipeline.state.product import Products
from pipeline.state.record import freeze, thaw

VERSION = 9  # raise it when a record changes its shape
SCHEMA = """
CREATE TABLE manifest (stem TEXT PRIMARY KEY, record BLOB, crc INTEGER);
CREATE TABLE photo (stem TEXT, folder TEXT, digest BLOB, rows BLOB, PRIMARY KEY (stem, folder));
CREATE TABLE fact (kind TEXT, key TEXT, record BLOB, crc INTEGER, PRIMARY KEY (kind, key));
CREATE TABLE node (task TEXT PRIMARY KEY, stem TEXT, plan BLOB, built BLOB, clean INTEGER,
                   crc INTEGER);
CREATE TABLE graph (stem TEXT, shelf INTEGER, record BLOB, crc INTEGER, PRIMARY KEY (stem, shelf));
CREATE TABLE product (path TEXT PRIMARY KEY, stem TEXT, task TEXT, size INTEGER, sha TEXT)
                      WITHOUT ROWID;
CREATE INDEX node_by_stem ON node (stem, clean);
CREATE INDEX product_by_task ON product (task);
CREATE INDEX product_by_stem ON product (stem);
"""
# The kind of fact that marks a manifest while it is built. A mark that is found later means that
# the build was killed: outputs may be there which neither products nor photographs know.
OPEN = "open"
SHELVES = 64  # so that to look up one input little has to be read
BATCH_S = 0.1  # how long a batch may stay open
BUSY_S = 60.0  # how long to wait for another process to finish its transaction


class StateDamagedError(Exception):
    """The state contradicts itself; it has to be made again from what is on disk."""


def _crc(record: bytes) -> int:
    return xxhash.xxh3_64_intdigest(record) >> 1


def _load(record: bytes, crc: int) -> Any:
    if not isinstance(record, bytes) or _crc(record) != crc:
        raise StateDamagedError("a record does not match its checksum")
    return thaw(record)


def _row_crc(task: str, stem: str, plan: bytes, built: bytes | None, clean: int) -> int:
    """Digest a node so that no part of it can be taken for another's."""
    head = f"{task}\0{stem}\0{clean}\0{len(plan)}\0".encode()
    return _crc(b"".join((head, plan, built or b"")))


Seen = tuple[str, str]  # digests of a source's survey, and of the content that was surveyed
Shelf = tuple[dict[str, list[str]], dict[str, Seen]]


def _shelf(one: str) -> int:
    return xxhash.xxh32_intdigest(one.encode()) % SHELVES


class Row:
    """A node as it was planned, as it was last built, and whether that still holds."""

    __slots__ = ("clean", "frozen_built", "frozen_plan", "stem", "task")

    def __init__(self, task: str, stem: str, plan: bytes, built: bytes | None, clean: bool) -> None:
        """Take a node with its plan and its last build as they are stored."""
        self.task, self.stem, self.clean = task, stem, clean
        self.frozen_plan, self.frozen_built = plan, built

    @property
    def plan(self) -> dict[str, Any]:
        """What the node is to do."""
        plan: dict[str, Any] = thaw(self.frozen_plan)
        return plan

    @property
    def built(self) -> dict[str, Any] | None:
        """What the node was last built from, and what it made."""
        built: dict[str, Any] | None = thaw(self.frozen_built) if self.frozen_built else None
        return built


class State(Products):
    """The tables, and the few questions that are asked of them."""

    def __init__(self, path: str, is_owner: bool) -> None:
        """Open the state; only its owner, who has the project's lock, may make or mend the file.

        For others a file that is missing or no state counts as empty.
        """
        self.path = path
        self._depth = 0
        self._batch_began: float | None = None
        self.has_lost = False  # whether nodes that were noted in a batch are known no more
        self._shelves: dict[tuple[str, int], Shelf] = {}
        try:
            self.db = self._connect(is_owner)
        except sqlite3.DatabaseError as error:
            refusal = out_of_reach(error, path)
            if refusal is not None:
                raise refusal from None
            if is_owner:
                self.discard(path)
            self.db = self._connect(is_owner)

    def _connect(self, is_owner: bool) -> sqlite3.Connection:
        here = is_owner or os.path.exists(self.path)
        place = self._place_to_read() if here and not is_owner else self.path
        db = sqlite3.connect(
            place if here else ":memory:",
            timeout=BUSY_S,
            isolation_level=None,
            uri=place != self.path,
        )
        try:
            if is_owner:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=NORMAL")
                # Moving pages from the log into the file waits for the disk: once, at the end.
                db.execute("PRAGMA wal_autocheckpoint=0")
            if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                return db
        except sqlite3.DatabaseError:
            db.close()
            if is_owner:
                raise
            db = sqlite3.connect(":memory:", isolation_level=None)
        if not is_owner:
            db.close()
            db = sqlite3.connect(":memory:", isolation_level=None)
        self._create(db)
        return db

    def _place_to_read(self) -> str:
        """Return what to open in order to read: the file, or a URI where nothing may be written.

        Even to read, SQLite writes a file beside a database that has a log, unless it is told
        that the database never changes. Where both files of a log are there, it can read these.
        """
        if os.access(os.path.dirname(self.path), os.W_OK):
            return self.path
        has_log = all(os.path.exists(f"{self.path}-{name}") for name in ("wal", "shm"))
        mode = "mode=ro" if has_log else "immutable=1"
        return f"file:{quote(self.path)}?{mode}"

    @staticmethod
    def _create(db: sqlite3.Connection) -> None:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        for (name,) in tables:
            db.execute(f'DROP TABLE "{name}"')
        db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version={VERSION}; COMMIT;")

    @staticmethod
    def discard(path: str) -> None:
        """Remove the file, which costs a re-check."""
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path + suffix)

    def close(self) -> None:
        """Close the file, with whatever a batch still holds."""
        with suppress(sqlite3.Error):
            self.flush(now=True)
            self.db.close()

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Let everything inside happen to a copy, without a trace and in nobody's way."""
        original, self.db = self.db, sqlite3.connect(":memory:", isolation_level=None)
        shelves, self._shelves = self._shelves, {}
        try:
            original.backup(self.db)
            yield
        finally:
            self.db.close()
            self.db, self._shelves = original, shelves

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Be a transaction that may be committed together with the next ones, but soon.

        What a kill takes from a batch is found again in the cache.
        """
        if self._batch_began is None:
            self.db.execute("BEGIN IMMEDIATE")
            self._depth, self._batch_began = 1, monotonic()
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        self.flush()

    def flush(self, now: bool = False) -> None:
        """Commit a batch that has been open for long enough, or any batch at once."""
        if self._batch_began is not None and (now or monotonic() > self._batch_began + BATCH_S):
            self._commit()
            self._batch_began = None
            self._depth = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything inside happen together or not at all."""
        if self._depth == 0:
            self.db.execute("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        if self._depth == 1:
            self._commit()
        self._depth -= 1

    def _commit(self) -> None:
        try:
            self.db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        self.has_lost = self.has_lost or self._batch_began is not None
        self._depth, self._batch_began, self._shelves = 0, None, {}
        with suppress(sqlite3.Error):
            self.db.execute("ROLLBACK")

    # Facts: anything that was found out about a file or a text, by kind and key.

    def facts(self, kind: str) -> dict[str, Any]:
        """Give all facts of a kind."""
        rows = self.db.execute("SELECT key, record, crc FROM fact WHERE kind=?", (kind,))
        return {key: _load(record, crc) for key, record, crc in rows}

    def fact(self, kind: str, key: str) -> Any:
        """Give one fact, or None."""
        query = "SELECT record, crc FROM fact WHERE kind=? AND key=?"
        row = self.db.execute(query, (kind, key)).fetchone()
        return _load(*row) if row else None

    def count_facts(self, kind: str) -> int:
        """Count the facts of a kind."""
        count: int = self.db.execute("SELECT count(*) FROM fact WHERE kind=?", (kind,)).fetchone()[
            0
        ]
        return count

    def set_facts(self, kind: str, facts: Mapping[str, object]) -> None:
        """Note facts, in place of those with the same keys."""
        rows = ((kind, key, data := freeze(value), _crc(data)) for key, value in facts.items())
        self.db.executemany("INSERT OR REPLACE INTO fact VALUES (?,?,?,?)", rows)

    def drop_facts(self, kind: str, keys: Iterable[str]) -> None:
        """Forget facts."""
        self.db.executemany("DELETE FROM fact WHERE kind=? AND key=?", ((kind, k) for k in keys))

    # Manifests and the photographs that belong to them.

    def stems(self) -> list[str]:
        """Name the manifests that are known."""
        return [stem for (stem,) in self.db.execute("SELECT stem FROM manifest ORDER BY stem")]

    def manifest(self, stem: str) -> Any:
        """Give what is known of a manifest, or None."""
        query = "SELECT record, crc FROM manifest WHERE stem=?"
        row = self.db.execute(query, (stem,)).fetchone()
        return _load(*row) if row else None

    def set_manifest(self, stem: str, record: Mapping[str, object]) -> None:
        """Note what is known of a manifest."""
        data = freeze(record)
        self.db.execute("INSERT OR REPLACE INTO manifest VALUES (?,?,?)", (stem, data, _crc(data)))

    def drop_manifest(self, stem: str) -> None:
        """Forget a manifest, its nodes and its photographs; its products stay known."""
        for table in ("manifest", "photo", "node", "graph"):
            self.db.execute(f"DELETE FROM {table} WHERE stem=?", (stem,))
        self._shelves = {}

    def photo_digests(self, stem: str) -> dict[str, bytes]:
        """Give the digest of every folder that matters to a manifest."""
        return dict(self.db.execute("SELECT folder, digest FROM photo WHERE stem=?", (stem,)))

    def photo(self, stem: str, folder: str) -> Listing | None:
        """Give the listing of a folder as it was when the manifest last looked."""
        query = "SELECT digest, rows FROM photo WHERE stem=? AND folder=?"
        row = self.db.execute(query, (stem, folder)).fetchone()
        if row is None or digest_listing(row[1]) != row[0]:
            return None
        return unpack_listing(row[1])

    def set_photo(self, stem: str, folder: str, listing: Listing | None) -> None:
        """Keep the listing of a folder."""
        rows = pack_listing(listing)
        values = (stem, folder, digest_listing(rows), rows)
        self.db.execute("INSERT OR REPLACE INTO photo VALUES (?,?,?,?)", values)

    def drop_photos(self, stem: str, folders: Iterable[str]) -> None:
        """Forget folders that no longer matter."""
        query = "DELETE FROM photo WHERE stem=? AND folder=?"
        self.db.executemany(query, ((stem, folder) for folder in folders))

    # Nodes.

    def rows(self, stem: str, only_dirty: bool = False) -> list[Row]:
        """Give the nodes of a manifest, or those that have to be built."""
        query = "SELECT task, stem, plan, built, clean, crc FROM node WHERE stem=?"
        query += " AND clean=0" if only_dirty else ""
        return [self._row(values) for values in self.db.execute(query, (stem,))]

    def row(self, task: str) -> Row | None:
        """Give one node; the name may be any that a user typed."""
        if not is_text(task):
            return None
        query = "SELECT task, stem, plan, built, clean, crc FROM node WHERE task=?"
        values = self.db.execute(query, (task,)).fetchone()
        return self._row(values) if values else None

    @staticmethod
    def _row(values: tuple[Any, ...]) -> Row:
        task, stem, plan, built, clean, crc = values
        if not isinstance(plan, bytes) or _row_crc(task, stem, plan, built, clean) != crc:
            raise StateDamagedError("a node does not match its checksum")
        return Row(task, stem, plan, built, clean == 1)

    def set_rows(self, rows: Iterable[Row]) -> None:
        """Put nodes in place of those of the same name."""
        values = (
            (*one, _row_crc(*one))
            for row in rows
            for one in [(row.task, row.stem, row.frozen_plan, row.frozen_built, int(row.clean))]
        )
        self.db.executemany("INSERT OR REPLACE INTO node VALUES (?,?,?,?,?,?)", values)

    def update_row(self, row: Row) -> None:
        """Note the last build of a node that is known, and whether that holds."""
        built, clean = row.frozen_built, int(row.clean)
        crc = _row_crc(row.task, row.stem, row.frozen_plan, built, clean)
        query = "UPDATE node SET built=?, clean=?, crc=? WHERE task=?"
        self.db.execute(query, (built, clean, crc, row.task))

    def drop_rows(self, tasks: Iterable[str]) -> None:
        """Forget nodes."""
        self.db.executemany("DELETE FROM node WHERE task=?", ((task,) for task in tasks))

    def counts(self, stem: str) -> tuple[int, int]:
        """Count the nodes that hold and those that have to be built."""
        query = "SELECT clean, count(*) FROM node WHERE stem=? GROUP BY clean"
        found = dict(self.db.execute(query, (stem,)))
        return found.get(1, 0), found.get(0, 0)

    # The graph of a manifest lies on a fixed number of shelves, each a record with a checksum:
    # a row for each edge could be hidden by a damaged index, and nobody would know.

    def set_graph(
        self, stem: str, readers: Mapping[str, list[str]], seen: Mapping[str, Seen]
    ) -> None:
        """Note which tasks read each input, and what the plan saw of each source."""
        shelves: list[Shelf] = [({}, {}) for _ in range(SHELVES)]
        for one, tasks in readers.items():
            shelves[_shelf(one)][0][one] = tasks
        for path, digests in seen.items():
            shelves[_shelf(path)][1][path] = digests
        self._put_on_shelves(stem, enumerate(shelves))
        self._shelves = {}

    def _put_on_shelves(self, stem: str, shelves: Iterable[tuple[int, Shelf]]) -> None:
        rows = ((stem, n, data := freeze(one), _crc(data)) for n, one in shelves)
        self.db.executemany("INSERT OR REPLACE INTO graph VALUES (?,?,?,?)", rows)

    def _graph(self, stem: str, one: str) -> Shelf:
        key = stem, _shelf(one)
        if key not in self._shelves:
            query = "SELECT record, crc FROM graph WHERE stem=? AND shelf=?"
            row = self.db.execute(query, key).fetchone()
            if row is None:
                raise StateDamagedError("a part of a graph is missing")
            self._shelves[key] = _load(*row)
        return self._shelves[key]

    def consumers(self, stem: str, inputs: Iterable[str]) -> set[str]:
        """Name the manifest's tasks that read one of the inputs."""
        return {task for one in inputs for task in self._graph(stem, one)[0].get(one, ())}

    def seen(self, stem: str, paths: Iterable[str]) -> dict[str, Seen]:
        """Give what a manifest's plan saw of those paths that it looked at."""
        found = ((path, self._graph(stem, path)[1].get(path)) for path in paths)
        return {path: seen for path, seen in found if seen is not None}

    def update_seen(self, stem: str, seen: Mapping[str, Seen]) -> None:
        """Note that a manifest's plan holds for other content of some sources."""
        for path, digests in seen.items():
            self._graph(stem, path)[1][path] = digests
        touched = {_shelf(path) for path in seen}
        self._put_on_shelves(stem, ((n, self._shelves[stem, n]) for n in touched))
