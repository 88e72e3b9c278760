"""A command line of doit, run in this process and in the working folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from configparser import Error as ConfigError

from pipeline.doit_plugin.quick_import import quick_imports

with quick_imports():
    from doit.doit_cmd import DoitMain

UNUSABLE = 3  # doit's exit code for a project that it cannot use


def run_line(words: Sequence[str]) -> int:
    """Run what doit does with these words; return its exit code."""
    try:
        main = DoitMain()
    except (ConfigError, ValueError) as error:
        said = " ".join(str(error).split())
        sys.stderr.write(f"ERROR: {_config_name(error)} cannot be read: {said}\n")
        return UNUSABLE
    return int(main.run(list(words)) or 0)


def _config_name(error: Exception) -> str:
    """Return which of the files that doit reads first is wrong."""
    return "doit.cfg" if isinstance(error, ConfigError) else "pyproject.toml"
