"""Which failures are alike: those that differ in nothing but the names of their own files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pipeline.report.warning_text import GAP

GROUPED_FROM = 4  # nodes that fail alike; fewer are told one by one
FailureKey = tuple[str, str, tuple[tuple[str, str], ...]]


def failure_key(
    problem: str, hint: str, facts: Mapping[str, str], own_names: Iterable[str]
) -> FailureKey:
    """Return what nodes that fail alike have in common; `own_names` are those of their inputs."""
    given = [*own_names]
    names = {*given, *(one.rpartition("/")[2] for one in given)} - {""}
    own = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)")
    found = tuple((label, own.sub(GAP, fact)) for label, fact in facts.items())
    return own.sub(GAP, problem), hint, found
