"""Publishing the outputs of a build as a snapshot."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pipeline.build.build import Build
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.snapshot import (
    SMALL_BYTES,
    Snapshot,
    SnapshotError,
    SnapshotFile,
    SnapshotNode,
    make_bundles,
    pack_snapshot,
    put_named,
)
from pipeline.disk.file import read_if_there
from pipeline.project import Project
from pipeline.state.state import WARNED
from pipeline.task_name import stem_of

AT_ONCE = 16
NOT_SENT = "the snapshot could not be sent"


def publish_snapshot(
    build: Build,
    tasks: Iterable[str],
    shared: SharedCache,
    names: Sequence[str],
    commit: str,
    durations: Mapping[str, float],
) -> Snapshot:
    """Send all outputs that the shared cache lacks, then the list of them under each name."""
    project = build.project
    nodes = [_node(build, task, durations) for task in sorted(tasks)]
    # By path, so that what is fetched together lies together, whatever tasks are called.
    nodes.sort(key=SnapshotNode.first_path)
    files = [one for node in nodes for one in node.files]
    fingerprints = {one.sha: node.fingerprint for node in nodes for one in node.files}

    def load(one: SnapshotFile) -> bytes | None:
        if one.path:
            return _read_output(project, one)
        # Other nodes read it, so a build that goes on from here needs it; it may be trimmed.
        return project.cache.load_output_of_other(fingerprints[one.sha], one.sha)

    bundles = []
    for bundle, data in make_bundles(files, load):
        bundles.append(bundle)
        if not shared.has_blobs([bundle.sha]) and not shared.put_blob(bundle.sha, data):
            raise SnapshotError(NOT_SENT, {"because": shared.problem or shared.no_uploads})
    _send_large(project, shared, files)
    state = project.state
    stems = sorted({stem_of(node.task) for node in nodes})
    manifests = {stem: state.planned_manifest(stem).target for stem in stems}
    snapshot = Snapshot(manifests, nodes, bundles, commit)
    if not put_named(shared, names, pack_snapshot(snapshot)):
        raise SnapshotError(NOT_SENT, {"because": shared.problem or shared.no_uploads})
    return snapshot


def _node(build: Build, task: str, durations: Mapping[str, float]) -> SnapshotNode:
    last = build.nodes.last_build(task)
    assert last is not None
    receipt = build.project.cache.load_receipt_of_other(last.fingerprint)
    warnings = build.project.state.fact(WARNED, task) or ()
    return SnapshotNode(
        task,
        last.fingerprint,
        [
            SnapshotFile(one.role, one.size, one.sha or "", one.path or "")
            for one in sorted(last.outputs)
        ],
        list(receipt.warnings if receipt else warnings),
        list(receipt.report if receipt else ()),
        durations.get(task, -1.0),
    )


def _read_output(project: Project, one: SnapshotFile) -> bytes:
    data = read_if_there(f"{project.root}/{one.path}")
    if data is None or hashlib.sha256(data).hexdigest() != one.sha:
        raise SnapshotError(
            "an output has changed meanwhile", {"file": one.path}, "Run doit first."
        )
    return data


def _send_large(project: Project, shared: SharedCache, files: Iterable[SnapshotFile]) -> None:
    large = {one.sha: one for one in files if one.path and one.size > SMALL_BYTES}

    def send(one: SnapshotFile) -> bool:
        has_it = bool(shared.has_blobs([one.sha]))
        return has_it or shared.put_blob(one.sha, _read_output(project, one))

    with ThreadPoolExecutor(AT_ONCE) as threads:
        if not all(threads.map(send, large.values())):
            raise SnapshotError(NOT_SENT, {"because": shared.problem or shared.no_uploads})
