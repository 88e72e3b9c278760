"""A manifest's JSON Schema, made from the declarations that manifests are checked against.

Editors complete and check keys with it: taplo, and VS Code's TOML plug-in, which uses taplo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from encoders.kit.option import Option, Schema
from encoders.kit.plan import Kind, Table, Target
from pipeline.manifest.schema import NAME

DRAFT = "http://json-schema.org/draft-07/schema#"  # the newest that taplo reads
PATH: Schema = {"type": "string", "minLength": 1}
PATHS: Schema = {"anyOf": [PATH, {"type": "array", "items": PATH}]}
SIZE: Schema = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]"}],
}


def manifest_schema(name: str, target: Target) -> Schema:
    """Return the schema of the manifests of one target."""
    tables = {kind.table for kind in target.kinds.values()}
    return {
        "$schema": DRAFT,
        "title": f"Cartwright manifest of the target {name}",
        **_object(
            {
                "target": _with_doc({"const": name}, "which platform"),
                "output": _with_doc(PATH, "the output folder; build/<manifest's name> by default"),
                "source_root": _with_doc(PATH, "the folder that output names are relative to"),
                "budget": _with_doc(SIZE, f'how large the {target.budget.what} may be: "4 MB"'),
                "defaults": _defaults(target.kinds),
                **_options(target.options),
                **{table: _entries(table, target.kinds) for table in sorted(tables)},
                **{table: _settings(one) for table, one in target.tables.items()},
            },
            ("target", *_required(target.options)),
        ),
    }


def _defaults(kinds: Mapping[str, Kind]) -> Schema:
    each = {name: _object(_options(kind.options)) for name, kind in kinds.items()}
    return _with_doc(_object(each), "options for every asset of a kind")


def _entries(table: str, kinds: Mapping[str, Kind]) -> Schema:
    """Return the schema of a table of assets, with the options of all its kinds."""
    mine = {name: kind for name, kind in kinds.items() if kind.table == table}
    options = {key: one for kind in mine.values() for key, one in kind.options.items()}
    paths = {
        "source": _with_doc(PATHS, "a path, a glob, or a list of them"),
        "exclude": _with_doc(PATHS, "paths and globs to leave out"),
    }
    if table == "asset":
        own = {
            "id": _with_doc(NAME.schema, "what the asset is called; its file's stem by default"),
            "kinds": _with_doc(
                {"type": "array", "items": {"enum": sorted(mine)}, "minItems": 1},
                "what to make of the source; all that it can be by default",
            ),
        }
        required: tuple[str, ...] = ("source",)
    else:
        own = {
            "name": _with_doc(NAME.schema, "what the outputs are called"),
            "budget": _with_doc(SIZE, "how large this one may be"),
        }
        required = ("name", "source")
    return {"type": "array", "items": _object({**paths, **own, **_options(options)}, required)}


def _settings(table: Table) -> Schema:
    row = _object(_options(table.options), _required(table.options))
    return {"type": "array", "items": row} if table.repeated else row


def _options(options: Mapping[str, Option]) -> dict[str, Schema]:
    return {name: _option(one) for name, one in options.items()}


def _option(option: Option) -> Schema:
    found = _with_doc(option.rule.schema, option.doc)
    return found if option.default is None else {**found, "default": option.default}


def _required(options: Mapping[str, Option]) -> tuple[str, ...]:
    return tuple(name for name, one in options.items() if one.required)


def _object(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    names = list(required)
    found: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**found, "required": names} if names else found


def _with_doc(schema: Schema, doc: str) -> Schema:
    return {**schema, "description": doc}
