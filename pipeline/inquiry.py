"""Questions about a project that change nothing: what there is, what would be built and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from pipeline.task_name import TaskName

if TYPE_CHECKING:
    from pipeline.build.build import Build
    from pipeline.change.explained import Explained
    from pipeline.change.other_build import OtherBuild
    from pipeline.change.task_item import TaskInfo
    from pipeline.plan.survey import Mapper
    from pipeline.session import Session


class UnknownTaskError(Exception):
    """The user named a task that does not exist."""


class Inquiry:
    """Questions that are answered on a copy of the state; nothing is saved."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.project = session.project

    def whole_graph(self, in_parallel: Mapper) -> list[TaskInfo]:
        """Return all nodes of all manifests; nothing is saved."""
        from pipeline.change.task_item import TaskInfo
        from pipeline.state.node_table import NodeTable

        self.project.manifests.refuse_misnamed()
        state, infos = self.project.state, []
        with state.in_memory_copy():
            self.session.detect(self.project.manifests.stems(), in_parallel)
            nodes = NodeTable(state)
            for stem in self.session.statuses:
                nodes.load_all(stem)
                infos += [TaskInfo.of(nodes, row) for row in state.rows(stem)]
        return sorted(infos, key=lambda info: info.task)

    def explain(self, names: Sequence[str], in_parallel: Mapper) -> list[Explained]:
        """Return what would be built of tasks, targets or files, and why; nothing is saved."""
        with self.read_only_build(names, in_parallel) as build:
            from pipeline.change.explained import Explained
            from pipeline.change.reason import ReasonFinder

            needs = {item.task: item.needs for item in self.session.items(build)}
            found = ReasonFinder(build.nodes, build.evaluator).reasons(build.dirty, needs)
            meant = self._meant(names, found)
            return [
                Explained(task, (reason,), task in build.dirty)
                for task, reason in found.items()
                if meant(task)
            ]

    def explain_against(
        self, other: OtherBuild, names: Sequence[str], in_parallel: Mapper
    ) -> list[Explained]:
        """Return what differs between the keys of nodes here and in another build."""
        from pipeline.change.explained import Explained

        with self.looking_at(names, in_parallel) as (build, tasks):
            found = other.differences(build.nodes, build.evaluator, tasks)
            return [Explained(task, tuple(reasons)) for task, reasons in found.items()]

    @contextmanager
    def looking_at(
        self, names: Sequence[str], in_parallel: Mapper
    ) -> Iterator[tuple[Build, list[str]]]:
        """Give a build that saves nothing, and all tasks that names are about."""
        with self.read_only_build(names, in_parallel) as build:
            tasks = self.session.all_tasks()
            meant = self._meant(names, tasks)
            yield build, sorted(task for task in tasks if meant(task))

    @contextmanager
    def read_only_build(self, names: Sequence[str], in_parallel: Mapper) -> Iterator[Build]:
        """Detect what is out of date among what names are about, on a copy of the state."""
        from pipeline.build.build import Build

        stems = self.session.choose(names)
        if self.session.is_whole:
            self.project.manifests.refuse_misnamed()
        with self.project.state.in_memory_copy():
            detector = self.session.detect(stems, in_parallel)
            dirty = self.session.dirty_tasks()
            yield Build(self.project, detector.evaluator, detector.nodes, dirty)

    def _meant(self, names: Sequence[str], found: Collection[str]) -> Callable[[str], bool]:
        """Return which tasks names are about; a name that is about none is refused."""
        targets = self.session.targets()
        tasks = set(names)
        for name in names:
            is_pattern = "*" in name and self.session.has_match(name, found)
            is_known = is_pattern or name in targets or name in targets.values()
            if is_known or name in found or self.project.state.row(name) is not None:
                continue
            of_file = self._tasks_of_file(name)
            if not of_file:
                raise UnknownTaskError(name)
            tasks |= of_file
        return lambda task: _is_meant(task, tasks, targets)

    def _tasks_of_file(self, name: str) -> set[str]:
        """Return the tasks that read or write a file, however its path is spelled."""
        from pipeline.disk.file import project_path
        from pipeline.disk.listing import is_text

        if not is_text(name):  # no file of a plan is called so
            return set()
        path = project_path(self.project.root, name)
        readers = (self.project.state.readers(stem, [path]) for stem in self.session.statuses)
        writers = self.session.producers_of([name]).values()
        return {*writers, *(task for one in readers for task in one)}


def _is_meant(task: str, names: Collection[str], targets: Mapping[str, str]) -> bool:
    stem = TaskName.parse(task).stem
    return not names or any(
        name in (task, stem, targets.get(stem)) or fnmatch(task, name) for name in names
    )
