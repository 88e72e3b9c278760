"""`doit ignore`: doit's own, over the whole graph."""

from __future__ import annotations

from doit.cmd_ignore import Ignore as DoitIgnore

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors


class Ignore(PlainCommand, DoitIgnore):  # type: ignore[misc] # doit has no types
    """Marks tasks that runs leave alone."""

    name = "ignore"

    def _execute(self, pos_args: list[str]) -> None:
        with user_errors_as_doit_errors():
            super()._execute(pos_args)
