"""What a project's own tasks refer to, so that doit can be told of it."""

from __future__ import annotations

from collections.abc import Iterable

from doit.task import Task


class References:
    """Tasks by name and files as they are spelled; or anything, which shows only in the run."""

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.files: set[str] = set()
        self.anything = False


def references_of(own: Iterable[Task]) -> References:
    """Gather what tasks name that they do not bring themselves."""
    found, names = References(), set()
    for task in own:
        names.add(task.name)
        found.tasks |= {*task.task_dep, *task.setup_tasks, *task.calc_dep}
        found.files |= set(task.file_dep)
        found.anything |= bool(task.loader or task.calc_dep)
    found.tasks -= names
    return found
