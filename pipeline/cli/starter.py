"""The first manifest of a target: entries for the sources that are there, options as comments.

It is made from the target's declaration, as the manual and the schema for editors are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from encoders.kit.option import Option, Value
from encoders.kit.plan import ANY, Kind, Params, Table, Target
from pipeline.cli.found_source import (
    ASSET,
    FoundSource,
    clashing,
    patterns,
    source_root,
)
from pipeline.cli.suggestion import Suggestion, kind_reads

# So many sources of equal needs are listed; for more of them patterns are easier to read.
MAX_LISTED = 8
IN_OTHER_FORMAT = "there in another format as well"
UNFIT = "no options make it fit"
SCHEMA_FOLDER = ".cartwright/schema"


def readable(target: Target, sources: Sequence[FoundSource]) -> list[FoundSource]:
    """Return the sources that a target can read in the tables of its first manifest."""
    table = _first_table(target)
    kinds = [kind for kind in target.kinds.values() if kind.table == table]
    suffixes = {one for kind in kinds for one in kind.suffixes} - {ANY}
    return [one for one in sources if one.suffix in suffixes]


def starter_manifest(
    name: str, target: Target, found: Suggestion, left_out: Sequence[FoundSource] = ()
) -> str:
    """Return the text of a manifest for the sources that were found, without copies of them."""
    blocks = ["\n".join(_head(name, target, found))]
    for table in dict.fromkeys(kind.table for kind in target.kinds.values()):
        kinds = {key: kind for key, kind in target.kinds.items() if kind.table == table}
        if table == ASSET:
            blocks.append("\n".join(_assets(kinds, found, left_out)))
            blocks += _fitted(found.options, found.sources)
            blocks += _named(clashing(found.sources, target.name_parts))
        else:
            blocks.append("\n".join(_gathered(table, kinds, found)))
    for key, settings in target.tables.items():
        # What a target can't do without is filled in, what concerns sources only with them.
        has_use = bool(found.sources) or not settings.repeated
        blocks.append("\n".join(_settings(key, settings, has_use)))
    return "\n\n".join(blocks) + "\n"


def _first_table(target: Target) -> str:
    """Return the table that a first manifest fills; the target's most usual one comes first."""
    return next(iter(target.kinds.values())).table


def _head(name: str, target: Target, found: Suggestion) -> Iterator[str]:
    yield f"#:schema ../{SCHEMA_FOLDER}/{name}.json"
    yield f"# What {name} wants. A line that begins with # shows a key with its default."
    yield f"target = {_toml(name)}"
    root = source_root(found.sources)
    if root != "assets":
        yield f"source_root = {_toml(root)}  # output names are relative to it"
    for key, value in found.settings.items():
        needing = [kind for kind, one in target.kinds.items() if one.needs == (key, value)]
        yield f"{key} = {_toml(value)}  # there is no {' or '.join(needing)} without it"
    left = {key: one for key, one in target.options.items() if key not in found.settings}
    yield from _filled(left)


def _assets(
    kinds: Mapping[str, Kind], found: Suggestion, left_out: Sequence[FoundSource]
) -> Iterator[str]:
    """Yield the entry for all sources; where there are none, the same as comments."""
    sources = found.sources
    mark = "" if sources else "# "
    used = {key: kind for key, kind in kinds.items() if any(kind_reads(kind, x) for x in sources)}
    yield f"{mark}[[{ASSET}]]"
    yield f"{mark}source = {_toml(patterns(sources) or ['assets/**/*'])}"
    yield from _excluded(sources, left_out, found.unfit)
    yield from _options(used)


def _excluded(
    sources: Sequence[FoundSource], copies: Sequence[FoundSource], unfit: Sequence[FoundSource]
) -> Iterator[str]:
    """Say which sources are left out: by name where the patterns of the others match them."""
    matched = set(patterns(sources))
    reasons = {one.pattern: IN_OTHER_FORMAT for one in copies}
    reasons |= {one.pattern: UNFIT for one in unfit}
    left_out = [*copies, *unfit]
    excluded = {one.pattern for one in left_out if matched.issuperset(patterns([one]))}
    if excluded:
        why = ", or ".join(dict.fromkeys(reasons[one] for one in sorted(excluded)))
        yield f"exclude = {_toml(sorted(excluded))}  # {why}"
    for reason, some in ((IN_OTHER_FORMAT, copies), (UNFIT, unfit)):
        others = patterns(one for one in some if one.pattern not in excluded)
        if others:
            yield f"# Left out: {', '.join(others)}  # {reason}"


def _gathered(table: str, kinds: Mapping[str, Kind], found: Suggestion) -> Iterator[str]:
    """Yield the entry of a table that gathers sources: the chosen one, or comments."""
    chosen = found.chosen.get(table)
    mark = "" if chosen else "# "
    path = chosen.pattern if chosen else "assets/…"
    taken = set(found.chosen.values())
    others = [one.pattern for one in found.sources if one not in taken]
    yield f"{mark}[[{table}]]"
    yield f"{mark}name = {_toml(_safe_stem(chosen.path) if chosen else 'name')}"
    yield f"{mark}source = {_toml(path)}"
    if chosen and others:
        yield f"# source = {_toml([path, *others[:3]])}  # several become one {table}"
    yield from _options(kinds)


def _options(kinds: Mapping[str, Kind]) -> Iterator[str]:
    """Yield the options of kinds: those that have examples as they are, others as comments."""
    shown: set[str] = set()  # kinds of one source share options
    for key, kind in kinds.items():
        new = {name: one for name, one in kind.options.items() if name not in shown}
        if new:
            yield f"# Options of the kind {key}:"
        yield from _filled(new)
        shown |= new.keys()


def _fitted(options: Mapping[str, Params], sources: Sequence[FoundSource]) -> Iterator[str]:
    """Yield an entry for the sources that need the same options."""
    groups: dict[str, list[FoundSource]] = {}
    for one in sources:
        if one.path in options:
            lines = [f"{key} = {_toml(value)}" for key, value in sorted(options[one.path].items())]
            groups.setdefault("\n".join(lines), []).append(one)
    for text, members in groups.items():
        paths = sorted(one.pattern for one in members)
        source = _toml(paths if len(paths) <= MAX_LISTED else patterns(members))
        count = "1 does" if len(paths) == 1 else f"{len(paths)} do"
        why = f"# {count} not fit without these options"
        yield f"[[{ASSET}]]\nsource = {source}  {why}\n{text}"


def _named(ids: Mapping[str, str]) -> Iterator[str]:
    """Yield an entry for each source that needs a name of its own."""
    for path, name in ids.items():
        said = "  # another source has its name already"
        yield f"[[{ASSET}]]\nsource = {_toml(path)}\nid = {_toml(name)}{said}"


def _settings(name: str, table: Table, has_use: bool) -> Iterator[str]:
    """Yield a table of settings: filled where it has examples and a use, else as comments."""
    is_filled = has_use and any(one.example is not None for one in table.options.values())
    head = f"[[{name}]]" if table.repeated else f"[{name}]"
    yield head if is_filled else f"# {head}"
    yield from (_filled if is_filled else _comments)(table.options)


def _filled(options: Mapping[str, Option]) -> Iterator[str]:
    """Yield the options that have examples, then the others as comments."""
    filled = {key: one for key, one in options.items() if one.example is not None}
    for key, one in filled.items():
        yield f"{key} = {_toml(one.example)}  # {one.doc}"
    yield from _comments({key: one for key, one in options.items() if key not in filled})


def _comments(options: Mapping[str, Option]) -> Iterator[str]:
    for key, one in options.items():
        value = "…" if one.default is None else _toml(one.default)
        yield f"# {key} = {value}  # {one.doc}; {one.rule.text}"


def _safe_stem(path: str) -> str:
    """Return a file's stem without what could not be part of the names of outputs."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return re.sub(r"[^\w.-]+", "_", stem).strip("._") or "scene"


def _toml(value: Value | Sequence[str]) -> str:
    """Write a value as TOML has it; for texts, numbers, flags and lists JSON is the same."""
    return json.dumps(value, ensure_ascii=False)
