"""`doit list`: doit's own, over the whole graph."""

from __future__ import annotations

from doit.cmd_list import List as DoitList

from pipeline.doit_plugin.command_line import PlainCommand


class List(PlainCommand, DoitList):  # type: ignore[misc] # doit has no types
    """Lists tasks."""

    name = "list"
