"""What the nodes of a run cost: estimates before it, records after it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable

from encoders.kit.plan import Node, Source
from pipeline.build.estimate import UNKNOWN, Estimate, Estimator
from pipeline.build.event import BUILT, NodeEvent
from pipeline.project import Project
from pipeline.state.cost_record import (
    CostRecord,
    CostRow,
    QuickCosts,
    add_quick,
    spread_quick,
)
from pipeline.state.node_record import encoder_and_inputs
from pipeline.state.node_table import NodeTable
from pipeline.task_name import SEPARATOR, stem_of

LOAD_ALL_FROM = 500  # from so many tasks on, one query for all costs is faster
QUICK_SECONDS = 0.005
MANY_QUICK = 500  # so many new quick nodes are kept together, which takes a tenth of the time


class Costs:
    """Reads the costs of earlier runs, and saves those of this one."""

    def __init__(self, project: Project, nodes: NodeTable) -> None:
        self._project, self._nodes = project, nodes
        self._known: dict[str, CostRecord] = {}
        # Input bytes of new nodes, by encoder: one text for each, and not one for each node.
        self._guessed: dict[str, dict[str, int]] = {}

    def estimates(self, tasks: Collection[str]) -> dict[str, Estimate]:
        """Return what tasks are expected to cost."""
        state = self._project.state
        known = state.costs(tasks if len(tasks) < LOAD_ALL_FROM else None)
        if len(tasks) < LOAD_ALL_FROM and len(known) < len(tasks):
            known = state.costs()  # estimates of new nodes come from all others
        estimator = Estimator(known)
        self._known = known
        return {task: self._estimate(task, estimator) for task in tasks}

    def _estimate(self, task: str, estimator: Estimator) -> Estimate:
        planned = self._nodes.planned(task)
        if planned is None or planned.is_broken:
            return UNKNOWN
        node = planned.node
        known = estimator.known(task, node.encoder)
        if known is not None:
            return known
        size = self._input_bytes(task, node)
        if size:  # what other nodes make of its inputs may not be there yet
            self._guessed.setdefault(node.encoder, {})[task] = size
        return estimator.guess(node.encoder, size)

    def save(self, events: Iterable[NodeEvent]) -> None:
        """Save what encoding took, of the nodes of a run, in the caller's transaction.

        Once a run: a row for each node as it ends would cost more than a small node may. What a
        kill takes of it is measured again.
        """
        rows: list[CostRow] = []
        # Those that were never known, in columns: a row for each takes twice the memory.
        quick: dict[str, QuickCosts] = {}
        earlier = self._known
        for event in events:
            if event.outcome != BUILT:
                continue
            task, seconds, known = event.task, event.seconds, earlier.get(event.task)
            is_quick = seconds <= QUICK_SECONDS
            # A quick node that stays quick need not be written again.
            if is_quick and known is not None and known.seconds <= QUICK_SECONDS:
                continue
            encoder, size = self._encoder_and_bytes(task)
            # The peak of a quick node is that of its neighbours in the process.
            peak = 0 if is_quick else event.peak_bytes
            row = task, encoder, size, seconds, event.cpu_seconds, peak
            if is_quick and known is None:
                add_quick(quick, row)
            else:
                rows.append(row)
        if sum(len(tasks) for tasks, *_ in quick.values()) < MANY_QUICK:
            rows, quick = [*rows, *spread_quick(quick)], {}
        self._project.state.set_costs(rows)
        self._project.state.add_quick_costs(quick)

    def _encoder_and_bytes(self, task: str) -> tuple[str, int]:
        """Return a node's encoder and the size of its inputs: the guess, or what is there now."""
        for encoder, sizes in self._guessed.items():
            if task in sizes:
                return encoder, sizes[task]
        row, stem = self._nodes.row(task), stem_of(task)
        assert row is not None
        encoder, inputs = encoder_and_inputs(row.packed_plan)
        found = (
            self._source_bytes(one) if isinstance(one, str) else self._product_bytes(stem, *one)
            for one in inputs.values()
        )
        return encoder, sum(found)

    def _input_bytes(self, task: str, node: Node) -> int:
        """Return the size of a planned node's inputs, as far as it is known."""
        stem = stem_of(task)
        return sum(
            self._source_bytes(one.path)
            if isinstance(one, Source)
            else self._product_bytes(stem, one.node, one.role)
            for one in node.inputs.values()
        )

    def _source_bytes(self, path: str) -> int:
        stamp = self._project.snapshot.stamp(path)
        return max(stamp[2], 0) if stamp else 0

    def _product_bytes(self, stem: str, node: str, role: str) -> int:
        last = self._nodes.last_build(sys.intern(f"{stem}{SEPARATOR}{node}"))
        if last is None:
            return 0
        output = last.output(role)
        if output is not None:
            return output.size
        member = f"{role}/"  # the role is a family
        return sum(output.size for output in last.outputs if output.role.startswith(member))
