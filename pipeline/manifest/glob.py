"""Patterns of paths: `*`, `?`, `[...]` within a name, `**` for any number of folders.

Names that begin with a dot are matched only by a pattern that begins with a dot, as in a shell,
and `**` does not follow links to folders. The result is sorted, so that the file system's order
does not matter.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from pipeline.disk.listing import LINKED_FOLDER, Listing

Lister = Callable[[str], "Listing | None"]


def has_magic(pattern: str) -> bool:
    """Tell whether the text is a pattern, and not just a path."""
    return any(mark in pattern for mark in "*?[")


def suffix_of(path: str) -> str:
    """Return a file's suffix in lower case, like `posixpath.splitext` but faster."""
    dot = path.rfind(".")
    if dot > 0 and path[dot - 1] not in "./":
        return _suffix_from(path[dot:])
    # The dot may be one that the name begins with.
    name = path[path.rfind("/") + 1 :].lstrip(".")
    return _suffix_from(name[name.rfind(".") :]) if "." in name else ""


@lru_cache(maxsize=1 << 12)  # endings are few, where paths are many
def _suffix_from(ending: str) -> str:
    """Return what follows the last dot of a path as a suffix; "" where that is in a folder."""
    return "" if "/" in ending else ending.lower()


def expand(pattern: str, lister: Lister) -> list[str]:
    """Find the files that a pattern matches, asking `lister` for each folder that it passes."""
    return sorted(set(_walk("", pattern.split("/"), lister)))


def matches(pattern: str, path: str) -> bool:
    """Tell whether a path, as a whole, matches."""
    return _matches(pattern.split("/"), path.split("/"))


def _walk(folder: str, parts: list[str], lister: Lister) -> Iterator[str]:
    head, rest = parts[0], parts[1:]
    # Zero folders first, then each folder once more with the same pattern.
    if head == "**":
        # At the end of a pattern, `**` stands for every file below.
        yield from _walk(folder, rest or ["*"], lister)
        for name in _folders(lister(folder), "*", linked=False):
            yield from _walk(_join(folder, name), parts, lister)
    elif rest and not has_magic(head):
        # Entered without looking: the listing of `folder` then is no input of the plan.
        yield from _walk(_join(folder, head), rest, lister)
    elif rest:
        for name in _folders(lister(folder), head, linked=True):
            yield from _walk(_join(folder, name), rest, lister)
    else:
        names = lister(folder) or ()
        yield from (_join(folder, name) for name in names if name_matches(head, name))


def _folders(listing: Listing | None, pattern: str, linked: bool) -> list[str]:
    return [
        name[:-1]
        for name, stamp in (listing or {}).items()
        if name.endswith("/")
        and (linked or stamp != LINKED_FOLDER)
        and name_matches(pattern, name[:-1])
    ]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _matches(parts: list[str], names: list[str]) -> bool:
    # Both at their end, or a last `**`, which matches no folders as well.
    if not parts or not names:
        return parts in (names, ["**"])
    if parts[0] != "**":
        return name_matches(parts[0], names[0]) and _matches(parts[1:], names[1:])
    here = _matches(parts[1:] or ["*"], names)
    return here or (not names[0].startswith(".") and _matches(parts, names[1:]))


def name_matches(pattern: str, name: str) -> bool:
    """Tell whether one name matches the pattern of one name; a folder's name never does."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    # `match` is enough: the translated pattern ends with an anchor.
    return not name.endswith("/") and _expression(pattern).match(name) is not None


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


def in_other_case(pattern: str, lister: Lister) -> str:
    """Return a pattern with its folders and names as they are written on the disk.

    It is "" where they differ in more than upper and lower case, or not at all.
    """
    found: list[str] = []
    for part in pattern.split("/"):
        if has_magic(part):
            return _if_other("/".join([*found, *pattern.split("/")[len(found) :]]), pattern)
        names = [one.rstrip("/") for one in lister("/".join(found)) or ()]
        same = [one for one in names if one == part] or [
            one for one in names if one.lower() == part.lower()
        ]
        if not same:
            return ""
        found.append(same[0])
    return _if_other("/".join(found), pattern)


def _if_other(found: str, pattern: str) -> str:
    return found if found != pattern else ""
