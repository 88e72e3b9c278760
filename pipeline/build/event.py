"""What a build finds out, as data: one event for each node, kept to the end of the run.

The terminal, and every other report, reads these events; none of them reads another's text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

from pipeline.task_name import stem_of

if TYPE_CHECKING:
    from encoders.kit.error import EncodeError
    from pipeline.change.reason import Reason
    from pipeline.output import Output

BUILT = "built"  # encoded
RESTORED = "restored"  # taken from the cache
UNCHANGED = "unchanged"
FAILED = "failed"
NOT_BUILT = "not built"  # a node that it needs failed
# Not an end: inputs are gone from disk and cache. They are built again, then the node is.
MISSING_INPUTS = "missing inputs"
# Of nodes with one fingerprint, the first in this order was done first; see `order_equal_results`.
RANK = {BUILT: 0, RESTORED: 2}
RANK_SHARED = 1
# What an event says of the work itself, and not of the node that it was done for.
HAPPENED = (
    "outcome",
    "is_shared",
    "seconds",
    "cpu_seconds",
    "worker",
    "began",
    "peak_bytes",
)


@dataclass(slots=True)
class NodeEvent:
    """What became of a node.

    `worker` names the process that did it, `is_shared` tells whether a restored result came from
    the shared cache, `needs` names the failed tasks because of which it was not built. `began` is a
    time of `perf_counter`. `is_as_planned` tells that it ran, and read the inputs that were
    planned.
    """

    task: str
    outcome: str
    reason: Reason | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    worker: str = ""
    is_shared: bool = False
    outputs: tuple[Output, ...] = ()
    warnings: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    error: EncodeError | None = None
    traceback: str = ""
    needs: tuple[str, ...] = ()
    began: float = 0.0
    is_as_planned: bool = False
    peak_bytes: int = 0
    fingerprint: str = ""

    @property
    def file_bytes(self) -> int:
        """The size of all files that the node wrote or restored."""
        return sum(one.size for one in self.outputs if one.path is not None)


@dataclass(slots=True)
class BuildLog:
    """Everything that a run found out, in the order in which it did.

    `warnings` are about no single node. `removed` are stale outputs, by manifest and path.
    """

    nodes: dict[str, NodeEvent] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    removed: list[tuple[str, str]] = field(default_factory=list)

    def add(self, event: NodeEvent) -> None:
        """Keep the event of a node.

        A node whose outputs were lost is done twice in a run: what counts is that it was built,
        and the time of both.
        """
        # The second time the result comes from the cache, where the first time has put it.
        known = self.nodes.get(event.task)
        if known is not None and known.outcome == BUILT and event.outcome == RESTORED:
            event.outcome = BUILT
            event.seconds += known.seconds
            event.cpu_seconds += known.cpu_seconds
        self.nodes[event.task] = event

    def order_equal_results(self) -> None:
        """Let the first of nodes with one fingerprint be the built one, the others restored.

        They share one encoding. Which of them was ready first depends on the number of workers,
        and what a run reports must not.
        """
        prints = [event.fingerprint for event in self.nodes.values()]
        if len(set(prints)) == len(prints):
            return  # as in most builds, so this is quick
        groups: dict[str, list[NodeEvent]] = {}
        for event in self.nodes.values():
            if event.outcome in RANK and event.fingerprint:
                groups.setdefault(event.fingerprint, []).append(event)
        for events in groups.values():
            if len({_rank(one) for one in events}) > 1:
                ordered = sorted(events, key=lambda one: (_rank(one), one.task))
                happened = [[getattr(one, name) for name in HAPPENED] for one in ordered]
                events.sort(key=lambda one: one.task)
                for event, values in zip(events, happened, strict=True):
                    for name, value in zip(HAPPENED, values, strict=True):
                        setattr(event, name, value)

    def warned(self) -> list[tuple[str, str]]:
        """Return all warnings, each with its task; "" for those that are about no single node."""
        of_nodes = [(event.task, line) for event in self.nodes.values() for line in event.warnings]
        # The order in which nodes end depends on the workers.
        of_nodes.sort(key=itemgetter(0))
        return [*of_nodes, *(("", line) for line in self.warnings)]

    def file_bytes(self, stem: str) -> int:
        """Sum up what a manifest's nodes wrote or restored."""
        return sum(one.file_bytes for task, one in self.nodes.items() if stem_of(task) == stem)

    def removed_files(self, stem: str) -> list[str]:
        """Return the stale outputs of a manifest that were removed."""
        return [path for owner, path in self.removed if owner == stem]

    @property
    def has_work(self) -> bool:
        """Tell whether anything was built, restored, removed, or failed."""
        return bool(self.removed) or any(one.outcome != UNCHANGED for one in self.nodes.values())


def _rank(event: NodeEvent) -> int:
    return RANK_SHARED if event.is_shared else RANK[event.outcome]
