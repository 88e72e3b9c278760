"""A build under way: what each node needs to know, and what became of it.

The driver prepares a job, somebody does it, and the driver takes the result in: one transaction
a node, which also marks the nodes downstream whose inputs are no longer what they were.
"""

from __future__ import annotations

import posixpath
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from encoders.kit.error import EncodeError
from encoders.kit.plan import Family, Node, Product, Source
from pipeline.build.deliver import DISPLACED
from pipeline.build.outcome import BUILT, FAILED, RESTORED, STARVED, UNCHANGED
from pipeline.build.sweep import Claims, remove_output
from pipeline.build.work import Input, Job, Result, Workplace, bench_for, clear_bench, do_job
from pipeline.change.evaluate import Evaluator, input_digests
from pipeline.change.fingerprint import fingerprint
from pipeline.content.code import Suffixes
from pipeline.disk.listing import FOLDER, TICK_NS, Stamp, without_fresh
from pipeline.plan.graph import edge_of
from pipeline.plan.planned_node import BROKEN
from pipeline.project import PRIVATE, Project
from pipeline.state.database import OPEN, Row
from pipeline.state.node_table import Book, Last

FEW_REPORTS = 5
MOST_NAPS = 10
PATIENCE = 5  # how often inputs are made that are gone from the cache before they are read
MANY = 100  # from so many dirty nodes on, what is known of all of them is asked for at once


@dataclass(slots=True)
class Tally:
    """What a run did for one manifest."""

    by_task: dict[str, str] = field(default_factory=dict)
    bytes_made: int = 0
    removed: int = 0

    @property
    def outcomes(self) -> Counter[str]:
        """Count the nodes by what became of them."""
        return Counter(self.by_task.values())


class Build:
    """The nodes of one run, from dirty to done."""

    def __init__(
        self, project: Project, evaluator: Evaluator, book: Book, dirty: Iterable[str]
    ) -> None:
        self.project, self.evaluator, self.book = project, evaluator, book
        self.dirty = set(dirty)
        self.encode_again = False
        self.lint = False
        self.tallies: dict[str, Tally] = {}
        self.warnings: list[str] = []
        self.displaced: list[str] = []
        self.reports: dict[str, tuple[str, ...]] = {}
        self._noted_code: set[tuple[str, Suffixes]] = set()
        self._real_folders = {""}
        self._claims: Claims | None = None
        self._stamps: dict[str, dict[str, Stamp | None]] = {}

    @cached_property
    def _makers(self) -> set[str] | None:
        """The tasks that own a file, where many are built; None means that each has to be asked."""
        return self.project.state.makers() if len(self.dirty) > MANY else None

    def _files_before(self, task: str) -> dict[str, str]:
        may_have = self._makers is None or task in self._makers
        return self.project.state.products_of(task) if may_have else {}

    def _note_owner(self, task: str) -> None:
        if self._makers is not None:
            self._makers.add(task)

    def open(self, stems: Iterable[str]) -> None:
        """Mark manifests as being built, until the build is closed."""
        with self.project.state.transaction():
            self.project.state.set_facts(OPEN, dict.fromkeys(stems, True))

    def prepare(self, task: str) -> Job | Result:
        """Describe the work of a node, or say at once what becomes of it."""
        planned = self.book.planned(task)
        if planned is None:
            return Result(FAILED, error=EncodeError("no such node"))
        node = planned.node
        if node.encoder == BROKEN:
            return Result(FAILED, error=EncodeError(**node.params))  # type: ignore[arg-type]
        if task not in self.dirty and not self.encode_again:
            return Result(UNCHANGED)
        self.project.state.flush()
        stem = task.partition(":")[0]
        digests = input_digests(node, self.evaluator.source_sha, self.book.maker(stem))
        if digests is None:
            return Result(FAILED, error=EncodeError("a node that it needs was not built"))
        link = self._link_to_outputs(node)
        if link:
            hint = "Put a real folder in its place."
            return Result(
                FAILED, error=EncodeError("its output folder is a link", {"link": link}, hint)
            )
        return self._job(task, node, digests)

    def _link_to_outputs(self, node: Node) -> str:
        """Name a link below which a node would write; "" where there is none."""
        for place in node.outputs.values():
            path = place.prefix if isinstance(place, Family) else place
            folder = path.rpartition("/")[0] if path else ""
            if folder in self._real_folders:
                continue
            link = self.project.tree.link_to(folder)
            if link:
                return link
            self._real_folders.add(folder)
        return ""

    @cached_property
    def workplace(self) -> Workplace:
        """Where the jobs of this run are done, and how."""
        project = self.project
        return Workplace(
            project.root,
            project.cache.folder,
            project.scratch,
            project.ledger,
            self.encode_again,
            self.lint,
        )

    def _job(self, task: str, node: Node, digests: Mapping[str, str | None]) -> Job:
        project, fixed = self.project, self.evaluator.fixed(node)
        stem, suffixes = task.partition(":")[0], project.code.suffixes_read(node)
        return Job(
            task=task,
            encoder=node.encoder,
            code=project.code.texts(node.encoder, suffixes),
            params=node.params,
            inputs={name: self._input(stem, node, name, sha) for name, sha in digests.items()},
            outputs=node.outputs,
            fixed=fixed,
            fingerprint=fingerprint(fixed, digests),
            at=self.workplace,
            code_digest=self.evaluator.code_digest(node),
            suffixes=suffixes,
            known=tuple(self._files_before(task)),
        )

    def _input(self, stem: str, node: Node, name: str, sha: str | None) -> Input:
        base = name if name in node.inputs else name.rpartition("/")[0]
        one = node.inputs[base]
        if isinstance(one, Source):
            return Input(one.path, sha)
        maker = f"{stem}:{one.node}"
        last = self.book.last(maker)
        assert last is not None
        return Input(last.paths.get(one.role + name[len(base) :]), sha, maker, last.fingerprint)

    def feed(self, task: str, starved: Result) -> Result:
        """Make again what a node needs and nobody has any more, then do the node.

        What is made for it is held here: others may trim the cache at any moment.
        """
        with bench_for(self.workplace).cache.holding():
            for _ in range(PATIENCE):
                failed = self._make(starved.starved_of)
                if failed:
                    return Result(FAILED, error=EncodeError("its input failed", {"task": failed}))
                starved = self._try(task)
                if starved.outcome != STARVED:
                    return starved
        cache = self.project.cache.folder
        error = EncodeError("its inputs do not stay in the cache", {"cache": cache})
        return Result(FAILED, error=error)

    def _make(self, tasks: Iterable[str]) -> str:
        """Do nodes again, up to the first that fails, which is named."""
        for task in tasks:
            self.dirty.add(task)
            result = self._try(task)
            result = self.feed(task, result) if result.outcome == STARVED else result
            self.take_in(task, result)
            if result.outcome == FAILED:
                return task
        return ""

    def _try(self, task: str) -> Result:
        work = self.prepare(task)
        return do_job(work) if isinstance(work, Job) else work

    def take_in(self, task: str, result: Result) -> None:
        """Note what became of a node, and count it."""
        tally = self._tally(task.partition(":")[0])
        if result.outcome != RESTORED or tally.by_task.get(task) != BUILT:
            tally.by_task[task] = result.outcome
        if result.set_aside:
            self.warnings += [f"damaged in the cache, set aside: {one}" for one in result.set_aside]
        self.displaced += result.displaced
        row = self.book.row(task)
        if row is None or result.outcome in (FAILED, UNCHANGED):
            return
        if result.warnings:
            self.warnings += [f"{task}: {line}" for line in result.warnings]
        if result.report:
            self.reports[task] = result.report
        self._note(row, result, tally)

    def _tally(self, stem: str) -> Tally:
        if stem not in self.tallies:
            self.tallies[stem] = Tally()
        return self.tallies[stem]

    def telling_reports(self) -> dict[str, tuple[str, ...]]:
        """Give the reports that a user wants to see: of the whole, and of assets where few are."""
        planned = {task: self.book.planned(task) for task in self.reports}
        of_assets = [task for task, one in planned.items() if one and one.asset]
        hidden = of_assets if len(of_assets) > FEW_REPORTS else []
        return {task: lines for task, lines in self.reports.items() if task not in hidden}

    def _note(self, row: Row, result: Result, tally: Tally) -> None:
        files = {one.path: one for one in result.made if one.path is not None}
        tally.bytes_made += sum(one.size for one in files.values())
        state = self.project.state
        before = self._files_before(row.task)
        last = Last(result.fingerprint, result.made)
        with state.batch():
            self._note_code(row.task)
            self._mark_readers(row, last)
            self.book.note_built(row, result.built, last)
            state.set_products(
                (path, row.stem, row.task, one.size, one.sha) for path, one in files.items()
            )
            self._note_owner(row.task)
            # Before anything is committed: a kill must not leave a stale file that nobody minds.
            self._remove(row, {path: sha for path, sha in before.items() if path not in files})
        self.dirty.discard(row.task)
        self._stamps.setdefault(row.stem, {}).update(result.stamps)

    def _note_code(self, task: str) -> None:
        planned = self.book.planned(task)
        assert planned is not None
        node, code = planned.node, self.project.code
        called = node.encoder, code.suffixes_read(node)
        if called not in self._noted_code:
            key = self.evaluator.code_digest(node)
            self.project.state.set_facts("code", {key: code.table(*called)})
            self._noted_code.add(called)

    def _mark_readers(self, row: Row, last: Last) -> None:
        """Mark what reads this node's products as dirty, where these are not what they were."""
        old, new = self.book.made(row.task), last.digests
        if old is None:  # whoever reads a node that was never built is dirty already
            return
        changed = {role for role in {*old, *new} if old.get(role) != new.get(role)}
        name = row.task.partition(":")[2]
        roles = changed | {role.rpartition("/")[0] for role in changed} - {""}
        edges = [edge_of(Product(name, role)) for role in sorted(roles)]
        for task in self.project.state.consumers(row.stem, edges):
            reader = self.book.row(task)
            if reader is not None and reader.clean:
                self.book.note_dirty(reader)
            self.dirty.add(task)

    def _remove(self, row: Row, stale: Mapping[str, str]) -> None:
        """Remove files that a node made before and does not make now, unless another does."""
        state = self.project.state
        if stale and self._claims is None:
            self._claims = Claims(state, state.stems())
        for path, sha in stale.items():
            owner = self._claims.owner(path) if self._claims else None
            if owner not in (None, row.task):
                state.give_product(path, owner)
                self._note_owner(owner)
                continue
            warning = remove_output(self.project, self.evaluator, path, sha)
            if warning:
                self.warnings.append(warning)
            else:
                self.note_removed(row.stem, path)

    def note_removed(self, stem: str, path: str) -> None:
        """Note that an output is no more."""
        self._tally(stem).removed += 1
        self._stamps.setdefault(stem, {})[path] = None

    def close(self) -> None:
        """Photograph the folders that were written to, so that the next glance finds them known."""
        clear_bench()
        self._tell_of_displaced()
        self.project.state.flush(now=True)
        now_ns = self._rest()
        with self.project.state.transaction():
            for stem, stamps in self._stamps.items():
                self._photograph(stem, stamps, now_ns)
            if not self.project.state.has_lost:  # else files are there that only the ledger knows
                self.project.state.drop_facts(OPEN, self.project.state.facts(OPEN))
        self._stamps = {}

    def _rest(self) -> int:
        """Give the file system's time, after the moment that makes the newest stamps trustworthy.

        Its clock ticks slowly and may be behind, so it is asked again until it says so.
        """
        stamps = [s for one in self._stamps.values() for s in one.values() if s]
        newest = max((max(s[0], s[1]) for s in stamps), default=0)
        for _ in range(MOST_NAPS):
            now_ns = self.project.lock.clock_ns()
            fresh_ns = newest + TICK_NS - now_ns
            if not 0 <= fresh_ns <= TICK_NS:
                break
            time.sleep(fresh_ns / 1e9 + 0.001)
        return now_ns

    def _tell_of_displaced(self) -> None:
        if self.displaced:
            count, first = len(self.displaced), self.displaced[0]
            where = first if count == 1 else f"below {PRIVATE}/{DISPLACED}, such as {first}"
            files = "file" if count == 1 else "files"
            moved = "of somebody else moved out of an output's place"
            self.warnings.append(f"{count} {files} {moved}: now {where}")
            self.displaced = []

    def _photograph(self, stem: str, stamps: Mapping[str, Stamp | None], now_ns: int) -> None:
        """Bring the listings of output folders up to date with our own writes, and no others."""
        folders: dict[str, dict[str, Stamp]] = {}
        for path, stamp in stamps.items():
            folder, name = posixpath.split(path)
            if folder not in folders:
                folders[folder] = dict(self.project.tree.listing(folder) or {})
            if stamp is None:
                folders[folder].pop(name, None)
            else:
                folders[folder][name] = stamp
        for folder in folders:
            parent, name = posixpath.split(folder)
            if parent in folders and self.project.tree.listing(folder) is None:
                folders[parent][name + "/"] = FOLDER
        for folder, listing in folders.items():
            self.project.state.set_photo(stem, folder, without_fresh(listing, now_ns))
