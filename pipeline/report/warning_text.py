"""Warnings for people: those with the same text are one line with their number and some names.

Texts that differ in numbers, paths or quoted names only count as alike; the first is shown, and
how many more there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

NAMES_SHOWN = 3
# Quoted names, paths of files, numbers.
VARYING = re.compile(r'"[^"]*"|[^\s"]+/[^\s"]*\.\w+|-?\d+(?:,\d{3})*(?:\.\d+)?')
GAP = "…"


class Warned(NamedTuple):
    """A warning and the node that has it; no task where it is about no single node."""

    task: str
    text: str

    def __str__(self) -> str:
        return f"{self.task}: {self.text}" if self.task else self.text


def group_warnings(warnings: Iterable[Warned]) -> list[str]:
    """Return a line for each kind of warning, in the order in which they first appear."""
    groups: dict[tuple[bool, str], list[Warned]] = {}
    for one in warnings:
        groups.setdefault((bool(one.task), VARYING.sub(GAP, one.text)), []).append(one)
    return [
        line
        for (is_of_node, shape), found in groups.items()
        for line in (_group_lines(shape, found) if is_of_node else map(str, found))
    ]


def _group_lines(shape: str, found: list[Warned]) -> list[str]:
    tasks = list(dict.fromkeys(one.task for one in found))
    if len(found) == 1:
        return [str(found[0])]
    texts = [one.text for one in found]
    if shape.startswith(f"{GAP}: "):  # the file, which the names of assets stand for
        texts = [VARYING.sub("", one, count=1).removeprefix(": ") for one in texts]
    text = texts[0]
    if len(set(texts)) > 1:
        return [f"{tasks[0]}: {text}; {_more(tasks, len(found) - 1)}"]
    count = f"{len(tasks):,} assets" if len(tasks) > 1 else f"{len(found):,} times"
    such = ", such as " if len(tasks) > NAMES_SHOWN else ": " if len(tasks) > 1 else " in "
    return [f"{text}: {count}{such}{', '.join(tasks[:NAMES_SHOWN])}"]


def _more(tasks: list[str], times: int) -> str:
    """Say in how many other assets, or how many more times in the same one, there is the like."""
    others = tasks[1:]
    if not others:
        return f"{times:,} more like it"
    such = ", such as " if len(others) > NAMES_SHOWN else ": "
    return f"the like in {len(others):,} more{such}{', '.join(others[:NAMES_SHOWN])}"
