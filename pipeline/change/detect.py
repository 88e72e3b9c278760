"""Find the nodes that are out of date, where the fast path did not settle it.

Where only the content of known files changed, just the nodes that read or wrote these files are
evaluated. Where a file came or went, or the manifest, code or a survey changed, the manifest is
planned again and every node is evaluated. Either way the result is saved in one transaction.
"""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from encoders.kit.plan import Product
from encoders.kit.source.registry import is_composed
from pipeline.change.evaluate import Evaluator
from pipeline.change.fast_path import Status, changed_folders, is_same_setup
from pipeline.change.owner import keep_files_of_broken_assets
from pipeline.content.code import PYTHON
from pipeline.content.kernel import KERNELS
from pipeline.disk.listing import (
    UNKNOWN,
    Listing,
    differing_names,
    is_link,
    is_text,
    is_trusted,
    take_stamp,
    without_fresh,
)
from pipeline.manifest.mistake import ManifestError
from pipeline.plan.graph import Claim, claims_of, collisions, edge_of
from pipeline.plan.survey import Mapper, Surveyor
from pipeline.project import Project
from pipeline.state.database import StateDamagedError
from pipeline.state.manifest_record import BudgetRecord, ManifestRecord
from pipeline.state.node_record import BuildRecord
from pipeline.state.node_table import MOST_KEPT, NodeTable, RoleDigests
from pipeline.state.serial import plain
from pipeline.state.state import BUILDING, NodeRow
from pipeline.task_name import TaskName

if TYPE_CHECKING:
    from pipeline.plan.manifest_plan import ManifestPlan

LOAD_ALL_FROM = 500  # from so many files on, one query for all remembered digests is faster
TOO_FRESH: tuple[int, ...] = ()  # equals no stamp, not even that of a missing file


class Detector:
    """Finds and saves the status of manifests."""

    def __init__(self, project: Project, in_parallel: Mapper) -> None:
        self.project = project
        self.in_parallel = in_parallel
        self.evaluator = Evaluator(project.root, project.code, project.sources.sha)
        self.nodes = NodeTable(project.state)

    def status(self, stem: str) -> Status:
        """Return which nodes of a manifest are out of date, and save it."""
        state = self.project.state
        # The cheap way first; it knows itself when it is not enough.
        was_enough = self._evaluate_changed_files(stem)
        tasks = state.dirty_tasks(stem) if was_enough else self._plan_again(stem)
        record = state.planned_manifest(stem)
        with state.transaction():
            self.project.sources.save(new_stamps=not was_enough)
        if sum(state.count_nodes(stem)) != record.node_count:
            raise StateDamagedError("nodes are missing")
        return Status(stem, record.target, record.node_count, record.warnings, tasks)

    def _evaluate_changed_files(self, stem: str) -> bool:
        """Evaluate the nodes that changed files belong to; False if a new plan is needed."""
        state = self.project.state
        record = state.manifest(stem)
        if record is None or not self._may_reuse_plan(stem, record):
            return False
        folders = changed_folders(self.project, stem)
        changed = self._changed_names(stem, record, folders)
        if changed is None:
            return False
        outputs = state.outputs_among(stem, changed)
        with state.transaction():
            sources = self._changed_sources(stem, record.surveys, changed - outputs.keys())
            if sources is None:
                return False
            tasks = state.readers(stem, sources) | {task for task, _ in outputs.values()}
            # A node that an earlier run left out of date may be up to date again by now.
            tasks.update(state.dirty_tasks(stem, only_built=True))
            if len(tasks) > LOAD_ALL_FROM:
                self.project.sources.load_all()
            self._evaluate_tasks(tasks, set(outputs))
            self._save_listings(stem, folders)
        return True

    def _may_reuse_plan(self, stem: str, record: ManifestRecord) -> bool:
        was_killed = self.project.state.fact(BUILDING, stem) is not None
        has_link = self.project.snapshot.link_to(record.output)
        return not (was_killed or has_link) and is_same_setup(self.project, stem, record)

    def _changed_names(
        self, stem: str, record: ManifestRecord, folders: Iterable[str]
    ) -> set[str] | None:
        """Return the files with other stamps; None if a folder of sources changed its shape."""
        changed: set[str] = set()
        for folder in folders:
            old = self.project.state.listing(stem, folder)
            new = self.project.snapshot.listing(folder)
            names = set(differing_names(old, new))
            # A file that came or went may match a glob, and a link may lead elsewhere now.
            if folder in record.inputs and self._affects_plan(folder, names, old, new):
                return None
            # Neither sources nor outputs have names that are not UTF-8.
            names = set(filter(is_text, names))
            changed |= {f"{folder}/{name}" if folder else name for name in names}
        return changed

    def _affects_plan(
        self, folder: str, names: Iterable[str], old: Listing | None, new: Listing | None
    ) -> bool:
        """Tell whether a folder of sources changed in more than the content of plain files."""
        old, new, snapshot = old or {}, new or {}, self.project.snapshot
        if snapshot.error(folder) or snapshot.folder_outside(folder):
            return True
        return any(
            name.endswith("/") or name not in old or name not in new or is_link(new[name])
            for name in names
        )

    def _changed_sources(
        self, stem: str, own: Mapping[str, str], paths: set[str]
    ) -> set[str] | None:
        """Return the files whose content changed; None if the change affects the plan.

        `own` are the target's surveys by suffix.
        """
        project, state = self.project, self.project.state
        seen = state.seen(stem, paths)
        if len(paths) > LOAD_ALL_FROM:
            project.sources.load_all()
        now = {path: project.sources.digest(path) for path in seen}
        changed = {path for path, one in now.items() if one is None or one.xxh != seen[path][1]}
        # The survey of another source, which is composed with this one, may be another now.
        if any(is_composed(path) for path in changed):
            return None
        surveyor = Surveyor(
            project.snapshot,
            project.sources,
            state,
            project.code,
            self.in_parallel,
            project.survey_exchange,
        )
        surveys = surveyor.survey(changed, own)
        surveyor.save()
        # The plan depends on the survey alone, so other content with the same survey keeps it.
        if any(surveys.digest(path) != seen[path][0] for path in changed):
            return None
        updated = {path: (seen[path][0], surveyor.surveyed_content(path)) for path in changed}
        state.update_seen(stem, updated)
        return changed | (paths - seen.keys())

    def _evaluate_tasks(self, tasks: Iterable[str], altered: set[str]) -> None:
        for task in self.nodes.loaded(sorted(tasks)):
            row, planned = self.nodes.row(task), self.nodes.planned(task)
            if row is None or planned is None:
                raise StateDamagedError("an edge leads to no node")
            clean = self.evaluator.is_current(
                planned.node,
                self.nodes.built(task),
                self.nodes.digests_in(row.stem),
                altered if row.clean else None,
            )
            if clean != row.clean:
                self.nodes.set_clean(row, clean)

    def _save_listings(
        self, stem: str, folders: Iterable[str], unread: Container[str] = ()
    ) -> None:
        """Keep the listings of folders, without the stamps that are too fresh to trust.

        Nor those of files that could not be read: the disk may work again in the next run.
        """
        for folder in folders:
            listing = without_fresh(self.project.snapshot.listing(folder), self.project.now_ns)
            for name in [one for one in listing or () if posixpath.join(folder, one) in unread]:
                listing = {**(listing or {}), name: UNKNOWN}
            self.project.state.set_listing(stem, folder, listing)

    # Planning again. Everything is worked out first and saved in one step, so a mistake in a
    # manifest leaves all that is known as it was.

    def _plan_again(self, stem: str) -> list[str]:
        """Plan a manifest and save its nodes; return the tasks that are out of date."""
        # Only here: an edit of a source plans nothing.
        from pipeline.plan.manifest_plan import ManifestPlan

        plan = ManifestPlan(self.project, stem, self.in_parallel)
        plan.make()
        state = self.project.state
        with state.transaction():
            # Inside the transaction, so that a mistake leaves the old plan as it was.
            self._refuse_shared_files(plan)
            # Before there are rows: both together would take most of the memory of a large plan.
            _save_graph(plan)
            old = {row.task: row for row in state.rows(stem)}
            outputs = {posixpath.dirname(path) for path in state.output_paths(stem)}
            dirty: list[str] = []
            # Written as they are made: those of a large plan would take much of the memory.
            state.set_rows(self._rows_of_plan(plan, old, outputs, dirty))
            # Before the old rows are dropped: they say which files belonged to the asset.
            keep_files_of_broken_assets(state, stem, plan.planned, old)
            state.drop_rows(old.keys() - {str(TaskName(stem, name)) for name in plan.planned})
            plan.surveyor.save()
            state.set_manifest(stem, _manifest_record(plan))
            folders = plan.input_folders | outputs
            state.drop_listings(stem, state.listing_digests(stem).keys() - folders)
            self._save_listings(stem, folders, plan.surveyor.unread)
        self.nodes.keep_plans(stem, plan.planned)
        return dirty

    def _rows_of_plan(
        self, plan: ManifestPlan, old: dict[str, NodeRow], outputs: set[str], dirty: list[str]
    ) -> Iterator[NodeRow]:
        """Give the row of each planned node, and add those that are out of date to `dirty`."""
        # After a build that did not end, stamps prove nothing: a power cut may have taken content.
        was_killed = self.project.state.fact(BUILDING, plan.stem) is not None
        altered = None if was_killed else _altered_files(plan, outputs)

        @lru_cache(MOST_KEPT)  # all of them would take most of the memory of a large plan
        def built(task: str) -> BuildRecord | None:
            row = old.get(task)
            return row.built if row else None

        def made(name: str) -> RoleDigests | None:
            record = built(str(TaskName(plan.stem, name)))
            return record.digests if record else None

        for name, one in plan.planned.items():
            task = str(TaskName(plan.stem, name))
            row = old.get(task)
            clean = self.evaluator.is_current(
                one.node, built(task), made, altered if row and row.clean else None
            )
            if not clean:
                dirty.append(task)
            last = row.packed_build if row else None
            yield NodeRow(task, plan.stem, one.pack(), last, clean)

    def _refuse_shared_files(self, plan: ManifestPlan) -> None:
        """Raise ManifestError for files that two manifests would write.

        Another manifest's last plan may be outdated, so a collision with it is checked against
        a new plan of it.
        """
        from pipeline.manifest.schema import overlap

        state = self.project.state
        others = [
            stem
            for stem in state.stems()
            if stem != plan.stem
            and overlap(state.planned_manifest(stem).output, plan.manifest.output)
        ]
        if not others:
            return
        own = _claims(plan)
        saved = [claim for stem in others for claim in self._saved_claims(stem)]
        if not collisions([*own, *saved]):
            return
        current = [claim for stem in others for claim in self._current_claims(stem)]
        clashes = collisions([*own, *current])
        if clashes:  # one hint for all of them
            clashes[-1] += "\nGive the manifests different `output` folders, or an asset an `id`."
        for problem in clashes:
            plan.check.add("output", problem)
        if plan.check.mistakes:
            raise ManifestError(plan.check.mistakes)

    def _saved_claims(self, stem: str) -> list[Claim]:
        rows = self.project.state.rows(stem)
        return claims_of(stem, {row.task: row.planned.node for row in rows})

    def _current_claims(self, stem: str) -> list[Claim]:
        from pipeline.plan.manifest_plan import ManifestPlan

        if stem not in self.project.manifests.stems():
            return []
        try:
            plan = ManifestPlan(self.project, stem, self.in_parallel)
            plan.make()
        except ManifestError:  # its mistakes are reported where it is built
            return []
        return _claims(plan)


def _claims(plan: ManifestPlan) -> list[Claim]:
    return claims_of(plan.stem, {name: one.node for name, one in plan.planned.items()})


def _altered_files(plan: ManifestPlan, outputs: set[str]) -> set[str]:
    """Return the files in output folders with other stamps than in the last listing."""
    state, snapshot = plan.project.state, plan.project.snapshot
    return {
        f"{folder}/{name}"
        for folder in outputs
        for name in differing_names(state.listing(plan.stem, folder), snapshot.listing(folder))
    }


def _save_graph(plan: ManifestPlan) -> None:
    content = plan.surveyor.surveyed_content
    seen = ((path, (plan.surveys.digest(path), content(path))) for path in plan.surveys)
    plan.project.state.set_graph(plan.stem, _edges(plan), seen)


def _edges(plan: ManifestPlan) -> Iterator[tuple[str, str]]:
    """Give each input of the plan's nodes with the task that reads it."""
    for name, one in plan.planned.items():
        task = str(TaskName(plan.stem, name))
        edges = [edge_of(item) for item in one.node.inputs.values()]
        edges += [edge_of(Product(need, "")) for need in one.needs]
        for edge in dict.fromkeys(edges):
            yield edge, task


def _manifest_record(plan: ManifestPlan) -> ManifestRecord:
    project = plan.project
    stamps = {path: take_stamp(path) for path in sorted(plan.code_files())}
    return ManifestRecord(
        digest=project.manifests.digest(plan.stem),
        target=plan.manifest.target,
        output=plan.manifest.output,
        python=PYTHON,
        modules=tuple(
            (path, stamp if is_trusted(stamp, project.now_ns) else TOO_FRESH)
            for path, stamp in stamps.items()
        ),
        libraries={
            name: version
            for name, version in plan.code().items()
            if name not in project.code.paths and name not in ("python", KERNELS)
        },
        inputs=tuple(sorted(plan.input_folders)),
        node_count=len(plan.planned),
        warnings=tuple(plan.finding.warnings),
        surveys=plain(plan.target.surveys),
        budget=_budget_record(plan),
    )


def _budget_record(plan: ManifestPlan) -> BudgetRecord | None:
    limits, counted = plan.manifest.budgets, plan.target.budget
    if not limits:
        return None
    return BudgetRecord(
        counted.what,
        counted.suffixes,
        counted.roles,
        counted.per,
        counted.made_of_others,
        limits,
    )
