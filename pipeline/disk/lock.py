"""One build at a time in a project: a lock that the operating system drops with its process.

It is a dozen lines over the system's own calls, because every build that has something to do
passes here and a locking library takes longer to import than such a build takes.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

# What the systems answer where another process has the lock.
HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK, errno.EDEADLOCK)
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            return False
        raise  # a file system without locks: waiting would never end
    return True


def _holder(handle: int) -> str:
    """Return the process that has the lock; Windows does not let others read a locked file."""
    if sys.platform == "win32":
        return ""
    return os.pread(handle, 32, 1).decode(errors="replace").strip()


class Lock:
    """An exclusive lock on a file, held until it is released or the process ends."""

    def __init__(self, path: str, on_wait: Callable[[str], None]) -> None:
        self.path = path
        self.on_wait = on_wait
        self._handle: int | None = None

    @property
    def is_held(self) -> bool:
        """Tell whether this is the process that has it."""
        return self._handle is not None

    def acquire(self) -> bool:
        """Take the lock, waiting while another process has it; tell whether it had to wait."""
        if self.is_held:
            return False
        handle = self._open()
        # The system drops the lock with the process, so a killed build never leaves one behind.
        waited = not _try_lock(handle)
        if waited:
            self.on_wait(_holder(handle))
            while not _try_lock(handle):
                # Polling, because a blocking call could not be interrupted on every system.
                time.sleep(0.05)
        # The first byte is what Windows locks; the process number follows it.
        os.ftruncate(handle, 1)
        os.lseek(handle, 1, os.SEEK_SET)
        os.write(handle, str(os.getpid()).encode())
        self._handle = handle
        return waited

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _open(self) -> int:
        # The folder is missing only where it could not be made: then this says why.
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)

    def clock_ns(self) -> int:
        """Read the file system's own clock, which need not agree with the machine's.

        Without permission to write the time is unknown: 0, before which no stamp is trusted.
        """
        try:
            try:
                os.utime(self.path)
            except FileNotFoundError:  # nothing was built here yet
                os.close(self._open())
                os.utime(self.path)
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise
            return 0
        return os.stat(self.path).st_mtime_ns

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
