"""`doit reset-dep`: doit's own, for the project's own tasks; nodes have no such state."""

from __future__ import annotations

from typing import Any

from doit.cmd_resetdep import ResetDep as DoitResetDep

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.loader import NODE
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors
from pipeline.typed_command import typed


class ResetDep(PlainCommand, DoitResetDep):  # type: ignore[misc] # doit has no types
    """Records the files that the project's own tasks read, without running the tasks."""

    name = "reset-dep"
    doc_description = (
        "For tasks that dodo.py defines. What a manifest builds is compared by content, so there "
        f"is nothing to reset: {typed('forget')} makes a node be encoded again."
    )

    def _execute(self, pos_args: list[str] | None = None) -> None:
        with user_errors_as_doit_errors():
            # Only tasks of the project's own have a state in doit's database.
            self.task_list: list[Any] = [
                task
                for task in self.task_list
                if task.meta is not NODE and (task.actions or not task.has_subtask)
            ]
            super()._execute(pos_args)
