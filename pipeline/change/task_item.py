"""The graph as doit gets it: tasks to run, and tasks to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from encoders.kit.plan import Source
from pipeline.state.database import StateDamagedError
from pipeline.state.node_record import needed_names
from pipeline.state.node_table import NodeTable
from pipeline.state.state import NodeRow
from pipeline.task_name import TaskName, stem_of


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A task to run: its name, and the tasks that come before it."""

    task: str
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task to list: what comes before it, what it reads and writes, whether it is up to date."""

    task: str
    needs: tuple[str, ...]
    sources: tuple[str, ...]
    files: tuple[str, ...]
    clean: bool

    @staticmethod
    def of(nodes: NodeTable, row: NodeRow) -> TaskInfo:
        """Describe a node."""
        planned, built = nodes.planned(row.task), row.built
        inputs = planned.node.inputs.values() if planned else ()
        return TaskInfo(
            row.task,
            tuple(needed_tasks(nodes, row.task)),
            tuple(one.path for one in inputs if isinstance(one, Source)),
            tuple(sorted(built.files)) if built else (),
            row.clean,
        )


def needed_tasks(nodes: NodeTable, task: str) -> Sequence[str]:
    """Return the tasks that come before a task."""
    row = nodes.row(task)
    # Tasks come from edges of the graph, which has checksums apart from those of the nodes.
    if row is None:
        raise StateDamagedError("an edge leads to no node")
    names = needed_names(row.packed_plan)
    if not names:
        return ()
    stem = stem_of(task)
    return sorted(str(TaskName(stem, name)) for name in names)
