"""Putting outputs into their files, noted as ours before they appear.

A file that is in the way and that nobody of ours made is moved, and never lost: whoever put it
there may want it back.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from pipeline.disk.file import is_there, read_if_there
from pipeline.disk.listing import Stamp, take_stamp

if TYPE_CHECKING:
    from pipeline.build.built import Output
    from pipeline.build.work import Bench, Job

DISPLACED = "displaced"


class Delivery(NamedTuple):
    """The stamps of a node's files, and where files of others are now that were in the way."""

    stamps: dict[str, Stamp]
    displaced: tuple[str, ...]


def deliver(
    job: Job, bench: Bench, made: Iterable[Output], load: Callable[[Output], bytes | None]
) -> Delivery | None:
    """Have every output in its file; None where bytes that a file lacks can't be loaded.

    A file that has the right bytes stays untouched.
    """
    root = job.at.root
    files = {one.path: one for one in made if one.path is not None}
    lacking: dict[str, bytes] = {}
    in_the_way: list[str] = []
    for path, one in files.items():
        if is_there(f"{root}/{path}"):
            if _has_bytes(f"{root}/{path}", one.sha):
                continue
            in_the_way.append(path)
        data = load(one)
        if data is None:
            return None
        lacking[path] = data
    displaced = _make_room(job, bench, in_the_way)
    # Before they appear, so that a kill leaves no file that nobody knows.
    bench.ledger.note({path: one.sha for path, one in files.items()})
    for path, data in lacking.items():
        bench.cache.put_in_place(files[path].sha, data, f"{root}/{path}", job.at.scratch)
    return Delivery({path: take_stamp(f"{root}/{path}") for path in files}, displaced)


def _has_bytes(path: str, sha: str) -> bool:
    data = read_if_there(path)
    return data is not None and hashlib.sha256(data).hexdigest() == sha


def _make_room(job: Job, bench: Bench, paths: Iterable[str]) -> tuple[str, ...]:
    """Move files that are in the way of outputs and were never ours; say where they are now."""
    root = job.at.root
    unknown = [p for p in paths if p not in job.known and not os.path.isdir(f"{root}/{p}")]
    if not unknown:
        return ()
    ours, private = bench.ledger.files(), os.path.dirname(job.at.ledger)
    return tuple(_displace(root, private, path) for path in unknown if path not in ours)


def _displace(root: str, private: str, path: str) -> str:
    """Move a file of the project out of the way, to a place that was free, and name that."""
    place = f"{private}/{DISPLACED}/{path}"
    numbered = (f"{place}.{number}" for number in itertools.count(1))
    free = next(one for one in itertools.chain([place], numbered) if not os.path.lexists(one))
    os.makedirs(os.path.dirname(free), exist_ok=True)
    shutil.move(f"{root}/{path}", free)
    return free.removeprefix(f"{root}/")
