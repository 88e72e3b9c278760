"""`doit explain`: what would be built, and why. Builds nothing and records nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from doit.exceptions import InvalidCommand

from encoders.kit.error import EncodeError
from pipeline.change.explained import LONG, Explained, summary_lines
from pipeline.change.other_build import OtherBuild
from pipeline.disk.file import read_file
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session, survey_in_parallel
from pipeline.doit_plugin.user_error import unknown_name, user_errors_as_doit_errors
from pipeline.inquiry import Inquiry, UnknownTaskError
from pipeline.session import Session
from pipeline.typed_command import typed

SCHEMA = "cartwright.explain/1"
opt_json = {
    "name": "json",
    "long": "json",
    "type": bool,
    "default": False,
    "help": "print all nodes as JSON",
}
opt_all = {
    "name": "all",
    "short": "v",
    "long": "verbose",
    "type": bool,
    "default": False,
    "help": f"a line for each node, also where there are more than {LONG}",
}
opt_against = {
    "name": "against",
    "long": "against",
    "type": str,
    "default": "",
    "help": "compare with the JSON of another build: which part of each node's key differs",
}


class Explain(PlainCommand):
    """Prints the reason of every node that is out of date."""

    name = "explain"
    doc_purpose = "tell what would be built, and why"
    doc_usage = "[TASK, TARGET or FILE ...]"
    doc_description = (
        "One line for each node that would be built: its task, then the reason: source changed, "
        "code changed, option changed, output altered, or new. "
        "A node that only reads what such a node makes may change. A file stands for the nodes "
        "that read or write it."
    )
    cmd_options = (opt_json, opt_all, opt_against)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Print the reasons."""
        other = read_other(opt_values["against"]) if opt_values["against"] else None
        session = open_session()
        try:
            with user_errors_as_doit_errors():
                explained = session.retry_if_damaged(lambda: explain(session, pos_args, other))
        finally:
            session.project.close()
        if opt_values["json"]:
            nodes = [one.as_json() for one in explained]
            print(json.dumps({"schema": SCHEMA, "nodes": nodes}, indent=1))
            return 0
        for line in shown_lines(explained, opt_values["all"]):
            print(line)
        if not explained:
            said = "Every key is the same." if other else "Everything is up to date."
            print(said, file=sys.stderr)
        return 0


def shown_lines(explained: Sequence[Explained], everything: bool) -> list[str]:
    """Return a line for each node, or a summary where there are many."""
    if everything or len(explained) <= LONG:
        return list(map(str, explained))
    return [
        *summary_lines(explained),
        f"{len(explained):,} nodes; {typed('explain -v')} has a line for each",
    ]


def read_other(path: str) -> OtherBuild:
    """Read the JSON of another build."""
    if not os.path.isfile(path):
        raise InvalidCommand(f"explain --against: there is no file {path}")
    try:
        return OtherBuild.parse(read_file(path), path)
    except EncodeError as error:
        raise InvalidCommand(f"explain --against: {path}: {error.problem}") from None


def explain(session: Session, names: list[str], other: OtherBuild | None) -> list[Explained]:
    """Return the reasons by task; an unknown name is refused with the nearest known one."""
    in_parallel = survey_in_parallel(session.project.root)
    try:
        if other is not None:
            return Inquiry(session).explain_against(other, names, in_parallel)
        return Inquiry(session).explain(names, in_parallel)
    except UnknownTaskError as error:
        raise _unknown_task(session, str(error)) from None


def _unknown_task(session: Session, name: str) -> InvalidCommand:
    targets = session.targets()
    # New nodes are in no state yet: only explaining everything names them.
    new = Inquiry(session).explain((), survey_in_parallel(session.project.root))
    known = {*targets, *targets.values(), *session.all_tasks(), *(one.task for one in new)}
    if "/" in name and ":" not in name:  # a file
        known = {*session.known_files(), *known}
    return unknown_name(name, "is no task, manifest, target, source or output", known)
