"""Fetching the outputs of another's build: without sources, without encoders, only what differs.

What is fetched is verified by its digest, and recorded in the ledger and the local cache like
anything that was built, so that a build goes on from there. Nodes go in batches, which some threads
store and write while others fetch the next: what is recorded of hundreds of small ones takes one
write.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import msgspec

from pipeline.build.job import RunConfig
from pipeline.build.place_files import Tools, has_bytes, make_room
from pipeline.cache.local import StoredResult
from pipeline.cache.receipt import Receipt, is_small
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.snapshot import Snapshot, SnapshotError, SnapshotFile, SnapshotNode
from pipeline.cache.shared.snapshot_contents import SnapshotContents
from pipeline.disk.file import is_there, leads_out, read_if_there, write_whole
from pipeline.output import Output
from pipeline.project import Project
from pipeline.task_name import stem_of

BATCH_NODES, BATCH_BYTES = 256, 1 << 22
WRITERS = 3  # threads; a file system does little of one folder's work at once
FETCHED = "fetched.json"  # in the private folder: the files of the snapshot that was fetched last


class Fetched(NamedTuple):
    """What fetching a snapshot did."""

    files: int
    written: int
    removed: int
    displaced: tuple[str, ...]  # where files are now that others had put in the way


class NodeWork(NamedTuple):
    """What a node lacks here: files, and whether the local cache has its result."""

    node: SnapshotNode
    lacking: list[SnapshotFile]
    in_the_way: list[str]  # paths with other bytes
    is_cached: bool

    @property
    def size(self) -> int:
        """The bytes that are held in memory while the node is placed."""
        return sum(one.size for one in (self.lacking if self.is_cached else self.node.files))


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
        with SnapshotContents(shared, snapshot.bundles) as contents:
            work = list(_compare(tools, sorted(nodes, key=SnapshotNode.first_path), contents))
            contents.plan(one for item in work for one in item.lacking)
            for paths in _place_all(tools, _batches(work), contents):
                displaced += paths
    finally:
        tools.close()
    now: dict[str, dict[str, str]] = {
        stem: {} for stem in snapshot.manifests if _is_wanted(f"{stem}:", snapshot, wanted)
    }
    for node in nodes:
        now.setdefault(stem_of(node.task), {}).update(_paths(node))
    files = {path for one in now.values() for path in one}
    written = sum(1 for item in work for one in item.lacking if one.path)
    return Fetched(len(files), written, _remove_old(project, now), tuple(displaced))


def _is_wanted(task: str, snapshot: Snapshot, wanted: Collection[str]) -> bool:
    stem = stem_of(task)
    return not wanted or stem in wanted or snapshot.manifests.get(stem) in wanted


def _paths(node: SnapshotNode) -> dict[str, str]:
    return {one.path: one.sha for one in node.files if one.path}


def _refuse_links(root: str, nodes: Iterable[SnapshotNode]) -> None:
    """Raise SnapshotError where a link would lead files of a snapshot out of the project."""
    place = os.path.realpath(root)
    for folder in {os.path.dirname(path) for node in nodes for path in _paths(node)}:
        if leads_out(f"{root}/{folder}", place):
            facts = {"folder": folder, "leads to": os.path.realpath(f"{root}/{folder}")}
            hint = "Put a folder in the place of the link."
            raise SnapshotError("a link leads out of the project", facts, hint)


def _compare(
    tools: Tools, nodes: Iterable[SnapshotNode], contents: SnapshotContents
) -> Iterator[NodeWork]:
    """Give the nodes that lack a file or whose result is not in the local cache."""
    root = tools.config.root
    nodes = list(nodes)
    cached = tools.cache.find_receipts(one.fingerprint for one in nodes if one.files)
    # Asked once for each folder, so that a fetch from nothing looks for no file.
    has_files = cache(lambda folder: os.path.isdir(folder) and bool(os.listdir(folder)))
    for node in nodes:
        lacking, in_the_way = [], []
        for one in node.files:
            path = f"{root}/{one.path}"
            may_be_there = one.path and has_files(path.rpartition("/")[0])
            if not one.path or (may_be_there and has_bytes(path, one.sha)):
                continue
            lacking.append(one)
            if may_be_there and is_there(path):
                in_the_way.append(one.path)
        is_cached = not node.files or node.fingerprint in cached
        if not is_cached:
            # Only other nodes read these, so a build that goes on from here needs them.
            lacking += [one for one in node.files if not one.path and contents.is_bundled(one)]
        if lacking or not is_cached:
            yield NodeWork(node, lacking, in_the_way, is_cached)


def _batches(work: Iterable[NodeWork]) -> Iterator[list[NodeWork]]:
    batch: list[NodeWork] = []
    room = BATCH_BYTES
    for item in work:
        if batch and (item.size > room or len(batch) >= BATCH_NODES):
            yield batch
            batch, room = [], BATCH_BYTES
        batch.append(item)
        room -= item.size
    if batch:
        yield batch


def _place_all(
    tools: Tools, batches: Iterable[list[NodeWork]], contents: SnapshotContents
) -> Iterator[Sequence[str]]:
    """Store and write batches, some at once; give the displaced files of each."""
    with ThreadPoolExecutor(WRITERS) as writers:
        begun: deque[Future[Sequence[str]]] = deque()
        for batch in batches:
            loaded = [{one.role: contents.load(one) for one in item.lacking} for item in batch]
            begun.append(writers.submit(_place, tools, batch, loaded))
            if len(begun) > WRITERS:  # what waits is in memory
                yield begun.popleft().result()
        for future in begun:
            yield future.result()


def _place(
    tools: Tools, batch: Sequence[NodeWork], loaded: Sequence[Mapping[str, bytes]]
) -> Sequence[str]:
    """Store the results of nodes and write their files; return displaced files."""
    config = tools.config
    pairs = list(zip(batch, loaded, strict=True))
    results = [_result(config.root, item.node, data) for item, data in pairs if not item.is_cached]
    tools.cache.store_results([one for one in results if one is not None])
    in_the_way = [path for item in batch for path in item.in_the_way]
    displaced = make_room(tools, in_the_way, set()) if in_the_way else ()
    # Before they appear, so that a kill leaves no file that nobody knows.
    tools.ledger.note({path: sha for item in batch for path, sha in _paths(item.node).items()})
    files = {
        one.path: (one.sha, data[one.role])
        for item, data in pairs
        for one in item.lacking
        if one.path
    }
    tools.cache.put_all_in_place(config.root, files, config.scratch)
    return displaced


def _result(root: str, node: SnapshotNode, fetched: Mapping[str, bytes]) -> StoredResult | None:
    """Return what the local cache stores of a node; None where some of it was not published."""
    outputs: Mapping[str, bytes] | None = fetched
    if len(fetched) < len(node.files):
        outputs = _with_files(root, node, fetched)
    if outputs is None:
        return None
    made = tuple([Output(one.role, one.size, one.sha) for one in node.files])
    inline = {one.role: outputs[one.role] for one in made if is_small(one.size)}
    receipt = Receipt(made, tuple(node.warnings), tuple(node.report), inline)
    return StoredResult(node.fingerprint, receipt, outputs)


def _with_files(
    root: str, node: SnapshotNode, fetched: Mapping[str, bytes]
) -> dict[str, bytes] | None:
    """Add outputs that are here already; None where one is not, or has other bytes."""
    outputs = dict(fetched)
    for one in node.files:
        if one.role in outputs:
            continue
        data = read_if_there(f"{root}/{one.path}") if one.path else None
        if data is None or hashlib.sha256(data).hexdigest() != one.sha:
            return None
        outputs[one.role] = data
    return outputs


def _remove_old(project: Project, now: Mapping[str, Mapping[str, str]]) -> int:
    """Remove files that the last fetch wrote and this one does not have, if they are unchanged."""
    path, root = f"{project.private}/{FETCHED}", os.path.realpath(project.root)
    try:
        before = msgspec.json.decode(read_if_there(path) or b"{}", type=dict[str, dict[str, str]])
    except msgspec.MsgspecError:
        before = {}
    removed = 0
    for stem in now:
        stale = {p: sha for p, sha in before.get(stem, {}).items() if p not in now[stem]}
        for name, sha in stale.items():
            place = f"{root}/{name}"
            # A folder may have become a link since then, and what is outside is not ours.
            if has_bytes(place, sha) and not leads_out(os.path.dirname(place), root):
                with suppress(OSError):
                    os.unlink(place)
                    removed += 1
    write_whole(path, msgspec.json.encode({**before, **now}), project.scratch)
    return removed
