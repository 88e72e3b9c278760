"""Making files survive a power cut: what was written has reached the disk when this returns.

Linux has one call for a whole file system, `syncfs`. On ext4 it took about 1 ms after 1 new file,
45 ms after 1,000 and 220 ms after 10,000; a call for each file and folder took 4 ms and 780 ms for
the first two. Elsewhere each file and each folder gets a call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress


def sync_files(files: Iterable[str], folders: Iterable[str]) -> None:
    """Make files, their names and everything below folders survive a power cut.

    Without `syncfs`, only the files and their folders do, and not what is below other folders.
    """
    paths = list(files)
    parents = {os.path.dirname(path) for path in paths}
    if sys.platform.startswith("linux") and _sync_file_systems({*parents, *folders}):
        return
    for path in (*paths, *sorted(parents)):
        _sync_one(path)


def _sync_file_systems(folders: Iterable[str]) -> bool:
    """Sync each file system that one of the folders is on; False if the C library can't."""
    import ctypes

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    done: set[int] = set()
    for folder in sorted(folders):
        try:
            handle = os.open(folder, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            device = os.fstat(handle).st_dev
            if device not in done and syncfs(handle) != 0:
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), folder)
            done.add(device)
        finally:
            os.close(handle)
    return True


def _sync_one(path: str) -> None:
    is_folder = os.path.isdir(path)
    # Windows can't open a folder, and syncs only files that are open for writing.
    flags = os.O_RDONLY if is_folder or sys.platform != "win32" else os.O_RDWR
    with suppress(FileNotFoundError, PermissionError):
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
