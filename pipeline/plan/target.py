"""Targets: found by their names, loaded when a manifest asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from encoders.kit.plan import Importer, Kind, Target
from pipeline.content.code import target_module, target_names
from pipeline.content.target_error import describe_error, error_location


class TargetError(Exception):
    """A target's module can't be loaded, or declares no target."""


def targets_with(key: str) -> list[str]:
    """Return the targets that have a key in one of their tables; broken ones are left out."""
    found = []
    for name in target_names():
        with suppress(TargetError):
            if key in _keys(load_target(name)):
                found.append(name)
    return found


def _keys(target: Target) -> set[str]:
    tables = [(name, *table.options) for name, table in target.tables.items()]
    kinds = [(kind.table, *kind.options) for kind in target.kinds.values()]
    return {*target.options, *(key for keys in (*tables, *kinds) for key in keys)}


def load_target(name: str) -> Target:
    """Return the declaration of a target."""
    dotted = target_module(name)
    try:
        target: Any = vars(import_module(dotted)).get("TARGET")
    # A game's own target may do anything when it is imported, even end the process.
    except (Exception, SystemExit) as error:
        raise TargetError(f"{dotted} can't be loaded; {_described(error)}") from None
    if target is None:
        raise TargetError(f"{dotted} declares no TARGET")
    if not isinstance(target, Target):
        raise TargetError(f"{dotted}.TARGET is no Target")
    # Checked here, or the first use somewhere else would fail with a traceback.
    if not all(isinstance(kind, Kind) for kind in dict(target.kinds).values()):
        raise TargetError(f"{dotted}.TARGET is no Target: its kinds are not all of Kind")
    if not all(isinstance(one, Importer) for one in dict(target.commands).values()):
        raise TargetError(f"{dotted}.TARGET is no Target: its commands are not all of Importer")
    return target


def _described(error: BaseException) -> str:
    at = error_location(error)
    return f"{at}: {describe_error(error)}" if at else describe_error(error)


def all_targets(only: str | None = None) -> Iterator[tuple[str, Target]]:
    """Yield every target that can be loaded, by name; other modules in `encoders` are skipped."""
    for name in target_names() if only is None else (only,):
        with suppress(TargetError):
            yield name, load_target(name)
