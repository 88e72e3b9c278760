"""The cache: fingerprint to receipt, digest to bytes. Deleting any of it changes only the time.

Objects and receipts are named by SHA-256 and never change once they are there, so any number of
projects and processes may share a cache. Every object is checked when it is read; a damaged one
is set aside and treated as missing. A process that makes many results bundles their receipts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from pipeline.cache.bundle import Bundles
from pipeline.cache.receipt import Receipt, is_inline, pack_receipt, unpack_receipt
from pipeline.disk.file import is_there, read_if_there, write_whole
from pipeline.output import Output

OBJECTS, RECEIPTS, BUNDLES = "objects", "receipts", "bundles"
DAMAGED, SCRATCH = "damaged", "tmp"
FEW = 64  # how many receipts of a process are files of their own


class Cache:
    """A folder of objects and receipts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.scratch = f"{folder}/{SCRATCH}"
        self.set_aside: list[str] = []
        self.bundles = Bundles(f"{folder}/{BUNDLES}", self.scratch)
        self._single = 0
        self._spoiled: set[str] = set()
        self._held: dict[str, bytes] | None = None

    def _path(self, kind: str, digest: str) -> str:
        return f"{self.folder}/{kind}/{digest[:2]}/{digest[2:]}"

    def has_object(self, sha: str) -> bool:
        """Tell whether there is an object of that name, unread."""
        return os.path.exists(self._path(OBJECTS, sha))

    def load_object(self, sha: str) -> bytes | None:
        """Read an object and check it; None where it is missing or was damaged."""
        if self._held is not None and sha in self._held:
            return self._held[sha]
        path = self._path(OBJECTS, sha)
        data = read_if_there(path)
        if data is None or hashlib.sha256(data).hexdigest() == sha:
            return data
        self._put_aside(path, sha)
        return None

    def store_object(self, sha: str, data: bytes) -> None:
        """Keep the bytes under their digest, in place of an object that was damaged.

        Outputs may be made by sharing an object's blocks, so it has to be right from here on.
        """
        path = self._path(OBJECTS, sha)
        if read_if_there(path) != data:
            write_whole(path, data, self.scratch)

    def load_output(self, receipt: Receipt, one: Output) -> bytes | None:
        """Give the bytes of an output that a receipt names, or None where they are lost."""
        data = receipt.inline.get(one.role)
        return self.load_object(one.sha) if data is None else data

    def has_output(self, one: Output) -> bool:
        """Tell whether the bytes of an output of a receipt at hand are there, unread."""
        return is_inline(one) or self.has_object(one.sha)

    def put_in_place(self, sha: str, data: bytes, path: str, scratch: str) -> None:
        """Make an output of an object: sharing its blocks where the file system can, else a copy.

        A hard link would let an edited output change the cache; a shared block is copied by the
        file system when either side is written.
        """
        write_whole(path, data, scratch, self._path(OBJECTS, sha))

    def load_receipt(self, fingerprint: str) -> Receipt | None:
        """Read the receipt of a fingerprint and note that it was of use."""
        path = self._path(RECEIPTS, fingerprint)
        if not is_there(path):
            return self._load_bundled(fingerprint)
        receipt = unpack_receipt(read_if_there(path) or b"")
        if receipt is None:
            self._put_aside(path, fingerprint)
            return None
        with suppress(OSError):
            os.utime(path)
        return receipt

    def _load_bundled(self, fingerprint: str) -> Receipt | None:
        data = self.bundles.find(fingerprint)
        if data is None:
            return None
        receipt = unpack_receipt(data)
        if receipt is None:
            self.bundles.forget(fingerprint)
            self._spoiled.add(fingerprint)
            write_whole(f"{self.folder}/{DAMAGED}/{fingerprint}", data, self.scratch)
            self.set_aside.append(fingerprint)
        return receipt

    def load_receipt_of_other(self, fingerprint: str) -> Receipt | None:
        """Read a receipt that another process may have written a moment ago."""
        receipt = self.load_receipt(fingerprint)
        if receipt is None:
            self.bundles.look()
            receipt = self.load_receipt(fingerprint)
        return receipt

    def store_result(
        self, fingerprint: str, receipt: Receipt, outputs: Mapping[str, bytes]
    ) -> None:
        """Keep the outputs of a node, then the receipt that names them."""
        for one in receipt.made:
            if not is_inline(one):
                self.store_object(one.sha, outputs[one.role])
            if self._held is not None:
                self._held[one.sha] = outputs[one.role]
        self.store_receipt(fingerprint, receipt)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep what is stored meanwhile at hand, whatever others remove from the folder."""
        outer = self._held
        self._held = {} if outer is None else outer
        try:
            yield
        finally:
            self._held = outer

    def store_receipt(self, fingerprint: str, receipt: Receipt) -> None:
        """Keep a receipt whose outputs are here, or inside of it.

        It gets a file while they are few, and where it has to hide one that is damaged.
        """
        data = pack_receipt(receipt)
        if self._single < FEW or fingerprint in self._spoiled:
            self._single += 1
            write_whole(self._path(RECEIPTS, fingerprint), data, self.scratch)
        else:
            self.bundles.add(fingerprint, data)

    def unbundle(self) -> None:
        """Make a file of every bundled receipt that has none, last used when its bundle was."""
        for fingerprint, data, used in self.bundles.take_apart():
            path = self._path(RECEIPTS, fingerprint)
            if not is_there(path):
                write_whole(path, data, self.scratch)
                os.utime(path, (used, used))

    def has_receipt(self, fingerprint: str) -> bool:
        """Tell whether there is a receipt, unread."""
        return is_there(self._path(RECEIPTS, fingerprint)) or fingerprint in self.bundles

    def drop_receipt(self, fingerprint: str) -> None:
        """Forget a result, so that it is encoded again."""
        if self.bundles.find(fingerprint) is not None:
            self.unbundle()
        with suppress(FileNotFoundError):
            os.unlink(self._path(RECEIPTS, fingerprint))

    def close(self) -> None:
        """Close the bundle that this process wrote."""
        self.bundles.close()

    def _put_aside(self, path: str, digest: str) -> None:
        os.makedirs(f"{self.folder}/{DAMAGED}", exist_ok=True)
        with suppress(FileNotFoundError):  # another process was quicker
            os.replace(path, f"{self.folder}/{DAMAGED}/{digest}")
        self.set_aside.append(digest)
