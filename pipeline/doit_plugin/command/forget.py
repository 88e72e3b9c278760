"""`doit forget`: doit's own, but without a name it says what to name."""

from __future__ import annotations

from doit.cmd_forget import Forget as DoitForget
from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors


class Forget(PlainCommand, DoitForget):  # type: ignore[misc] # doit has no types
    """Forgets that tasks were ever built."""

    name = "forget"

    def _execute(
        self, forget_sub: bool, forget_disable_default: bool, forget_all: bool
    ) -> int | None:
        if self.sel_tasks is None and not (forget_all or forget_disable_default):
            raise InvalidCommand(
                "forget: name a task, a manifest or a target, or use --all for all of them"
            )
        with user_errors_as_doit_errors():
            result: int | None = super()._execute(forget_sub, forget_disable_default, forget_all)
        return result
