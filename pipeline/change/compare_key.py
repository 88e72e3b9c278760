"""What differs between the keys of one node on two machines, from what both wrote down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.change.option_word import changed_names, changed_options, changed_plan
from pipeline.change.reason import CODE, OPTION, SOURCE, Reason, describe_code

Tables = Mapping[str, Mapping[str, str]]


def key_differences(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    tables: tuple[Tables, Tables],
    options: frozenset[str],
    not_built: Sequence[str] = (),
) -> list[Reason]:
    """Return what differs from the other machine's key to ours; nothing where they are equal.

    `tables` are the code tables of both by digest. `not_built` are inputs that no node has made
    here yet: whether they differ shows in the nodes that make them.
    """
    return [
        *_code(old, new, tables),
        *_params(old.get("params", {}), new["params"], options),
        *_inputs(old.get("inputs", {}), new["inputs"], not_built),
    ]


def _code(
    old: Mapping[str, Any], new: Mapping[str, Any], tables: tuple[Tables, Tables]
) -> list[Reason]:
    if old.get("encoder") != new["encoder"]:
        return [Reason(CODE, f"{old.get('encoder')} -> {new['encoder']}")]
    if old.get("code") == new["code"]:
        return []
    before, after = tables[0].get(str(old.get("code"))), tables[1].get(str(new["code"]))
    if before is None or after is None:
        return [Reason(CODE, "the other build does not say which")]
    return [describe_code(before, after)]


def _params(
    old: Mapping[str, Any], new: Mapping[str, Any], options: frozenset[str]
) -> list[Reason]:
    found = []
    named = changed_options(old, new, options)
    if named:
        found.append(Reason(OPTION, ", ".join(named)))
    planned = changed_plan(old, new, options)
    if planned:
        found.append(Reason(SOURCE, f"planned {', '.join(planned)} changed"))
    return found


def _inputs(
    old: Mapping[str, Any], new: Mapping[str, Any], not_built: Sequence[str]
) -> list[Reason]:
    def label(name: str) -> str:
        if name not in new:
            return f"{name} (not read here)"
        if name not in old:
            return f"{name} (not read there)"
        return name if old[name] else f"{name} (not known there)"

    # What nothing has made here yet is the same as far as is known, if it was read there, too.
    read_there = [one for one in not_built if any(_is_of(name, one) for name in old)]
    changed = changed_names(old, new)
    names = [name for name in changed if not any(_is_of(name, one) for one in read_there)]
    return [Reason(SOURCE, ", ".join(map(label, names)))] if names else []


def _is_of(name: str, one: str) -> bool:
    """Tell whether a name is that of an input, or of a member of the family that it is."""
    return name == one or name.startswith(f"{one}/")
