"""`doit info`: doit's own, over the whole graph."""

from __future__ import annotations

from doit.cmd_info import Info as DoitInfo

from pipeline.doit_plugin.command_line import PlainCommand


class Info(PlainCommand, DoitInfo):  # type: ignore[misc] # doit has no types
    """Shows what is known of one task."""

    name = "info"
