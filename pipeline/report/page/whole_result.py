"""The result of a run, completed with the manifests that the run was not about.

`doit kac`, and every build of a watched project, is about some manifests only. The page shows all:
as an earlier result has them, or else as the state does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pipeline.project import Project
from pipeline.report.node_json import NodeLines
from pipeline.state.node_table import NodeTable
from pipeline.state.state import WARNED
from pipeline.task_name import stem_of

Result = Mapping[str, Any]
NO_KEY = "null"  # the page shows no keys


def complete_result(project: Project, result: Result, before: Result | None = None) -> Result:
    """Return a result with the nodes of all manifests that exist and were ever planned."""
    own = set(result["manifests"])
    planned = set(project.state.stems())
    missing = [stem for stem in project.manifests.stems() if stem in planned and stem not in own]
    if not missing:
        return result
    known = set(before["manifests"]) & set(missing) if before else set()
    nodes = [*result["nodes"]]
    nodes += [one for one in before["nodes"] if stem_of(one["task"]) in known] if before else []
    nodes += _nodes_of_state(project, [stem for stem in missing if stem not in known])
    return {
        **result,
        "manifests": sorted([*own, *missing]),
        "nodes": sorted(nodes, key=lambda one: str(one["task"])),
    }


def _nodes_of_state(project: Project, stems: list[str]) -> list[dict[str, Any]]:
    state = project.state
    targets = {stem: state.planned_manifest(stem).target for stem in stems}
    lines = NodeLines(project, NodeTable(state), targets)
    standing = state.facts_of_nodes(WARNED)
    return [
        json.loads(lines.of(row, None, standing.get(row.task, ()), NO_KEY))
        for stem in stems
        for row in state.rows(stem)
    ]
