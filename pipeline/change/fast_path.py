"""A glance: whether a manifest has nothing to do, told without reading a single source.

Each manifest keeps photographs of the folders that matter to it. While they, the manifest's text,
the code and the libraries are the same, and every node holds, there is nothing to do. This is
the path of every run that builds nothing, so it imports nothing that it can do without.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.content.code import PYTHON, library_versions
from pipeline.disk.listing import take_stamp
from pipeline.project import Project
from pipeline.state.database import OPEN


@dataclass(slots=True)
class Standing:
    """How a manifest stands: how many nodes it has, and which of them have to be built."""

    stem: str
    target: str
    nodes: int
    warnings: list[str] = field(default_factory=list)
    dirty: list[str] = field(default_factory=list)


def glance(project: Project, stem: str) -> Standing | None:
    """Tell at once that a manifest has nothing to do; None when that is not certain."""
    record = project.state.manifest(stem)
    if record is None or not same_setting(project, stem, record) or changed_folders(project, stem):
        return None
    clean, dirty = project.state.counts(stem)
    if project.state.fact(OPEN, stem) or dirty or clean != record["nodes"] or not record["swept"]:
        return None
    return Standing(stem, record["target"], clean, record["warnings"])


def same_setting(project: Project, stem: str, record: dict[str, Any]) -> bool:
    """Tell whether the manifest, the code and the libraries are those of the last plan."""
    return (
        record["digest"] == project.manifest_digest(stem)
        and record["python"] == PYTHON
        and all(take_stamp(path) == tuple(stamp) for path, stamp in record["modules"])
        and library_versions(set(record["libraries"])) == {"python": PYTHON, **record["libraries"]}
    )


def changed_folders(project: Project, stem: str) -> list[str]:
    """Name the folders that do not look as in the manifest's photographs."""
    return [
        folder
        for folder, digest in project.state.photo_digests(stem).items()
        if project.tree.digest(folder) != digest
    ]
