"""`doit timings`: where the time of the last build went."""

from __future__ import annotations

import sys
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session
from pipeline.doit_plugin.read_result import read_last, read_result
from pipeline.report.timings import timing_lines


class Timings(PlainCommand):
    """Prints slowest nodes and kinds, the critical path, and how busy workers were."""

    name = "timings"
    doc_purpose = "show where the time of the last build went"
    doc_usage = "[FILE]"
    doc_description = (
        "Of the last run that built something, or of the run whose --json file is named."
    )

    def execute(self, opt_values: Any, pos_args: list[str]) -> int:  # noqa: ARG002 - doit's protocol
        """Print the timings."""
        if len(pos_args) > 1:
            raise InvalidCommand("timings takes one file")
        session = open_session()
        try:
            result = (
                read_result(pos_args[0]) if pos_args else read_last(session.project, built=True)
            )
        finally:
            session.project.close()
        lines = timing_lines(result)
        for line in lines:
            print(line)
        if not lines:
            print("No node ran in that build.", file=sys.stderr)
        return 0
