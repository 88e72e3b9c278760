"""Files appear whole or not at all: written beside, then renamed into place.

All paths are strings with `/`. Temporary files live in one folder of the project's own, so that
an output folder holds only outputs, unless it is on another device.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from stat import S_ISDIR, S_ISREG

from pipeline.disk.temporary import temporary_name

FICLONE = 0x40049409
WORTH_SHARING = 1 << 16
AT_ONCE = 1 << 20
PART_BYTES = 1 << 20  # of a file that is compared
_BINARY = getattr(os, "O_BINARY", 0)
# To open a pipe waits for whoever writes to it, unless one says not to.
_READ = os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0)
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO)
_cannot_share: set[str] = set()


def write_whole(path: str, data: bytes, scratch: str, twin: str | None = None) -> None:
    """Write a file by rename: readers see the old file, the new one, or none.

    `twin` is a file with the same bytes, whose blocks are shared where the file system can.
    """

    def write(temporary: str) -> None:
        if twin is None or len(data) < WORTH_SHARING or not _clone(twin, temporary):
            _write(temporary, (data,))

    _put_in_place(path, scratch, write)


def write_parts(path: str, parts: Callable[[], Iterable[bytes]], scratch: str) -> None:
    """Write a file by rename, part by part: a large one is never whole in memory."""
    _put_in_place(path, scratch, lambda temporary: _write(temporary, parts()))


def _put_in_place(path: str, scratch: str, write: Callable[[str], None]) -> None:
    # A name of its own for each write: two processes may write the same file at once.
    name = temporary_name()
    try:
        _write_and_rename(f"{scratch}/{name}", path, write)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # On another device only a file that lies there already can be renamed into place.
        _write_and_rename(f"{os.path.dirname(path)}/.{name}", path, write)


def _write_and_rename(temporary: str, path: str, write: Callable[[str], None]) -> None:
    try:
        write(temporary)
        _rename(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _clone(twin: str, path: str) -> bool:
    """Make a copy that shares blocks (a reflink); False where the file system has none."""
    if not sys.platform.startswith("linux") or os.path.dirname(path) in _cannot_share:
        return False
    import fcntl

    try:
        with open(twin, "rb") as source, open(path, "wb") as target:
            fcntl.ioctl(target.fileno(), FICLONE, source.fileno())
    except OSError:
        _cannot_share.add(os.path.dirname(path))
        return False
    return True


def _write(path: str, parts: Iterable[bytes]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY
    try:
        handle = os.open(path, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle = os.open(path, flags, 0o666)
    try:
        for data in parts:
            done = os.write(handle, data) if data else 0
            while done < len(data):
                done += os.write(handle, memoryview(data)[done:])
    finally:
        os.close(handle)


def _rename(temporary: str, path: str) -> None:
    try:
        os.replace(temporary, path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(temporary, path)


def read_file(path: str) -> bytes:
    """Read a whole file in as few system calls as possible: a small node reads several."""
    handle = open_to_read(path)
    try:
        return read_handle(handle, path)
    except OSError as error:
        error.filename = error.filename or path  # an error of reading does not know it
        raise
    finally:
        os.close(handle)


def open_to_read(path: str) -> int:
    """Open a file to read it, without waiting where it is a pipe."""
    return os.open(path, _READ)


def read_handle(handle: int, path: str) -> bytes:
    """Read the rest of an opened file, or raise OSError where it is no plain file."""
    stat = os.fstat(handle)
    if not S_ISREG(stat.st_mode):
        raise _no_file(path, stat.st_mode)
    size = stat.st_size
    data = os.read(handle, size + 1) if size < AT_ONCE else b""
    # One read is enough for most files. A file that grew or shrank meanwhile is read to its end.
    if data and len(data) == size:
        return data
    with open(handle, "rb", buffering=0, closefd=False) as file:
        return data + file.readall()


def _no_file(path: str, mode: int) -> OSError:
    if S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return OSError(errno.ENXIO, "Not a plain file", path)


def read_if_there(path: str) -> bytes | None:
    """Read a whole file, or return None where there is no plain file."""
    try:
        return read_file(path)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise


def is_equal(path: str, data: bytes) -> bool:
    """Tell whether a plain file has these bytes; reading ends at the first part that differs."""
    try:
        handle = open_to_read(path)
    except OSError as error:
        if error.errno in NO_FILE:
            return False
        raise
    try:
        stat = os.fstat(handle)
        return S_ISREG(stat.st_mode) and stat.st_size == len(data) and _reads_as(handle, data)
    finally:
        os.close(handle)


def _reads_as(handle: int, data: bytes) -> bool:
    """Tell whether the rest of an opened file is these bytes."""
    at = 0
    while part := os.read(handle, PART_BYTES):
        if data[at : at + len(part)] != part:
            return False
        at += len(part)
    return at == len(data)


def is_there(path: str) -> bool:
    """Tell whether a path exists, which costs less than a failed open."""
    return os.access(path, os.F_OK)


def remove_empty_folders(path: str, stop: str) -> None:
    """Remove the folder and its parents while they are empty, but never `stop`."""
    while path.startswith(stop + "/"):
        try:
            os.rmdir(path)
        except OSError:
            return
        path = os.path.dirname(path)


def leads_out(path: str, root: str) -> bool:
    """Tell whether symbolic links lead the path out of the project."""
    return not is_below(os.path.realpath(path), root)


def is_below(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or lies in it; both are absolute and without links."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def project_path(root: str, name: str) -> str:
    """Return a path below the root as manifests spell it, however the user wrote it."""
    return os.path.normpath(name.removeprefix(f"{root}/")).replace(os.sep, "/")


def problem_of_link(path: str) -> tuple[str, str]:
    """Return what is wrong with a link that leads to no file, and what the link says."""
    try:
        leads_to = os.readlink(path)
    except OSError:  # somebody is mending it at this moment
        return "link was broken a moment ago", ""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "link leads to itself", leads_to
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return f"link can't be followed: {error.strerror}", leads_to
    return "link leads to nothing", leads_to
