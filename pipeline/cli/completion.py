"""`cartwright completion SHELL`: scripts that complete commands, targets, nodes and files.

A script asks `cartwright completion --words LINE` what the last word of the line can become.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from pipeline.cli.command_names import command_names
from pipeline.project_root import find_root_above, is_root

OWN_COMMANDS = ("completion", "doctor", "init")
WORDS = "--words"
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")  # as help prints them
# In bash a colon ends a word, so what stands before the last one is taken off again.
BASH = """_cartwright() {
    local line="${COMP_LINE:0:COMP_POINT}" word IFS=$'\\n'
    word="${line##* }"
    COMPREPLY=($(cartwright completion --words "$line" 2>/dev/null))
    if [[ "$word" == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}"); fi
    if [[ "${COMPREPLY[0]}" == */ || "${COMPREPLY[0]}" == *: ]]; then compopt -o nospace; fi
}
complete -F _cartwright cartwright doit
"""
ZSH = """#compdef cartwright doit
_cartwright() {
    local -a found
    found=("${(@f)$(cartwright completion --words "${LBUFFER}" 2>/dev/null)}")
    compadd -Q -S '' -- $found
}
compdef _cartwright cartwright doit
"""
FISH = """complete -c cartwright -f -a '(cartwright completion --words (commandline -cp))'
complete -c doit -f -a '(cartwright completion --words (commandline -cp))'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def run(arguments: Sequence[str]) -> int:
    """Print a shell's script, or what a word can become."""
    if len(arguments) == 1 and arguments[0] in SCRIPTS:
        print(SCRIPTS[arguments[0]], end="")
        return 0
    if len(arguments) == 2 and arguments[0] == WORDS:
        print("\n".join(complete(arguments[1])))
        return 0
    sys.stderr.write(f"usage: cartwright completion {'|'.join(SCRIPTS)}\n")
    return 3


def complete(line: str) -> list[str]:
    """Return what the last word of a line can become."""
    words = line.split(" ")
    last, is_first = words[-1], len([word for word in words[:-1] if word]) <= 1
    here = os.getcwd()
    root = here if is_root(here) else find_root_above(here)
    found: set[str] = set(_files(last))
    if is_first:
        found |= _starting(OWN_COMMANDS, last)
    if root is not None:
        os.chdir(root)
        found |= _starting(command_names(), last) if is_first else set()
        found |= _options(words[1:-1], last) if last.startswith("-") else set()
        found |= _tasks(last)
    return sorted(found)


def _starting(names: Iterable[str], start: str) -> set[str]:
    return {name for name in names if name.startswith(start)}


def _options(before: Sequence[str], start: str) -> set[str]:
    """Return the options of the command that is typed already; a run has no name."""
    name = next((word for word in before if word in command_names()), "run")
    return _starting(OPTION.findall(_printed(["help", name])), start)


def _printed(words: Sequence[str]) -> str:
    """Return what a command prints."""
    from pipeline.doit_plugin.run_line import run_line

    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        run_line(words)
    return text.getvalue()


def _tasks(start: str) -> set[str]:
    """Return targets, and behind a colon the nodes of one."""
    listed = _printed(["list", "--quiet", *(["--all"] if ":" in start else [])])
    return _starting(map(str.rstrip, listed.splitlines()), start) - {""}


def _files(start: str) -> Iterator[str]:
    folder, _, name = start.rpartition("/")
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder or "."):
            if entry.name.startswith(name) and not (entry.name.startswith(".") and not name):
                path = f"{folder}/{entry.name}" if folder or "/" in start else entry.name
                yield f"{path}/" if entry.is_dir() else path
