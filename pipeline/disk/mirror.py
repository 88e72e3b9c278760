"""A copy of a manifest's outputs in a folder outside of the project, such as cargo's OUT_DIR.

A ledger in a dot folder of the copy lists the copied files. Only listed files are ever removed. A
file that already has the right bytes is not written again, so that its modification time stays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pipeline.disk.file import read_if_there, remove_empty_folders, write_whole

PRIVATE = ".cartwright"


class NotOursError(Exception):
    """The folder holds files that a copy did not put there."""


def mirror(files: Mapping[str, str], folder: str) -> None:
    """Make a folder hold these files (name in it: where the bytes are) and none from before."""
    scratch = f"{folder}/{PRIVATE}"
    ledger = f"{scratch}/files"
    known = read_if_there(ledger)
    # Without a ledger of ours, all files in the folder belong to other programs.
    if known is None and os.path.isdir(folder) and os.listdir(folder):
        raise NotOursError(folder)
    before = set((known or b"").decode().splitlines())
    # First the ledger, with old and new names: a kill then leaves no file that it does not list.
    _note(ledger, before | files.keys(), scratch)
    for name, source in sorted(files.items()):
        data = read_if_there(source)
        if data is not None and read_if_there(f"{folder}/{name}") != data:
            write_whole(f"{folder}/{name}", data, scratch)
    for name in sorted(before - files.keys()):
        _remove(f"{folder}/{name}", folder)
    _note(ledger, set(files), scratch)


def _note(ledger: str, names: set[str], scratch: str) -> None:
    text = "".join(f"{name}\n" for name in sorted(names)).encode()
    if read_if_there(ledger) != text:
        write_whole(ledger, text, scratch)


def _remove(path: str, folder: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
    remove_empty_folders(os.path.dirname(path), folder)
