"""`doit explain`: what would be built, and why. Builds nothing and notes nothing."""

from __future__ import annotations

import os
import sys
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.command import PlainCommand
from pipeline.doit_plugin.loader import say_waiting, speaking_plainly, survey_in_parallel
from pipeline.project import Project
from pipeline.session import Session, UnknownTaskError


class Explain(PlainCommand):
    """Tells the reason of every dirty node."""

    name = "explain"
    doc_purpose = "tell what would be built, and why"
    doc_usage = "[TASK ...]"
    doc_description = (
        "One line for each node that would be built: its task, then the reason: source changed, "
        "code changed, option changed, output altered, or new."
    )

    def execute(self, opt_values: Any, pos_args: list[str]) -> int:  # noqa: ARG002 - doit's protocol
        """Print the reasons."""
        with speaking_plainly():
            session = Session(Project(os.getcwd(), say_waiting))
        try:
            in_parallel = survey_in_parallel(session.project.root)
            with speaking_plainly():
                explained = session.retry_if_damaged(lambda: session.explain(pos_args, in_parallel))
        except UnknownTaskError as error:
            raise InvalidCommand(not_found=str(error)) from None
        finally:
            session.project.close()
        for task, reason in explained.items():
            print(f"{task}  {reason}")
        if not explained:
            print("Everything is up to date.", file=sys.stderr)
        return 0
