"""Own tasks of a project that make sources: a script that draws textures, Blender that exports.

They run before anything is planned, because the plan depends on the files that they make. What
they did is reported later, in doit's order, with all other tasks: the run replays it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doit.control import TaskControl
from doit.exceptions import BaseFail
from doit.runner import Runner
from doit.task import Stream, Task

from pipeline.disk.file import project_path
from pipeline.doit_plugin.backend import Backend
from pipeline.manifest.glob import matches
from pipeline.project import Project

# Verbosity of doit: standard output is kept for the message of a failure, errors are shown.
SHOW_ERRORS = 1
DODO = "dodo.py"
# How each task that ran ended: None is well.
Results = dict[str, BaseFail | None]


class SourceTasks:
    """The own tasks that make sources of some manifests, and the own tasks that they need."""

    def __init__(
        self, own: Iterable[Task], documents: Iterable[Mapping[str, Any]], project: Project
    ) -> None:
        self._root = project.root
        self._outputs = tuple(f"{one}/" for one in project.manifests.output_folders())
        self._own = {task.name: task for task in own}
        self._makers = {
            self._path(target): task.name for task in self._own.values() for target in task.targets
        }
        rules = [_SourceRule(document) for document in documents]
        self.made_by = {
            path: name
            for path, name in self._makers.items()
            if any(rule.covers(path) for rule in rules) and self.are_independent([name])
        }

    def _path(self, written: str) -> str:
        return project_path(self._root, written)

    def are_independent(self, names: Sequence[str]) -> bool:
        """Tell whether own tasks need nothing that is built."""
        return self._closure(names) is not None

    def _closure(self, names: Sequence[str]) -> set[str] | None:
        """Return tasks with all that they need; None where that may be a node or an output."""
        found, waiting = set(names), list(names)
        while waiting:
            task = self._own.get(waiting.pop())
            # What a delayed or computed task needs is not known before it runs.
            if task is None or task.loader or task.calc_dep or task.wild_dep:
                return None
            paths = list(map(self._path, task.file_dep))
            if any(path.startswith(self._outputs) for path in paths):
                return None
            makers = {self._makers[path] for path in paths if path in self._makers}
            needs = {*task.task_dep, *task.setup_tasks, *makers} - found
            found |= needs
            waiting += sorted(needs)
        return found

    def missing(self) -> list[str]:
        """Return a line for each source that does not exist before its task has run."""
        return [
            f"{path} does not exist yet: the task {name} makes it, and `doit` runs that first"
            for path, name in sorted(self.made_by.items())
            if not os.path.exists(f"{self._root}/{path}")
        ]

    def run(self, dep_manager: Any, always: bool) -> Results:
        """Run the tasks that are out of date; return how each of them ended."""
        names = sorted(set(self.made_by.values()))
        closure = self._closure(names) or set()
        control = TaskControl([task for task in self._own.values() if task.name in closure])
        control.process(names)
        backend = dep_manager.backend
        if isinstance(backend, Backend):
            files = {path for name in closure for path in self._own[name].file_dep}
            backend.set_made_from(frozenset((DODO, *map(self._path, files))))
        record = _Record()
        runner = _SourceRunner(dep_manager, record, True, always, Stream(SHOW_ERRORS))
        runner.run_all(control.task_dispatcher())
        # Now: a mistake in a manifest would end doit before it saves that these tasks are done.
        if isinstance(backend, Backend):
            backend.dump()
        return record.results


class _SourceRule:
    """Which files are sources of a manifest: what it names, and what lies below its root.

    Files below the root count although no entry matches them, because models refer to images.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        root = document.get("source_root", "assets")
        self._root = posixpath.normpath(root) if isinstance(root, str) else "assets"
        self._patterns = set(_patterns(document))

    def covers(self, path: str) -> bool:
        below = self._root == "." or path.startswith(f"{self._root}/")
        return below or any(matches(pattern, path) for pattern in self._patterns)


def _patterns(value: object, key: str = "") -> Iterable[str]:
    """Yield what is written under `source`, anywhere in a manifest, which may have mistakes."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _patterns(one, str(name))
    elif isinstance(value, list):
        for one in value:
            yield from _patterns(one, key)
    elif isinstance(value, str) and key == "source":
        yield value


class _SourceRunner(Runner):  # type: ignore[misc] # doit has no types
    """Runs own tasks, and leaves doit's records open for the run that follows."""

    def finish(self) -> int:
        """Run teardowns; the records are saved by the caller."""
        self.teardown()
        result: int = self.final_result
        return result


class _Record:
    """A reporter that says nothing, and keeps how tasks ended."""

    def __init__(self) -> None:
        self.results: Results = {}

    def add_success(self, task: Task) -> None:
        """Note that a task is done."""
        self.results[task.name] = None

    def add_failure(self, task: Task, fail: BaseFail) -> None:
        """Note that a task failed."""
        self.results[task.name] = fail

    def ignore(self, *_: object) -> None:
        """Leave out what the run reports later."""

    initialize = get_status = execute_task = skip_uptodate = skip_ignore = ignore
    cleanup_error = runtime_error = teardown_task = complete_run = ignore
