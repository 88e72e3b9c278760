"""What Cartwright's own commands have in common: options anywhere on the line, and `--help`."""

from __future__ import annotations

import getopt
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from doit.cmd_base import Command
from doit.exceptions import InvalidDodoFile

from pipeline.report.output_stream import INTERRUPTED, heard_or_not, open_closed_streams
from pipeline.state.database import StateUnavailableError


@contextmanager
def telling_of_reach() -> Iterator[None]:
    """Turn a state that is out of reach half-way into one of doit's plain errors."""
    try:
        yield
    except StateUnavailableError as error:
        raise InvalidDodoFile(f"{error.filename}: {error.strerror}") from None


def to_the_end(run: Callable[[], int]) -> int:
    """Run something that prints, whether anybody reads it or not; Ctrl-C ends it in peace."""
    with heard_or_not(), telling_of_reach():
        try:
            return run()
        except KeyboardInterrupt:
            return INTERRUPTED


def calm(command: Any) -> None:
    """Let one of doit's own commands end as ours do."""
    open_closed_streams()
    execute = command._execute

    @wraps(execute)  # doit asks for its parameters by name
    def calmly(**options: Any) -> int:
        def run() -> int:
            command.outstream = sys.stdout
            result: int = execute(**options)
            return result

        return to_the_end(run)

    command._execute = calmly


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
        return to_the_end(lambda: super(PlainCommand, self).parse_execute([*first, *names]))
