"""The graph as doit gets it: tasks, what comes before each, and how they stand."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.plan import Source
from pipeline.build.built import files_of
from pipeline.plan.graph import needed_nodes
from pipeline.state.database import Row, StateDamagedError
from pipeline.state.node_table import Book


@dataclass(frozen=True, slots=True)
class Item:
    """A task to hand to doit: its name and the tasks that come before it."""

    task: str
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A node of the whole graph: what comes before it, what it reads and makes, how it stands."""

    task: str
    needs: tuple[str, ...]
    sources: tuple[str, ...]
    files: tuple[str, ...]
    clean: bool

    @staticmethod
    def of(book: Book, row: Row) -> Part:
        """Describe a node."""
        planned = book.planned(row.task)
        inputs = planned.node.inputs.values() if planned else ()
        return Part(
            row.task,
            tuple(needs_of(book, row.task)),
            tuple(one.path for one in inputs if isinstance(one, Source)),
            tuple(sorted(files_of(row.built))) if row.built else (),
            row.clean,
        )


def needs_of(book: Book, task: str) -> list[str]:
    """Name the tasks that come before a task."""
    planned = book.planned(task)
    if planned is None:
        raise StateDamagedError("an edge leads to no node")
    names = {*needed_nodes(planned.node), *planned.needs}
    if not names:
        return []
    return sorted(f"{task.partition(':')[0]}:{name}" for name in names)
