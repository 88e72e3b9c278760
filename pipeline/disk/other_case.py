"""Find a file whose name is written in another case, as systems that ignore case allow it."""

from __future__ import annotations

import os
import unicodedata


def find_other_case(root: str, path: str) -> str:
    """Return the path of the one file below `root` that differs from `path` in case alone.

    Return "" where `path` exists, or where there is no such file or several.
    """
    if not path or os.path.lexists(f"{root}/{path}"):
        return ""
    found = ""
    for part in path.split("/"):
        name = _match(f"{root}/{found}", part)
        if not name:
            return ""
        found = f"{found}/{name}" if found else name
    return found if os.path.isfile(f"{root}/{found}") else ""


def _match(folder: str, part: str) -> str:
    try:
        names = os.listdir(folder)
    except OSError:
        return ""
    if part in names:
        return part
    alike = [name for name in names if _fold(name) == _fold(part)]
    return alike[0] if len(alike) == 1 else ""


def _fold(name: str) -> str:
    # Systems differ in how they store accents, too.
    return unicodedata.normalize("NFC", name).casefold()
