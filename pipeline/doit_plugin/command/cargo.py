"""`doit cargo MANIFEST --into DIR`: build a manifest from a crate's build.rs.

The outputs are copied to where `include!` finds them. Only lines for cargo go to the standard
output, such as what to watch; everything else goes to the standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from doit.exceptions import InvalidCommand

from encoders.kit.plan import Source
from pipeline.disk.mirror import NotOursError, mirror
from pipeline.doit_plugin.command.run import Run
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session
from pipeline.project import PRIVATE, Project

opt_into = {
    "name": "into",
    "long": "into",
    "type": str,
    "default": "",
    "help": "the folder that gets the files, such as assets in OUT_DIR",
}
PROJECT_FILES = ("dodo.py", "doit.cfg")


class Cargo(PlainCommand, Run):
    """Builds for a crate."""

    name = "cargo"
    doc_purpose = "build a manifest into a folder for cargo, and tell cargo what to watch"
    doc_usage = "MANIFEST --into DIR"
    doc_description = "For build.rs: the lines that it prints are for cargo to read."
    cmd_options = (*Run.cmd_options, opt_into)

    def execute(self, params: Any, args: list[str]) -> int:
        """Build, copy, and print the lines for cargo."""
        folder = params["into"]
        if len(args) != 1 or not folder:
            raise InvalidCommand("cargo takes one manifest and --into with a folder")
        folder = os.path.abspath(folder)
        params["outfile"] = sys.stderr  # cargo reads the standard output
        result: int = super().execute(params, args)
        if result:
            return result
        # A new session: the run has closed its own.
        project = open_session().project
        # Under the lock, or another build could change outputs while they are copied.
        try:
            project.lock.acquire()
            mirror(outputs_of(project, args[0]), folder)
            lines = [*watch_lines(project, args[0]), *warning_lines(project, args[0])]
        except NotOursError:
            message = f"cargo: {folder} holds files that doit did not put there; name another"
            raise InvalidCommand(message) from None
        finally:
            project.close()
        print("\n".join(lines))
        return 0


def outputs_of(project: Project, stem: str) -> dict[str, str]:
    """Return the paths of a manifest's files by their names below its output folder."""
    record = project.state.manifest(stem)
    if record is None:
        raise InvalidCommand(f"cargo: {stem} is no manifest, but perhaps a target or a task")
    skipped = len(record.output) + 1  # with the slash
    paths = project.state.output_paths(stem)
    return {path[skipped:]: f"{project.root}/{path}" for path in paths}


def watch_lines(project: Project, stem: str) -> list[str]:
    """Return the lines that tell cargo which files and folders to watch.

    Cargo searches folders to any depth, so a folder that holds outputs or the cache would always
    count as changed. It is left out, and new files there are seen only by a plain `doit`.
    """
    record = project.state.planned_manifest(stem)
    busy = [record.output, PRIVATE, "cache"]
    folders = [
        one
        for one in record.inputs
        if one and not any(f"{path}/".startswith(f"{one}/") for path in busy)
    ]
    manifest = project.manifests.file(stem)
    inside = {*PROJECT_FILES, manifest, *folders, *_sources(project, stem)}
    modules = {path for path, _ in record.modules}
    paths = {f"{project.root}/{path}" for path in inside} | modules
    # Cargo counts a path that does not exist as changed, each time.
    return [f"cargo:rerun-if-changed={path}" for path in sorted(paths) if os.path.exists(path)]


def _sources(project: Project, stem: str) -> Iterable[str]:
    for row in project.state.rows(stem):
        for one in row.planned.node.inputs.values():
            if isinstance(one, Source):
                yield one.path


def warning_lines(project: Project, stem: str) -> list[str]:
    """Return the lines that make cargo show the warnings of a manifest's nodes."""
    # From receipts, not from the build's log: nodes that were up to date have warnings as well.
    lines: list[str] = []
    for row in sorted(project.state.rows(stem), key=lambda row: row.task):
        built = row.built
        receipt = project.cache.load_receipt(built.fingerprint) if built else None
        warnings = receipt.warnings if receipt else ()
        lines += [f"cargo:warning={row.task}: {warning}" for warning in warnings]
    return lines
