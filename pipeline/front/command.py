"""What Cartwright's own commands have in common: options anywhere on the line, and `--help`."""

from __future__ import annotations

import getopt
import os
import sys
from collections.abc import Sequence

from doit.cmd_base import Command


class PlainCommand(Command):  # type: ignore[misc] # doit has no types
    """A command that reads its line as people type it."""

    def parse_execute(self, in_args: Sequence[str]) -> int:
        """Run the command, or show its help."""
        if "--help" in in_args or "-h" in in_args:
            print(self.help())
            return 0
        parser = self.cmdparser
        try:
            options, names = getopt.gnu_getopt(list(in_args), parser.get_short(), parser.get_long())
        except getopt.GetoptError:
            options, names = [], list(in_args)  # doit says what is wrong with the line
        first = [part for option, value in options for part in (option, value) if part]
        try:
            result: int = super().parse_execute([*first, *names])
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return result
