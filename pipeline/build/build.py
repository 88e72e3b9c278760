"""A build: what each node needs to know before it runs, and what is recorded after it.

The driver prepares a job, an executor does it, and the driver records the result: one transaction
a node, which also marks the readers of changed outputs as out of date.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain

from encoders.kit.error import EncodeError
from encoders.kit.plan import Family, Node, Product, Source
from encoders.kit.warning import grouped
from pipeline.build.cost import Costs
from pipeline.build.event import (
    FAILED,
    MISSING_INPUTS,
    NOT_BUILT,
    UNCHANGED,
    BuildLog,
    NodeEvent,
)
from pipeline.build.job import Input, Job, Restored, Result, RunConfig
from pipeline.build.missing_file import warning_with_other_case, with_other_case
from pipeline.build.place_files import DISPLACED
from pipeline.build.schedule import Schedule
from pipeline.build.stale import remove_output
from pipeline.build.work import close_tools, do_job, process_name, tools_for
from pipeline.build.written_files import WrittenFiles
from pipeline.change.evaluate import Evaluator, input_digests
from pipeline.change.fingerprint import fingerprint
from pipeline.change.owner import PlannedFiles
from pipeline.change.reason import ASKED, OUTPUT, Reason, ReasonFinder, reason_through
from pipeline.content.code import Suffixes
from pipeline.disk.listing import TICK_NS, without_fresh
from pipeline.disk.temporary import new_run, remove_temporaries
from pipeline.plan.graph import edge_of
from pipeline.project import PRIVATE, Project
from pipeline.state.node_table import LastBuild, NodeTable
from pipeline.state.state import BUILDING, FAILURE, WARNED, NodeRow
from pipeline.task_name import TaskName, stem_of

CLOCK_TRIES = 10  # how often the file system's clock is asked until stamps can be trusted
REBUILD_TRIES = 5  # how often inputs are rebuilt that vanish from the cache before they are read
NAMED_IN = "named in"  # the fact that tells where a missing file is named
LOAD_OWNERS_FROM = 100  # from so many dirty nodes on, one query for all owners is faster


class Build:
    """The nodes of one run, from out of date to done."""

    def __init__(
        self, project: Project, evaluator: Evaluator, nodes: NodeTable, dirty: Iterable[str]
    ) -> None:
        self.project, self.evaluator, self.nodes = project, evaluator, nodes
        self.dirty = set(dirty)
        self.run = new_run()
        self.encode_again = False
        self.lint = False
        self.require_cached = False  # whether a node that no cache has fails
        self.is_durable = True  # whether what was written has to survive a power cut
        self.log = BuildLog()
        self._reasons = ReasonFinder(nodes, evaluator)
        self._reason_of: dict[str, Reason] = {}
        self._jobs: dict[str, Job] = {}
        self._displaced: list[str] = []
        self._owned: dict[str, dict[str, str]] = {}  # files by task, while it is being built
        self._saved_code: set[tuple[str, Suffixes]] = set()
        self._real_folders = {""}
        self._peaks: dict[int, int] = {}  # each is one value for all results that have it
        self._planned_files: PlannedFiles | None = None
        self._written = WrittenFiles()
        self._costs = Costs(project, nodes)
        self.schedule: Schedule | None = None  # the order of this run's nodes

    def plan_order(
        self,
        needs: Mapping[str, Sequence[str]],
        memory_limit: int | None,
        late: Collection[str] = (),
    ) -> None:
        """Decide the order of tasks by what earlier runs took; `needs` are what each waits for."""
        self.schedule = Schedule(self._costs.estimates(needs), needs, memory_limit, late)

    def mark_building(self, stems: Iterable[str]) -> None:
        """Mark manifests as being built by this run, until the build is closed."""
        with self.project.state.transaction():
            self.project.state.set_facts(BUILDING, dict.fromkeys(stems, self.run))

    # Before a node runs.

    def prepare(self, task: str) -> Job | Result:
        """Return the job of a node, or its result where there is nothing to run."""
        planned = self.nodes.planned(task)
        if planned is None:
            return Result(FAILED, error=EncodeError("no such node"))
        if planned.is_broken:
            return Result(FAILED, error=EncodeError(**planned.node.params))  # type: ignore[arg-type]
        if task not in self.dirty and not self.encode_again:
            return Result(UNCHANGED)
        # A batch must not stay open while a long node runs: other processes wait for it.
        self.project.state.flush()
        node = planned.node
        made = self.nodes.digests_in(stem_of(task))
        digests = input_digests(node, self.evaluator.source_sha, made)
        if digests is None:
            return Result(FAILED, error=EncodeError("a node that it needs was not built"))
        link = self.linked_output_folder(node)
        if link:
            hint = "Put a real folder in its place."
            error = EncodeError("its output folder is a link", {"link": link}, hint)
            return Result(FAILED, error=error)
        job = self._jobs[task] = self._job(task, node, digests)
        if task not in self._reason_of:
            is_dirty = task in self.dirty
            self._reason_of[task] = (
                self.find_reason(task, job.fingerprint) if is_dirty else Reason(ASKED, "-a")
            )
        return job

    def find_reason(self, task: str, now: str) -> Reason:
        """Return why a node is out of date; `now` is the fingerprint of what is there now."""
        return self._reasons.reason(task, now)

    def linked_output_folder(self, node: Node) -> str:
        """Return a link below which a node would write; "" where there is none."""
        for place in node.outputs.values():
            path = place.prefix if isinstance(place, Family) else place
            folder = path.rpartition("/")[0] if path else ""
            if folder in self._real_folders:
                continue
            link = self.project.snapshot.link_to(folder)
            if link:
                return link
            self._real_folders.add(folder)
        return ""

    @cached_property
    def config(self) -> RunConfig:
        """What all jobs of this run have in common."""
        project = self.project
        return RunConfig(
            project.root,
            project.cache.folder,
            project.scratch,
            project.ledger,
            self.encode_again,
            self.lint,
            self.run,
            self.require_cached,
        )

    def _job(self, task: str, node: Node, digests: Mapping[str, str | None]) -> Job:
        fixed = self.evaluator.fixed(node)
        suffixes = self.project.code.suffixes_read(node)
        return Job(
            task=task,
            encoder=node.encoder,
            code=self.project.code.texts(node.encoder, suffixes),
            params=node.params,
            inputs=self.inputs_of(stem_of(task), node, digests),
            outputs=node.outputs,
            fixed=fixed,
            fingerprint=fingerprint(fixed, digests),
            config=self.config,
            code_digest=self.evaluator.code_digest(node),
            suffixes=suffixes,
            known_files=tuple(self.owned_files(task)),
            expected_seconds=self.schedule.expected_seconds(task) if self.schedule else 0.0,
            known_seconds=self.schedule.known_seconds(task) if self.schedule else None,
        )

    def inputs_of(
        self, stem: str, node: Node, digests: Mapping[str, str | None]
    ) -> dict[str, Input]:
        """Return where the bytes of a node's inputs are, by their digests."""
        return {name: self._input(stem, node, name, sha) for name, sha in digests.items()}

    def _input(self, stem: str, node: Node, name: str, sha: str | None) -> Input:
        base = name if name in node.inputs else name.rpartition("/")[0]
        one = node.inputs[base]
        if isinstance(one, Source):
            return Input(one.path, sha)
        task = str(TaskName(stem, one.node))
        last = self.nodes.last_build(task)
        assert last is not None
        output = last.output(one.role + name[len(base) :])
        return Input(output.path if output else None, sha, task, last.fingerprint)

    @cached_property
    def _owners(self) -> set[str] | None:
        """The tasks that own a file; None where few nodes are built and each is asked for."""
        is_many = len(self.dirty) > LOAD_OWNERS_FROM
        return self.project.state.output_owners() if is_many else None

    def load_owned_files(self, tasks: Collection[str]) -> None:
        """Read which files nodes own, in one query for many that are about to be recorded."""
        found = self.project.state.outputs_of_tasks(tasks)
        self._owned.update((task, found.get(task, {})) for task in tasks)

    def owned_files(self, task: str) -> Mapping[str, str]:
        """Return the files that a node owns by path, with their digests."""
        files = self._owned.get(task)
        if files is None:
            may_own = self._owners is None or task in self._owners
            files = self.project.state.outputs_of(task) if may_own else {}
            self._owned[task] = files  # asked for once more when the node is recorded
        return files

    def _add_owner(self, task: str) -> None:
        self._owned.pop(task, None)
        # Whoever asks for all owners later finds this one in the state.
        owners = self.__dict__.get("_owners")
        if owners is not None:
            owners.add(task)

    # Inputs that are gone from disk and cache.

    def rebuild_inputs(self, task: str, result: Result) -> Result:
        """Build again the inputs that a node misses, then do the node.

        Another process may trim the cache at any moment, so the rebuilt outputs are held in
        memory until the node has read them.
        """
        # Held from the first rebuilt input to the node itself, whatever is trimmed in between.
        with tools_for(self.config).cache.holding():
            for _ in range(REBUILD_TRIES):
                self.note_damage(result.damaged)
                failed = self._build_all(result.missing)
                if failed:
                    return Result(FAILED, error=EncodeError("its input failed", {"task": failed}))
                result = self._do(task)
                if result.outcome != MISSING_INPUTS:
                    return result
        cache = self.project.cache.folder
        error = EncodeError("its inputs do not stay in the cache", {"cache": cache})
        return Result(FAILED, error=error)

    def _build_all(self, tasks: Iterable[str]) -> str:
        """Build nodes again, up to the first that fails, and return its name."""
        for task in tasks:
            self.dirty.add(task)
            self._reason_of[task] = Reason(OUTPUT, "lost from the cache")
            result = self._do(task)
            if result.outcome == MISSING_INPUTS:
                result = self.rebuild_inputs(task, result)
            self.record(task, result)
            if result.outcome == FAILED:
                return task
        return ""

    def _do(self, task: str) -> Result:
        work = self.prepare(task)
        return do_job(work) if isinstance(work, Job) else work

    # After a node ran.

    def record(self, task: str, result: Result) -> NodeEvent:
        """Save what became of a node, and add it to the log."""
        if result.error is not None:
            result = result._replace(error=self._with_place(task, result.error))
        if result.warnings:
            root = self.project.root
            lines = tuple(warning_with_other_case(line, root) for line in result.warnings)
            result = result._replace(warnings=lines)
        result = self._with_shared_values(task, result)
        event = self._event_of(task, result)
        self.log.add(event)
        self.note_damage(result.damaged)
        self._displaced += result.displaced
        row = self.nodes.row(task)
        if row is not None and result.outcome not in (FAILED, UNCHANGED):
            self._save([(row, result)])
        elif row is not None and result.error is not None:
            self._keep_failure(task, result.error)
        return event

    def _with_shared_values(self, task: str, result: Result) -> Result:
        """Let what many results have be one value in memory; those of a worker are copies."""
        if result.worker == process_name():
            return result
        planned = self.planned_fingerprint(task)
        return result._replace(
            outcome=sys.intern(result.outcome),
            fingerprint=planned if planned == result.fingerprint else result.fingerprint,
            outputs=tuple(one._replace(role=sys.intern(one.role)) for one in result.outputs),
            worker=sys.intern(result.worker),
            # That of a quick node is the one before it: a process has few.
            peak_bytes=self._peaks.setdefault(result.peak_bytes, result.peak_bytes),
        )

    def note_damage(self, entries: Iterable[str]) -> None:
        """Warn of entries of the cache that were damaged and are set aside."""
        self.log.warnings += [
            grouped("cache-damage", f"damaged in the cache, set aside: {one}") for one in entries
        ]

    def record_restored(self, found: Sequence[Restored]) -> None:
        """Save nodes that were restored without a job, and add them to the log.

        All at once: to record each by itself takes longer than to restore it.
        """
        for one in found:
            event = _event(one.row.task, one.result, one.reason)
            event.is_as_planned = True
            self.log.add(event)
        self._save([(one.row, one.result) for one in found])

    def _event_of(self, task: str, result: Result) -> NodeEvent:
        """Return what is logged of a node that ran; its job is done with it."""
        reason = self._reason_of.pop(task, None)
        if reason is None and result.outcome == FAILED and task in self.dirty:
            reason = self._reasons.reason(task)  # it was never prepared, as it cannot be planned
        event = _event(task, result, reason)
        job = self._jobs.pop(task, None)
        # With another fingerprint the worker has read a source that was saved since it was planned.
        event.is_as_planned = job is not None and job.fingerprint == result.fingerprint
        return event

    def _with_place(self, task: str, error: EncodeError) -> EncodeError:
        """Say of a file that is missing where the manifest names it, and which may be meant."""
        planned, manifests = self.nodes.planned(task), self.project.manifests
        one = planned.node.inputs.get(error.facts.get("file", "")) if planned else None
        path = one.path if isinstance(one, Source) else error.facts.get("file", "")
        error = with_other_case(error, path, self.project.root)
        if NAMED_IN in error.facts or os.path.exists(f"{self.project.root}/{path}"):
            return error
        line = manifests.line_of(stem_of(task), path)
        if not line:
            return error
        where = f"{manifests.file(stem_of(task))}, line {line}"
        return EncodeError(error.problem, {**error.facts, NAMED_IN: where}, error.hint)

    def planned_fingerprint(self, task: str) -> str:
        """Return the fingerprint that a prepared node was submitted with; "" if there is none."""
        job = self._jobs.get(task)
        return job.fingerprint if job is not None else ""

    def record_not_built(self, task: str, needs: Iterable[str]) -> NodeEvent:
        """Add a node to the log that did not run because others failed."""
        failed = tuple(sorted(needs))
        event = NodeEvent(task, NOT_BUILT, self._why_not_built(task, failed), needs=failed)
        self.log.add(event)
        return event

    def _why_not_built(self, task: str, failed: Sequence[str]) -> Reason | None:
        """Return why a node that needs failed ones was to be built."""
        if task in self.dirty:
            return self._reasons.reason(task)
        first = self.log.nodes.get(failed[0]) if failed else None
        return reason_through(first.reason, first.task) if first and first.reason else None

    def _save(self, done: Sequence[tuple[NodeRow, Result]]) -> None:
        """Record nodes that were built or restored, in one transaction."""
        builds = [
            (row, result.packed_build, LastBuild(result.fingerprint, result.outputs))
            for row, result in done
        ]
        with self.project.state.batch():
            for row, _, last in builds:
                self._save_code(row.task)
                # In the same transaction as the build: a kill in between would lose that
                # they are dirty.
                self._mark_readers(row, last)
            self.nodes.set_built(builds)
            self._save_outputs(done)
        for row, result in done:
            self.dirty.discard(row.task)
            self._written.add(row.stem, result.stamps)

    def _save_outputs(self, done: Sequence[tuple[NodeRow, Result]]) -> None:
        """Record the files of nodes and what they warned of, and remove stale files."""
        new: list[tuple[str, str, str, int, str]] = []
        stale: list[tuple[NodeRow, dict[str, str]]] = []
        for row, result in done:
            files = {one.path: one for one in result.outputs if one.path is not None}
            before = self.owned_files(row.task)
            # A restored file is mostly known as it is: equal digests have equal sizes.
            new += [
                (path, row.stem, row.task, one.size, one.sha)
                for path, one in files.items()
                if before.get(path) != one.sha
            ]
            gone = {path: sha for path, sha in before.items() if path not in files}
            if gone:
                stale.append((row, gone))
            self._add_owner(row.task)
            self._keep_warnings(row.task, result.warnings)
            self._forget_failure(row.task)
        if new:
            self.project.state.set_outputs(new)
        # Before anything is committed: a kill must not leave a stale file that nobody knows.
        for row, gone in stale:
            self._remove(row, gone)

    def _keep_failure(self, task: str, error: EncodeError) -> None:
        """Keep why a node failed, so that the next run can say so."""
        with self.project.state.batch():
            self.project.state.set_facts(FAILURE, {task: error.problem})
        self._failed.add(task)

    def _forget_failure(self, task: str) -> None:
        if task in self._failed:
            self.project.state.drop_facts(FAILURE, (task,))
            self._failed.discard(task)

    @cached_property
    def _failed(self) -> set[str]:
        """The tasks that failed when they were last tried."""
        return set(self.project.state.facts(FAILURE))

    def _keep_warnings(self, task: str, warnings: tuple[str, ...]) -> None:
        """Keep what a node warned of, for as long as that build of it is current."""
        if warnings:
            self.project.state.set_facts(WARNED, {task: warnings})
            self._warned.add(task)
        elif task in self._warned:
            self.project.state.drop_facts(WARNED, (task,))
            self._warned.discard(task)

    @cached_property
    def _warned(self) -> set[str]:
        """The tasks whose last build had warnings."""
        return set(self.project.state.facts(WARNED))

    def _save_code(self, task: str) -> None:
        """Keep the code table that the node was built with, so that a change can be explained."""
        planned = self.nodes.planned(task)
        assert planned is not None
        node, code = planned.node, self.project.code
        called = node.encoder, code.suffixes_read(node)
        if called not in self._saved_code:
            key = self.evaluator.code_digest(node)
            self.project.state.set_facts("code", {key: dict(code.table(*called))})
            self._saved_code.add(called)

    def _mark_readers(self, row: NodeRow, last: LastBuild) -> None:
        """Mark the readers of this node's changed outputs as out of date."""
        old, new = self.nodes.digests(row.task), last.digests
        # The readers of a node that was never built are out of date already.
        if old is None or old == new:
            return
        changed = {role for role in {*old, *new} if old.get(role) != new.get(role)}
        name = TaskName.parse(row.task).node
        # A reader of a family is keyed by the family, not by its members.
        roles = changed | {role.rpartition("/")[0] for role in changed} - {""}
        edges = [edge_of(Product(name, role)) for role in sorted(roles)]
        for task in self.project.state.readers(row.stem, edges):
            reader = self.nodes.row(task)
            if reader is not None and reader.clean:
                self.nodes.set_clean(reader, False)
            self.dirty.add(task)

    def _remove(self, row: NodeRow, stale: Mapping[str, str]) -> None:
        """Remove files that a node wrote before and does not now, unless another node does."""
        state = self.project.state
        if self._planned_files is None:
            self._planned_files = PlannedFiles(state, state.stems())
        for path, sha in stale.items():
            producer = self._planned_files.reassign_if_produced(path, row.task)
            if producer is not None:
                self._add_owner(producer)
                continue
            warning = remove_output(self.project, self.evaluator, path, sha)
            if warning:
                self.log.warnings.append(warning)
            else:
                self.add_removed(row.stem, path)

    def add_removed(self, stem: str, path: str) -> None:
        """Add a removed output to the log."""
        self.log.removed.append((stem, path))
        self._written.add_removed(stem, path)

    # The end of the run.

    def close(self) -> None:
        """Save the listings of the folders that were written to, for the next fast path."""
        self._free_memory()
        self.log.order_equal_results()
        # First, so that the receipts of this process are complete before the state says so.
        close_tools()
        # A worker that died may have left some; usually both folders are empty.
        remove_temporaries((self.project.scratch, self.project.cache.scratch), (self.run,))
        self._warn_of_displaced()
        state = self.project.state
        state.flush(now=True)
        # Before the listings are saved: a stamp in them vouches for the content of its file.
        is_on_disk = self._sync()
        now_ns = self._wait_for_clock()
        with state.transaction():
            self._costs.save(self.log.nodes.values())
            for stem in self._written.stems():
                kept = state.listing_digests(stem)
                listings = self._written.listings(stem, self.project.snapshot, kept)
                for folder, listing in listings:
                    state.set_listing(stem, folder, without_fresh(listing, now_ns))
            # Otherwise files exist that only the ledger knows, or that may be lost.
            if is_on_disk and not state.has_lost:
                self.project.remember_ledger()
                state.drop_facts(BUILDING, state.facts(BUILDING))
        self._written = WrittenFiles()

    def _free_memory(self) -> None:
        """Drop what is of no more use: to save what was built takes memory, too."""
        self.schedule = None
        self.__dict__.pop("_owners", None)
        self.dirty = set(self.dirty)  # a set keeps the room of what was taken out of it

    def _sync(self) -> bool:
        """Make all that this run wrote survive a power cut, or return False.

        The run may have written nothing and still have to sync: for a killed one before it.
        """
        if not (self.log.removed or self.project.state.count_facts(BUILDING)):
            return True
        if not self.is_durable:
            return True
        from pipeline.disk.sync import sync_files

        project = self.project
        written = (f"{project.root}/{path}" for path in self._written.paths())
        try:
            sync_files(chain(written, (project.ledger,)), [project.private, project.cache.store])
        except OSError as error:
            text = f"not written to the disk for good: {error.strerror}"
            self.log.warnings.append(grouped("sync", text))
            return False
        return True

    def _wait_for_clock(self) -> int:
        """Wait until the newest stamps can be trusted, and return the file system's time.

        Its clock ticks slowly and may be behind the machine's, so it is asked until it is later.
        """
        for _ in range(CLOCK_TRIES):
            now_ns = self.project.lock.clock_ns()
            fresh_ns = self._written.newest_ns + TICK_NS - now_ns
            if not 0 <= fresh_ns <= TICK_NS:
                break
            time.sleep(fresh_ns / 1e9 + 0.001)
        return now_ns

    def _warn_of_displaced(self) -> None:
        if self._displaced:
            count, first = len(self._displaced), self._displaced[0]
            where = first if count == 1 else f"below {PRIVATE}/{DISPLACED}, such as {first}"
            files = "file" if count == 1 else "files"
            moved = "of somebody else moved out of an output's place"
            self.log.warnings.append(grouped("displaced", f"{count} {files} {moved}: now {where}"))
            self._displaced = []


def _event(task: str, result: Result, reason: Reason | None) -> NodeEvent:
    """Return what is logged of a node by its result alone."""
    return NodeEvent(
        task,
        result.outcome,
        reason,
        result.seconds,
        result.cpu_seconds,
        result.worker,
        result.is_shared,
        result.outputs,
        result.warnings,
        result.report,
        result.error,
        result.traceback,
        # Another machine has another clock: count back from the moment when its answer came.
        began=result.began or time.perf_counter() - result.seconds,
        peak_bytes=result.peak_bytes,
        fingerprint=result.fingerprint,
    )
