"""`doit ignore`: doit's own, over the whole graph."""

from __future__ import annotations

from doit.cmd_ignore import Ignore as DoitIgnore
from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors


class Ignore(PlainCommand, DoitIgnore):  # type: ignore[misc] # doit has no types
    """Marks tasks that runs leave alone."""

    name = "ignore"

    def _execute(self, pos_args: list[str]) -> None:
        if not pos_args:
            raise InvalidCommand("ignore: name a task, a manifest or a target")
        with user_errors_as_doit_errors():
            super()._execute(pos_args)
