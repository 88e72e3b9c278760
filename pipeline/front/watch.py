"""`doit watch`: build again when a source changes, and only the manifests that it concerns.

Each build runs in a process of its own: encoders may be among what was edited.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pipeline.front.command import PlainCommand
from pipeline.front.loader import say_waiting
from pipeline.project import MANIFESTS, PRIVATE, Project
from pipeline.session import Session

SETTLE_MS = 200  # editors and exporters write in several steps


class Watch(PlainCommand):
    """Builds, waits, builds again."""

    name = "watch"
    doc_purpose = "build again whenever a source changes"
    doc_usage = "[TARGET ...]"
    doc_description = "Ctrl-C ends it."

    def execute(self, opt_values: Any, pos_args: list[str]) -> int:  # noqa: ARG002 - doit's protocol
        """Build, then build what changes concern, until interrupted."""
        from watchfiles import watch

        root = os.getcwd()
        with suppress(KeyboardInterrupt):
            build(pos_args)
            print("Watching; Ctrl-C ends it.", flush=True)
            for changes in watch(root, debounce=SETTLE_MS, watch_filter=None):
                paths = {os.path.relpath(path, root).replace(os.sep, "/") for _, path in changes}
                stems = concerned(root, pos_args, paths)
                if stems:
                    build(f"{stem}:*" for stem in stems)
        return 0


def build(names: Iterable[str]) -> None:
    """Run doit for some manifests, or for all."""
    subprocess.run([sys.executable, "-m", "doit", "run", *names], check=False)


def concerned(root: str, names: list[str], paths: Iterable[str]) -> list[str]:
    """Name the manifests among the chosen ones that changed paths may matter to."""
    session = Session(Project(root, say_waiting))
    try:
        changed = {path for path in paths if not path.startswith((f"{PRIVATE}/", "cache/"))}
        return [stem for stem in session.choose(names) if is_concerned(session, stem, changed)]
    finally:
        session.project.close()


def is_concerned(session: Session, stem: str, changed: Iterable[str]) -> bool:
    """Tell whether a path lies where a manifest has its sources, or is its text or its code."""
    record = session.project.state.manifest(stem)
    if record is None:
        return True
    modules = {path.removeprefix(f"{session.project.root}/") for path, _ in record["modules"]}
    return any(
        path == f"{MANIFESTS}/{stem}.toml"
        or os.path.dirname(path) in record["inputs"]
        or path in modules
        for path in changed
    )
