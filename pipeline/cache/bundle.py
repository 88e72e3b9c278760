"""Bundles: many receipts in one file, because a file for each costs more than a small node does.

A bundle is a sequence of records: a head (HEAD), then the receipt. Each process appends to a bundle
of its own and reads those of all processes. A record can be read as soon as it was written, so a
killed build keeps what it finished; readers stop at a torn end. A process that ends well leaves an
index beside its bundle, so that others need not scan it.

A record is dropped by overwriting one byte, its state: that is atomic, all processes see it at
once, and nothing else of the bundle moves. Trimming removes bundles, or rewrites those that are
mostly dropped records.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import threading
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import BinaryIO, NamedTuple

import xxhash

from pipeline.disk.file import read_if_there, write_whole
from pipeline.disk.temporary import unique_name

SUFFIX, INDEX = ".bundle", ".index"
# State, length of the receipt, fingerprint, checksum of length and fingerprint. The state is not
# part of the checksum because it changes.
HEAD = struct.Struct(">BI32sI")
# No single flipped bit makes a live record of another, only a missing one.
LIVE, DROPPED = 0xFF, 0x00
ENTRY = struct.Struct(">32sQI")  # of an index: fingerprint, offset of the record, length
DIGEST_BYTES = 16
MOST_OPEN = 64  # a process may have few files open, and rarely reads from more bundles than this


class Record(NamedTuple):
    """Where a receipt is: its bundle, the offset of its head, and the length of the receipt."""

    path: str
    start: int
    length: int

    @property
    def end(self) -> int:
        """The offset after the receipt."""
        return self.start + HEAD.size + self.length


class Head(NamedTuple):
    """The head of a record."""

    is_live: bool
    length: int
    fingerprint: str


def pack_record(fingerprint: str, receipt: bytes) -> bytes:
    """Serialise a live record."""
    key, length = bytes.fromhex(fingerprint), len(receipt)
    return HEAD.pack(LIVE, length, key, zlib.crc32(key, length)) + receipt


def unpack_head(data: bytes | mmap.mmap, start: int) -> Head | None:
    """Read the head at an offset; None where there is none."""
    if start + HEAD.size > len(data):
        return None
    state, length, key, checksum = HEAD.unpack_from(data, start)
    if zlib.crc32(key, length) != checksum:
        return None
    return Head(state == LIVE, length, key.hex())


def scan_records(path: str, start: int = 0) -> Iterator[tuple[Head, Record]]:
    """Give all records of a bundle from an offset on, up to the first that is not whole."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size <= start:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            while (head := unpack_head(data, start)) is not None:
                record = Record(path, start, head.length)
                if record.end > len(data):
                    return
                yield head, record
                start = record.end


def list_records(path: str) -> Iterator[tuple[Head, Record]]:
    """Give all records of a bundle; those behind a damaged head are found by the index."""
    end = 0
    for head, record in scan_records(path):
        end = record.end
        yield head, record
    index = Index.load(path)
    for record in index.records() if index is not None else ():
        found = next(scan_records(path, record.start), None) if record.start > end else None
        if found is not None and found[1] == record:
            yield found


def read_record(record: Record, fingerprint: str) -> bytes | None:
    """Read a receipt; None where it was dropped, or where the record is of another or not whole."""
    with open(record.path, "rb", buffering=0) as file:
        file.seek(record.start)
        return _receipt_in(file.read(HEAD.size + record.length), record, fingerprint)


def _receipt_in(data: bytes, record: Record, fingerprint: str) -> bytes | None:
    head = unpack_head(data, 0)
    if head != (True, record.length, fingerprint) or len(data) < HEAD.size + record.length:
        return None
    return data[HEAD.size :]


class OpenBundles:
    """Bundles that stay open to be read from: restoring a small node is mostly system calls.

    Only where a file can be removed while it is open, so that nobody's trim is held up. A removed
    bundle is found missing although it is open: what a trim has dropped must not come back.
    """

    def __init__(self) -> None:
        self._handles: dict[str, int] = {}

    def read(self, record: Record, fingerprint: str) -> bytes | None:
        """Do as `read_record` does, FileNotFoundError for a removed bundle included."""
        handle = self._handles.get(record.path)
        if handle is None:
            if not hasattr(os, "pread") or len(self._handles) >= MOST_OPEN:
                return read_record(record, fingerprint)
            handle = self._handles[record.path] = os.open(record.path, os.O_RDONLY)
        elif not os.fstat(handle).st_nlink:
            self.close(record.path)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), record.path)
        data = os.pread(handle, HEAD.size + record.length, record.start)
        return _receipt_in(data, record, fingerprint)

    def close(self, path: str) -> None:
        """Close one bundle."""
        os.close(self._handles.pop(path))

    def close_all(self) -> None:
        """Close all bundles."""
        for path in list(self._handles):
            self.close(path)

    def __del__(self) -> None:
        self.close_all()


def drop_record(record: Record, fingerprint: str) -> None:
    """Mark a record as dropped, for all processes that read it from now on."""
    with open(record.path, "r+b", buffering=0) as file:
        stat = os.fstat(file.fileno())
        file.seek(record.start)
        head = unpack_head(file.read(HEAD.size), 0)
        # An index that does not fit its bundle must not make us write into another receipt.
        if head is not None and head.fingerprint == fingerprint:
            file.seek(record.start)
            file.write(bytes([DROPPED]))
    # To drop a record is no use of the others: trimming goes by the time of last use.
    os.utime(record.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def rewrite_bundles(ends: Mapping[str, int], kept: Iterable[Record], scratch: str) -> str:
    """Copy records of some bundles into a new one, then remove the old bundles; name the new one.

    `ends` says up to where each bundle was read: records that a running build has appended since
    are copied as well. The new bundle is complete before the old ones go, so a kill leaves some
    records twice and loses none. Its time of last use is the latest of theirs.
    """
    new = f"{os.path.dirname(next(iter(ends)))}/{unique_name()}{SUFFIX}"
    temporary = f"{scratch}/{unique_name()}"
    os.makedirs(scratch, exist_ok=True)
    used = max(os.stat(path).st_mtime for path in ends)
    entries: dict[str, Record] = {}
    try:
        with open(temporary, "wb") as file:
            for record in kept:
                _copy_record(record, new, file, entries)
            for path, end in ends.items():
                for _, record in scan_records(path, end):
                    _copy_record(record, new, file, entries)
        os.utime(temporary, (used, used))
        Index.write(new, entries, scratch)
        os.replace(temporary, new)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    for path in ends:
        remove_bundle(path)
    return new


def _copy_record(record: Record, new: str, file: BinaryIO, entries: dict[str, Record]) -> None:
    with open(record.path, "rb", buffering=0) as source:
        source.seek(record.start)
        data = source.read(record.end - record.start)
    head = unpack_head(data, 0)
    if head is not None and head.is_live and len(data) == HEAD.size + head.length:
        entries[head.fingerprint] = Record(new, file.tell(), head.length)
        file.write(data)


def remove_bundle(path: str) -> None:
    """Remove a bundle and its index."""
    for one in (path + INDEX, path):
        with suppress(FileNotFoundError):
            os.unlink(one)


class Index:
    """What is in a bundle that is complete: entries by fingerprint, after a digest of them all."""

    def __init__(self, path: str, entries: bytes) -> None:
        self._path, self._entries = path, entries

    @staticmethod
    def load(path: str) -> Index | None:
        """Read the index of a bundle; None where there is none, or none that is whole."""
        data = read_if_there(path + INDEX) or b""
        entries = data[DIGEST_BYTES:]
        if (
            not entries
            or len(entries) % ENTRY.size
            or xxhash.xxh3_128_digest(entries) != data[:DIGEST_BYTES]
        ):
            return None
        return Index(path, entries)

    @staticmethod
    def write(path: str, records: Mapping[str, Record], scratch: str) -> None:
        """Write the index of a bundle: the last record of each fingerprint."""
        rows = sorted((bytes.fromhex(key), one.start, one.length) for key, one in records.items())
        entries = b"".join(ENTRY.pack(*row) for row in rows)
        write_whole(path + INDEX, xxhash.xxh3_128_digest(entries) + entries, scratch)

    def records(self) -> list[Record]:
        """Give all records, in the order of the bundle."""
        rows = ENTRY.iter_unpack(self._entries)
        return sorted(Record(self._path, start, length) for _, start, length in rows)

    def find(self, fingerprint: str) -> Record | None:
        """Find a record by bisection: most processes need a few of many thousand entries."""
        key, entries, size = bytes.fromhex(fingerprint), self._entries, ENTRY.size
        starts = range(0, len(entries), size)
        at = bisect_left(starts, key, key=lambda start: entries[start : start + len(key)])
        if at == len(starts):
            return None
        found, start, length = ENTRY.unpack_from(entries, starts[at])
        return Record(self._path, start, length) if found == key else None


class Bundles:
    """The bundles in a folder, as one process reads them and adds to them; threads may share it."""

    def __init__(self, folder: str, scratch: str) -> None:
        self.folder, self._scratch = folder, scratch
        self._indexes: dict[str, Index] = {}
        # Records of bundles without an index, and our own. A fingerprint has more than one where
        # it was dropped and stored again.
        self._records: dict[str, tuple[Record, ...]] = {}
        self._scanned: dict[str, int] = {}
        self._gone: set[str] = set()  # bundles that a trim has removed
        self._used: set[str] = set()
        self._open_bundles = OpenBundles()
        self._own: int | None = None
        self._own_path = ""
        self._lock = threading.RLock()
        self._is_known = False

    def find(self, fingerprint: str) -> bytes | None:
        """Read a receipt that was there when this process last looked, or that it added."""
        data = self._find_known(fingerprint)
        if data is None and not self._is_known:
            # A trim has removed a bundle meanwhile; what it kept is in a new one.
            data = self._find_known(fingerprint)
        return data

    def _find_known(self, fingerprint: str) -> bytes | None:
        for record in self._candidates(fingerprint):
            try:
                with self._lock:  # another thread may close what this one reads
                    data = self._open_bundles.read(record, fingerprint)
            except FileNotFoundError:
                self._forget_bundle(record.path)
                continue
            except OSError:  # it can't be read now, which is as good as missing
                continue
            if data is not None:
                self._note_use(record.path)
                return data
        return None

    def __contains__(self, fingerprint: str) -> bool:
        return self.find(fingerprint) is not None

    def _note_use(self, path: str) -> None:
        if path not in self._used:
            self._used.add(path)
            with suppress(OSError):
                os.utime(path)

    def _candidates(self, fingerprint: str) -> list[Record]:
        """Give the records of a fingerprint, dropped ones included."""
        if not self._is_known:
            self.refresh()
        if not (self._indexes or self._records):
            return []
        found = (one.find(fingerprint) for one in list(self._indexes.values()))
        known = [*self._records.get(fingerprint, ()), *(one for one in found if one)]
        return [one for one in known if one.path not in self._gone]

    def _forget_bundle(self, path: str) -> None:
        with self._lock:
            self._gone.add(path)
            self._indexes.pop(path, None)
            self._is_known = False

    def refresh(self) -> None:
        """Find out which records there are by now, those of other processes included."""
        with self._lock:
            for path in list_bundles(self.folder):
                if path not in self._indexes and path != self._own_path:
                    self._read_contents(path)
            self._is_known = True

    def _read_contents(self, path: str) -> None:
        start = self._scanned.get(path, 0)
        index = None if start else Index.load(path)
        if index is not None:
            self._indexes[path] = index
            return
        with suppress(FileNotFoundError):  # another process has just removed it
            for head, record in scan_records(path, start):
                self._note_record(head.fingerprint, record)
                start = record.end
        self._scanned[path] = start

    def _note_record(self, fingerprint: str, record: Record) -> None:
        """Remember a record, before older ones of its fingerprint."""
        self._records[fingerprint] = (record, *self._records.get(fingerprint, ()))

    def add(self, fingerprint: str, receipt: bytes) -> None:
        """Append a receipt, whole or not at all."""
        self.add_all({fingerprint: receipt})

    def add_all(self, receipts: Mapping[str, bytes]) -> None:
        """Append receipts by fingerprint with one write: all of them, or none."""
        data = b"".join([pack_record(*one) for one in receipts.items()])
        with self._lock:
            handle, start = self._open()
            try:
                if os.write(handle, data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._own_path)
            except OSError:
                os.ftruncate(handle, start)
                raise
            for fingerprint, receipt in receipts.items():
                record = Record(self._own_path, start, len(receipt))
                self._note_record(fingerprint, record)
                start = record.end

    def _open(self) -> tuple[int, int]:
        """Give this process's bundle and its end; begin another where a trim has removed it."""
        if self._own is not None:
            stat = os.fstat(self._own)
            if stat.st_nlink:
                return self._own, stat.st_size
        self._end_own_bundle()
        os.makedirs(self.folder, exist_ok=True)
        self._own_path = f"{self.folder}/{unique_name()}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._own = os.open(self._own_path, flags, 0o666)
        return self._own, 0

    def drop(self, fingerprint: str) -> None:
        """Drop a receipt for all processes; one that is stored later is found again."""
        for record in self._candidates(fingerprint):
            with suppress(FileNotFoundError):
                drop_record(record, fingerprint)
        with self._lock:
            self._records.pop(fingerprint, None)

    def close(self) -> None:
        """Close this process's bundle and leave an index of it."""
        self._open_bundles.close_all()
        self._end_own_bundle()

    def _end_own_bundle(self) -> None:
        if self._own is None:
            return
        is_there = os.fstat(self._own).st_nlink > 0
        os.close(self._own)
        self._own = None
        if is_there:
            with suppress(OSError):  # where it can't be written others scan the bundle
                Index.write(self._own_path, self._own_records(), self._scratch)

    def _own_records(self) -> dict[str, Record]:
        """Give the latest record of each fingerprint in this process's bundle."""
        with self._lock:
            return {
                key: one
                for key, records in self._records.items()
                for one in reversed(records)
                if one.path == self._own_path
            }


def list_bundles(folder: str) -> list[str]:
    """Name the bundles in a folder."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return [f"{folder}/{name}" for name in sorted(names) if name.endswith(SUFFIX)]
