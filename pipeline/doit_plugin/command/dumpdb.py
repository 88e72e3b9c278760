"""`doit dumpdb`: doit's own reads a database of doit, which a Cartwright project does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doit.cmd_dumpdb import DumpDB as DoitDumpDB
from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.typed_command import typed


class Dumpdb(PlainCommand, DoitDumpDB):  # type: ignore[misc] # doit has no types
    """Says where to look instead."""

    name = "dumpdb"

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Refuse, and name the commands that show what is known of tasks."""
        del opt_values, pos_args
        raise InvalidCommand(
            "dumpdb: Cartwright keeps no database of doit; "
            f"{typed('info TASK')} and {typed('explain TASK')} show what is known of a task"
        )
