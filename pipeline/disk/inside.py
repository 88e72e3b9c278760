"""Files of the project, read only where they lie inside its root.

A check of the path is not enough: somebody may swap a symbolic link between the check and the
read. So the file is opened first, and then the system is asked where the opened file lies. That
is one system call more for each file, whatever links are on its path.
"""

from __future__ import annotations

import errno
import os
import sys
from functools import cache

from pipeline.disk.file import NO_FILE, open_to_read, read_handle

OPEN_TRIES = 3  # a file that is saved by rename at this moment is opened again
_PATH_BYTES = 1024  # as long as a path can be that macOS gives


class OutsideError(OSError):
    """A path leads through a symbolic link to a file outside of the project."""

    def __init__(self, path: str, leads_to: str) -> None:
        super().__init__(errno.EXDEV, f"link leads out of the project, to {leads_to}", path)
        self.leads_to = leads_to


def read_inside(root: str, path: str) -> bytes:
    """Read a file of the project; raise OutsideError where what was opened lies outside."""
    full = f"{root}/{path}"
    for _ in range(OPEN_TRIES):
        handle = open_to_read(full)
        try:
            place = _place_of_handle(handle) or _place_of_path(full, handle)
            if place and not place.startswith(_prefix_of(root)):
                raise OutsideError(path, place)
            if place:
                return read_handle(handle, full)
        finally:
            os.close(handle)
    raise OSError(errno.EAGAIN, "the file is being replaced by another", full)


def read_inside_if_there(root: str, path: str) -> bytes | None:
    """Read a file of the project, or return None where there is no plain file."""
    try:
        return read_inside(root, path)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise


def open_folder_inside(root: str, folder: str) -> int:
    """Open a folder of the project, made where it lacks; OutsideError where it lies outside.

    What is then done relative to the handle stays in that folder, whatever becomes of its path.
    """
    full = f"{root}/{folder}"
    handle = _open_or_make(full)
    try:
        place = _place_of_handle(handle) or os.path.realpath(full)
        if not f"{place}{os.sep}".startswith(_prefix_of(root)):
            raise OutsideError(folder, place)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _open_or_make(folder: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY
    try:
        return os.open(folder, flags)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        return os.open(folder, flags)


@cache
def _prefix_of(root: str) -> str:
    """Return what the paths of all files below a root begin with."""
    return _place_of_root(root).rstrip(os.sep) + os.sep


def _place_of_root(root: str) -> str:
    """Return the root as the system spells it, which may differ in links and in letter case."""
    try:
        handle = os.open(root, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return os.path.realpath(root)
    try:
        return _place_of_handle(handle) or os.path.realpath(root)
    finally:
        os.close(handle)


def _place_of_handle(handle: int) -> str:
    """Return the path of an opened file, without links; "" where the system can't tell."""
    try:
        if sys.platform == "darwin":
            return _place_on_macos(handle)
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return ""


def _place_on_macos(handle: int) -> str:
    import fcntl

    command: int = fcntl.F_GETPATH  # type: ignore[attr-defined, unused-ignore]
    place: bytes = fcntl.fcntl(handle, command, bytes(_PATH_BYTES))
    return os.fsdecode(place.rstrip(b"\0"))


def _place_of_path(path: str, handle: int) -> str:
    """Return the path without links; "" where another file than the opened one is there now."""
    try:
        place = os.path.realpath(path)
        is_same = os.path.samestat(os.lstat(place), os.fstat(handle))
    except OSError:
        return ""
    return place if is_same else ""
