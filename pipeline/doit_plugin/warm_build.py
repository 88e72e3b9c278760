"""Builds of `doit watch` and `doit serve` in processes that have imported everything beforehand.

Starting Python and importing doit, numpy and the encoders takes longer than a small build. So a
process does that while nothing is to be built, waits for the names of what to build, builds it as
`doit run` would, and ends. If a module was edited since it was imported, the process starts afresh.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import Any

OWN = ("encoders", "pipeline")
# The rooms that a build uses; what they import themselves comes along.
ROOMS = ("build", "cache", "change", "content", "manifest", "plan", "process", "report", "state")
LIBRARIES = ("doit.doit_cmd", "numpy", "PIL.Image", "tomllib", "multiprocessing.connection")
INTERRUPTED = 130
COMMAND = [sys.executable, "-P", "-m"]  # -P: the game's folder is not first on the path
FRESH = [*COMMAND, "doit", "run"]


class BuildStarter:
    """Starts builds, in a process that is ready if there is one; `streams` are theirs."""

    def __init__(self, **streams: Any) -> None:
        self._streams = streams
        self._ready: subprocess.Popen[Any] | None = None

    def prepare(self) -> None:
        """Start a process that gets ready for the next build, unless there is one."""
        if self._ready is None or self._ready.poll() is not None:
            command = [*COMMAND, __name__]
            self._ready = subprocess.Popen(command, stdin=subprocess.PIPE, **self._streams)

    def __call__(self, names: Iterable[str]) -> subprocess.Popen[Any]:
        """Start a build of some manifests, or of all."""
        ready, self._ready = self._ready, None
        if ready is not None and ready.poll() is None and ready.stdin is not None:
            line = json.dumps([*names]) + "\n"
            with suppress(OSError):  # it died a moment ago
                ready.stdin.write(line if self._streams.get("text") else line.encode())
                ready.stdin.close()
                ready.stdin = None  # `communicate` would flush it
                return ready
        return subprocess.Popen([*FRESH, *names], **self._streams)

    def close(self) -> None:
        """End the process that waits."""
        if self._ready is not None and self._ready.stdin is not None:
            with suppress(OSError):
                self._ready.stdin.close()
            self._ready.wait()
            self._ready = None


def import_all(root: str) -> None:
    """Import what a build of the project will use, as far as it can be imported."""
    for name in LIBRARIES:
        with suppress(Exception):
            importlib.import_module(name)
    for room in ROOMS:
        package = importlib.import_module(f"pipeline.{room}")
        for module in pkgutil.iter_modules(package.__path__, f"pipeline.{room}."):
            with suppress(Exception):  # such as one of an extra that is not installed
                importlib.import_module(module.name)
    importlib.import_module("pipeline.doit_plugin.command.run")
    from pipeline.process.worker import prepare_process

    # Encoders only behind this: it installs the loader that notes which text of them was loaded.
    prepare_process(root)
    for name in encoder_modules(root):
        with suppress(Exception):
            importlib.import_module(name)


def encoder_modules(root: str) -> list[str]:
    """Return the installed modules of encoders that the last plans of the project used."""
    import encoders
    from pipeline.project import Project

    folder = f"{os.path.dirname(os.path.abspath(encoders.__file__ or ''))}/"
    with closing(Project(root, lambda *_: None)) as project:
        records = map(project.state.manifest, project.manifests.stems())
        paths = {path for record in records if record for path, _ in record.modules}
    inside = (path.removeprefix(folder) for path in paths if path.startswith(folder))
    named = (path.removesuffix(".py").split("/") for path in inside if path.endswith(".py"))
    names = [[one for one in parts if one != "__init__"] for parts in named]
    return sorted(".".join(["encoders", *one]) for one in names)


def stamps() -> dict[str, tuple[int, int]]:
    """Return size and time of the files of our own modules that are imported."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name.partition(".")[0] in OWN:
            with suppress(OSError):
                status = os.stat(file)
                found[file] = status.st_size, status.st_mtime_ns
    return found


def main() -> int:
    """Get ready, wait for what to build, and build it."""
    try:
        began = stamps()
        with suppress(Exception):  # what is wrong with the project, the build reports
            import_all(os.getcwd())
        known = {**stamps(), **began}
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        return INTERRUPTED
    if not line:
        return 0
    names: list[str] = json.loads(line)
    if stamps() != known:
        os.execv(sys.executable, [*FRESH, *names])
    from doit.doit_cmd import DoitMain

    sys.argv = ["doit", "run", *names]
    return int(DoitMain().run(sys.argv[1:]) or 0)


if __name__ == "__main__":
    sys.exit(main())
