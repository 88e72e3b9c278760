"""What Cartwright's own commands have in common: options anywhere on the line, and `--help`."""

from __future__ import annotations

import getopt
import os
import sys
from collections.abc import Callable, Sequence

from doit.cmd_base import Command
from doit.exceptions import InvalidDodoFile

from pipeline.damage import OutOfReachError


def until_enough(run: Callable[[], int]) -> int:
    """Run something that prints, and end in peace when whoever reads has seen enough.

    That the state is out of reach half-way is an error without a traceback.
    """
    try:
        result = run()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OutOfReachError as error:
        raise InvalidDodoFile(f"{error.filename}: {error.strerror}") from None
    return result


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
        return until_enough(lambda: super(PlainCommand, self).parse_execute([*first, *names]))
