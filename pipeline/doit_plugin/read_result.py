"""Reading results of runs: the last ones of this project, or a file that the user names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.disk.file import read_file, read_if_there
from pipeline.project import Project
from pipeline.report.last_build import LAST, PREVIOUS, WORK, LastBuild
from pipeline.report.run_json import SCHEMA

# What the commands read of a result and of its nodes, with the types that they count on.
SHAPE = {"started": str, "seconds": (int, float), "manifests": list, "nodes": list}
NODE_SHAPE = {
    "task": str,
    "outcome": str,
    "seconds": (int, float),
    "cpu_seconds": (int, float),
    "peak_bytes": int,
    "worker": str,
    "inputs": list,
    "outputs": list,
}
NO_NODES = "mistakes in manifests kept that run from building, so there is nothing to compare with"
FILE_SHAPE = {"path": str, "bytes": int}


def read_result(path: str) -> dict[str, Any]:
    """Return the result in a file, or refuse the file in one sentence."""
    try:
        return _parse(path, read_file(path))
    except OSError as error:
        raise InvalidCommand(f"{path}: {error.strerror or error}") from None


def _parse(path: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise InvalidCommand(f"{path}: it is no JSON: {error}") from None
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise InvalidCommand(f'{path}: it is no result of a build; "schema" has to be "{SCHEMA}"')
    if not _is_result(found):
        raise InvalidCommand(f"{path}: it is no result of a build, or was altered")
    result: dict[str, Any] = found
    return result


def _is_result(found: dict[str, Any]) -> bool:
    """Tell whether a result has what the commands read, each of its type."""
    return (
        _has(found, SHAPE)
        and all(isinstance(stem, str) for stem in found["manifests"])
        and all(_has(node, NODE_SHAPE) for node in found["nodes"])
        and all(
            _has(file, FILE_SHAPE)
            for node in found["nodes"]
            for file in (*node["inputs"], *node["outputs"])
        )
    )


def _has(found: object, shape: Mapping[str, Any]) -> bool:
    return isinstance(found, dict) and all(
        isinstance(found.get(key), kind) for key, kind in shape.items()
    )


def read_compared(path: str) -> dict[str, Any]:
    """Return the result in a file that another one is to be compared with."""
    result = read_result(path)
    if not _is_wanted(result, built=False):
        raise InvalidCommand(f"{path}: {NO_NODES}")
    return result


def read_last(project: Project, built: bool = False) -> dict[str, Any]:
    """Return the last run of a project; with `built` the last one in which a node ran."""
    found = _read_own(project, LAST)
    if found is None or not _is_wanted(found, built):
        # A run that removed files, and nothing else, is the last one after one that is `PREVIOUS`.
        earlier = filter(None, (_read_own(project, name) for name in (WORK, PREVIOUS)))
        wanted = [one for one in earlier if _is_wanted(one, built)]
        found = max(wanted, key=lambda one: str(one["started"]), default=None)
    if found is None:
        raise InvalidCommand("there is no build to tell of yet; run `doit` first")
    return found


def _read_own(project: Project, name: str) -> dict[str, Any] | None:
    """Return a result that a run left here; one that is damaged is as good as missing."""
    path = LastBuild(project).path(name)
    with suppress(OSError, InvalidCommand):
        data = read_if_there(path)
        return _parse(path, data) if data else None
    return None


def _is_wanted(result: dict[str, Any], built: bool) -> bool:
    """Tell whether a run says something of nodes: mistakes in manifests may have kept it from."""
    if built:
        return any(node["worker"] for node in result["nodes"])
    return bool(result["manifests"] or not result.get("errors"))


def read_previous(project: Project) -> dict[str, Any] | None:
    """Return the run before the last one that built something, if it is known."""
    return _read_own(project, PREVIOUS)
