"""`doit ignore`: doit's own, over the whole graph."""

from __future__ import annotations

from doit.cmd_ignore import Ignore as DoitIgnore

from pipeline.doit_plugin.command_line import PlainCommand


class Ignore(PlainCommand, DoitIgnore):  # type: ignore[misc] # doit has no types
    """Marks tasks that runs leave alone."""

    name = "ignore"
