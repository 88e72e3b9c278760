"""Budgets: whether the outputs of a manifest fit into what the platform has.

A manifest says how much, its target what counts. The check goes by the sizes that the state knows,
so that it costs no reading, and is made at the end of every run that has a budget to keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.plan import ASSET, FILE
from pipeline.output import Output
from pipeline.size import format_bytes
from pipeline.state.manifest_record import BudgetRecord
from pipeline.state.state import State
from pipeline.task_name import TaskName

LARGEST_SHOWN = 10
EVERYTHING = ""  # the name of the budget at the top of a manifest


class Part(NamedTuple):
    """An output that counts: the node that made it, how it is called, its size."""

    node: str
    label: str
    size: int


class Overrun(NamedTuple):
    """A budget that is exceeded: whose it is, what it allows, and what counts."""

    name: str
    limit: int
    parts: tuple[Part, ...]

    @property
    def used(self) -> int:
        """The size of all that counts."""
        return sum(one.size for one in self.parts)


def check_budget(state: State, stem: str, budget: BudgetRecord) -> EncodeError | None:
    """Return an error with the largest contributors where a manifest exceeds a budget."""
    overruns = find_overruns(count_parts(state, stem, budget), budget)
    if not overruns:
        return None
    contributors = [part for one in overruns for part in one.parts]
    if budget.made_of_others:
        contributors = _other_files(state, stem, contributors)
    return _error(overruns, contributors, budget)


def find_overruns(parts: Iterable[Part], budget: BudgetRecord) -> list[Overrun]:
    """Return the budgets that are exceeded."""
    groups: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        owner = _owner(part.node, budget.limits)
        groups.setdefault((owner, _group(part, budget)), []).append(part)
    found = [
        Overrun(name, budget.limits[owner], tuple(group))
        for (owner, name), group in sorted(groups.items())
        if owner in budget.limits
    ]
    return [one for one in found if one.used > one.limit]


def _owner(node: str, limits: Mapping[str, int]) -> str:
    """Return whose budget counts for a node: that of its own asset, else the manifest's."""
    name = node.partition("/")[0]
    return name if name in limits else EVERYTHING


def _group(part: Part, budget: BudgetRecord) -> str:
    """Return what shares one budget: a file, an asset, or all."""
    if budget.per == FILE:
        return part.label
    name = part.node.partition("/")[0]
    return name if budget.per == ASSET or name in budget.limits else EVERYTHING


def count_parts(state: State, stem: str, budget: BudgetRecord) -> list[Part]:
    """Return the outputs of a manifest that count."""
    if budget.roles:
        return _parts_by_role(state, stem, budget.roles)
    return [
        Part(TaskName.parse(task).node, path, size)
        for path, task, size in state.output_sizes(stem)
        if not budget.suffixes or path.endswith(tuple(budget.suffixes))
    ]


def _parts_by_role(state: State, stem: str, roles: Sequence[str]) -> list[Part]:
    """Return the outputs of some roles, which other nodes read and which are no files."""
    rows = state.rows(stem)
    built = [(TaskName.parse(row.task).node, row.built.outputs) for row in rows if row.built]
    return [Part(node, node, size) for node, size in sizes_of_roles(built, roles).items()]


def sizes_of_roles(
    nodes: Iterable[tuple[str, Iterable[Output]]], roles: Sequence[str]
) -> dict[str, int]:
    """Return what counts of each node, where its platform keeps one copy of what is equal."""
    seen: set[tuple[str, object]] = set()
    sizes = {}
    for node, outputs in sorted(nodes, key=lambda one: one[0]):
        asset = node.partition("/")[0]
        counted = [one for one in outputs if one.role in roles]
        # A picture with other colours is another one, although its texels may be the same.
        keys: list[tuple[str, object]] = [
            (asset, frozenset((one.role, one.sha) for one in counted))
            if one.role == roles[0]
            else (asset, (one.role, one.sha))
            for one in counted
        ]
        size = sum(one.size for one, key in zip(counted, keys, strict=True) if key not in seen)
        seen.update(keys)
        if size:
            sizes[node] = size
    return sizes


def _other_files(state: State, stem: str, parts: Iterable[Part]) -> list[Part]:
    """Return the files that a pack was made of, in its place."""
    packs = {one.label for one in parts}
    return [
        Part(TaskName.parse(task).node, path, size)
        for path, task, size in state.output_sizes(stem)
        if path not in packs
    ]


def _error(
    overruns: list[Overrun], contributors: Iterable[Part], budget: BudgetRecord
) -> EncodeError:
    facts = {}
    if budget.per != FILE:
        for one in overruns:
            over = format_bytes(one.used - one.limit)
            used = f"{format_bytes(one.used)} of {format_bytes(one.limit)}"
            facts[one.name or budget.what] = f"{used}, {over} too much"
    limits = {one.name: one.limit for one in overruns}
    largest = sorted(contributors, key=lambda one: (-one.size, one.label))
    for part in largest[:LARGEST_SHOWN]:
        limit = f" of {format_bytes(limits[part.label])}" if part.label in limits else ""
        facts[part.label] = f"{format_bytes(part.size)}{limit}"
    if len(largest) > LARGEST_SHOWN:
        rest = sum(one.size for one in largest[LARGEST_SHOWN:])
        facts[f"{len(largest) - LARGEST_SHOWN} more"] = format_bytes(rest)
    hint = "Make the largest smaller, or raise `budget` in the manifest."
    return EncodeError(f"over its budget of {budget.what}", facts, hint)
