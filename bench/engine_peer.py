"""The build tools that are measured, and how one run of a tool is measured.

A tool is looked for beside the running Python, then on the path. None is asked for more than one
job at a time.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine_tree import (
    REPOSITORY,
    Tree,
    write_cartwright,
    write_doit,
    write_make,
    write_ninja,
    write_scons,
)

# ru_maxrss counts KiB on Linux and bytes on macOS.
RSS_PER_MB = 1024**2 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took: seconds, CPU seconds of the whole process tree, its largest process."""

    wall: float
    cpu: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Tool:
    """A build tool: how it is called, what it remembers between runs, how it is told the tree."""

    name: str
    program: str
    arguments: tuple[str, ...]
    memory: tuple[str, ...]
    describe: Callable[[Tree], None]

    def command(self, *more: str) -> list[str]:
        """Give the words that run the tool."""
        path = find_program(self.program)
        assert path is not None
        return [path, *self.arguments, *more]


# The same project as whoever types `doit` builds it: doit is imported before anything of ours.
TYPED_DOIT = "cartwright as doit"
OURS = (".cartwright", "cache")
TOOLS = (
    Tool("cartwright", "cartwright", (), OURS, write_cartwright),
    Tool(TYPED_DOIT, "doit", (), OURS, write_cartwright),
    Tool("doit", "doit", (), (".doit.db", ".doit.db.db"), write_doit),
    Tool("scons", "scons", ("-Q", "-s"), (".sconsign.dblite",), write_scons),
    Tool("ninja", "ninja", ("-j1", "--quiet"), (".ninja_log", ".ninja_deps"), write_ninja),
    Tool("make", "make", ("-s",), (), write_make),
)


def find_program(name: str) -> str | None:
    """Find a program beside the running Python, or on the path."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def present(names: Sequence[str]) -> list[Tool]:
    """Give the chosen tools that are there; say which are not."""
    chosen = [tool for tool in TOOLS if not names or tool.name in names]
    missing = [tool for tool in chosen if find_program(tool.program) is None]
    for tool in missing:
        print(f"{tool.name} is not installed and is left out", file=sys.stderr)
    return [tool for tool in chosen if tool not in missing]


def version_of(tool: Tool) -> str:
    """Give the tool's own words for its version."""
    words = [str(find_program(tool.program)), "--version"]
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(\.\d+)+", output)
    return f"{tool.name} {found[0] if found else '?'}"


def environment() -> dict[str, str]:
    """Give the environment of every run: this repository's code, and nobody's settings.

    Settings that forbid bytecode files or buffers would be measured in place of the tools.
    """
    ours = ("CARTWRIGHT", "PYTHON")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return inherited | {"PYTHONPATH": str(REPOSITORY)}


def measure(command: Sequence[str], folder: Path) -> Cost:
    """Run a command in a folder to its end and give what it took; it must succeed."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} failed in {folder}\n{errors.read().decode()}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / RSS_PER_MB)


def median(costs: Iterable[Cost]) -> Cost:
    """Give the median of each figure by itself."""
    rows = [(cost.wall, cost.cpu, cost.peak_mb) for cost in costs]
    return Cost(*(statistics.median(column) for column in zip(*rows, strict=True)))
