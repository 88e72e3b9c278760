"""The first manifest of a target: entries for the sources that are there, options as comments.

It is made from the target's declaration, as the manual and the schema for editors are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from encoders.kit.option import Option, Value
from encoders.kit.plan import ANY, Kind, Table, Target
from pipeline.cli.found_source import (
    FoundSource,
    choose_scene,
    clashing,
    drop_copies,
    patterns,
    source_root,
)

ASSET = "asset"
SCHEMA_FOLDER = ".cartwright/schema"


def readable(target: Target, sources: Sequence[FoundSource]) -> list[FoundSource]:
    """Return the sources that a target can read in the tables of its first manifest."""
    table = _first_table(target)
    kinds = [kind for kind in target.kinds.values() if kind.table == table]
    suffixes = {one for kind in kinds for one in kind.suffixes} - {ANY}
    return drop_copies([one for one in sources if one.suffix in suffixes])


def starter_manifest(name: str, target: Target, sources: Sequence[FoundSource]) -> str:
    """Return the text of a manifest for these sources, which the target can read."""
    blocks = ["\n".join(_head(name, target, sources))]
    tables = dict.fromkeys(kind.table for kind in target.kinds.values())
    for table in tables:
        kinds = {key: kind for key, kind in target.kinds.items() if kind.table == table}
        is_first = table == _first_table(target)
        blocks.append("\n".join(_entry(table, kinds, sources if is_first else [])))
        if is_first and table == ASSET:
            blocks += _named(clashing(sources))
    for key, settings in target.tables.items():
        blocks.append("\n".join(_settings(key, settings)))
    return "\n\n".join(blocks) + "\n"


def _first_table(target: Target) -> str:
    """Return the table that a first manifest fills; the target's most usual one comes first."""
    return next(iter(target.kinds.values())).table


def _head(name: str, target: Target, sources: Sequence[FoundSource]) -> Iterator[str]:
    yield f"#:schema ../{SCHEMA_FOLDER}/{name}.json"
    yield f"# What {name} wants. A line that begins with # shows a key with its default."
    yield f"target = {_toml(name)}"
    root = source_root(sources)
    if root != "assets":
        yield f"source_root = {_toml(root)}  # output names are relative to it"
    yield from _comments(target.options)


def _entry(table: str, kinds: Mapping[str, Kind], sources: Sequence[FoundSource]) -> Iterator[str]:
    """Yield an entry for the sources; where there are none, the same as comments."""
    mark = "" if sources else "# "
    yield f"{mark}[[{table}]]"
    if table == ASSET:
        used = {key: kind for key, kind in kinds.items() if _reads(kind, sources)}
        yield f"{mark}source = {_toml(patterns(sources) or ['assets/**/*'])}"
    else:
        used = dict(kinds)
        chosen = choose_scene(sources).path if sources else "assets/…"
        others = [one.path for one in sources if one.path != chosen]
        yield f"{mark}name = {_toml(_safe_stem(chosen) if sources else 'name')}"
        yield f"{mark}source = {_toml(chosen)}"
        if others:
            yield f"# source = {_toml([chosen, *others[:3]])}  # several become one {table}"
    shown: set[str] = set()  # kinds of one source share options
    for key, kind in used.items():
        new = {name: one for name, one in kind.options.items() if name not in shown}
        if new:
            yield f"# Options of the kind {key}:"
        yield from _comments(new)
        shown |= new.keys()


def _named(ids: Mapping[str, str]) -> Iterator[str]:
    """Yield an entry for each source that needs a name of its own."""
    for path, name in ids.items():
        said = "  # another source has its name already"
        yield f"[[{ASSET}]]\nsource = {_toml(path)}\nid = {_toml(name)}{said}"


def _reads(kind: Kind, sources: Sequence[FoundSource]) -> bool:
    return any(one.suffix in kind.suffixes for one in sources)


def _settings(name: str, table: Table) -> Iterator[str]:
    """Yield a table of settings: filled where its options have examples, else as comments."""
    filled = {key: one for key, one in table.options.items() if one.example is not None}
    head = f"[[{name}]]" if table.repeated else f"[{name}]"
    yield head if filled else f"# {head}"
    for key, one in filled.items():
        yield f"{key} = {_toml(one.example)}  # {one.doc}"
    yield from _comments({key: one for key, one in table.options.items() if key not in filled})


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
