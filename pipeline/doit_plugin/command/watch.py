"""`doit watch`: build again when a source changes, and only the manifests that it concerns.

Each build runs in a process of its own: encoders may be among what was edited.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.content.code import PACKAGE
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import report_waiting
from pipeline.project import PRIVATE, Project
from pipeline.session import Session, stem_of

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
        refuse_unknown(root, pos_args)
        with suppress(KeyboardInterrupt):
            build(pos_args)
            print("Watching; Ctrl-C ends it.", flush=True)
            for changes in watch(root, debounce=SETTLE_MS, watch_filter=None):
                paths = {os.path.relpath(path, root).replace(os.sep, "/") for _, path in changes}
                wanted = what_to_build(root, pos_args, paths)
                if wanted is not None:
                    build(wanted)
        return 0


def build(names: Iterable[str]) -> None:
    """Run doit for some manifests, or for all."""
    subprocess.run([sys.executable, "-m", "doit", "run", *names], check=False)


def refuse_unknown(root: str, names: Iterable[str]) -> None:
    """Refuse words that are about no manifest: they would be taken for all of them."""
    with closing(Project(root, report_waiting)) as project:
        targets = Session(project).targets()
    known = sorted({*targets, *targets.values()})
    for name in names:
        if stem_of(name) not in known:
            there_are = f"there are {', '.join(known)}" if known else "there are none yet"
            raise InvalidCommand(f'watch: "{name}" is no manifest and no target; {there_are}')


def what_to_build(root: str, names: list[str], paths: Iterable[str]) -> list[str] | None:
    """Say what to run doit for after paths changed: an empty list is all, None is nothing."""
    changed = [path for path in paths if not is_private(path)]
    with closing(Project(root, report_waiting)) as project:
        session = Session(project)
        if changed and not names and set(project.state.stems()) - set(project.stems()):
            return []  # a manifest is no more, and only a run for all removes its outputs
        known = {*session.targets(), *session.targets().values()}
        left = [name for name in names if stem_of(name) in known]
        chosen = session.choose(left) if left or not names else []
        stems = [stem for stem in chosen if is_concerned(project, stem, changed)]
    wanted = [name for stem in stems for name in names_in(stem, left)]
    return wanted or None


def names_in(stem: str, names: Iterable[str]) -> list[str]:
    """Give the user's words for a manifest; all of it, where they name nothing in particular."""
    tasks = [name for name in names if name.startswith(f"{stem}:")]
    return [f"{stem}:*"] if stem in names or not tasks else tasks


def is_private(path: str) -> bool:
    """Tell whether a path is none of the user's: what tools keep for themselves."""
    return path.startswith("cache/") or any(
        part in (PRIVATE, ".git", "__pycache__") for part in path.split("/")
    )


def is_concerned(project: Project, stem: str, changed: Iterable[str]) -> bool:
    """Tell whether a changed path may matter to a manifest.

    What a plan looked at is known only of the last one that was sound. A manifest that was edited
    since may wait for any file but an output.
    """
    record = project.state.manifest(stem)
    if record is None or record["digest"] != project.manifest_digest(stem):
        return bool(without_outputs(project, changed))
    files = {path.removeprefix(f"{project.root}/") for path, _ in record["modules"]}
    files.add(project.manifest_file(stem))
    return any(
        path in files
        or is_own_code(path)
        or posixpath.dirname(path) in record["inputs"]
        or any(f"{folder}/".startswith(f"{path}/") for folder in record["inputs"])
        for path in changed
    )


def is_own_code(path: str) -> bool:
    """Tell whether a path is a module of the game's own encoders, perhaps one that was missing."""
    return path.startswith(f"{PACKAGE}/") and path.endswith(".py")


def without_outputs(project: Project, paths: Iterable[str]) -> list[str]:
    """Leave out what lies in output folders."""
    records = map(project.state.manifest, project.state.stems())
    folders = tuple(f"{record['output']}/" for record in records)
    return [path for path in paths if not f"{path}/".startswith(folders)]
