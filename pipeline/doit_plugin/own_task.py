"""What the tasks of a project's own dodo.py refer to: the loader has to give doit these tasks."""

from __future__ import annotations

from collections.abc import Iterable

from doit.task import Task


class References:
    """Names of tasks and paths of files; `anything` if some are known only during the run."""

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.files: set[str] = set()
        self.anything = False


def references_of(own: Iterable[Task]) -> References:
    """Collect the tasks and files that own tasks depend on and that no own task is."""
    found, names = References(), set()
    for task in own:
        names.add(task.name)
        found.tasks |= {*task.task_dep, *task.setup_tasks, *task.calc_dep}
        found.files |= set(task.file_dep)
        # A delayed task, or one with computed dependencies, may depend on any node or output.
        found.anything |= bool(task.loader or task.calc_dep)
    found.tasks -= names
    return found
