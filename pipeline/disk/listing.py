"""Listings of folders: the names in them, and a stamp of each file.

A stamp (mtime_ns, ctime_ns, size, inode) is only a shortcut past reading: two equal stamps mean
equal content provided that the first was taken when the file had been at rest for a while. So
a listing that is kept leaves out the stamps that were too fresh to trust.
"""

from __future__ import annotations

import errno
import marshal
import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from stat import S_ISLNK, S_ISREG
from typing import Any

import xxhash

from pipeline.disk.file import is_below

Stamp = tuple[int, int, int, int]
Listing = dict[str, Stamp]

FOLDER: Stamp = (0, 0, 0, 0)  # a folder counts by its name alone, which ends in "/"
LINKED_FOLDER: Stamp = (1, 0, 0, 0)
NO_SIZE = -1
UNKNOWN: Stamp = (-1, -1, NO_SIZE, -1)  # equal to no stamp that a file can have

NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)

# The kernel's clock for files ticks every 10 ms at the slowest; some file systems count whole
# or even seconds, and are known by stamps without a fraction.
TICK_NS = 12_000_000
WHOLE_SECONDS_NS = 2_100_000_000


# Stamps of an open folder's regular files by name, and the names of everything else in it.
StampFiles = Callable[[int], tuple[Listing, set[str]]]
# The packed listing of an open folder; None where something in it is for Python to list.
PackFiles = Callable[[int], bytes | None]


def _import_native() -> tuple[StampFiles | None, PackFiles | None]:
    """Import the native loops; None where no compiler was found at installation."""
    try:
        native: Any = import_module("pipeline.disk._stamp")
    except ImportError:
        return None, None
    # An extension of an older installation has the first alone.
    return native.stamp_files, getattr(native, "pack_files", None)


_stamp_files, _pack_files = _import_native()


def is_text(name: str) -> bool:
    """Tell whether a name is UTF-8; a file system may have names that are not."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown_name(name: str) -> str:
    """Return a name that can be printed, with question marks for what is not UTF-8."""
    return name.encode(errors="replace").decode()


def take_listing(folder: str) -> Listing | None:
    """List a folder with the stamp of every file, or return None where there is no such folder."""
    listing = take_listing_or_packed(folder, None)
    assert not isinstance(listing, bytes)
    return listing


def take_listing_or_packed(folder: str, pack_files: PackFiles | None) -> Listing | bytes | None:
    """List a folder, as bytes of `pack_listing` where `pack_files` is able to."""
    try:
        if os.scandir not in os.supports_fd:
            with os.scandir(folder) as entries:
                return _stamped(entries)
        # From an open folder the system finds each file without walking its whole path.
        handle = os.open(folder, os.O_RDONLY)
        try:
            packed = pack_files(handle) if pack_files else None
            return _list_open_folder(handle) if packed is None else packed
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        raise


def _list_open_folder(handle: int) -> Listing:
    """List an open folder; where the native loop is there, Python stamps what is no plain file."""
    listing, others = _stamp_files(handle) if _stamp_files else ({}, None)
    if others == set():
        return listing
    with os.scandir(handle) as entries:
        chosen = entries if others is None else (one for one in entries if one.name in others)
        return listing | _stamped(chosen)


def _stamped(entries: Iterable[os.DirEntry[str]]) -> Listing:
    """Stamp all entries in one loop, because every run stamps every file here."""
    listing: Listing = {}
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            try:
                stat = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it was removed a moment ago; the rest is still listed
                continue
            listing[entry.name] = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
        elif _is_folder(entry):
            listing[entry.name + "/"] = LINKED_FOLDER if entry.is_symlink() else FOLDER
        elif (stamp := _link_stamp(entry)) is not None:
            listing[entry.name] = stamp
    return listing


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a circular link, one through a file, or a path that is too long
        return False


def _link_stamp(entry: os.DirEntry[str]) -> Stamp | None:
    """Stamp the target of a link; None for a pipe, a device and anything else that is no file."""
    try:
        stat = entry.stat()
    except OSError:  # a link to nothing; its own stamp tells when it was made anew
        return _broken_link_stamp(entry)
    if not S_ISREG(stat.st_mode):
        return None
    return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, -stat.st_ino)


def _broken_link_stamp(entry: os.DirEntry[str]) -> Stamp:
    try:
        stat = entry.stat(follow_symlinks=False)
    except OSError:
        return UNKNOWN
    return (stat.st_mtime_ns, stat.st_ctime_ns, NO_SIZE, -stat.st_ino)


def is_broken_link(stamp: Stamp) -> bool:
    """Tell whether a stamp is that of a link that leads to no file."""
    return stamp[2] == NO_SIZE


def is_link(stamp: Stamp) -> bool:
    """Tell whether a stamp is that of a link: the inode is negative then."""
    return stamp[3] < 0


def take_stamp(path: str) -> Stamp:
    """Stamp one file; a missing one gets a stamp that equals no other."""
    try:
        stat = os.lstat(path)
        sign = 1
        if S_ISLNK(stat.st_mode):
            stat, sign = os.stat(path), -1
    except OSError:
        return UNKNOWN
    return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, sign * stat.st_ino)


def pack_listing(listing: Listing | None) -> bytes:
    """Serialise a listing so that equal listings have equal bytes."""
    names = sorted(listing) if listing is not None else None
    stamps = [listing[name] for name in names or ()] if listing is not None else None
    # Version 0 of marshal has no references and no marks for interned strings.
    return marshal.dumps((names, stamps), 0)


def unpack_listing(data: bytes) -> Listing | None:
    """Read what `pack_listing` wrote; the caller has checked its digest."""
    names, stamps = marshal.loads(data)
    return None if names is None else dict(zip(names, stamps, strict=True))


def digest_listing(packed: bytes) -> bytes:
    """Digest a packed listing."""
    return xxhash.xxh3_128_digest(packed)


def is_trusted(stamp: Stamp, now_ns: int) -> bool:
    """Tell whether the file had been at rest for long enough when it was stamped, at `now_ns`."""
    # The change time counts as well: a tool may set the modification time back after writing.
    newest = max(stamp[0], stamp[1])
    whole_seconds = stamp[0] % 1_000_000_000 == 0 and stamp[1] % 1_000_000_000 == 0
    return newest + (WHOLE_SECONDS_NS if whole_seconds else TICK_NS) < now_ns


def without_fresh(listing: Listing | None, now_ns: int) -> Listing | None:
    """Replace stamps that are too fresh to trust by one that never matches."""
    if listing is None or all(is_trusted(stamp, now_ns) for stamp in listing.values()):
        return listing
    return {
        name: stamp if is_trusted(stamp, now_ns) else UNKNOWN for name, stamp in listing.items()
    }


def differing_names(old: Listing | None, new: Listing | None) -> Iterator[str]:
    """Yield the names that appeared, disappeared or have another stamp."""
    old, new = old or {}, new or {}
    for name, stamp in new.items():
        if old.get(name) != stamp or stamp == UNKNOWN:
            yield name
    for name in old:
        if name not in new:
            yield name


# So many files have their stamps unpacked, which takes four times the memory. A folder that is
# large by itself stays so, because to unpack it for each of its files would take too long.
MOST_UNPACKED, LARGE_FOLDER = 1 << 14, 1 << 13


class Snapshot:
    """The project's folders as they are now; each is listed once, when first asked for."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._listings: dict[str, Listing | None] = {}
        self._unpacked = 0  # how many files are in them
        self._packed: dict[str, bytes] = {}
        self._digests: dict[str, bytes] = {}
        self._errors: dict[str, OSError] = {}
        self._links = {"": ""}
        self._places: dict[str, str] = {}

    def digest(self, folder: str) -> bytes:
        """Return the digest of a folder's listing; empty where it can't be listed."""
        if folder not in self._digests:
            packed = self._packed_listing(folder)
            self._digests[folder] = b"" if folder in self._errors else digest_listing(packed)
        return self._digests[folder]

    def _packed_listing(self, folder: str) -> bytes:
        if folder not in self._listings and folder not in self._packed:
            self._list(folder, _pack_files)
        packed = self._packed.get(folder)
        return pack_listing(self._listings[folder]) if packed is None else packed

    def listing(self, folder: str) -> Listing | None:
        """Return a folder's listing; None where it is missing or can't be listed."""
        if folder not in self._listings:
            packed = self._packed.get(folder)
            if packed is None:
                self._list(folder, None)
            else:
                self._keep(folder, unpack_listing(packed))
        return self._listings[folder]

    def _keep(self, folder: str, listing: Listing | None) -> None:
        """Keep a listing as it is, and pack all others where they are too many."""
        if self._unpacked > MOST_UNPACKED:
            self._pack_small_folders()
        self._listings[folder] = listing
        if len(listing or ()) < LARGE_FOLDER:
            self._unpacked += len(listing or ())

    def _pack_small_folders(self) -> None:
        small = [one for one, known in self._listings.items() if len(known or ()) < LARGE_FOLDER]
        for folder in small:
            earlier = self._listings.pop(folder)
            if folder not in self._packed:
                self._packed[folder] = pack_listing(earlier)
        self._unpacked = 0

    def _list(self, folder: str, pack_files: PackFiles | None) -> None:
        path = f"{self.root}/{folder}" if folder else self.root
        try:
            found = take_listing_or_packed(path, pack_files)
        except OSError as error:
            found, self._errors[folder] = None, error
        if isinstance(found, bytes):
            self._packed[folder] = found
        else:
            self._keep(folder, found)

    def error(self, folder: str) -> OSError | None:
        """Return why an existing folder can't be listed, or None."""
        self.listing(folder)
        return self._errors.get(folder)

    def link_to(self, folder: str) -> str:
        """Return the link on the way to a folder; "" where there are only real folders."""
        if folder not in self._links:
            link = self.link_to(folder.rpartition("/")[0])
            is_one = not link and os.path.islink(f"{self.root}/{folder}")
            self._links[folder] = folder if is_one else link
        return self._links[folder]

    def outside(self, path: str) -> str:
        """Return where links lead a file out of the project; "" where it stays inside.

        The file itself is resolved only where it or a folder above it is a link.
        """
        stamp = self.stamp(path)
        is_one = stamp is not None and is_link(stamp)
        leaves = is_one or self.folder_outside(path.rpartition("/")[0])
        return self._resolve(path) if leaves else ""

    def folder_outside(self, folder: str) -> str:
        """Return where links lead a folder out of the project; "" where it stays inside."""
        if folder not in self._places:
            self._places[folder] = self._resolve(folder)
        return self._places[folder]

    def _resolve(self, path: str) -> str:
        place = os.path.realpath(f"{self.root}/{path}")
        return "" if is_below(place, self.root) else place

    def stamp(self, path: str) -> Stamp | None:
        """Return the stamp of a file of the project, or None where there is no such file."""
        folder, _, name = path.rpartition("/")
        return (self.listing(folder) or {}).get(name)
