"""The names of all commands, without loading them."""

from __future__ import annotations

import configparser
import os
from importlib.metadata import entry_points

# doit's own that doit.cfg does not replace.
DOIT = ("auto", "dumpdb", "reset-dep", "strace", "tabcompletion")
GROUP = "doit.COMMAND"


def command_names(root: str = ".") -> set[str]:
    """Return the commands of doit, of Cartwright and of the project's doit.cfg."""
    config = configparser.ConfigParser(allow_no_value=True, delimiters=("=",))
    config.optionxform = str  # type: ignore[assignment, method-assign] # names keep their case
    config.read(os.path.join(root, "doit.cfg"), encoding="utf-8")
    named = config["COMMAND"] if config.has_section("COMMAND") else ()
    return {*DOIT, *(one.name for one in entry_points(group=GROUP)), *named}
