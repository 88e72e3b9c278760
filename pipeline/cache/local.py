"""The cache of one machine: fingerprint to receipt, digest to bytes. Deleting it only costs time.

Objects and receipts are named by SHA-256 and never change once they are there, so any number of
projects and processes may share a cache. Everything is verified when it is read; what is damaged
is set aside and treated as missing. A process with many results keeps their receipts in a bundle.

All of it is below a folder that is named by the format's version, so that versions of Cartwright
with different formats can share a cache folder without reading one another's files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import NamedTuple

from pipeline.cache.bundle import Bundles
from pipeline.cache.receipt import Receipt, has_sound_bytes, pack_receipt, unpack_receipt
from pipeline.disk.batch import write_batch
from pipeline.disk.file import WORTH_SHARING, is_there, read_if_there, write_whole
from pipeline.disk.listing import Stamp, take_stamp
from pipeline.output import Output

# The format of everything in the cache: receipts, bundles, indexes and where they are. Raise it
# with any change to one of them, also where old files would still seem readable.
VERSION = 2
OBJECTS, RECEIPTS, BUNDLES = "objects", "receipts", "bundles"
DAMAGED, SCRATCH = "damaged", "tmp"
FEW = 64  # a process keeps so many receipts as files before it begins a bundle


class _ReadResult(NamedTuple):
    """A receipt that was read last, with its outputs by digest."""

    fingerprint: str
    receipt: Receipt
    made: Mapping[str, Output]


class StoredResult(NamedTuple):
    """A result to be stored: its key, its receipt, and all of its outputs by role."""

    fingerprint: str
    receipt: Receipt
    outputs: Mapping[str, bytes]


class Cache:
    """A folder of objects and receipts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.store = f"{folder}/v{VERSION}"
        self.scratch = f"{self.store}/{SCRATCH}"
        self.set_aside: list[str] = []  # damaged entries, until a result reports them
        self.bundles = Bundles(f"{self.store}/{BUNDLES}", self.scratch)
        self._single = 0  # receipts that this process has stored as files
        self._held: dict[str, bytes] | None = None
        self._last_read: _ReadResult | None = None

    def _path(self, kind: str, digest: str) -> str:
        # 256 folders: some file systems get slow with very many entries in one.
        return f"{self.store}/{kind}/{digest[:2]}/{digest[2:]}"

    def has_object(self, sha: str) -> bool:
        """Tell whether there is an object of that name, without reading it."""
        return os.path.exists(self._path(OBJECTS, sha))

    def load_object(self, sha: str) -> bytes | None:
        """Read and verify an object; None where it is missing or damaged."""
        if self._held is not None and sha in self._held:
            return self._held[sha]
        path = self._path(OBJECTS, sha)
        data = read_if_there(path)
        if data is None or hashlib.sha256(data).hexdigest() == sha:
            return data
        self._set_aside(path, sha)
        return None

    def store_object(self, sha: str, data: bytes) -> None:
        """Store bytes under their digest, also in place of a damaged object.

        Outputs may be made by sharing an object's blocks, so it has to be right from here on.
        """
        path = self._path(OBJECTS, sha)
        # Compared and not only looked for: what is there may be damaged.
        if read_if_there(path) != data:
            write_whole(path, data, self.scratch)

    def load_output(self, receipt: Receipt, one: Output) -> bytes | None:
        """Return the bytes of an output of a receipt, or None where they are lost."""
        data = receipt.inline.get(one.role)
        return self.load_object(one.sha) if data is None else data

    def has_output(self, receipt: Receipt, one: Output) -> bool:
        """Tell whether the bytes of an output of a receipt are there, without reading them."""
        return one.role in receipt.inline or self.has_object(one.sha)

    def put_in_place(self, sha: str, data: bytes, path: str, scratch: str) -> None:
        """Make an output of an object: sharing its blocks where the file system can, else a copy.

        A hard link would let an edited output change the cache; a shared block is copied by the
        file system when either side is written.
        """
        write_whole(path, data, scratch, self._path(OBJECTS, sha))

    def put_all_in_place(
        self, root: str, files: Mapping[str, tuple[str, bytes]], scratch: str
    ) -> dict[str, Stamp]:
        """Make outputs of a project, by path, of digests and bytes; return the stamps of the files.

        Where one cannot be made, OSError names it, and some of the others are there.
        """
        small = {path: data for path, (_, data) in files.items() if len(data) < WORTH_SHARING}
        stamps = write_batch(root, small, scratch)
        for path, (sha, data) in files.items():
            if path not in stamps:
                self.put_in_place(sha, data, f"{root}/{path}", scratch)
                stamps[path] = take_stamp(f"{root}/{path}")
        return stamps

    def load_receipt(self, fingerprint: str) -> Receipt | None:
        """Read and verify a receipt, with its inline bytes, and note the time of its last use."""
        path = self._path(RECEIPTS, fingerprint)
        if not is_there(path):
            return self._load_bundled(fingerprint)
        receipt = _verified(read_if_there(path) or b"")
        if receipt is None:
            self._set_aside(path, fingerprint)
            return None
        # Trimming goes by this time. A cache that may only be read works without it.
        with suppress(OSError):
            os.utime(path)
        return receipt

    def _load_bundled(self, fingerprint: str) -> Receipt | None:
        data = self.bundles.find(fingerprint)
        if data is None:
            return None
        receipt = _verified(data)
        if receipt is None:
            # Copied before it is dropped, so that the damaged bytes can still be looked at.
            write_whole(f"{self.store}/{DAMAGED}/{fingerprint}", data, self.scratch)
            self.bundles.drop(fingerprint)
            self.set_aside.append(fingerprint)
        return receipt

    def load_receipt_of_other(self, fingerprint: str) -> Receipt | None:
        """Read a receipt that another process may have written a moment ago."""
        receipt = self.load_receipt(fingerprint)
        if receipt is None:
            # Files are always looked for; of bundles only what was there at the last look.
            self.bundles.refresh()
            receipt = self.load_receipt(fingerprint)
        return receipt

    def load_output_of_other(self, fingerprint: str, sha: str) -> bytes | None:
        """Read one output of a result that another process may have written a moment ago."""
        last = self._last_read
        if last is None or last.fingerprint != fingerprint:
            receipt = self.load_receipt_of_other(fingerprint)
            if receipt is None:
                return None
            made = {one.sha: one for one in reversed(receipt.made)}
            # A node may read thousands of outputs of one other: its receipt is parsed once.
            last = self._last_read = _ReadResult(fingerprint, receipt, made)
        output = last.made.get(sha)
        return None if output is None else self.load_output(last.receipt, output)

    def store_result(
        self, fingerprint: str, receipt: Receipt, outputs: Mapping[str, bytes]
    ) -> None:
        """Store the outputs of a node, then the receipt that names them."""
        self._store_outputs(receipt, outputs)
        self.store_receipt(fingerprint, receipt)

    def store_results(self, results: Sequence[StoredResult]) -> None:
        """Store many results; their receipts go into the bundle with one write."""
        for one in results:
            self._store_outputs(one.receipt, one.outputs)
        if self._single + len(results) <= FEW:
            for one in results:
                self.store_receipt(one.fingerprint, one.receipt)
        else:
            self.bundles.add_all({one.fingerprint: pack_receipt(one.receipt) for one in results})

    def _store_outputs(self, receipt: Receipt, outputs: Mapping[str, bytes]) -> None:
        for one in receipt.made:
            if one.role not in receipt.inline:
                self.store_object(one.sha, outputs[one.role])
            if self._held is not None:
                self._held[one.sha] = outputs[one.role]

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep in memory what is stored inside the block, whatever others remove from the folder.

        Blocks may nest, and share what they keep: an inner one adds to the outer one's.
        """
        outer = self._held
        self._held = {} if outer is None else outer
        try:
            yield
        finally:
            self._held = outer

    def store_receipt(self, fingerprint: str, receipt: Receipt) -> None:
        """Store a receipt whose outputs are inline or stored already."""
        self.store_packed(fingerprint, pack_receipt(receipt))

    def store_packed(self, fingerprint: str, data: bytes) -> None:
        """Store a serialised receipt: in a file of its own while they are few, else in a bundle."""
        if self._single < FEW:
            self._single += 1
            write_whole(self._path(RECEIPTS, fingerprint), data, self.scratch)
        else:
            self.bundles.add(fingerprint, data)

    def has_receipt(self, fingerprint: str) -> bool:
        """Tell whether there is a receipt, without verifying it."""
        return is_there(self._path(RECEIPTS, fingerprint)) or fingerprint in self.bundles

    def find_receipts(self, fingerprints: Iterable[str]) -> set[str]:
        """Return the fingerprints that there is a receipt of, without verifying it."""
        # Where there is no folder, there is no file: a new cache is asked 256 times, not 100,000.
        has_files = cache(lambda start: os.path.isdir(f"{self.store}/{RECEIPTS}/{start}"))
        return {
            one
            for one in fingerprints
            if (has_files(one[:2]) and is_there(self._path(RECEIPTS, one))) or one in self.bundles
        }

    def drop_receipt(self, fingerprint: str) -> None:
        """Forget a result in all processes, so that it is encoded again."""
        self.bundles.drop(fingerprint)
        with suppress(FileNotFoundError):
            os.unlink(self._path(RECEIPTS, fingerprint))

    def take_set_aside(self) -> tuple[str, ...]:
        """Return the damaged entries that were set aside since the last call."""
        found, self.set_aside = tuple(self.set_aside), []
        return found

    def close(self) -> None:
        """Close the bundle that this process wrote."""
        self.bundles.close()

    def _set_aside(self, path: str, digest: str) -> None:
        os.makedirs(f"{self.store}/{DAMAGED}", exist_ok=True)
        with suppress(FileNotFoundError):  # another process was quicker
            os.replace(path, f"{self.store}/{DAMAGED}/{digest}")
        self.set_aside.append(digest)


def _verified(data: bytes) -> Receipt | None:
    receipt = unpack_receipt(data)
    return receipt if receipt is not None and has_sound_bytes(receipt) else None
