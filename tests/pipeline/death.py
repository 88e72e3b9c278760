"""The end of a process, simulated: after so many changes of the disk nothing has an effect.

A kill leaves the disk as it was after some change. Counting the changes of a build lets a test stop
it after each of them, which no timer can.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from unittest import mock

from pipeline.build import work
from pipeline.disk import batch

COUNTED = ("replace", "rename", "write", "unlink", "rmdir", "ftruncate")
UNCOUNTED = ("mkdir", "utime")  # what they leave behind means nothing to anybody


class Killed(BaseException):
    """The process is no more; whatever it does while it unwinds must not count."""


class Death:
    """Kills what runs inside after so many changes of the disk; `changes` counts them."""

    def __init__(self, after: int) -> None:
        self.after, self.changes = after, 0
        self._thread = threading.get_ident()  # the test runner has others
        self._handles: set[int] = set()
        self._connections: list[Connection] = []
        self._patches: list[Any] = []

    @property
    def came(self) -> bool:
        """Tell whether there were so many changes."""
        return self.changes >= self.after

    def do(self, do: Callable[..., Any], *given: Any, counts: bool = True, **named: Any) -> Any:
        """Change the disk, unless it is too late; die of the last change."""
        if threading.get_ident() != self._thread:
            return do(*given, **named)
        if self.came:
            raise Killed
        result = do(*given, **named)
        self.changes += counts
        if self.came:
            raise Killed
        return result

    def _open(self, path: Any, flags: int, *mode: Any, **named: Any) -> Any:
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return self._real_open(path, flags, *mode, **named)
        handle = self.do(self._real_open, path, flags, *mode, counts=False, **named)
        self._handles.add(handle)
        return handle

    def _close(self, handle: int) -> None:
        self._handles.discard(handle)
        self._real_close(handle)

    def _connect(self, *given: Any, **named: Any) -> Connection:
        connection = self.do(self._real_connect, *given, factory=Connection, counts=False, **named)
        connection.death = self
        self._connections.append(connection)
        return connection

    def _deadly(self, name: str) -> Callable[..., Any]:
        real, counts = getattr(os, name), name in COUNTED
        return lambda *given, **named: self.do(real, *given, counts=counts, **named)

    def __enter__(self) -> Self:
        self._real_open, self._real_close = os.open, os.close
        self._real_connect: Any = sqlite3.connect
        deadly = {name: self._deadly(name) for name in (*COUNTED, *UNCOUNTED)}
        self._patches = [
            mock.patch.multiple(os, open=self._open, close=self._close, **deadly),
            mock.patch.object(sqlite3, "connect", self._connect),
            # The native loop cannot be stopped half-way; its reference does the same changes.
            mock.patch.object(batch, "_write_files", batch.write_files_in_python),
        ]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        for patch in reversed(self._patches):
            patch.stop()
        for connection in self._connections:  # what was not committed is lost
            connection.close()
        for handle in self._handles:  # and locks are free
            with suppress(OSError):
                os.close(handle)
        work._tools = None  # the next process opens files of its own
        return self.came  # whatever came of an end in the middle of something


class Connection(sqlite3.Connection):
    """A connection of which every commit counts."""

    death: Death

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        counts = statement == "COMMIT"
        cursor: sqlite3.Cursor = self.death.do(super().execute, statement, *values, counts=counts)
        return cursor

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.death.do(super().executemany, *given, counts=False)
        return cursor
