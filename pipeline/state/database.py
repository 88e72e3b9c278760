"""The SQLite file of the state: opening it, transactions, and what its errors mean.

Everything in it can be found out again: a file that is damaged, torn or of another version is
dropped, which costs one full check. Only the process that holds the project's lock writes.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from urllib.parse import quote

VERSION = 13  # raise it when a table or a record changes its form
SCHEMA = """
CREATE TABLE manifest (stem TEXT PRIMARY KEY, record BLOB, crc INTEGER);
CREATE TABLE listing (stem TEXT, folder TEXT, digest BLOB, rows BLOB, PRIMARY KEY (stem, folder));
CREATE TABLE fact (kind TEXT, key TEXT, record BLOB, crc INTEGER, PRIMARY KEY (kind, key));
CREATE TABLE node (task TEXT PRIMARY KEY, stem TEXT, plan BLOB, built BLOB, clean INTEGER,
                   crc INTEGER);
CREATE TABLE graph (stem TEXT, bucket INTEGER, record BLOB, crc INTEGER,
                    PRIMARY KEY (stem, bucket));
CREATE TABLE output (path TEXT PRIMARY KEY, stem TEXT, task TEXT, size INTEGER, sha TEXT)
                     WITHOUT ROWID;
CREATE TABLE cost (task TEXT PRIMARY KEY, encoder TEXT, input_bytes INTEGER, seconds REAL,
                   cpu_seconds REAL, peak_bytes INTEGER) WITHOUT ROWID;
CREATE INDEX node_by_stem ON node (stem, clean);
CREATE INDEX output_by_task ON output (task);
CREATE INDEX output_by_stem ON output (stem, size);
"""
BATCH_SECONDS = 0.1  # how long a batch of transactions may stay uncommitted
BUSY_SECONDS = 60.0  # how long to wait for another process's transaction

UNAVAILABLE = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_READONLY",
    "SQLITE_CANTOPEN",
    "SQLITE_PERM",
    "SQLITE_AUTH",
    "SQLITE_PROTOCOL",
)
CUT_OFF = "SQLITE_IOERR_SHORT_READ"


class StateDamagedError(Exception):
    """The state contradicts itself; it has to be made again from what is on disk."""


class StateUnavailableError(OSError):
    """The state can't be read or written at the moment: a full disk, missing permission."""


# SQLite quotes bytes that it can't make sense of, and Python may fail to decode the quotation.
DAMAGE = (StateDamagedError, sqlite3.DatabaseError, UnicodeDecodeError)


def unavailable_error(error: Exception, path: str) -> StateUnavailableError | None:
    """Return an error that says why the file is unavailable; None where the file is damaged."""
    name = getattr(error, "sqlite_errorname", "")
    # A damaged header can make SQLite call the file read-only although the system does not.
    is_header = name == "SQLITE_READONLY" and os.access(path, os.W_OK)
    if not name.startswith(UNAVAILABLE) or name == CUT_OFF or is_header:
        return None
    return StateUnavailableError(errno.EIO, f"out of reach: {error}", path)


class Database:
    """A connection with nested transactions and short batches of them."""

    def __init__(self, path: str, is_owner: bool) -> None:
        """Open the file; only its owner, who holds the project's lock, may create or repair it.

        For others a file that is missing, damaged or of another version counts as empty.
        """
        self.path = path
        self.has_lost = False  # whether a batch was rolled back, and its nodes are not recorded
        self._depth = 0
        self._batch_began: float | None = None
        try:
            self.db = self._connect(is_owner)
        except sqlite3.DatabaseError as error:
            unavailable = unavailable_error(error, path)
            if unavailable is not None:
                raise unavailable from None
            if is_owner:
                self.discard(path)
            self.db = self._connect(is_owner)

    def _connect(self, is_owner: bool) -> sqlite3.Connection:
        if not (is_owner or os.path.exists(self.path)):
            return self._empty()
        place = self.path if is_owner else self._place_to_read()
        is_uri = place != self.path
        db = sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None, uri=is_uri)
        try:
            if is_owner:
                # Readers do not wait for the writer. NORMAL syncs at checkpoints only: a power
                # failure may lose the last commits, which are found again in the cache.
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=NORMAL")
                # A checkpoint waits for the disk, so there is one: when the connection closes.
                db.execute("PRAGMA wal_autocheckpoint=0")
            if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                return db
        except sqlite3.DatabaseError:
            db.close()
            if is_owner:
                raise
            return self._empty()
        if not is_owner:
            db.close()
            return self._empty()
        _create_tables(db)
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
    def _empty() -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None)
        _create_tables(db)
        return db

    @staticmethod
    def discard(path: str) -> None:
        """Remove the file, which costs one full check."""
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path + suffix)

    def close(self) -> None:
        """Commit an open batch and close the file."""
        with suppress(sqlite3.Error):
            self.flush(now=True)
            self.db.close()

    @contextmanager
    def in_memory_copy(self) -> Iterator[None]:
        """Run the block on an in-memory copy; nothing is saved and no other process waits."""
        # backup() copies a consistent snapshot even while another process writes.
        original, self.db = self.db, sqlite3.connect(":memory:", isolation_level=None)
        self._forget_cached()
        try:
            original.backup(self.db)
            yield
        finally:
            self.db.close()
            self.db = original
            self._forget_cached()

    def _forget_cached(self) -> None:
        """Drop what was read into memory: the tables may have changed underneath."""

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Run a transaction that may be committed together with the next ones, within 0.1 s.

        A commit for each node would cost more than a small node. What a kill takes from a batch
        is found again in the cache.
        """
        # IMMEDIATE takes the write lock now: a later upgrade could fail in the middle of a batch.
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
        """Commit a batch that was open for long enough, or any batch if `now`."""
        began = self._batch_began
        if began is not None and (now or monotonic() > began + BATCH_SECONDS):
            self._commit()
            self._batch_began = None
            self._depth = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything in the block happen together or not at all; blocks may nest."""
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
        # Nodes of the batch are done but not recorded. Their files are known to the ledger alone,
        # so the mark of a running build must stay for the next run to find.
        self.has_lost = self.has_lost or self._batch_began is not None
        self._depth, self._batch_began = 0, None
        self._forget_cached()
        with suppress(sqlite3.Error):
            self.db.execute("ROLLBACK")


def _create_tables(db: sqlite3.Connection) -> None:
    # The tables of another version are dropped: everything in them can be found out again.
    tables = db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
    for (name,) in tables:
        db.execute(f'DROP TABLE "{name}"')
    db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version={VERSION}; COMMIT;")
