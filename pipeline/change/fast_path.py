"""The fast path: find out that a manifest is up to date without reading a single source.

Each manifest keeps listings of the folders that matter to it. While these, the manifest's text, the
code and the libraries are the same, and every node is up to date, there is nothing to do. Every
run that builds nothing takes this path, so it imports as little as it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.content.code import PYTHON, library_versions
from pipeline.disk.listing import take_stamp
from pipeline.project import Project
from pipeline.state.manifest_record import ManifestRecord
from pipeline.state.state import BUILDING


@dataclass(slots=True)
class Status:
    """How many nodes a manifest has, and which of them are out of date."""

    stem: str
    target: str
    node_count: int
    warnings: Sequence[str] = ()
    dirty: list[str] = field(default_factory=list)


def status_if_current(project: Project, stem: str) -> Status | None:
    """Return the status of a manifest that is up to date; None when that is not certain."""
    record = project.state.manifest(stem)
    if record is None or not is_same_setup(project, stem, record) or changed_folders(project, stem):
        return None
    # Counts instead of rows: reading 10,000 rows would take longer than all of the above.
    clean, dirty = project.state.count_nodes(stem)
    was_killed = project.state.fact(BUILDING, stem)
    # Each row has a checksum, but a damaged index can hide whole rows: the count shows that.
    if was_killed or dirty or clean != record.node_count or not record.stale_removed:
        return None
    return Status(stem, record.target, clean, record.warnings)


def is_same_setup(project: Project, stem: str, record: ManifestRecord) -> bool:
    """Tell whether the manifest, the code and the libraries are those of the last plan."""
    # The cheapest questions first. Another stamp of a module only makes this uncertain: the
    # detector digests the module then.
    return (
        record.digest == project.manifests.digest(stem)
        and record.python == PYTHON
        and all(take_stamp(path) == stamp for path, stamp in record.modules)
        and library_versions(set(record.libraries)) == {"python": PYTHON, **record.libraries}
    )


def changed_folders(project: Project, stem: str) -> list[str]:
    """Return the folders whose listing is not the one that the manifest last saw."""
    return [
        folder
        for folder, digest in project.state.listing_digests(stem).items()
        if project.snapshot.digest(folder) != digest
    ]
