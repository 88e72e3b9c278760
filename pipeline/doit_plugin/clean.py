"""`doit clean`: doit's own, but a file that is no longer what was made stays, as in a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doit.cmd_clean import Clean as DoitClean

from pipeline.build.stale import reason_to_keep
from pipeline.change.evaluate import Evaluator
from pipeline.doit_plugin.loader import NODE, speaking_plainly
from pipeline.project import Project


class Clean(DoitClean):  # type: ignore[misc] # doit has no types
    """Removes outputs."""

    def clean_tasks(self, tasks: Sequence[Any], dryrun: bool, cleanforget: bool) -> None:
        """Clean tasks, each once; of nodes only the files that nobody altered."""
        project: Project = self.loader.session.project
        with speaking_plainly():
            made = {output.path: output.sha for output in project.state.all_outputs()}
            for task in tasks:
                if task.meta is NODE:
                    task.targets = removable(project, task, made)
            super().clean_tasks(tasks, dryrun, cleanforget)


def removable(project: Project, task: Any, made: Mapping[str, str]) -> list[str]:
    """Give the files of a node that may be removed, and tell of the others."""
    evaluator = Evaluator(project.root, project.code, project.sources.sha)
    files = []
    for path in task.targets:
        reason = reason_to_keep(project, evaluator, path, made.get(path, ""))
        if reason:
            print(f"{task.name} - leaving '{path}': {reason}")
        else:
            files.append(path)
    return files
