"""Restoring many results at once: what another branch or a deleted output folder needs.

A node of a run goes through the schedule, a job, a worker and a record of its own. Where its
result is small that takes most of the time, so here results are looked up one after the other
before the run, written, and recorded in batches; threads copy what is larger. What a shared cache
keeps together is fetched for many at once. Only what is plain is done here: a node that warned,
whose files are in somebody's way, or whose result is damaged, very large or not there at all is
left to the run, which knows what to do and how to say it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, NamedTuple

from encoders.kit.plan import Source
from pipeline.build.copy_objects import copy_objects
from pipeline.build.event import RESTORED
from pipeline.build.job import Restored, Result
from pipeline.build.work import process_name, tools_for
from pipeline.cache.local import StoredResult
from pipeline.cache.receipt import Receipt
from pipeline.change.evaluate import input_digests
from pipeline.change.fingerprint import fingerprint
from pipeline.disk.file import is_equal, is_there
from pipeline.disk.listing import Stamp, take_stamp
from pipeline.output import Output, compare_roles, with_paths
from pipeline.process.capacity import has_waited, last_peak
from pipeline.state.node_record import BuildRecord, PlannedNode
from pipeline.state.state import NodeRow

if TYPE_CHECKING:
    from pipeline.build.build import Build
    from pipeline.cache.shared.shared_cache import SharedCache

MOST_BYTES = 1 << 24  # of a result: each thread that copies outputs holds one in memory
WORTH_COPYING = 1 << 16  # outputs from this size on are copied by threads
MESSAGE_BYTES = 1 << 18  # of a small result in the shared cache, with all that it says
# So many nodes, or bytes in memory, or bytes in all, are written before they are recorded.
BATCH, BATCH_BYTES, COPIED_AT_ONCE = 200, 8 << 20, 1 << 26
# It is given up after so many that the cache does not have, and so many more for each that it has.
MISSES, MISSES_A_HIT = 64, 4
MOST_ROUNDS = 8  # nodes below longer chains are left to the run
BATCH_SECONDS = 0.1  # a batch that took so long is written, and tells how slow the disk is
# A node that waits for longer does so for a slow disk or a network, and workers wait side by side.
# The first nodes may take as long to compute: what is read once of a large project counts there.
SLOW_SECONDS = 0.002


class _Wanted(NamedTuple):
    """A node that can be looked up, with the digests of its inputs."""

    row: NodeRow
    planned: PlannedNode
    digests: Mapping[str, str | None]
    fingerprint: str


class _Found(NamedTuple):
    """A node whose result is in a cache.

    With its files by path, the bytes of its outputs by role without those of large ones, which stay
    in the local cache until they are copied, and what is to be stored there where the result came
    from the shared one.
    """

    wanted: _Wanted
    outputs: tuple[Output, ...]
    files: Mapping[str, Output]
    data: Mapping[str, bytes]
    fetched: StoredResult | None

    @property
    def row(self) -> NodeRow:
        return self.wanted.row

    @property
    def byte_count(self) -> int:
        return sum(one.size for one in self.outputs)

    @property
    def held_bytes(self) -> int:
        return sum(len(one) for one in self.data.values())


class _Batch:
    """Nodes that are written and recorded together, and what it took to look them up."""

    def __init__(self) -> None:
        self.nodes: list[_Found] = []
        self.seconds = self.cpu_seconds = 0.0
        self._byte_count = self._held_bytes = 0

    def add(self, found: _Found, seconds: float, cpu_seconds: float) -> None:
        self.nodes.append(found)
        self.seconds += seconds
        self.cpu_seconds += cpu_seconds
        self._byte_count += found.byte_count
        self._held_bytes += found.held_bytes

    @property
    def is_full(self) -> bool:
        is_large = self._held_bytes > BATCH_BYTES or self._byte_count > COPIED_AT_ONCE
        return is_large or self.seconds > BATCH_SECONDS or len(self.nodes) >= BATCH


class SmallResults:
    """Restores nodes of a build; `needs` are the tasks of the run that each of them waits for."""

    def __init__(
        self, build: Build, needs: Mapping[str, Sequence[str]], shared: SharedCache | None = None
    ) -> None:
        self._build, self._needs, self._shared = build, needs, shared
        self._tools = tools_for(build.config)
        # Of tasks that are about to be looked up: what to look up, and fetched results of it.
        self._wanted: dict[str, _Wanted | None] = {}
        self._fetched: dict[str, StoredResult] = {}
        self._fetch_seconds = self._fetch_cpu = 0.0  # a node's share of what that took
        self._settled: set[str] = set()  # tasks that are up to date with all that they need
        self._hits = self._misses = 0
        self._has_failed = False  # whether a file could not be written
        self._copy_cpu = 0.0  # of the threads that copied the files of the last batch
        self._count, self._seconds, self._cpu_seconds = 0, 0.0, 0.0  # of all batches so far

    def restore(self, tasks: Sequence[str]) -> Iterator[list[str]]:
        """Restore what of the tasks is plain; give the tasks of each batch when it is recorded."""
        waiting = list(tasks)
        for _ in range(MOST_ROUNDS):
            ready = [one for one in waiting if self._settled.issuperset(self._needs.get(one, ()))]
            if not ready or self._is_over:
                break
            dirty = [task for task in ready if task in self._build.dirty]
            self._settled.update(set(ready).difference(dirty))
            for batch in self._batches(dirty):
                restored = self._put_in_place(batch)
                self._settled.update(restored)
                yield restored
            done = set(ready)
            waiting = [task for task in waiting if task not in done]
        self._build.note_damage(self._tools.cache.take_set_aside())

    @property
    def _is_over(self) -> bool:
        """Tell whether to leave all that follows to the run."""
        is_in_vain = self._misses > MISSES + MISSES_A_HIT * self._hits
        return self._has_failed or self._is_slow or is_in_vain

    @property
    def _is_slow(self) -> bool:
        """Tell by all batches so far, as one may have waited for others on the machine."""
        is_long = self._seconds > SLOW_SECONDS * self._count
        return is_long and has_waited(self._seconds, self._cpu_seconds)

    def _batches(self, tasks: Sequence[str]) -> Iterator[_Batch]:
        """Look tasks up; give those that were found, in batches that memory has room for."""
        batch = _Batch()
        for task in self._at_hand(self._build.nodes.loaded(tasks)):
            if self._is_over:
                break
            began = perf_counter() - self._fetch_seconds
            cpu_began = thread_time() - self._fetch_cpu
            found = self._look_up(task)
            if found is None:
                self._misses += 1
                continue
            self._hits += 1
            batch.add(found, perf_counter() - began, thread_time() - cpu_began)
            if batch.is_full:
                yield batch
                batch = _Batch()
        if batch.nodes:
            yield batch

    def _at_hand(self, tasks: Iterator[str]) -> Iterator[str]:
        """Give tasks, each when what the shared cache has of it and its neighbours is here."""
        if self._shared is None or not self._shared.brings_together:
            yield from tasks
            return
        while chunk := list(islice(tasks, BATCH)):
            began, cpu_began = perf_counter(), thread_time()
            self._fetch(self._shared, chunk)
            # The first time, it also learns what there is, as anybody would have to.
            each = len(chunk) if self._hits else math.inf
            self._fetch_seconds = (perf_counter() - began) / each
            self._fetch_cpu = (thread_time() - cpu_began) / each
            yield from chunk

    def _fetch(self, shared: SharedCache, tasks: Sequence[str]) -> None:
        """Fetch results that the local cache does not have.

        Not of a node that is known to take less than that, or for which the run waits no longer
        than it takes: what is known of a node is left to the run.
        """
        cache, is_known = self._tools.cache, self._known_costs
        if self._build.require_cached:
            is_known = frozenset()
        self._wanted = {task: self._want(task) for task in tasks if task not in is_known}
        lacking = {
            one.fingerprint: one.planned.node.outputs
            for one in self._wanted.values()
            if one is not None and not cache.has_receipt(one.fingerprint)
        }
        self._fetched = shared.fetch_together(lacking, MESSAGE_BYTES)

    @cached_property
    def _known_costs(self) -> Collection[str]:
        """The tasks that were encoded here before, so that it is known what they take."""
        return self._build.project.state.costs()

    def _look_up(self, task: str) -> _Found | None:
        """Return a node with its result; None where that is not plain, or can't be read."""
        wanted = self._wanted[task] if task in self._wanted else self._want(task)
        try:
            return None if wanted is None else self._find(wanted)
        except OSError:  # the run meets it once more, and says what it is
            return None

    def _want(self, task: str) -> _Wanted | None:
        """Return what to look a node up by; None where it can't be restored here."""
        try:
            return self._plan(task)
        except OSError:  # the run meets it once more, and says what it is
            return None

    def _plan(self, task: str) -> _Wanted | None:
        build = self._build
        row, planned = build.nodes.row(task), build.nodes.planned(task)
        if row is None or planned is None or planned.is_broken:
            return None
        node = planned.node
        made = build.nodes.digests_in(row.stem)
        digests = input_digests(node, build.evaluator.source_sha, made)
        if digests is None or build.linked_output_folder(node):
            return None
        return _Wanted(row, planned, digests, fingerprint(build.evaluator.fixed(node), digests))

    def _find(self, wanted: _Wanted) -> _Found | None:
        node = wanted.planned.node
        fetched = self._fetched.get(wanted.fingerprint)
        receipt = fetched.receipt if fetched else self._tools.cache.load_receipt(wanted.fingerprint)
        if receipt is None or not _is_plain(receipt):
            return None
        if any(compare_roles([one.role for one in receipt.made], node.outputs)):
            return None
        outputs = with_paths(receipt.made, node.outputs)
        files = {one.path: one for one in outputs if one.path is not None}
        data = fetched.outputs if fetched else self._load(receipt)
        return None if data is None else _Found(wanted, outputs, files, data, fetched)

    def _load(self, receipt: Receipt) -> Mapping[str, bytes] | None:
        """Return the bytes of outputs by role, but of large ones; None where any is lost."""
        found: dict[str, bytes] = {}
        for one in receipt.made:
            if one.size >= WORTH_COPYING and one.role not in receipt.inline:
                if not self._tools.cache.has_object(one.sha):
                    return None
                continue
            data = self._tools.cache.load_output(receipt, one)
            if data is None:
                return None
            found[one.role] = data
        return found

    def _put_in_place(self, batch: _Batch) -> list[str]:
        """Write the files of nodes and record them; return the tasks that are done."""
        build, nodes = self._build, batch.nodes
        began, cpu_began = perf_counter() - batch.seconds, thread_time() - batch.cpu_seconds
        build.load_owned_files([one.row.task for one in nodes])
        # Read before files are written: what is missing is a part of it.
        planned = ((one.row.task, one.wanted.fingerprint) for one in nodes)
        reasons = {task: build.find_reason(task, now) for task, now in planned}
        stamps = self._write([one for one in nodes if not self._is_in_the_way(one)])
        written = [one for one in nodes if one.row.task in stamps]
        count, seconds = len(written), perf_counter() - began
        cpu = thread_time() - cpu_began + self._copy_cpu
        self._count += count
        self._seconds += seconds
        self._cpu_seconds += cpu
        restored = []
        for n, one in enumerate(written):
            start = began + n * seconds / count
            cost = seconds / count, cpu / count, process_name(), start, last_peak()
            result = _result(one, self._pack(one), stamps[one.row.task], cost)
            restored.append(Restored(one.row, reasons[one.row.task], result))
        build.record_restored(restored)
        return [one.row.task for one in written]

    def _is_in_the_way(self, found: _Found) -> bool:
        """Tell whether anything is in the place of a file that the node does not own."""
        root, owned = self._build.project.root, self._build.owned_files(found.row.task)
        return any(is_there(f"{root}/{path}") for path in found.files if path not in owned)

    def _write(self, batch: Sequence[_Found]) -> dict[str, Mapping[str, Stamp]]:
        """Write files that are not right yet; return the stamps of all by task."""
        root, scratch = self._build.project.root, self._build.project.scratch
        files = [
            (path, made, one.data.get(made.role))
            for one in batch
            for path, made in one.files.items()
        ]
        held = {path: (output.sha, data) for path, output, data in files if data is not None}
        large = {path: output.sha for path, output, data in files if data is None}
        fetched = [one.fetched for one in batch if one.fetched is not None]
        try:
            if self._shared is not None and fetched:
                self._shared.keep(fetched, self._tools.cache)
            # Before they appear, so that a kill leaves no file that nobody knows.
            self._tools.ledger.note({path: output.sha for path, output, _ in files})
            lacking = {p: one for p, one in held.items() if not _has(f"{root}/{p}", one[1])}
            stamps = self._tools.cache.put_all_in_place(root, lacking, scratch)
            copied = copy_objects(self._tools, large)
        except OSError:  # the run meets it once more, says what it is, and finds what was written
            self._has_failed, self._copy_cpu = True, 0.0
            return {}
        self._copy_cpu = copied.cpu_seconds
        stamps |= {p: take_stamp(f"{root}/{p}") for p in held if p not in stamps} | copied.stamps
        # What lacks a stamp was damaged in the cache: the run encodes it again.
        whole = [one for one in batch if stamps.keys() >= one.files.keys()]
        return {one.row.task: {path: stamps[path] for path in one.files} for one in whole}

    def _pack(self, found: _Found) -> bytes:
        """Serialise the record of a node's build, as a job does."""
        wanted, node = found.wanted, found.wanted.planned.node
        return BuildRecord(
            wanted.fingerprint,
            node.encoder,
            self._build.evaluator.code_digest(node),
            node.params,
            wanted.digests,
            {name: one.path for name, one in node.inputs.items() if isinstance(one, Source)},
            found.outputs,
        ).pack()


def _has(path: str, data: bytes) -> bool:
    """Tell whether a file is there and has these bytes."""
    return is_there(path) and is_equal(path, data)


def _is_plain(receipt: Receipt) -> bool:
    """Tell whether a result is not very large and has nothing to say."""
    is_quick = sum(one.size for one in receipt.made) <= MOST_BYTES
    return is_quick and not (receipt.warnings or receipt.report)


def _result(
    found: _Found,
    packed: bytes,
    stamps: Mapping[str, Stamp],
    cost: tuple[float, float, str, float, int],
) -> Result:
    seconds, cpu_seconds, worker, began, peak_bytes = cost
    return Result(
        RESTORED,
        found.wanted.fingerprint,
        packed,
        found.outputs,
        stamps=stamps,
        is_shared=found.fetched is not None,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        worker=worker,
        began=began,
        peak_bytes=peak_bytes,
    )
