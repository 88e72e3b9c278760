"""Manifests: what one platform build is made from, as the user wrote it. Data, never code.

All mistakes are collected and reported together, so that a user can fix them in one pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from encoders.kit.option import Option, Text, Value
from encoders.kit.plan import Kind, Params, Settings, Table, Target
from pipeline.manifest.mistake import PATHS, SYNTAX, Check, nearest, show
from pipeline.size import parse_bytes

# No separators and no control characters, and at least one character that is neither a dot nor a
# space: the name becomes part of a file's name.
UNCLOSED = "a text has no closing quotation mark in its line"
NAME = Text(r"[^/\\\0-\x1f]*[^/\\\0-\x1f.\s][^/\\\0-\x1f]*", "a name without / or \\")
# The keys of an entry that are no options: of `[[asset]]`, and of tables that gather sources.
RESERVED = {"asset": ("source", "exclude", "id", "kinds")}
GATHERING = ("source", "exclude", "name", "budget")
COMMON = ("target", "output", "source_root", "defaults", "budget")
# Folders that hold what a user or Cartwright needs; outputs may be removed.
NOT_AN_OUTPUT = ("manifests", "cache", "encoders", "pipeline")


@dataclass(frozen=True, slots=True)
class Entry:
    """An `[[asset]]` (or another table of assets): patterns, and options for what they match."""

    key: str
    table: str
    sources: tuple[str, ...]
    exclude: tuple[str, ...]
    id: str | None
    kinds: tuple[str, ...]
    options: Params
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole manifest, checked against its target."""

    stem: str
    target: str
    output: str
    source_root: str
    defaults: Mapping[str, Params]
    entries: tuple[Entry, ...]
    settings: Settings
    budget: int | None = None

    @property
    def budgets(self) -> dict[str, int]:
        """The bytes that are allowed: of the whole under "", of an entry under its name."""
        named = {entry.id or "": entry.budget for entry in self.entries}
        return {name: size for name, size in (*named.items(), ("", self.budget)) if size}


def parse_toml(data: bytes, check: Check) -> dict[str, Any]:
    """Parse TOML, or report what is wrong with it."""
    import tomllib  # a manifest that did not change is not parsed again

    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # some editors begin with a mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        check.add(SYNTAX, f"byte 0x{byte:02x} is no UTF-8; save the file as UTF-8 (at line {line})")
    except ValueError as error:
        # Said of a text in quotes: the parser takes the line's end for a part of it.
        said = str(error).replace("Illegal character '\\n'", UNCLOSED)
        last = len(data.rstrip().splitlines())
        said = said.replace("at end of document", f"at line {last}, the end of the file")
        from pipeline.manifest.syntax import describe_syntax

        check.add(SYNTAX, describe_syntax(said, data.decode("utf-8-sig")))
    except RecursionError:  # Python's parser calls itself for each level
        check.add(SYNTAX, "it is nested too deeply")
    return {}


def target_of(document: Mapping[str, Any], known: Sequence[str], check: Check) -> str | None:
    """Return the target of a manifest, or report that it is missing or unknown."""
    found = document.get("target")
    if isinstance(found, str) and found in known:
        return found
    if found is None:
        check.add("target", f"missing; allowed: {', '.join(known)}")
    else:
        near = nearest(str(found), known)
        hint = f'did you mean "{near}"?' if near else f"allowed: {', '.join(known)}"
        check.add("target", f"found {show(found)}; {hint}")
    return None


def read_manifest(
    stem: str, document: Mapping[str, Any], name: str, target: Target, check: Check
) -> Manifest:
    """Check a parsed manifest against its target and complete it with defaults."""
    tables = {kind.table for kind in target.kinds.values()}
    known = {*COMMON, *target.options, *target.tables, *tables}
    for key in document:
        # Most targets have [[asset]], so a user of another expects it here as well.
        if key == "asset" and key not in tables:
            check.add(key, f"this target has no [[asset]]; {_where_sources_go(tables)}")
        elif key not in known:
            check.unknown(key, key, known)
    # Reading goes on after a mistake, with what could be read: the caller raises them all.
    root = check.path("source_root", document.get("source_root", "assets"))
    entries = tuple(
        read_entry(f"{table}[{i + 1}]", table, entry, target, check)
        for table in sorted(tables)
        for i, entry in enumerate(list_of_tables(document, table, check))
    )
    return Manifest(
        stem=stem,
        target=name,
        output=output_folder(document.get("output", f"build/{stem}"), root, check),
        source_root=root,
        defaults=read_defaults(document.get("defaults", {}), target, check),
        entries=entries,
        settings=read_settings(document, target, root, check),
        budget=read_budget("budget", document, check),
    )


def read_budget(key: str, found: Mapping[str, Any], check: Check) -> int | None:
    """Read a size such as "4 MB", or a number of bytes; None where there is none."""
    value = found.get("budget")
    if value is None:
        return None
    is_number = isinstance(value, int) and not isinstance(value, bool)
    size = parse_bytes(value) if isinstance(value, str) else value if is_number else None
    if not isinstance(size, int) or size <= 0:
        check.add(key, f'found {show(value)}; allowed: a size such as "4 MB" or "512 KiB"')
        return None
    return size


def _where_sources_go(tables: set[str]) -> str:
    if not tables:
        return "it takes no sources"
    return f"write it as {' or '.join(f'[[{table}]]' for table in sorted(tables))}"


def output_folder(found: object, source_root: str, check: Check) -> str:
    """Check that the output folder is one that may be filled and emptied."""
    path = check.path("output", found)
    if not path:
        return path
    # Outputs are removed when they are stale, so the folder must hold nothing else.
    first = path.split("/")[0]
    taken = path == "." or first in NOT_AN_OUTPUT or first.startswith(".")
    if taken or overlap(path, source_root):
        check.add("output", f"found {show(found)}; outputs need a folder of their own")
    return path


def overlap(one: str, other: str) -> bool:
    """Tell whether one folder is the other or lies in it."""
    # With the slash: `build` is no part of `builds`.
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def list_of_tables(
    document: Mapping[str, Any], key: str, check: Check
) -> Sequence[Mapping[str, Any]]:
    """Return an array of tables, or report that it is something else."""
    found = document.get(key, [])
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    check.add(key, f"found {show(found)}; write it as [[{key}]]")
    return []


def read_options(
    key: str, found: Mapping[str, Any], known: Mapping[str, Option], check: Check
) -> dict[str, Value]:
    """Return the options of a table whose values are allowed, and report the others."""
    # Unknown names are the caller's to report, which knows the keys that are no options.
    return {
        name: value
        for name, value in found.items()
        if name in known and check.value(f"{key}.{name}" if key else name, value, known[name].rule)
    }


def read_defaults(found: object, target: Target, check: Check) -> dict[str, Params]:
    """Read `[defaults.<kind>]`."""
    defaults: dict[str, Params] = {}
    if not isinstance(found, dict):
        check.add("defaults", f"found {show(found)}; write it as [defaults.<kind>]")
        return defaults
    for kind, options in found.items():
        key = f"defaults.{kind}"
        if kind not in target.kinds:
            check.unknown(key, kind, target.kinds)
        elif not isinstance(options, dict):
            check.add(key, f"found {show(options)}; write it as [{key}]")
        else:
            known = target.kinds[kind].options
            for name in options:
                if name not in known:
                    check.unknown(f"{key}.{name}", name, known)
            defaults[kind] = read_options(key, options, known, check)
    return defaults


def read_entry(
    key: str, table: str, found: Mapping[str, Any], target: Target, check: Check
) -> Entry:
    """Read one `[[asset]]`, or an entry of another table of assets."""
    kinds = {name: kind for name, kind in target.kinds.items() if kind.table == table}
    # Of all kinds of the table: which of them an entry is about is known with its sources.
    options = {name: one for kind in kinds.values() for name, one in kind.options.items()}
    known = {*RESERVED.get(table, GATHERING), *options}
    for name in found:
        if name not in known:
            check.unknown(f"{key}.{name}", name, known)
    # Gathered sources have no one file to be named after, so their name is required.
    called = "id" if table == "asset" else "name"
    if "source" not in found:
        check.add(f"{key}.source", f"missing; allowed: {PATHS.text}")
    given = found.get(called)
    if called in found:
        given = given if check.value(f"{key}.{called}", given, NAME) else None
    elif table != "asset":
        check.add(f"{key}.{called}", f"missing; allowed: {NAME.text}")
    return Entry(
        key=key,
        table=table,
        sources=check.paths(f"{key}.source", found["source"]) if "source" in found else (),
        exclude=check.paths(f"{key}.exclude", found["exclude"]) if "exclude" in found else (),
        id=given,
        kinds=read_kinds(f"{key}.kinds", found.get("kinds"), kinds, check),
        options=read_options(key, found, options, check),
        budget=None if table == "asset" else read_budget(f"{key}.budget", found, check),
    )


def read_kinds(key: str, found: object, known: Mapping[str, Kind], check: Check) -> tuple[str, ...]:
    """Read which kinds an entry asks for; none means all that its suffix has."""
    if found is None:
        return ()
    if not isinstance(found, list) or not found:
        allowed = f"a list with at least one of {', '.join(sorted(known))}"
        check.add(key, f"found {show(found)}; allowed: {allowed}")
        return ()
    for one in found:
        if not isinstance(one, str) or one not in known:
            check.unknown(key, str(one), known, "kind")
    return tuple(one for one in found if isinstance(one, str) and one in known)


def read_settings(document: Mapping[str, Any], target: Target, root: str, check: Check) -> Settings:
    """Read the target's own top-level options and tables, completed with their defaults."""
    options = complete(target.options, read_options("", document, target.options, check))
    require("", target.options, document, check)
    tables = {
        name: read_table(name, table, document.get(name), check)
        for name, table in target.tables.items()
    }
    return Settings(options, tables, root)


def read_table(name: str, table: Table, found: object, check: Check) -> Sequence[Params]:
    """Read a table of settings: as many rows as were given, or exactly one."""
    # A table that is given once always has a row, so that its defaults are there.
    if not table.repeated:
        if not isinstance(found, dict | None):
            check.add(name, f"found {show(found)}; write it as [{name}], once")
            return [complete(table.options, {})]
        found = [found or {}]
    rows = []
    for i, row in enumerate(list_of_tables({name: [] if found is None else found}, name, check)):
        key = f"{name}[{i + 1}]" if table.repeated else name
        for inner in row:
            if inner not in table.options:
                check.unknown(f"{key}.{inner}", inner, table.options)
        require(f"{key}.", table.options, row, check)
        rows.append(complete(table.options, read_options(key, row, table.options, check)))
    return rows


def require(
    key: str, options: Mapping[str, Option], found: Mapping[str, Any], check: Check
) -> None:
    """Report required options that are missing."""
    for name, option in options.items():
        if option.required and name not in found:
            check.add(f"{key}{name}", f"missing; allowed: {option.rule.text}")


def complete(options: Mapping[str, Option], given: Params) -> dict[str, Value]:
    """Fill in what was not given."""
    return {name: given.get(name, option.default) for name, option in options.items()}
