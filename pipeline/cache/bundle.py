"""Bundles: many receipts in one file, because a file for each costs more than a small node does.

Each process appends to a bundle of its own, and reads those of all. A receipt is found as soon as
it was written, so a killed build keeps what it had finished; a torn end is passed over. A process
that ends well leaves an index beside its bundle, which spares others to go through all of it.
Bundles are taken apart into single files when the cache is trimmed.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress

import xxhash

from pipeline.disk.file import read_if_there, unique_name, write_whole

SUFFIX, INDEX = ".bundle", ".index"
HEAD = struct.Struct(">I32sI")  # the receipt's length, its fingerprint, a checksum of both
ENTRY = struct.Struct(">32sQI")  # a fingerprint, where its receipt begins, and its length
DIGEST_BYTES = 16

Place = tuple[str, int, int]  # a bundle, and where in it a receipt begins and how long it is


def pack_head(fingerprint: str, length: int) -> bytes:
    """Write what stands before a receipt."""
    key = bytes.fromhex(fingerprint)
    return HEAD.pack(length, key, zlib.crc32(key, length))


def heads(path: str, start: int) -> Iterator[tuple[str, Place]]:
    """Give all receipts of a bundle from an offset on, up to the first that is not whole."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size <= start:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            while start + HEAD.size <= len(data):
                length, key, crc = HEAD.unpack_from(data, start)
                start += HEAD.size
                if zlib.crc32(key, length) != crc or start + length > len(data):
                    return
                yield key.hex(), (path, start, length)
                start += length


class Index:
    """What is in a bundle that is complete: entries in order, with a digest before them."""

    def __init__(self, path: str, entries: bytes) -> None:
        self._path, self._entries = path, entries

    @staticmethod
    def load(path: str) -> Index | None:
        """Read the index of a bundle; None where there is none, or none that is whole."""
        data = read_if_there(path + INDEX) or b""
        entries = data[DIGEST_BYTES:]
        if not entries or xxhash.xxh3_128_digest(entries) != data[:DIGEST_BYTES]:
            return None
        return Index(path, entries)

    @staticmethod
    def write(path: str, places: Iterable[tuple[str, Place]], scratch: str) -> None:
        """Write the index of a bundle."""
        rows = sorted((bytes.fromhex(one), start, length) for one, (_, start, length) in places)
        entries = b"".join(ENTRY.pack(*row) for row in rows)
        write_whole(path + INDEX, xxhash.xxh3_128_digest(entries) + entries, scratch)

    def find(self, fingerprint: str) -> Place | None:
        """Say where a receipt is."""
        key = bytes.fromhex(fingerprint)
        low, high = 0, len(self._entries) // ENTRY.size
        while low < high:
            middle = (low + high) // 2
            found, start, length = ENTRY.unpack_from(self._entries, middle * ENTRY.size)
            if found == key:
                return self._path, start, length
            low, high = (middle + 1, high) if found < key else (low, middle)
        return None


class Bundles:
    """The bundles in a folder, as one process sees them and adds to them."""

    def __init__(self, folder: str, scratch: str) -> None:
        self.folder, self._scratch = folder, scratch
        self._indexes: dict[str, Index] = {}
        self._forgotten: set[str] = set()
        self._places: dict[str, Place] = {}
        self._scanned: dict[str, int] = {}
        self._used: set[str] = set()
        self._own: int | None = None
        self._own_path = ""
        self._adding = threading.Lock()
        self._is_known = False

    def find(self, fingerprint: str) -> bytes | None:
        """Read a receipt that was there when this process first looked, or that it added."""
        place = self._place(fingerprint)
        if place is None:
            return None
        if place[0] not in self._used:
            self._used.add(place[0])
            with suppress(OSError):
                os.utime(place[0])
        return _read(place)

    def __contains__(self, fingerprint: str) -> bool:
        return self._place(fingerprint) is not None

    def _place(self, fingerprint: str) -> Place | None:
        if not self._is_known:
            self.look()
        if fingerprint in self._forgotten:
            return None
        found = (one.find(fingerprint) for one in self._indexes.values())
        return self._places.get(fingerprint) or next((one for one in found if one), None)

    def look(self) -> None:
        """Take note of what is there by now, from other processes too."""
        for path in self._paths():
            if path in self._indexes or path == self._own_path:
                continue
            start = self._scanned.get(path, 0)
            index = None if start else Index.load(path)
            if index is not None:
                self._indexes[path] = index
                continue
            with suppress(FileNotFoundError):  # another process has just taken it apart
                for fingerprint, place in heads(path, start):
                    self._places[fingerprint] = place
                    start = place[1] + place[2]
            self._scanned[path] = start
        self._is_known = True

    def _paths(self) -> list[str]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return [f"{self.folder}/{name}" for name in sorted(names) if name.endswith(SUFFIX)]

    def add(self, fingerprint: str, data: bytes) -> None:
        """Keep a receipt, whole or not at all."""
        record = pack_head(fingerprint, len(data)) + data
        with self._adding:
            handle, start = self._open()
            try:
                if os.write(handle, record) != len(record):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._own_path)
            except OSError:
                os.ftruncate(handle, start)
                raise
            self._places[fingerprint] = (self._own_path, start + HEAD.size, len(data))
            self._forgotten.discard(fingerprint)

    def _open(self) -> tuple[int, int]:
        """Give this process's bundle and its end, or begin one where it was taken apart."""
        if self._own is not None:
            stat = os.fstat(self._own)
            if stat.st_nlink:
                return self._own, stat.st_size
        self.close()
        os.makedirs(self.folder, exist_ok=True)
        self._own_path = f"{self.folder}/{unique_name()}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._own = os.open(self._own_path, flags, 0o666)
        return self._own, 0

    def forget(self, fingerprint: str) -> None:
        """Find a receipt no more, in this process."""
        self._forgotten.add(fingerprint)

    def take_apart(self) -> Iterator[tuple[str, bytes, float]]:
        """Give every receipt with the time of its last use; a bundle goes once it was given."""
        for path in self._paths():
            with suppress(OSError):  # another process was quicker, or holds it open
                used = os.stat(path).st_mtime
                for fingerprint, place in heads(path, 0):
                    data = _read(place)
                    if data is not None:
                        yield fingerprint, data, used
                with suppress(FileNotFoundError):
                    os.unlink(path + INDEX)
                os.unlink(path)
        self._places, self._scanned, self._indexes, self._is_known = {}, {}, {}, False

    def close(self) -> None:
        """Close this process's bundle and leave an index of it."""
        if self._own is None:
            return
        is_there = os.fstat(self._own).st_nlink > 0
        os.close(self._own)
        self._own = None
        if is_there:
            path, places = self._own_path, self._places.items()
            with suppress(OSError):  # where it can't be written others do without
                Index.write(path, [one for one in places if one[1][0] == path], self._scratch)


def _read(place: Place) -> bytes | None:
    path, start, length = place
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(start)
            return file.read(length)
    except OSError:
        return None
