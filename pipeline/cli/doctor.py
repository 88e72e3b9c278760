"""`cartwright doctor`: look for what makes builds slow, wrong or impossible on this machine."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from encoders.kit.extra import install_command
from pipeline.cli.extra import absent_libraries, extras
from pipeline.cli.kernel_state import kernel_state
from pipeline.project_root import find_root_above, is_root

OK, NOTE, BAD = "ok", "note", "bad"
CLOCK_SECONDS = 2.0  # FAT counts in steps of two seconds
FREE_BYTES = 1 << 30


class Finding(NamedTuple):
    """One line of the report: a build works with notes, and not with what is bad."""

    state: str
    what: str
    text: str


def run(arguments: Sequence[str]) -> int:
    """Print what was found; exit 1 where something keeps builds from working."""
    if arguments and arguments[0] in ("--help", "-h"):
        print("Usage: cartwright doctor\n")
        print("Look for what makes builds slow, wrong or impossible on this machine.")
        return 0
    if arguments:
        sys.stderr.write(f"ERROR: doctor: {arguments[0]}: it takes no options and no names\n")
        return 3
    here = os.getcwd()
    root = here if is_root(here) else find_root_above(here)
    findings = list(examine(root or here, is_project=root is not None))
    for one in findings:
        print(f"{one.state:<5} {one.what:<13} {one.text}")
    return int(any(one.state == BAD for one in findings))


def examine(root: str, is_project: bool) -> Iterator[Finding]:
    """Yield what is found of the machine and of the project."""
    yield _project(root, is_project)
    yield from _wrong_settings(root)
    yield _kernels()
    yield _compiler()
    yield from _extras()
    yield _folder("cache", os.environ.get("CARTWRIGHT_CACHE") or os.path.join(root, "cache"))
    yield _folder("outputs", os.path.join(root, "build"))
    yield _clock(root)
    yield _case(root)
    yield _shared_cache(root)


def _project(root: str, is_project: bool) -> Finding:
    if is_project:
        return Finding(OK, "project", root)
    return Finding(NOTE, "project", "none here or above; `cartwright init` starts one")


def _wrong_settings(root: str) -> Iterator[Finding]:
    """Yield why pyproject.toml cannot be read, in which doit looks for settings too."""
    import tomllib

    from pipeline.disk.file import read_if_there
    from pipeline.setting import PYPROJECT

    try:
        tomllib.loads((read_if_there(f"{root}/{PYPROJECT}") or b"").decode())
    except (OSError, ValueError) as error:
        yield Finding(BAD, "settings", f"{PYPROJECT} cannot be read: {error}")


def _kernels() -> Finding:
    state = kernel_state()
    return Finding(OK if state.is_used else NOTE, "kernels", state.text)


def _compiler() -> Finding:
    names = ("cc", "gcc", "clang") if os.name != "nt" else ("cl", "gcc", "clang")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found:
        return Finding(OK, "compiler", found)
    return Finding(NOTE, "compiler", "none; it is needed only to install from sources")


def _extras() -> Iterator[Finding]:
    for name, libraries in extras().items():
        absent = absent_libraries(libraries)
        if absent:
            # Of an extra with several libraries, one that is there must not be said to lack.
            lacks = "is not installed" if absent == [*libraries] else f"lacks {', '.join(absent)}"
            yield Finding(NOTE, "extra", f"{name} {lacks} (`{install_command(name)}`)")
        else:
            yield Finding(OK, "extra", name)


def _folder(what: str, path: str) -> Finding:
    """Check that a folder can be written to, or made, and that there is room."""
    there = path
    while not os.path.exists(there):
        there = os.path.dirname(there)
    if not os.access(there, os.W_OK):
        return Finding(BAD, what, f"{path} can't be written to")
    free = shutil.disk_usage(there).free
    room = f"{path}, {free / 1e9:.1f} GB free"
    return Finding(OK if free > FREE_BYTES else NOTE, what, room)


def _probe(root: str, what: str, look: Callable[[str], Finding]) -> Finding:
    """Look at a new file in the project."""
    try:
        with tempfile.TemporaryDirectory(dir=root, prefix=".cartwright-doctor-") as folder:
            return look(folder)
    except OSError as error:
        return Finding(BAD, what, f"no file can be written to {root}: {error.strerror}")


def _clock(root: str) -> Finding:
    def look(folder: str) -> Finding:
        with open(f"{folder}/probe", "wb") as file:
            file.write(b"x")
        off = os.stat(f"{folder}/probe").st_mtime - time.time()
        if abs(off) <= CLOCK_SECONDS:
            return Finding(OK, "clock", "the file system's agrees with the machine's")
        said = f"the file system's differs from the machine's by {off:.0f} s"
        return Finding(NOTE, "clock", f"{said}; files are compared by content, so this costs time")

    return _probe(root, "clock", look)


def _case(root: str) -> Finding:
    def look(folder: str) -> Finding:
        with open(f"{folder}/probe", "wb"):
            pass
        if os.path.exists(f"{folder}/PROBE"):
            said = "does not tell upper from lower case; machines that do refuse names that differ"
            return Finding(NOTE, "file system", said)
        return Finding(OK, "file system", "tells upper from lower case")

    return _probe(root, "file system", look)


def _shared_cache(root: str) -> Finding:
    """Ask the shared cache for a result that nobody has."""
    from pipeline.cache.shared.address import find_address
    from pipeline.cache.shared.client import RemoteError
    from pipeline.cache.shared.shared_cache import SharedCache
    from pipeline.setting import SettingError

    what = "shared cache"
    try:
        address = find_address(root)
        client = SharedCache(address).client if address else None
    except SettingError as error:
        return Finding(BAD, what, str(error))
    if client is None:
        return Finding(OK, what, "not used (CARTWRIGHT_REMOTE_CACHE is not set)")
    try:
        # Read, not only looked for: to that a bucket that is not there answers as one without it.
        client.get("ac", "0" * 64, limit=0)
    except RemoteError as error:
        # Builds go on without the server, so this is no reason to fail.
        return Finding(NOTE, what, f"{address} can't be used: {error}")
    finally:
        client.close()
    return Finding(OK, what, f"{address} answers")
