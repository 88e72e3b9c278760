"""doit's dispatcher, with little memory for nodes that wait for nothing: most of a large graph.

doit keeps fourteen attributes, six of them sets and lists, and two generators for each task before
the first one runs. A task without anything before it uses none of them, so it has those of its
class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from doit.control import ExecNode, TaskDispatcher

from pipeline.doit_plugin.loader import NODE

FEW_READERS = 8  # so many are searched one by one


class Readers:
    """The tasks that wait for one: a set, which is a tuple while they are few."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: tuple[Any, ...] | set[Any] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._nodes)

    def add(self, node: Any) -> None:
        """Add a task, unless it waits already."""
        if isinstance(self._nodes, set):
            self._nodes.add(node)
        elif node not in self._nodes:
            more = (*self._nodes, node)
            self._nodes = more if len(more) <= FEW_READERS else set(more)


class FirstNode(ExecNode):  # type: ignore[misc] # doit has no types
    """A task that has nothing to wait for, as doit's dispatcher keeps it."""

    # Of the class, and always empty: only what comes before a task is put into them.
    task_dep: ClassVar[list[str]] = []
    ancestors: ClassVar[list[str]] = []
    bad_deps: ClassVar[list[Any]] = []
    ignored_deps: ClassVar[list[Any]] = []
    calc_dep: ClassVar[set[str]] = set()
    wait_run: ClassVar[set[str]] = set()
    wait_run_calc: ClassVar[set[str]] = set()
    wait_select = False
    run_status = None
    generator = None
    _is_given = False

    def __init__(self, task: Any) -> None:
        # doit's own `__init__` is left out: the rest of what it sets are attributes of the class.
        self.task, self.waiting_me = task, Readers()

    def step(self) -> Any:
        """Give the task to be run, and after that nothing."""
        if self._is_given:
            return None
        self._is_given = True
        return self.task


class Dispatcher(TaskDispatcher):  # type: ignore[misc] # doit has no types
    """Gives tasks in doit's order; nodes that nothing comes before begin at once."""

    def _gen_node(self, parent: Any, task_name: str) -> Any:
        task = self.tasks[task_name]
        if task_name in self.nodes or not _is_first(task):
            return super()._gen_node(parent, task_name)
        node = self.nodes[task_name] = FirstNode(task)
        return node


def dispatcher_of(control: Any) -> Dispatcher:
    """Return the dispatcher of the tasks that doit has selected."""
    whole: TaskDispatcher = control.task_dispatcher()
    return Dispatcher(whole.tasks, whole.targets, whole.selected_tasks)


def _is_first(task: Any) -> bool:
    """Tell whether a task is a node of the build before which nothing is done."""
    return task.meta is NODE and not (task.task_dep or task.calc_dep or task.setup_tasks)
