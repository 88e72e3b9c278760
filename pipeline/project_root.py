"""Where a project begins: the folder that holds `dodo.py` and `doit.cfg`."""

from __future__ import annotations

import os

FILES = ("dodo.py", "doit.cfg")


def is_root(folder: str) -> bool:
    """Tell whether a folder has the files of a project."""
    return all(os.path.isfile(f"{folder}/{name}") for name in FILES)


def find_root_above(folder: str) -> str | None:
    """Return the nearest folder above this one that is a project's root, or None."""
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        if is_root(folder):
            return folder
    return None
