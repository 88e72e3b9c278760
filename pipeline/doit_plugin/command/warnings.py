"""`doit warnings`: the warnings that stand, from the last build of each node."""

from __future__ import annotations

import sys
from typing import Any

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session
from pipeline.doit_plugin.user_error import unknown_name, user_errors_as_doit_errors
from pipeline.report.warning_text import Warned
from pipeline.session import Session
from pipeline.state.state import WARNED
from pipeline.task_name import stem_of


class Warnings(PlainCommand):
    """Prints a line for each warning of the last builds."""

    name = "warnings"
    doc_purpose = "list the warnings that stand"
    doc_usage = "[TASK ...]"
    doc_description = (
        "What the last build of each node warned of, and the last plan of each manifest. "
        "A warning stands until its node is built without it."
    )

    def execute(self, opt_values: Any, pos_args: list[str]) -> int:  # noqa: ARG002 - doit's protocol
        """Print the warnings of all nodes, or of some manifests, targets or nodes."""
        session = open_session()
        try:
            with user_errors_as_doit_errors():
                found = session.retry_if_damaged(lambda: standing(session, pos_args))
        finally:
            session.project.close()
        for one in found:
            print(one)
        if not found:
            print("No warnings.", file=sys.stderr)
        return 0


def standing(session: Session, names: list[str]) -> list[Warned]:
    """Return the warnings that stand; an unknown name is refused with the nearest known one."""
    state, targets = session.project.state, session.targets()
    for name in names:
        if name not in targets and name not in targets.values() and state.row(name) is None:
            known = {*targets, *targets.values(), *state.facts_of_nodes(WARNED)}
            raise unknown_name(name, "is no task, manifest or target", known)
    records = {stem: state.manifest(stem) for stem in sorted(targets)}
    found = [
        (stem, Warned("", text)) for stem, one in records.items() if one for text in one.warnings
    ]
    found += [
        (task, Warned(task, text))
        for task, lines in state.facts_of_nodes(WARNED).items()
        if stem_of(task) in targets
        for text in lines
    ]
    return [
        one
        for task, one in found
        if not names or {task, stem_of(task), targets[stem_of(task)]} & set(names)
    ]
