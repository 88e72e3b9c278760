"""How a command reads its line: options anywhere, `--help`, and one sentence for a wrong option."""

from __future__ import annotations

import getopt
import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from doit.cmd_base import Command
from doit.cmdparse import CmdParse, CmdParseError
from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.user_error import disk_errors_as_doit_errors
from pipeline.project_root import find_root_above
from pipeline.report.output_stream import INTERRUPTED, survive_broken_pipe
from pipeline.typed_command import typed

PLAIN_TYPES = (str, int, bool, list)
LOADER = "cartwright"  # the name of our loader in doit.cfg
STRICT_GROUP = "strict-group"  # what `--strict=GROUP` becomes: getopt knows no optional values


def run_command(run: Callable[[], int]) -> int:
    """Run a command that prints; a broken pipe and Ctrl-C end it without a traceback."""
    with survive_broken_pipe(), disk_errors_as_doit_errors():
        try:
            return run()
        except KeyboardInterrupt:
            return INTERRUPTED


def _refuse_wrong(flag: str, parse: Callable[[str], Any], value: str) -> None:
    """Refuse a value that an option's own function cannot read, in the words of that function."""
    try:
        parse(value)
    except ValueError as error:
        raise CmdParseError(f'{flag}: found "{value}"; {error}') from None


class OptionParser(CmdParse):  # type: ignore[misc] # doit has no types
    """doit's parser, but an error is one sentence instead of a dump of all option objects."""

    def __init__(self, options: Sequence[Any], command: str) -> None:
        super().__init__(options)
        self.command = command

    def parse_only(self, in_args: Sequence[str], params: Any = None) -> tuple[Any, list[str]]:
        """Parse a line into values by option and the words that are no options."""
        in_args = complete_values(in_args, self.get_short())
        try:
            found, _ = getopt.getopt(list(in_args), self.get_short(), self.get_long())
        except getopt.GetoptError as error:
            raise CmdParseError(self._describe(error)) from None
        # doit would convert the value itself, and print a dump of the option where that fails.
        for flag, value in found:
            option, _ = self.get_option(flag)
            if option.type not in PLAIN_TYPES:
                _refuse_wrong(flag, option.type, value)
            if option.type is int and not value.isdecimal():
                sign = " of 0 or more" if value.removeprefix("-").isdecimal() else ""
                raise CmdParseError(f'{flag}: found "{value}"; a whole number{sign} is needed')
        parsed: tuple[Any, list[str]] = super().parse_only(in_args, params)
        return parsed

    def reorder(self, in_args: Sequence[str]) -> list[str]:
        """Put options first: doit takes everything behind the first name for a name."""
        in_args = complete_values(in_args, self.get_short())
        try:
            found, names = getopt.gnu_getopt(list(in_args), self.get_short(), self.get_long())
        except getopt.GetoptError as error:
            raise CmdParseError(self._describe(error)) from None
        options: list[str] = []
        for flag, value in found:
            options += [flag] if self.get_option(flag)[0].type is bool else [flag, value]
        # The dashes keep a name that begins with one from being read as an option again.
        return [*options, "--", *names]

    def _describe(self, error: getopt.GetoptError) -> str:
        if not error.msg.endswith("not recognized"):
            return error.msg  # such as "option --max-size requires argument"
        is_short = len(error.opt) == 1
        flag, hint = (
            (f"-{error.opt}", self._hint_for_letter(error.opt))
            if is_short
            else (f"--{error.opt}", self._hint_for_word(error.opt))
        )
        return f"{self.command} has no option {flag}; {hint}"

    def _hint_for_letter(self, wrong: str) -> str:
        letters = sorted(option.short for option in self.options if option.short)
        words = [name.removesuffix("=") for name in self.get_long()]
        # First the same letter in the other case, then a long option that begins with it.
        near = [f"-{wrong.swapcase()}"] if wrong.swapcase() in letters else []
        near += [f"--{word}" for word in words if word.startswith(wrong.lower())]
        if near:
            return f"did you mean {near[0]}?"
        known = [f"-{letter}" for letter in letters] or [f"--{word}" for word in words]
        return f"known here: {', '.join([*known, '--help'])}"

    def _hint_for_word(self, wrong: str) -> str:
        from pipeline.manifest.mistake import nearest

        near = nearest(wrong, [name.removesuffix("=") for name in self.get_long()])
        return f"did you mean --{near}?" if near else f"{typed(f'help {self.command}')} lists them"


def complete_values(in_args: Sequence[str], short: str) -> list[str]:
    """Write options whose value may be left out as getopt wants them, up to the end of options.

    `--strict=GROUP` becomes an option of its own. `-v` alone asks for all, where `short`, getopt's
    list of a command's short options, says that it has a value.
    """
    words = list(in_args)
    end = words.index("--") if "--" in words else len(words)
    options = [
        word.replace("--strict=", f"--{STRICT_GROUP}=", 1) if word.startswith("--strict=") else word
        for word in words[:end]
    ]
    takes_value = "v:" in short
    for place in [n for n, word in enumerate(options) if word == "-v" and takes_value]:
        if options[place + 1 : place + 2] not in (["0"], ["1"], ["2"]):
            options[place] = "-v2"
    return [*options, *words[end:]]


class PlainOptions(Command):  # type: ignore[misc] # doit has no types
    """A command that describes a wrong option in one sentence."""

    @cached_property
    def cmdparser(self) -> OptionParser:
        """The parser of the command's options, with the defaults that doit.cfg gives."""
        parser = OptionParser(self.get_options(), self.name)
        parser.overwrite_defaults(self.config_vals)
        return parser


class PlainCommand(PlainOptions):
    """A command that takes options anywhere on its line and knows `--help`."""

    needs_project = True

    def parse_execute(self, in_args: Sequence[str]) -> int:
        """Run the command, or show its help."""
        # Before the options are parsed, so that a wrong one does not keep the help from the user.
        words = in_args[: in_args.index("--")] if "--" in in_args else in_args
        if "--help" in words or "-h" in words:
            return run_command(self._show_help)
        if self.needs_project:
            self._refuse_other_folders()
        return run_command(lambda: self._parse_and_run(in_args))

    def _refuse_other_folders(self) -> None:
        """Refuse to run where doit.cfg does not name our loader, since doit finds us anywhere."""
        if self.config.get("GLOBAL", {}).get("loader") == LOADER:
            return
        root = find_root_above(os.getcwd())
        where = f"change to {root} and run it there" if root else "doit.cfg is missing"
        raise InvalidCommand(f"{self.name}: this is not the root of a Cartwright project; {where}")

    def _show_help(self) -> int:
        print(self.help())
        return 0

    def _parse_and_run(self, in_args: Sequence[str]) -> int:
        self.outstream = sys.stdout  # doit bound the stream before it was made safe
        try:
            result: int = super().parse_execute(self.cmdparser.reorder(in_args))
        finally:
            # Not every command has a loader, and a loader has a session only once tasks are loaded.
            session = getattr(getattr(self, "loader", None), "session", None)
            if session is not None:
                session.project.close()
        return result
