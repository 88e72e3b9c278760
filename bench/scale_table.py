"""The one table of what machines share: times, rates, requests, and the loop beside them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine_table import columns

LOOP_GOAL = 1.5  # restoring may take so many times what writing the files in a loop does
HEADER = (
    "from a fresh clone",
    "nodes",
    "s",
    "CPU s",
    "nodes a second",
    "best round",
    "a CPU second",
    "requests per 1,000",
    "x the loop",
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a build took: seconds, and CPU seconds, in which other users show less."""

    wall: float
    cpu: float


@dataclass(slots=True)
class Row:
    """One state of one tree: what each round took, and what is known beside that."""

    name: str
    nodes: int
    costs: list[Cost] = field(default_factory=list)
    requests: int | None = None  # per 1,000 nodes
    least_rate: int | None = None  # the goal, in nodes a second
    loop: Row | None = None  # the loop that writes the same files, where the row restores them

    @property
    def cost(self) -> Cost:
        """The median of each figure by itself."""
        walls, cpus = zip(*((one.wall, one.cpu) for one in self.costs), strict=True)
        return Cost(statistics.median(walls), statistics.median(cpus))

    @property
    def cells(self) -> Iterator[str]:
        """The figures as they are printed; "" where there is none."""
        cost, best = self.cost, min(one.wall for one in self.costs)
        yield self.name
        yield f"{self.nodes:,}"
        yield f"{cost.wall:.2f}"
        yield f"{cost.cpu:.2f}" if cost.cpu else ""
        yield from (f"{self.nodes / one:,.0f}" for one in (cost.wall, best))
        yield f"{self.nodes / cost.cpu:,.0f}" if cost.cpu else ""
        yield "" if self.requests is None else f"{self.requests:,}"
        yield f"{cost.wall / self.loop.cost.wall:.1f}" if self.loop else ""


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lay all figures out, and say below which goals are reached."""
    yield from columns([HEADER, *(tuple(one.cells) for one in rows)])
    for row in rows:
        if row.least_rate:
            is_reached = row.nodes / row.cost.wall >= row.least_rate
            yield f"goal: {row.least_rate:,} nodes a second, {row.name}: {_verdict(is_reached)}"
    for row in rows:
        if row.loop:
            ratio = row.cost.wall / row.loop.cost.wall
            cpu = row.cost.cpu / row.loop.cost.cpu
            yield (
                f"goal: {LOOP_GOAL} x the loop, {row.name}: {_verdict(ratio <= LOOP_GOAL)}, "
                f"{ratio:.1f} x the time, {cpu:.1f} x the CPU"
            )


def _verdict(is_reached: bool) -> str:
    return "reached" if is_reached else "not reached"
