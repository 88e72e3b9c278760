"""Shards: which nodes each of several jobs builds, agreed upon without talking.

Every job divides the same plan by the same durations, so all come to the same division. Nodes are
taken longest first, each by the job that would be done first with it. A node goes where the nodes
that it needs are, unless building them twice costs less than the node itself. A node that joins
the work of several jobs is left to the last job, which does such nodes at its end: by then the
others have sent most of what it needs, and it builds what is not there yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FIRST_SECONDS, BYTES_PER_SECOND = 0.001, 20e6  # of nodes whose durations nobody has recorded
SHARD = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
MOST_SHARDS = 9999


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several jobs, counted from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True, slots=True)
class Share:
    """What a job builds: its own nodes, those they need, and which of all come last."""

    own: frozenset[str]
    needed: frozenset[str]
    late: frozenset[str]

    def __contains__(self, task: object) -> bool:
        return task in self.own or task in self.needed


def parse_shard(text: str) -> Shard:
    """Read a shard such as 3/8; raise ValueError with what is needed."""
    found = SHARD.fullmatch(text)
    if not found or int(found[1]) > int(found[2]):
        raise ValueError("a shard is needed, such as 3/8: the third of eight")
    return Shard(int(found[1]), int(found[2]))


def guess_seconds(source_bytes: int) -> float:
    """Return how long a node of which nothing is recorded is taken to need, on every machine."""
    return FIRST_SECONDS + source_bytes / BYTES_PER_SECOND


def divide(needs: Mapping[str, Sequence[str]], seconds: Mapping[str, float], shard: Shard) -> Share:
    """Return the share of one job of all nodes; the shares of all jobs together have every node."""
    division = _Division(needs, seconds, shard.count)
    for task in _levels(needs, seconds):
        division.assign(task)
    number = shard.number - 1
    own = division.nodes_of(number)
    late = division.joins if shard.number == shard.count else frozenset[str]()
    wanted = own | late
    needed = {one for task in wanted for one in division.ancestors(task)} - wanted
    # What only joins need is looked for as late as can be.
    early = {one for task in own for one in division.ancestors(task)} | own
    return Share(wanted, frozenset(needed), frozenset((wanted | needed) - early))


class _Division:
    """Nodes as they are given to jobs, one after the other."""

    def __init__(
        self, needs: Mapping[str, Sequence[str]], seconds: Mapping[str, float], count: int
    ) -> None:
        self._needs, self._seconds = needs, seconds
        self._loads = [0.0] * count
        self._has: list[set[str]] = [
            set() for _ in range(count)
        ]  # own nodes, and those built twice
        self._jobs: dict[str, int] = {}
        self._joins: set[str] = set()
        self._ancestors: dict[str, frozenset[str]] = {}

    @property
    def joins(self) -> frozenset[str]:
        """The nodes that need the work of several jobs."""
        return frozenset(self._joins)

    def nodes_of(self, job: int) -> frozenset[str]:
        """Return the nodes that were given to a job."""
        return frozenset(task for task, owner in self._jobs.items() if owner == job)

    def ancestors(self, task: str) -> frozenset[str]:
        """Return all nodes that a node needs, directly or through others."""
        if task not in self._ancestors:
            direct = self._needs.get(task, ())
            self._ancestors[task] = frozenset(direct).union(*(self.ancestors(o) for o in direct))
        return self._ancestors[task]

    def assign(self, task: str) -> None:
        """Give a node to a job; those that it needs were given before."""
        above = self.ancestors(task)
        if above & self._joins:
            self._joins.add(task)
            return
        own = self._seconds.get(task, 0.0)
        twice = [self._sum(above - has) for has in self._has]
        loads = zip(self._loads, twice, strict=True)
        _, job = min((load + extra, job) for job, (load, extra) in enumerate(loads))
        if twice[job] > own:
            job = twice.index(min(twice))
        if twice[job] > own:
            self._joins.add(task)
            return
        self._loads[job] += own + twice[job]
        self._has[job] |= {task, *above}
        self._jobs[task] = job

    def _sum(self, tasks: Iterable[str]) -> float:
        return sum(self._seconds.get(one, 0.0) for one in tasks)


def _levels(needs: Mapping[str, Sequence[str]], seconds: Mapping[str, float]) -> list[str]:
    """Return nodes so that each comes after all that it needs; of equals the longest first."""
    depth: dict[str, int] = {}
    waiting = sorted(needs)
    while waiting:
        left = []
        for task in waiting:
            found = [depth.get(one) for one in needs[task] if one in needs]
            if None in found:
                left.append(task)
            else:
                depth[task] = 1 + max((one for one in found if one is not None), default=-1)
        waiting = left
    return sorted(needs, key=lambda task: (depth[task], -seconds.get(task, 0.0), task))
