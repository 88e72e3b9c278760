"""`doit help`: doit's own, and the commands that targets declare."""

from __future__ import annotations

import os
from typing import Any

from doit.cmd_help import Help as DoitHelp

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.target_command import find_target_commands


class Help(PlainCommand, DoitHelp):  # type: ignore[misc] # doit has no types
    """Shows what commands and tasks there are, and what they take."""

    name = "help"
    cmds: dict[str, type[Any]]

    def execute(self, params: Any, args: list[str]) -> int:
        """Show the help of everything, of a command or of a task."""
        # Only a word that nothing else has can be the command of a target, as on the command line.
        self.cmds = {**find_target_commands(os.getcwd()), **self.cmds}
        result: int = super().execute(params, args)
        return result
