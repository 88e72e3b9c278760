"""A copy of a manifest's outputs in a folder of somebody else's, such as cargo's OUT_DIR.

A ledger in the copy's own dot folder names what was put there. The one rule: only what the ledger
names is ever removed, and a file that already has the right bytes is not touched, so that tools
which look at times see no change where there is none.
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
    # Without a ledger of ours, files in the folder belong to somebody else.
    if known is None and os.path.isdir(folder) and os.listdir(folder):
        raise NotOursError(folder)
    before = set((known or b"").decode().splitlines())
    # First the ledger, with old and new: whatever happens then, nothing is left unaccounted for.
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
