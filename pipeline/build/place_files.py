"""Writing outputs to their files, recorded as ours before they appear.

A file that is in the way and that we did not write is moved, never lost.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from pipeline.build.job import RunConfig
from pipeline.cache.local import Cache
from pipeline.disk.file import is_equal, is_there, read_if_there
from pipeline.disk.listing import Stamp, take_stamp
from pipeline.output import Output
from pipeline.state.ledger import Ledger

DISPLACED = "displaced"


class Tools:
    """The open files of a process for the jobs of one run; its threads may share them."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.cache = Cache(config.cache)
        self.ledger = Ledger(config.ledger)

    def close(self) -> None:
        """Close the files."""
        self.ledger.close()
        self.cache.close()


class Placement(NamedTuple):
    """The stamps of a node's files, and where displaced files of others are now."""

    stamps: dict[str, Stamp]
    displaced: tuple[str, ...]


def place_files(
    tools: Tools,
    outputs: Iterable[Output],
    load: Callable[[Output], bytes | None],
    known: Iterable[str],
    made: Mapping[str, bytes] = MappingProxyType({}),
) -> Placement | None:
    """Write every output to its file; None where bytes that a file lacks can't be loaded.

    A file that has the right bytes is not touched. `known` are the files that the node owns, `made`
    the outputs by role that are in memory anyway.
    """
    root = tools.config.root
    files = {one.path: one for one in outputs if one.path is not None}
    lacking: dict[str, bytes] = {}
    in_the_way: list[str] = []
    for path, one in files.items():
        if is_there(f"{root}/{path}"):
            if _is_output(f"{root}/{path}", one, made.get(one.role)):
                continue
            in_the_way.append(path)
        data = load(one)
        if data is None:
            return None
        lacking[path] = data
    displaced = make_room(tools, in_the_way, set(known)) if in_the_way else ()
    # Before they appear, so that a kill leaves no file that nobody knows.
    tools.ledger.note({path: one.sha for path, one in files.items()})
    for path, data in lacking.items():
        tools.cache.put_in_place(files[path].sha, data, f"{root}/{path}", tools.config.scratch)
    return Placement({path: take_stamp(f"{root}/{path}") for path in files}, displaced)


def _is_output(path: str, one: Output, data: bytes | None) -> bool:
    """Tell whether a file has the bytes of an output."""
    # An altered large file often differs early, and to compare is quicker than to hash.
    return has_bytes(path, one.sha) if data is None else is_equal(path, data)


def has_bytes(path: str, sha: str) -> bool:
    """Tell whether a file is there and has a digest."""
    data = read_if_there(path)
    return data is not None and hashlib.sha256(data).hexdigest() == sha


def make_room(tools: Tools, paths: Iterable[str], known: set[str]) -> tuple[str, ...]:
    """Move files that are in the way and that we never wrote; return where they are now."""
    root = tools.config.root
    unknown = [p for p in paths if p not in known and not os.path.isdir(f"{root}/{p}")]
    if not unknown:
        return ()
    noted, private = tools.ledger.files(), os.path.dirname(tools.config.ledger)
    # The bytes count: somebody may have put a file where an output of ours was before.
    others = [
        path
        for path in unknown
        if not any(has_bytes(f"{root}/{path}", sha) for sha in noted.get(path, ()))
    ]
    return tuple(_displace(root, private, path) for path in others)


def _displace(root: str, private: str, path: str) -> str:
    """Move a file of the project to a free name in the private folder, and return that."""
    place = f"{private}/{DISPLACED}/{path}"
    numbered = (f"{place}.{number}" for number in itertools.count(1))
    free = next(one for one in itertools.chain([place], numbered) if not os.path.lexists(one))
    os.makedirs(os.path.dirname(free), exist_ok=True)
    shutil.move(f"{root}/{path}", free)
    return free.removeprefix(f"{root}/")
