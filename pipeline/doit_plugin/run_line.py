"""A command line of doit, run in this process and in the working folder."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.doit_plugin.quick_import import quick_imports

with quick_imports():
    from doit.doit_cmd import DoitMain


def run_line(words: Sequence[str]) -> int:
    """Run what doit does with these words; return its exit code."""
    return int(DoitMain().run(list(words)) or 0)
