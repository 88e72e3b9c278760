"""Many files at once: each appears by rename, as with `write_whole`, at a third of the cost.

Files of one folder go together. The folder is opened first, and what was opened has to lie inside
of the project: a link that somebody puts in its place meanwhile leads nothing out. A folder that is
not there yet is written beside and renamed as a whole, which spares a rename of each file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from stat import S_ISGID
from typing import Any

from pipeline.disk.file import write_whole
from pipeline.disk.inside import open_folder_inside
from pipeline.disk.listing import Stamp, take_stamp
from pipeline.disk.temporary import temporary_name

# Handle of the folder for temporary files, a name in it, handle of the folder, names, contents.
WriteFiles = Callable[[int, str, int, list[str], list[bytes]], list[Stamp]]
DIRECT = ""  # in place of the temporary name: files of a folder that nobody sees yet
WORTH_A_FOLDER = 4  # to make a folder elsewhere and rename it takes as long as to rename so many
# Somebody has made the folder meanwhile, it is on another device, or two names are one to it.
_NOT_SO = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR, errno.EXDEV)
_HAS_FOLDER_HANDLES = {os.open, os.stat, os.unlink, os.rename, os.mkdir} <= os.supports_dir_fd


def write_batch(root: str, files: Mapping[str, bytes], scratch: str) -> dict[str, Stamp]:
    """Write files of the project, by path, each by rename; return their stamps.

    Where one cannot be written, OSError names it, and some of the others are there.
    """
    if not _HAS_FOLDER_HANDLES:
        return {path: _write_alone(root, path, data, scratch) for path, data in files.items()}
    folders: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name] = data
    os.makedirs(scratch, exist_ok=True)
    handle = os.open(scratch, os.O_RDONLY)
    stamps: dict[str, Stamp] = {}
    try:
        for folder, named in folders.items():
            found = _write_folder(root, folder, named, handle)
            for name, data in named.items():
                path = f"{folder}/{name}" if folder else name
                stamp = found.get(name)
                # What is on another device is copied to it first.
                stamps[path] = stamp or _write_alone(root, path, data, scratch)
    finally:
        os.close(handle)
    return stamps


def _write_alone(root: str, path: str, data: bytes, scratch: str) -> Stamp:
    write_whole(f"{root}/{path}", data, scratch)
    return take_stamp(f"{root}/{path}")


def _write_folder(
    root: str, folder: str, files: Mapping[str, bytes], scratch: int
) -> Mapping[str, Stamp]:
    """Write the files of one folder; return no stamps where it is on another device."""
    names, contents = list(files), list(files.values())
    try:
        if folder and len(files) >= WORTH_A_FOLDER:
            stamps = _write_new_folder(root, folder, names, contents, scratch)
            if stamps is not None:
                return dict(zip(names, stamps, strict=True))
        handle = open_folder_inside(root, folder)
        try:
            # One temporary name is enough: it is free again when a file has got its own.
            stamps = _write_files(scratch, temporary_name(), handle, names, contents)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno == errno.EXDEV and not hasattr(error, "leads_to"):
            return {}
        name = error.filename if error.filename in files else names[0]
        error.filename = f"{root}/{folder}/{name}"
        raise
    return dict(zip(names, stamps, strict=True))


def _write_new_folder(
    root: str, folder: str, names: list[str], contents: list[bytes], scratch: int
) -> list[Stamp] | None:
    """Write a whole folder that is not there yet; None where that cannot be done."""
    above, _, name = folder.rpartition("/")
    parent = open_folder_inside(root, above)
    temporary = temporary_name()
    try:
        # A folder inherits the group from the one that it is made in, where that says so.
        if _is_there(parent, name) or os.fstat(parent).st_mode & S_ISGID:
            return None
        os.mkdir(temporary, dir_fd=scratch)
        try:
            stamps = _write_directly(scratch, temporary, names, contents)
            os.rename(temporary, name, src_dir_fd=scratch, dst_dir_fd=parent)
        except BaseException:
            _remove_folder(temporary, scratch)
            raise
    except OSError as error:
        if error.errno in _NOT_SO:
            return None
        raise
    finally:
        os.close(parent)
    return stamps


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _write_directly(
    scratch: int, temporary: str, names: list[str], contents: list[bytes]
) -> list[Stamp]:
    handle = os.open(temporary, os.O_RDONLY, dir_fd=scratch)
    try:
        return _write_files(scratch, DIRECT, handle, names, contents)
    finally:
        os.close(handle)


def _remove_folder(name: str, scratch: int) -> None:
    handle = os.open(name, os.O_RDONLY, dir_fd=scratch)
    try:
        for one in os.listdir(handle):
            os.unlink(one, dir_fd=handle)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=scratch)


def write_files_in_python(
    scratch: int, temporary: str, folder: int, names: list[str], contents: list[bytes]
) -> list[Stamp]:
    """Do as the native loop does."""
    files = zip(names, contents, strict=True)
    return [_write_file(scratch, temporary, folder, *one) for one in files]


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def _write_file(scratch: int, temporary: str, folder: int, name: str, data: bytes) -> Stamp:
    place = (temporary, scratch) if temporary else (name, folder)
    try:
        handle = os.open(place[0], _NEW, 0o666, dir_fd=place[1])
        try:
            _write_data(handle, data)
            if temporary:
                os.rename(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder)
            stat = os.fstat(handle)  # only now, because renaming changes the stamp
        except BaseException:
            with suppress(FileNotFoundError):  # it has its own name already
                os.unlink(place[0], dir_fd=place[1])
            raise
        finally:
            os.close(handle)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), name) from None
    return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


def _write_data(handle: int, data: bytes) -> None:
    done = os.write(handle, data) if data else 0
    while done < len(data):
        done += os.write(handle, memoryview(data)[done:])


def _import_native() -> WriteFiles:
    """Import the native loop; the one in Python where no compiler was found at installation."""
    try:
        native: Any = import_module("pipeline.disk._batch")
    except ImportError:
        return write_files_in_python
    found: WriteFiles = native.write_files
    return found


_write_files = _import_native()
