"""Temporary files: named after the run that writes them, so that a later run can remove them.

Several projects, machines and containers may share a cache, where neither a process number nor an
age tells whether a file is still being written. The name of a run does: the state keeps it while
the run lasts, and only the next run of the same project, which holds the lock, removes its files.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable
from contextlib import suppress

NAME = re.compile(r"\.?(run[0-9a-f]{16}-)?\d+-[0-9a-f]{12}-\d+")
# Nobody takes so long to write a file.
GRACE_SECONDS = 3600.0

_process = os.urandom(6).hex()
_serial = itertools.count()
_run = ""


def new_run() -> str:
    """Return the name of a run; no other run, on any machine, has it."""
    return f"run{os.urandom(8).hex()}"


def name_files_after(run: str) -> None:
    """Name the temporary files of this process after a run from now on."""
    global _run  # noqa: PLW0603 - a process works for one run at a time
    _run = run


def unique_name() -> str:
    """Return a name that no other call, in any process or machine, returns."""
    # Processes of several machines or containers may share a cache, and have the same numbers.
    return f"{os.getpid()}-{_process}-{next(_serial)}"


def temporary_name() -> str:
    """Return a unique name for a temporary file of the current run."""
    return f"{_run}-{unique_name()}" if _run else unique_name()


def remove_abandoned(folder: str, before: float) -> None:
    """Remove temporary files of any run that were last written to before a moment."""
    with suppress(FileNotFoundError):
        for entry in list(os.scandir(folder)):
            if NAME.fullmatch(entry.name):
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < before:
                        _remove(entry.path)


def remove_temporaries(folders: Iterable[str], runs: Iterable[str]) -> None:
    """Remove the temporary files of runs from folders; such a file may be hidden by a dot."""
    starts = tuple(f"{dot}{run}-" for run in runs for dot in ("", ".") if run)
    for folder in folders if starts else ():
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in os.listdir(folder):
                if name.startswith(starts):
                    with suppress(OSError):
                        _remove(f"{folder}/{name}")


def _remove(path: str) -> None:
    """Remove a temporary file, or a folder of such: one that was to be renamed whole."""
    try:
        os.unlink(path)
    except (IsADirectoryError, PermissionError):  # which of them depends on the system
        import shutil  # a run with nothing to do must not pay for it

        shutil.rmtree(path)
