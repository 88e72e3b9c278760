"""Publishing the outputs of a build as a snapshot, and fetching those of another's.

To fetch takes neither sources nor encoders. What is fetched is verified by its digest, recorded in
the ledger and the local cache like anything that was built, so that a build goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, Self

from pipeline.build.build import Build
from pipeline.build.job import RunConfig
from pipeline.build.place_files import Tools, place_files
from pipeline.cache.receipt import Receipt, is_small
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.snapshot import (
    SMALL_BYTES,
    Snapshot,
    SnapshotBundle,
    SnapshotError,
    SnapshotFile,
    SnapshotNode,
    get_named,
    make_bundles,
    pack_snapshot,
    put_named,
    unpack_snapshot,
)
from pipeline.disk.file import leads_out, read_if_there, write_whole
from pipeline.output import Output
from pipeline.project import Project
from pipeline.state.state import WARNED
from pipeline.task_name import stem_of

AT_ONCE = 16
AHEAD = 8  # bundles that are fetched before their files are written
FETCHED = "fetched.json"  # in the private folder: the files of the snapshot that was fetched last
NOT_SENT = "the snapshot could not be sent"


class Fetched(NamedTuple):
    """What fetching a snapshot did."""

    files: int
    written: int
    removed: int
    displaced: tuple[str, ...]  # where files are now that others had put in the way


# Publishing.


def publish_snapshot(
    build: Build, tasks: Iterable[str], shared: SharedCache, names: Sequence[str], commit: str
) -> Snapshot:
    """Send all outputs that the shared cache lacks, then the list of them under each name."""
    project = build.project
    durations = known_durations(shared, names[0]) | shard_durations(shared)
    durations |= {task: one.seconds for task, one in project.state.costs().items()}
    nodes = [_node(build, task, durations) for task in sorted(tasks)]
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
            raise SnapshotError(NOT_SENT, {"because": _why(shared)})
    _send_large(project, shared, files)
    state = project.state
    stems = sorted({stem_of(node.task) for node in nodes})
    manifests = {stem: state.planned_manifest(stem).target for stem in stems}
    snapshot = Snapshot(manifests, nodes, bundles, commit)
    if not put_named(shared, names, pack_snapshot(snapshot)):
        raise SnapshotError(NOT_SENT, {"because": _why(shared)})
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
            raise SnapshotError(NOT_SENT, {"because": _why(shared)})


def _why(shared: SharedCache) -> str:
    return shared.breaker.reason or shared.no_uploads or shared.breaker.first_problem


# Durations, which shards are balanced by.


def shard_name(number: int) -> str:
    """Return the name under which a shard leaves its durations."""
    return f"durations of shard {number}"


def known_durations(shared: SharedCache, name: str) -> dict[str, float]:
    """Return the durations that a snapshot has; the same for all who ask."""
    try:
        data = get_named(shared, name)
        snapshot = unpack_snapshot(data) if data is not None else None
    except SnapshotError:  # the build does without
        return {}
    nodes = snapshot.nodes if snapshot else ()
    return {one.task: one.seconds for one in nodes if one.seconds >= 0}


def publish_durations(shared: SharedCache, number: int, durations: Mapping[str, float]) -> None:
    """Leave the durations of a shard for the snapshot that its night ends with."""
    nodes = [SnapshotNode(task, "", [], [], [], one) for task, one in sorted(durations.items())]
    put_named(shared, [shard_name(number)], pack_snapshot(Snapshot({}, nodes, [])))


def shard_durations(shared: SharedCache) -> dict[str, float]:
    """Return the durations that shards have left."""
    found: dict[str, float] = {}
    number = 1
    while durations := known_durations(shared, shard_name(number)):
        found |= durations
        number += 1
    return found


# Fetching.


def fetch_snapshot(
    project: Project, shared: SharedCache, snapshot: Snapshot, wanted: Collection[str]
) -> Fetched:
    """Write the files of a snapshot that differ, and remove those of the one that was fetched last.

    `wanted` are manifests or targets; all, where it is empty.
    """
    nodes = [one for one in snapshot.nodes if _is_wanted(one.task, snapshot, wanted)]
    _refuse_links(project.root, nodes)
    displaced: list[str] = []
    config = RunConfig(project.root, project.cache.folder, project.scratch, project.ledger)
    tools = Tools(config)
    try:
        with _Contents(shared, snapshot.bundles) as contents:
            lacking = {node.task: _lacking(project.root, node) for node in nodes}
            for node in nodes:
                if not tools.cache.has_receipt(node.fingerprint):
                    lacking[node.task] += contents.hidden_outputs(node)
            contents.plan(one.sha for files in lacking.values() for one in files)
            for node in sorted(nodes, key=lambda one: min((f.path for f in one.files), default="")):
                if lacking[node.task]:
                    displaced += _place(tools, node, lacking[node.task], contents)
    finally:
        tools.close()
    files = {path for _, path, _ in _rows(nodes)}
    stems = {stem for stem in snapshot.manifests if _is_wanted(f"{stem}:", snapshot, wanted)}
    now = {stem: {p: sha for t, p, sha in _rows(nodes) if stem_of(t) == stem} for stem in stems}
    removed = _remove_old(project, now)
    written = sum(1 for lacks in lacking.values() for one in lacks if one.path)
    return Fetched(len(files), written, removed, tuple(displaced))


def _refuse_links(root: str, nodes: Iterable[SnapshotNode]) -> None:
    """Raise SnapshotError where a link would lead files of a snapshot out of the project."""
    place = os.path.realpath(root)
    for folder in {os.path.dirname(path) for _, path, _ in _rows(nodes)}:
        if leads_out(f"{root}/{folder}", place):
            facts = {"folder": folder, "leads to": os.path.realpath(f"{root}/{folder}")}
            hint = "Put a folder in the place of the link."
            raise SnapshotError("a link leads out of the project", facts, hint)


def _rows(nodes: Iterable[SnapshotNode]) -> Iterator[tuple[str, str, str]]:
    return ((node.task, one.path, one.sha) for node in nodes for one in node.files if one.path)


def _remove_old(project: Project, now: Mapping[str, Mapping[str, str]]) -> int:
    """Remove files that the last fetch wrote and this one does not have, if they are unchanged."""
    path = f"{project.private}/{FETCHED}"
    try:
        before = json.loads(read_if_there(path) or b"{}")
    except ValueError:
        before = {}
    removed = 0
    for stem in now:
        stale = {p: sha for p, sha in before.get(stem, {}).items() if p not in now[stem]}
        for name, sha in stale.items():
            data = read_if_there(f"{project.root}/{name}")
            if data is not None and hashlib.sha256(data).hexdigest() == sha:
                with suppress(OSError):
                    os.unlink(f"{project.root}/{name}")
                    removed += 1
    write_whole(path, json.dumps({**before, **now}).encode(), project.scratch)
    return removed


def _is_wanted(task: str, snapshot: Snapshot, wanted: Collection[str]) -> bool:
    stem = stem_of(task)
    return not wanted or stem in wanted or snapshot.manifests.get(stem) in wanted


def _lacking(root: str, node: SnapshotNode) -> list[SnapshotFile]:
    """Return the outputs of a node whose files are not there with their bytes."""
    found = []
    for one in node.files:
        data = read_if_there(f"{root}/{one.path}") if one.path else b""
        if one.path and (data is None or hashlib.sha256(data).hexdigest() != one.sha):
            found.append(one)
    return found


def _place(
    tools: Tools, node: SnapshotNode, lacking: Sequence[SnapshotFile], contents: _Contents
) -> tuple[str, ...]:
    """Write a node's files, and store its result where all is at hand; return displaced files."""
    data = {one.role: contents.load(one) for one in lacking}
    outputs = [Output(one.role, one.size, one.sha, one.path) for one in node.files if one.path]
    if len(data) == len(node.files):
        made = tuple(Output(one.role, one.size, one.sha) for one in node.files)
        inline = {one.role: data[one.role] for one in made if is_small(one.size)}
        receipt = Receipt(made, tuple(node.warnings), tuple(node.report), inline)
        tools.cache.store_result(node.fingerprint, receipt, data)
    placed = place_files(tools, outputs, lambda one: data.get(one.role), ())
    if placed is None:
        facts, hint = {"task": node.task}, "Fetch the snapshot again."
        raise SnapshotError("a file was changed while the snapshot was fetched", facts, hint)
    return placed.displaced


class _Contents:
    """Bytes by digest: of large files by themselves, of small ones from bundles, some ahead."""

    def __init__(self, shared: SharedCache, bundles: Sequence[SnapshotBundle]) -> None:
        self._shared = shared
        self._bundle_of = {
            sha: (bundle, start) for bundle in bundles for sha, start in _starts(bundle)
        }
        self._waiting: list[SnapshotBundle] = []
        self._under_way: dict[str, Future[bytes | None]] = {}
        self._threads = ThreadPoolExecutor(AT_ONCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def hidden_outputs(self, node: SnapshotNode) -> list[SnapshotFile]:
        """Return the outputs of a node that only other nodes read, as far as they are at hand."""
        hidden = (one for one in node.files if not one.path)
        return [one for one in hidden if one.sha in self._bundle_of or not one.size]

    def plan(self, shas: Iterable[str]) -> None:
        """Begin to fetch the bundles that will be asked for, in their order."""
        needed = {self._bundle_of[sha][0].sha for sha in shas if sha in self._bundle_of}
        known = {bundle.sha: bundle for bundle, _ in self._bundle_of.values()}
        self._waiting = [one for sha, one in known.items() if sha in needed][::-1]
        for _ in range(AHEAD):
            self._fetch_next()

    def _fetch_next(self) -> None:
        if self._waiting:
            one = self._waiting.pop()
            self._under_way[one.sha] = self._threads.submit(self._shared.blob, one.sha, one.size)

    def load(self, one: SnapshotFile) -> bytes:
        """Return the verified bytes of a file; raise SnapshotError where they cannot be had."""
        bundle, start = self._bundle_of.get(one.sha, (None, 0))
        if bundle is None or not one.size:
            data = self._shared.blob(one.sha, one.size) if one.size else b""
        else:
            whole = self._bundle(bundle)
            data = whole[start : start + one.size] if whole is not None else None
        if data is None or hashlib.sha256(data).hexdigest() != one.sha:
            facts = {"file": one.path}
            if _why(self._shared):
                facts["because"] = _why(self._shared)
            raise SnapshotError("the shared cache lacks a file of the snapshot", facts)
        return data

    def _bundle(self, bundle: SnapshotBundle) -> bytes | None:
        if bundle.sha not in self._under_way:
            self._under_way[bundle.sha] = self._threads.submit(
                self._shared.blob, bundle.sha, bundle.size
            )
        future = self._under_way[bundle.sha]
        if not future.done():
            self._fetch_next()
        # Nodes come in the order of bundles, so old ones are hardly asked for again.
        for sha in list(self._under_way)[: -2 * AHEAD]:
            del self._under_way[sha]
            self._fetch_next()
        return future.result()


def _starts(bundle: SnapshotBundle) -> Iterator[tuple[str, int]]:
    start = 0
    for sha, size in bundle.members:
        yield sha, start
        start += size
