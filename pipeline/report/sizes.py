"""What a build's outputs weigh, by target and node, and what grew or shrank since another build.

Both builds are results of runs, as `--json` writes them. A manifest or a node that only one of
them has the outputs of is new or gone; one that failed in either is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.size import format_bytes, parse_bytes
from pipeline.task_name import stem_of

Result = Mapping[str, Any]
SHOWN, NAMES_SHOWN = 10, 3
NO_OUTPUTS = ("failed", "not built")


class Change(NamedTuple):
    """The bytes of a manifest or a node before and now; None where it was or is not there."""

    name: str
    before: int | None
    now: int | None

    @property
    def growth(self) -> int:
        """How much it grew."""
        return (self.now or 0) - (self.before or 0)

    def __str__(self) -> str:
        if self.before is None:
            return f"{format_bytes(self.now or 0):>9}  new       {self.name}"
        if self.now is None:
            return f"{format_bytes(0):>9}  gone      {self.name}"
        share = f"{self.growth / self.before:+.1%}" if self.before else "new"
        return f"{format_bytes(self.now):>9}  {share:<8}  {self.name}"


def node_sizes(result: Result) -> dict[str, int]:
    """Return the bytes of each node's files, of those that are up to date."""
    return {
        node["task"]: sum(file["bytes"] for file in node["outputs"])
        for node in result["nodes"]
        if node["outcome"] not in NO_OUTPUTS
    }


def compare(now: Result, before: Result) -> tuple[list[Change], list[Change]]:
    """Return the changes of manifests, and those of nodes, largest first."""
    stems = set(now["manifests"]) & set(before["manifests"])
    unknown = set(not_compared(now, before))
    sizes = [
        {task: size for task, size in node_sizes(one).items() if _counts(task, stems, unknown)}
        for one in (now, before)
    ]
    tasks = {*sizes[0], *sizes[1]}
    nodes = [Change(task, sizes[1].get(task), sizes[0].get(task)) for task in tasks]
    totals = [
        Change(stem, *(_total(one, stem) for one in (sizes[1], sizes[0]))) for stem in sorted(stems)
    ]
    changed = [one for one in nodes if one.before != one.now]
    return totals, sorted(changed, key=lambda one: (-abs(one.growth), one.name))


def not_compared(now: Result, before: Result) -> list[str]:
    """Return the tasks that have no outputs in one of two builds because they failed there."""
    stems = set(now["manifests"]) & set(before["manifests"])
    nodes = [node for one in (now, before) for node in one["nodes"]]
    failed = {node["task"] for node in nodes if node["outcome"] in NO_OUTPUTS}
    return sorted(task for task in failed if stem_of(task) in stems)


def not_compared_line(tasks: Sequence[str]) -> str:
    """Say which tasks a comparison leaves out."""
    such = ", such as " if len(tasks) > NAMES_SHOWN else ": "
    names = ", ".join(tasks[:NAMES_SHOWN])
    return f"not compared, because they failed in one of the builds, {len(tasks):,}{such}{names}"


def _counts(task: str, stems: set[str], unknown: set[str]) -> bool:
    return stem_of(task) in stems and task not in unknown


def _total(sizes: Mapping[str, int], stem: str) -> int:
    return sum(size for task, size in sizes.items() if stem_of(task) == stem)


def size_lines(result: Result) -> list[str]:
    """Return the sizes of a build: its manifests, and the largest nodes of each."""
    sizes = node_sizes(result)
    lines = []
    for stem in result["manifests"]:
        own = {task: size for task, size in sizes.items() if stem_of(task) == stem}
        lines.append(f"{format_bytes(sum(own.values())):>9}  {stem}")
        largest = sorted(own.items(), key=lambda one: (-one[1], one[0]))[:SHOWN]
        lines += [f"  {format_bytes(size):>9}  {task}" for task, size in largest if size]
    return lines


def change_lines(totals: list[Change], nodes: list[Change], lists_all: bool) -> list[str]:
    """Return what grew and shrank, for people."""
    shown = nodes if lists_all else nodes[:SHOWN]
    more = len(nodes) - len(shown)
    lines = [*map(str, totals), *(f"  {one}" for one in shown)]
    return [*lines, f"  and {more:,} more changed; --all lists them"] if more else lines


class Limit(NamedTuple):
    """How much a manifest may grow: by a share of what it was, or by bytes."""

    share: float | None
    size: int
    text: str

    def is_passed(self, change: Change) -> bool:
        """Tell whether a manifest grew by more."""
        allowed = self.size if self.share is None else (change.before or 0) * self.share
        return change.growth > allowed


def parse_limit(text: str) -> Limit | None:
    """Read a limit such as +5% or +200kB; None where it is none."""
    percent = re.fullmatch(r"\+?(\d+(?:\.\d+)?)\s*%", text.strip())
    if percent:
        return Limit(float(percent[1]) / 100, 0, text.strip())
    size = parse_bytes(text.strip().removeprefix("+"))
    return None if size is None else Limit(None, size, text.strip())
