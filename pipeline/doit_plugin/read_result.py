"""Reading results of runs: the last ones of this project, or a file that the user names."""

from __future__ import annotations

import json
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.disk.file import read_file, read_if_there
from pipeline.project import Project
from pipeline.report.last_build import LAST, PREVIOUS, WORK, LastBuild
from pipeline.report.run_json import SCHEMA

KEYS = {"schema", "started", "seconds", "manifests", "nodes"}


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
    if schema != SCHEMA or not found.keys() >= KEYS:
        raise InvalidCommand(f'{path}: it is no result of a build; "schema" has to be "{SCHEMA}"')
    result: dict[str, Any] = found
    return result


def read_last(project: Project, built: bool = False) -> dict[str, Any]:
    """Return the last run of a project; with `built` the last one that built something."""
    last = LastBuild(project)
    for name in (LAST, WORK):
        data = read_if_there(last.path(name))
        result = _parse(last.path(name), data) if data else None
        if result and _is_wanted(result, built):
            return result
    raise InvalidCommand("there is no build to tell of yet; run `doit` first")


def _is_wanted(result: dict[str, Any], built: bool) -> bool:
    """Tell whether a run says something of nodes: mistakes in manifests may have kept it from."""
    if built:
        return any(node["worker"] for node in result["nodes"])
    return bool(result["manifests"] or not result.get("errors"))


def read_previous(project: Project) -> dict[str, Any] | None:
    """Return the run before the last one that built something, if it is known."""
    path = LastBuild(project).path(PREVIOUS)
    data = read_if_there(path)
    return _parse(path, data) if data else None
