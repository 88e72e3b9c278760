"""Params of a node in the words of the manifest.

A param that is named like an option of the target is that option. All others are worked out by the
target from sources and options: they are described as a change of the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pipeline.manifest.mistake import show
from pipeline.plan.target import TargetError, load_target

SHOWN = 40  # how many characters of a value are shown


def option_names(target: str) -> frozenset[str]:
    """Return all keys that a manifest of a target may have; none where it can't be loaded."""
    try:
        declared = load_target(target)
    except TargetError:
        return frozenset()
    names = {*declared.options, *declared.tables}
    for kind in declared.kinds.values():
        names |= set(kind.options)
    for table in declared.tables.values():
        names |= set(table.options)
    return frozenset(names)


def changed_options(
    old: Mapping[str, Any], new: Mapping[str, Any], options: frozenset[str]
) -> list[str]:
    """Return each option that differs, from and to; of a table, the keys that differ."""
    found: list[str] = []
    for name in changed_names(old, new):
        if name not in options:
            continue
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            inner = changed_names(before, after)
            found += [_step(f"{name}.{key}", before, after, key) for key in inner]
        else:
            found.append(_step(name, old, new, name))
    return found


def changed_plan(
    old: Mapping[str, Any], new: Mapping[str, Any], options: frozenset[str]
) -> list[str]:
    """Return what differs in the plan and is no option, in words."""
    return [name.replace("_", " ") for name in changed_names(old, new) if name not in options]


def changed_names(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the names whose values differ, or that only one side has."""
    missing = object()
    names = sorted({*old, *new})
    return [name for name in names if old.get(name, missing) != new.get(name, missing)]


def _step(label: str, old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> str:
    before, after = _shown(old, key), _shown(new, key)
    # Long values may begin alike, and a step from something to itself would say nothing.
    return f"`{label}` changed" if before == after else f"`{label}` {before} -> {after}"


def _shown(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "none"
    value = values[name]
    text = json.dumps(value, sort_keys=True) if isinstance(value, dict) else show(value)
    if len(text) <= SHOWN:
        return text
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"a table of {len(value)}" if isinstance(value, dict) else f"{text[:SHOWN]}…"
