"""What an error of SQLite tells of the state: that it is damaged, or only out of reach.

A damaged state is dropped, which costs a re-check. One that can't be read or written for the
time being, on a full disk or for want of permission, stays as it is.
"""

from __future__ import annotations

import errno
import os

REACH = ("BUSY", "LOCKED", "FULL", "IOERR", "READONLY", "CANTOPEN", "PERM", "AUTH", "PROTOCOL")
OUT_OF_REACH = tuple(f"SQLITE_{word}" for word in REACH)
CUT_OFF = "SQLITE_IOERR_SHORT_READ"


class OutOfReachError(OSError):
    """The state can't be read or written for the time being."""


def out_of_reach(error: Exception, path: str) -> OutOfReachError | None:
    """Say why the file is out of reach; None where the error tells of damage."""
    name = getattr(error, "sqlite_errorname", "")
    # A damaged header may call the file read-only, which the system does not.
    is_header = name == "SQLITE_READONLY" and os.access(path, os.W_OK)
    if not name.startswith(OUT_OF_REACH) or name == CUT_OFF or is_header:
        return None
    return OutOfReachError(errno.EIO, f"out of reach: {error}", path)
