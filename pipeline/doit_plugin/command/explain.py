"""`doit explain`: what would be built, and why. Builds nothing and records nothing."""

from __future__ import annotations

import sys
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.change.reason import Reason
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session, survey_in_parallel
from pipeline.doit_plugin.user_error import unknown_name, user_errors_as_doit_errors
from pipeline.session import Session, UnknownTaskError


class Explain(PlainCommand):
    """Prints the reason of every node that is out of date."""

    name = "explain"
    doc_purpose = "tell what would be built, and why"
    doc_usage = "[TASK ...]"
    doc_description = (
        "One line for each node that would be built: its task, then the reason: source changed, "
        "code changed, option changed, output altered, output missing, or new."
    )

    def execute(self, opt_values: Any, pos_args: list[str]) -> int:  # noqa: ARG002 - doit's protocol
        """Print the reasons."""
        session = open_session()
        try:
            with user_errors_as_doit_errors():
                explained = session.retry_if_damaged(lambda: explain(session, pos_args))
        finally:
            session.project.close()
        for task, reason in explained.items():
            print(f"{task}  {reason}")
        if not explained:
            print("Everything is up to date.", file=sys.stderr)
        return 0


def explain(session: Session, names: list[str]) -> dict[str, Reason]:
    """Return the reasons by task; an unknown name is refused with the nearest known one."""
    in_parallel = survey_in_parallel(session.project.root)
    try:
        return session.explain(names, in_parallel)
    except UnknownTaskError as error:
        raise _unknown_task(session, str(error)) from None


def _unknown_task(session: Session, name: str) -> InvalidCommand:
    targets = session.targets()
    # New nodes are in no state yet: only explaining everything names them.
    new = session.explain((), survey_in_parallel(session.project.root))
    known = {*targets, *targets.values(), *session.all_tasks(), *new}
    return unknown_name(name, "is no task, manifest or target", known)
