"""`doit clean`: doit's own, but a file that was altered since it was made stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doit.cmd_clean import Clean as DoitClean

from pipeline.build.stale import reason_to_keep
from pipeline.change.evaluate import Evaluator
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.loader import NODE
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors
from pipeline.project import Project


class Clean(PlainCommand, DoitClean):  # type: ignore[misc] # doit has no types
    """Removes outputs."""

    name = "clean"

    def clean_tasks(self, tasks: Sequence[Any], dryrun: bool, cleanforget: bool) -> None:
        """Clean tasks, each once; of nodes, remove only unaltered files."""
        project: Project = self.loader.session.project
        with user_errors_as_doit_errors():
            made = {output.path: output.sha for output in project.state.all_outputs()}
            # doit removes the targets of a task, so those that must stay are taken out first.
            for task in tasks:
                if task.meta is NODE:
                    task.targets = removable(project, task, made)
            super().clean_tasks(tasks, dryrun, cleanforget)


def removable(project: Project, task: Any, made: Mapping[str, str]) -> list[str]:
    """Return the files of a node that may be removed, and print why the others stay."""
    evaluator = Evaluator(project.root, project.code, project.sources.sha)
    files = []
    for path in task.targets:
        try:
            reason = reason_to_keep(project, evaluator, path, made.get(path, ""))
        except OSError as error:
            reason = error.strerror or str(error)
        if reason:
            print(f"{task.name} - leaving '{path}': {reason}")
        else:
            files.append(path)
    return files
