"""Copying large outputs from the local cache to their files, several at once.

To read, to hash and to write many bytes takes no lock of the interpreter: threads of this process
do it side by side, and hand nothing to one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from time import thread_time
from typing import NamedTuple

from pipeline.build.place_files import Tools, has_bytes
from pipeline.disk.file import is_there
from pipeline.disk.listing import Stamp, take_stamp
from pipeline.process.capacity import cores

MOST_THREADS = 4  # each holds a file, and disks take little more at once


class Copied(NamedTuple):
    """The stamps of files by path, without those whose bytes are lost, and what it took."""

    stamps: dict[str, Stamp]
    cpu_seconds: float


def copy_objects(tools: Tools, files: Mapping[str, str]) -> Copied:
    """Write files, by path, of objects by digest, each verified; right files are not touched.

    Where one cannot be written, OSError says so, and some of the others are there.
    """
    if not files:
        return Copied({}, 0.0)
    with ThreadPoolExecutor(min(cores(), MOST_THREADS)) as threads:
        done = list(threads.map(lambda one: _copy(tools, *one), files.items()))
    stamps = {path: stamp for path, (stamp, _) in zip(files, done, strict=True) if stamp}
    return Copied(stamps, sum(seconds for _, seconds in done))


def _copy(tools: Tools, path: str, sha: str) -> tuple[Stamp | None, float]:
    """Return the stamp of a file that has the right bytes now, and the CPU seconds it took."""
    began, place = thread_time(), f"{tools.config.root}/{path}"
    if not (is_there(place) and has_bytes(place, sha)):
        data = tools.cache.load_object(sha)
        if data is None:
            return None, thread_time() - began
        tools.cache.put_in_place(sha, data, place, tools.config.scratch)
    return take_stamp(place), thread_time() - began
