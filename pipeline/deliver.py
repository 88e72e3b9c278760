"""Putting outputs into their files, noted as ours before they appear.

A file that is in the way and that nobody of ours made is moved, and never lost: whoever put it
there may want it back.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pipeline.files import is_there
from pipeline.photo import Stamp, take_stamp

if TYPE_CHECKING:
    from pipeline.built import Output
    from pipeline.work import Bench, Job

DISPLACED = "displaced"


class Delivery(NamedTuple):
    """The stamps of a node's files, and where files of others are now that were in the way."""

    stamps: dict[str, Stamp]
    displaced: tuple[str, ...]


def deliver(
    job: Job, bench: Bench, made: Iterable[Output], outputs: Mapping[str, bytes]
) -> Delivery:
    """Make the files of some outputs, by role, and stamp those of all."""
    files = {one.path: one for one in made if one.path is not None}
    displaced = _make_room(job, bench, (path for path, one in files.items() if one.role in outputs))
    # Before they appear, so that a kill leaves no file that nobody knows.
    bench.ledger.note({path: one.sha for path, one in files.items()})
    stamps = {}
    for place, one in files.items():
        path = f"{job.at.root}/{place}"
        if one.role in outputs:
            bench.cache.put_in_place(one.sha, outputs[one.role], path, job.at.scratch)
        stamps[place] = take_stamp(path)
    return Delivery(stamps, displaced)


def _make_room(job: Job, bench: Bench, paths: Iterable[str]) -> tuple[str, ...]:
    """Move what is in the way of outputs and was never ours; say where it is now."""
    root = job.at.root
    in_the_way = [path for path in paths if path not in job.known and is_there(f"{root}/{path}")]
    if not in_the_way:
        return ()
    ours, private = bench.ledger.files(), os.path.dirname(job.at.ledger)
    return tuple(_displace(root, private, path) for path in in_the_way if path not in ours)


def _displace(root: str, private: str, path: str) -> str:
    """Move a file of the project out of the way, to a place that was free, and name that."""
    place = f"{private}/{DISPLACED}/{path}"
    numbered = (f"{place}.{number}" for number in itertools.count(1))
    free = next(one for one in itertools.chain([place], numbered) if not os.path.lexists(one))
    os.makedirs(os.path.dirname(free), exist_ok=True)
    shutil.move(f"{root}/{path}", free)
    return free.removeprefix(f"{root}/")
