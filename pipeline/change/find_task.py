"""Which task makes a file: asked of what was made, and where that is silent, of the plans."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any

from encoders.kit.plan import Family
from pipeline.state.database import Row, State


def makers_of(state: State, stems: Iterable[str], paths: Iterable[str]) -> dict[str, str]:
    """Give the task that makes each of the paths which any task makes."""
    found: dict[str, str] = {}
    wanted = set(paths)
    for stem in stems:
        record = state.manifest(stem)
        below = {path for path in wanted if record and path.startswith(f"{record['output']}/")}
        if below:
            found |= _makers_in(state, stem, below)
    return found


def _makers_in(state: State, stem: str, paths: set[str]) -> dict[str, str]:
    found = {}
    for path, (task, _) in state.products(stem, paths).items():
        row = state.row(task)
        if row is not None and _makes(row, path):  # an older plan may have made it otherwise
            found[path] = task
    left = paths - found.keys()
    for row in state.rows(stem) if left else ():
        found |= {path: row.task for path in left if _makes(row, path)}
    return found


def _makes(row: Row, path: str) -> bool:
    return any(_may_be(place, path, row) for place in row.plan["outputs"].values())


def _may_be(place: Any, path: str, row: Row) -> bool:
    """Tell whether a place is this file; of a node that holds, it is known what a family is."""
    if not isinstance(place, list):
        return bool(place == path)
    if row.clean and row.built is not None:
        return any(path == made for *_, made in row.built["made"])
    family = Family(*place)
    middle = path.removeprefix(family.prefix).removesuffix(family.suffix)
    is_member = path == f"{family.prefix}{middle}{family.suffix}" and family.can_have(middle)
    return is_member or path == family.alone


def outputs_by_task(state: State, stems: Iterable[str]) -> dict[str, list[str]]:
    """List the files of every task: those that its plan names, and those that it has made."""
    makers = {path: task for _, task, path, _ in state.all_products()}
    for stem in stems:
        for row in state.rows(stem):
            places = row.plan["outputs"].values()
            makers |= {place: row.task for place in places if isinstance(place, str)}
    outputs: dict[str, list[str]] = {}
    for path, task in makers.items():
        outputs.setdefault(task, []).append(path)
    return outputs


def path_in(root: str, name: str) -> str:
    """Give a file as the project calls it, however it was spelled."""
    return posixpath.normpath(name.removeprefix(f"{root}/"))
