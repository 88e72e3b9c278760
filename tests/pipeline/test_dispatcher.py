"""Nodes that wait for nothing take little of doit's memory, and are dispatched as others are."""

from doit.control import TaskControl
from doit.task import Task

from pipeline.doit_plugin.dispatcher import FEW_READERS, FirstNode, Readers, dispatcher_of
from pipeline.doit_plugin.loader import _node_task


def order_of(dispatcher):
    """Return the tasks in the order in which they are given, each ended before the next."""
    given, node = [], None
    while True:
        try:
            node = dispatcher.generator.send(node)
        except StopIteration:
            return given
        node.run_status = "successful"
        given.append(node.task.name)


def make_tasks():
    own = Task("own", None, task_dep=["toy:b", "toy:a"])
    nodes = [_node_task("toy:a", ()), _node_task("toy:b", ()), _node_task("toy:c", ("toy:a",))]
    return [own, *nodes]


def test_tasks_are_given_in_the_order_of_doit():
    orders = []
    for make in (TaskControl.task_dispatcher, dispatcher_of):
        control = TaskControl(make_tasks())
        control.process(["own", "toy:c"])
        orders.append(order_of(make(control)))
    assert orders[0] == orders[1] == ["toy:b", "toy:a", "own", "toy:c"]


def test_only_a_node_that_nothing_comes_before_goes_without_what_doit_keeps():
    control = TaskControl(make_tasks())
    control.process(["own", "toy:c"])
    dispatcher = dispatcher_of(control)
    order_of(dispatcher)
    light = {name for name, node in dispatcher.nodes.items() if isinstance(node, FirstNode)}
    assert light == {"toy:a", "toy:b"}
    # What they share was put to no use.
    assert not any(vars(FirstNode)[name] for name in ("task_dep", "bad_deps", "wait_run"))


def test_few_and_many_readers_are_each_told_once():
    for count in (1, FEW_READERS, 3 * FEW_READERS):
        readers = Readers()
        for name in [*range(count), *range(count)]:
            readers.add(name)
        assert sorted(readers) == list(range(count))
