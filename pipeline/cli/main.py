"""The entry point of `cartwright`: its own commands, or `doit` in the project's root."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from pipeline.project_root import FILES, find_root_above, is_root
from pipeline.typed_command import PROGRAM

# Each is a module of this package with a function `run(arguments) -> exit code`.
OWN = {
    "init": "start a project here: dodo.py, doit.cfg and a manifest for each target",
    "doctor": "check the compiler, extras, cache, shared cache, clock and file system",
    "completion": "print the completion script of bash, zsh or fish",
}
VERSION = "--version"
HELP = ("help", "--help", "-h")
# Commands of doit that have `needs_project = False`: they work in any folder.
ANYWHERE = ("inspect", "snapshot")
UNUSABLE = 3  # doit's exit code for a command line or a project that it cannot use


def main() -> int:
    """Run the command line of this process."""
    return run(sys.argv[1:])


def run(words: Sequence[str]) -> int:
    """Run a command of our own, or what doit does with the same words."""
    first = words[0] if words else ""
    if first in OWN or first == VERSION:
        return _run_own(first.strip("-"), words[1:])
    here = os.getcwd()
    root = here if is_root(here) else find_root_above(here)
    if first in HELP:
        from pipeline.report.output_stream import survive_broken_pipe

        with survive_broken_pipe():
            return _run_help(words, root, here)
    if root is None and first not in ANYWHERE:
        return _without_project(here)
    return _run_doit(words, root or here, here)


def _run_help(words: Sequence[str], root: str | None, here: str) -> int:
    if len(words) == 1:
        print(usage(root is not None))
        words = ["help"]
    return _run_doit(words, root, here) if root is not None else 0


def _run_own(name: str, words: Sequence[str]) -> int:
    from pipeline.report.output_stream import survive_broken_pipe

    with survive_broken_pipe():
        return int(import_module(f"pipeline.cli.{name}").run(list(words)))


def usage(has_project: bool) -> str:
    """Return the help of our own commands."""
    lines = [f"  cartwright {name:<12} {text}" for name, text in OWN.items()]
    rest = "Everything else is as with doit:" if has_project else "In a project, all that doit does"
    version = f"  cartwright {VERSION:<12} versions, extras and kernels that are installed"
    return "\n".join(["Cartwright", *lines, version, "", rest])


def _without_project(here: str) -> int:
    found, missing = _half_a_root(here)
    if found:
        said = f"{found} is there, but {missing} is missing beside it; `cartwright init` writes it"
    else:
        said = (
            "no Cartwright project here or in a folder above (dodo.py and doit.cfg); "
            "`cartwright init` starts one"
        )
    sys.stderr.write(f"ERROR: {said}\n")
    return UNUSABLE


def _half_a_root(folder: str) -> tuple[str, str]:
    """Return the only file of a project in the nearest folder that has just one, and the other."""
    while True:
        there = [name for name in FILES if os.path.isfile(f"{folder}/{name}")]
        above = os.path.dirname(folder)
        if there or above == folder:
            break
        folder = above
    missing = [name for name in FILES if name not in there]
    return (f"{folder}/{there[0]}", missing[0]) if there else ("", "")


def _run_doit(words: Sequence[str], root: str, here: str) -> int:
    """Run doit in the root, with the paths that were typed elsewhere written from there."""
    if "" in words:  # doit itself would end in a traceback
        sys.stderr.write("ERROR: one of the words is empty; is a variable not set?\n")
        return UNUSABLE
    if root != here:
        from pipeline.cli.words import RUN, from_root

        os.chdir(root)
        words = from_root(words, root, here, is_run=_is_run(words, RUN))
    os.environ[PROGRAM] = "cartwright"
    # After the change of folder: what doit.cfg names keeps the project's modules apart from ours.
    from pipeline.doit_plugin.run_line import run_line

    return run_line(words)


def _is_run(words: Sequence[str], run_word: str) -> bool:
    """Tell whether the line is a run, which is what doit does without the name of a command."""
    from pipeline.cli.command_names import command_names

    return not words or words[0] == run_word or words[0] not in command_names()
