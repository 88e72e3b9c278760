"""One run from the user's words to a build.

It chooses the manifests, finds the nodes that are out of date, and lists the tasks to build. It
knows nothing of doit; the doit plug-in hands it names and gets tasks back.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from itertools import chain, groupby
from time import perf_counter, time
from typing import TYPE_CHECKING, TypeVar

from pipeline.change.fast_path import Status, status_if_current
from pipeline.project import Project
from pipeline.state.database import DAMAGE, unavailable_error
from pipeline.state.state import BUILDING, GONE, WARNED
from pipeline.task_name import is_node_name, stem_of
from pipeline.timeline import PLANNING

if TYPE_CHECKING:
    from encoders.kit.error import EncodeError
    from pipeline.build.build import Build
    from pipeline.build.event import BuildLog
    from pipeline.build.shard import Shard, Share
    from pipeline.build.strict import Strictness
    from pipeline.cache.shared.shared_cache import SharedCache
    from pipeline.change.detect import Detector
    from pipeline.change.task_item import TaskItem
    from pipeline.plan.survey import Mapper
    from pipeline.state.ledger import Ledger

Found = TypeVar("Found")


class Session:
    """The project during one run."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.began = perf_counter()
        self.statuses: dict[str, Status] = {}
        self.build: Build | None = None
        self.shared: SharedCache | None = None
        self._not_swept: Sequence[str] = ()  # manifests whose stale outputs may be there
        self.strictness: Strictness | None = None  # which warnings are failures
        self.has_failed_on_warnings = False
        self.standing: BuildLog | None = None  # failed nodes of a run that builds nothing
        self.is_whole = True  # whether the run is about all manifests
        self.is_stopped = False
        self.needs: Mapping[str, Sequence[str]] = {}  # what each task of this run waits for
        self.share: Share | None = None  # what this job builds, where there are several
        self.unmet: dict[str, list[str]] = {}  # the failed needs of tasks that did not run
        self.errors: list[EncodeError] = []  # of no node and no manifest

    def seconds_left(self, workers: int, running: Mapping[str, float]) -> float | None:
        """Return how long the nodes that are left will take, as far as earlier runs tell.

        `running` are nodes that have begun, with their seconds so far.
        """
        schedule = self.build.schedule if self.build else None
        return None if schedule is None else schedule.seconds_left(workers, running)

    def least_seconds(self, running: Mapping[str, float], pace: float) -> float:
        """Return how long at least the nodes that run will go on; see `Schedule`."""
        schedule = self.build.schedule if self.build else None
        return 0.0 if schedule is None else schedule.least_seconds(running, pace)

    def targets(self) -> dict[str, str]:
        """Return the target of each manifest; its own name where it can't be read."""
        return {stem: self._target(stem) for stem in self.project.manifests.stems()}

    def _target(self, stem: str) -> str:
        record = self.project.state.manifest(stem)
        if record and record.digest == self.project.manifests.digest(stem):
            return record.target
        return self.project.manifests.target(stem)

    def choose(self, names: Sequence[str]) -> list[str]:
        """Return the manifests that names are about; all, where a name fits none.

        A name is a task, a manifest, a target or an output file. One that fits none may be a task
        of the project's own, which may need any node.
        """
        targets = self.targets()
        chosen: set[str] = set()
        for name in names:
            base = stem_of(name)
            meant = {stem for stem, target in targets.items() if base in (stem, target)}
            meant = meant or self._makers_of(name)
            chosen |= meant & {base} if is_node_name(name) else meant
            if not meant:
                return sorted(targets)
        self.is_whole = not names
        return sorted(chosen if names else targets)

    def _makers_of(self, name: str) -> set[str]:
        """Return the manifest that made an output file, if it says still what it said then."""
        if "/" not in name or is_node_name(name):
            return set()
        task = self.producers_of([name], self.targets()).get(name)
        stem = stem_of(task) if task else ""
        record = self.project.state.manifest(stem) if stem else None
        is_same = record and record.digest == self.project.manifests.digest(stem)
        return {stem} if is_same else set()

    def retry_if_damaged(self, question: Callable[[], Found]) -> Found:
        """Call a function that reads the state; if the state is damaged, drop it and call again."""
        try:
            return question()
        except DAMAGE as error:
            self.drop_state(error)
            return question()

    def drop_state(self, error: Exception) -> None:
        """Drop the state after damage; raise where it is only unavailable at the moment."""
        unavailable = unavailable_error(error, self.project.state_file)
        if unavailable is not None:
            raise unavailable from None
        self.project.lock.acquire()
        self.project.own_state(discard=True)
        self.project.look_again()
        self.statuses, self.build, self.is_whole = {}, None, True

    def skip_current(self, stems: Iterable[str]) -> list[str]:
        """Take the fast path for manifests, and return those that are not surely up to date."""
        found = {stem: status_if_current(self.project, stem) for stem in stems}
        self.statuses |= {stem: one for stem, one in found.items() if one is not None}
        return [stem for stem, one in found.items() if one is None]

    def detect(self, stems: Iterable[str], in_parallel: Mapper) -> Detector:
        """Find out-of-date nodes; the mistakes of all manifests are raised together."""
        from pipeline.change.detect import Detector
        from pipeline.manifest.mistake import ManifestError, Mistake

        detector = Detector(self.project, in_parallel)
        mistakes: list[Mistake] = []
        for stem in stems:
            try:
                with self.project.timeline.phase(PLANNING, stem):
                    self.statuses[stem] = detector.status(stem)
            except ManifestError as error:
                mistakes += error.mistakes
        if mistakes:
            raise ManifestError(self.project.manifests.with_lines(mistakes))
        return detector

    def begin(self, stems: Sequence[str], in_parallel: Mapper, always: bool) -> Build | None:
        """Start a build; None when the fast path shows that there is nothing to do."""
        if self.is_whole:
            self.project.manifests.refuse_misnamed()
        left = self.skip_current(stems)
        is_settled = self.project.is_ledger_known() and not self._has_leftovers()
        if is_settled and not (left or always):
            return None
        waited = self.project.lock.acquire()
        self.project.own_state()
        if waited:  # the other process may have built what we were about to build
            self.project.look_again()
            left = self.skip_current(stems)
        self.build = self._begin(left, in_parallel)
        self.build.encode_again = always
        self._not_swept = left
        return self.build

    def start(self) -> None:
        """Mark manifests as being built, and remove stale outputs.

        It is called when nothing can refuse the run any more: a wrong setting or task name must
        leave no mark and remove nothing.
        """
        build = self.build
        if build is None:
            return
        from pipeline.build.stale import remove_stale
        from pipeline.manifest.asset import EMPTY_GLOB

        is_all = build.encode_again
        build.mark_building(stem for stem, one in self.statuses.items() if one.dirty or is_all)
        removal = remove_stale(
            self.project,
            build.evaluator,
            self._to_sweep(),
            whole=self.is_whole,
            keep_gone=bool(self.strictness and self.strictness.has_group(EMPTY_GLOB)),
        )
        for stem, path in removal.removed:
            build.add_removed(stem, path)
        build.log.warnings += removal.warnings
        self._note_gone(build, removal.kept)

    def _note_gone(self, build: Build, kept: Mapping[str, int]) -> None:
        """Warn of manifests that are gone though their outputs stay, in this run and the next."""
        from encoders.kit.warning import grouped
        from pipeline.manifest.asset import EMPTY_GLOB

        for stem, count in sorted(kept.items()):
            text = f"manifests/{stem}.toml is gone; its outputs ({count}) stay in a strict run"
            build.log.warnings.append(grouped(EMPTY_GLOB, text))
        state = self.project.state
        known = state.facts(GONE)
        if known or kept:
            with state.transaction():
                state.drop_facts(GONE, known)
                state.set_facts(GONE, kept)

    def _to_sweep(self) -> list[str]:
        """Return the manifests whose stale outputs are removed: none with a strict empty glob.

        A glob that matches nothing may be a slip, and all outputs of its sources would go.
        """
        strictness = self.strictness
        if strictness is None:
            return list(self._not_swept)
        from encoders.kit.warning import group_of
        from pipeline.manifest.asset import EMPTY_GLOB

        found = {
            stem: strictness.failures_among(self.statuses[stem].warnings)
            for stem in self._not_swept
        }
        return [
            stem for stem, failures in found.items() if EMPTY_GLOB not in map(group_of, failures)
        ]

    @property
    def log(self) -> BuildLog | None:
        """What the run found out; None where it built nothing and nothing failed."""
        return self.build.log if self.build else self.standing

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to do, and nothing is wrong."""
        return self.log is None and not self.errors and not self.has_failed_on_warnings

    def warned(self) -> list[tuple[str, str]]:
        """Return the warnings of all manifests and of the build, each with its task or ""."""
        found = [("", warning) for one in self.statuses.values() for warning in one.warnings]
        return [*found, *(self.log.warned() if self.log else ())]

    def all_warnings(self) -> list[str]:
        """Return the texts of all warnings of this run."""
        return [text for _, text in self.warned()]

    def fail_on_warnings(self) -> bool:
        """Count nodes with warnings as failed where that is asked for; tell whether any is."""
        if self.strictness is None:
            return False
        from pipeline.build.event import BuildLog
        from pipeline.build.strict import fail_nodes

        log = self.log or BuildLog()
        fail_nodes(self.strictness, log, self.standing_warnings())
        if self.build is None and log.nodes:
            self.standing = log
        self.has_failed_on_warnings = bool(self.failing_warnings())
        return self.has_failed_on_warnings

    def failing_warnings(self) -> list[str]:
        """Return the warnings that make this run fail."""
        return self.strictness.failures_among(self.all_warnings()) if self.strictness else []

    def fail_on_budgets(self) -> bool:
        """Add a failure for each manifest that exceeds a budget; tell whether any does."""
        state, errors = self.project.state, {}
        for stem in self.statuses:
            record = state.manifest(stem)
            if record is not None and record.budget is not None:
                from pipeline.build.budget import check_budget

                errors[stem] = check_budget(state, stem, record.budget)
        found = {stem: error for stem, error in errors.items() if error is not None}
        if found:
            self._add_failures(found)
        return bool(found)

    def _add_failures(self, errors: Mapping[str, EncodeError]) -> None:
        """Add failures of whole manifests to the log, each under the manifest's name."""
        from pipeline.build.event import FAILED, BuildLog, NodeEvent

        log = self.log or BuildLog()
        for stem, error in sorted(errors.items()):
            log.add(NodeEvent(stem, FAILED, error=error))
        if self.build is None:
            self.standing = log

    def standing_warnings(self) -> dict[str, Sequence[str]]:
        """Return what the last builds of this run's nodes warned of."""
        found = self.project.state.facts_of_nodes(WARNED)
        return {task: lines for task, lines in found.items() if stem_of(task) in self.statuses}

    def warnings_of_earlier_runs(self) -> int:
        """Count the warnings that stand of nodes which this run did not build."""
        ran = self.log.nodes if self.log else {}
        standing = self.standing_warnings().items()
        return sum(len(lines) for task, lines in standing if task not in ran)

    def _has_leftovers(self) -> bool:
        """Tell whether there are outputs of manifests that are gone, or of nobody."""
        state = self.project.state
        # A run that was killed or refused may have forgotten a manifest and left its outputs.
        known = {*state.stems(), *state.output_stems()}
        gone = known - set(self.project.manifests.stems())
        return self.is_whole and (bool(gone) or bool(state.facts(GONE)))

    def _begin(self, stems: Sequence[str], in_parallel: Mapper) -> Build:
        from pipeline.build.build import Build
        from pipeline.change.owner import reconcile_ledger
        from pipeline.state.ledger import Ledger

        project = self.project
        ledger = Ledger(project.ledger)
        # A mark of a running build while we hold the lock: that build was killed.
        killed = project.state.facts(BUILDING)
        if killed:
            self._remove_temporaries(ledger, set(killed.values()))
        self._remove_abandoned()
        reconcile_ledger(project, ledger)
        # Only a run for all manifests knows that one is gone for good.
        if self.is_whole:
            with project.state.transaction():
                for stem in set(project.state.stems()) - set(project.manifests.stems()):
                    project.state.drop_manifest(stem)
        detector = self.detect(stems, in_parallel)
        return Build(project, detector.evaluator, detector.nodes, self.dirty_tasks())

    def dirty_tasks(self) -> list[str]:
        """Return the nodes that are out of date."""
        return [task for status in self.statuses.values() for task in status.dirty]

    def _remove_temporaries(self, ledger: Ledger, runs: Iterable[str]) -> None:
        """Remove the temporary files of killed builds.

        They are in the scratch folders; where an output folder is on another device, they are
        beside outputs, and the ledger has these outputs since before that.
        """
        from pipeline.cache.trim import clear_litter
        from pipeline.disk.temporary import remove_temporaries

        root, cache = self.project.root, self.project.cache
        clear_litter(self.project.scratch, float("inf"))  # with the lock we are the only writer
        beside = {f"{root}/{posixpath.dirname(path)}" for path in ledger.files()}
        remove_temporaries((cache.scratch, *sorted(beside)), runs)

    def _remove_abandoned(self) -> None:
        """Remove temporary files of runs whose name is lost, from the folders that are ours.

        Only the holder of the lock writes to the scratch folder. To the other two any process may
        write, also one of another project, so only what is too old to be in use is removed.
        """
        from pipeline.disk.temporary import GRACE_SECONDS, remove_abandoned

        remove_abandoned(self.project.scratch, float("inf"))
        for folder in (self.project.private, self.project.cache.scratch):
            remove_abandoned(folder, time() - GRACE_SECONDS)

    def close_build(self) -> None:
        """Save what the build found out; remove what killed workers were writing."""
        if self.build is None:
            return
        if self.is_stopped:
            from pipeline.change.owner import reconcile_ledger
            from pipeline.state.ledger import Ledger

            ledger = Ledger(self.project.ledger)
            self._remove_temporaries(ledger, {self.build.run})
            # Files that were written and not recorded; closing takes away the mark of their build.
            reconcile_ledger(self.project, ledger)
        self.build.close()

    def current_among(self, names: Iterable[str], active: Container[str]) -> list[str]:
        """Return the requested nodes that are up to date."""
        left = {task for task in names if task not in active and is_node_name(task)}
        known = (task for task in left if stem_of(task) in self.statuses)
        return sorted(task for task in known if self.project.state.row(task))

    def producers_of(
        self, names: Iterable[str], stems: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Return the task of each name that is an output file, however it is spelled.

        Manifests are those that this run is about, where `stems` names no others.
        """
        from pipeline.change.owner import find_producers
        from pipeline.disk.file import project_path

        paths = {name: project_path(self.project.root, name) for name in names}
        among = self.statuses if stems is None else stems
        found = find_producers(self.project.state, among, paths.values())
        return {name: found[path] for name, path in paths.items() if path in found}

    def outputs_by_task(self) -> dict[str, list[str]]:
        """Return the files of every task, as far as they are known."""
        from pipeline.change.owner import outputs_by_task

        return outputs_by_task(self.project.state, self.statuses)

    def forget(self, task: str | None) -> None:
        """Forget the last build of a node, or of all, so that it is encoded again.

        Its readers are marked as out of date: with the old digests gone, nobody could tell
        whether what they read has changed.
        """
        from pipeline.plan.graph import edges_from
        from pipeline.state.node_table import NodeTable

        if not self.project.lock.is_held:
            self.project.lock.acquire()
            self.project.own_state()
        state = self.project.state
        tasks = [row.task for stem in state.stems() for row in state.rows(stem)]
        nodes = NodeTable(state)
        with state.transaction():
            for one in tasks if task is None else [task]:
                row = nodes.row(one)
                built = row.built if row else None
                if row is None or built is None:
                    continue
                self.project.cache.drop_receipt(built.fingerprint)
                nodes.forget_build(row)
                planned = nodes.planned(one)
                edges = edges_from(planned.node) if planned else ()
                for reader in map(nodes.row, state.readers(row.stem, edges)):
                    if reader is not None:
                        nodes.set_clean(reader, False)

    def items(self, build: Build, everything: bool = False) -> list[TaskItem]:
        """Return the tasks to build: dirty nodes and all that may change downstream of them."""
        from pipeline.change.task_item import TaskItem, needed_tasks

        count = sum(status.node_count for status in self.statuses.values())
        active = set(self.all_tasks()) if everything else set(build.dirty)
        if len(active) < count:
            active |= self._downstream(build, active)
        in_order = build.nodes.loaded(sorted(active))
        needs = {task: needed_tasks(build.nodes, task) for task in in_order}
        return [
            TaskItem(task, tuple(one for one in found if one in active))
            for task, found in needs.items()
        ]

    def items_of(self, build: Build, shard: Shard, seconds: Mapping[str, float]) -> list[TaskItem]:
        """Return the tasks of one of several jobs; `seconds` are durations that all jobs know."""
        from pipeline.build.shard import divide, guess_seconds
        from pipeline.change.task_item import TaskItem

        needs = {one.task: one.needs for one in self.items(build, everything=True)}
        sizes = {task: self._source_bytes(task) for task in needs if task not in seconds}
        guesses = {task: guess_seconds(size) for task, size in sizes.items()}
        self.share = share = divide(needs, guesses | dict(seconds), shard)
        mine = (one for one in self.items(build) if one.task in share)
        return [
            TaskItem(one.task, tuple(need for need in one.needs if need in share)) for one in mine
        ]

    def _source_bytes(self, task: str) -> int:
        """Return the size of the sources of a node, which is the same on every machine."""
        stamps = (self.project.snapshot.stamp(path) for path in self.sources_of(task))
        return sum(max(stamp[2], 0) for stamp in stamps if stamp)

    def _downstream(self, build: Build, tasks: Iterable[str]) -> set[str]:
        """Return all tasks that read what these tasks make, directly or through others."""
        from pipeline.plan.graph import edges_from

        seen = set(tasks)
        waiting = sorted(seen)
        while waiting:
            readers: set[str] = set()
            for stem, group in groupby(waiting, key=stem_of):
                planned = [build.nodes.planned(task) for task in group]
                edges = [edge for one in planned if one for edge in edges_from(one.node)]
                readers |= self.project.state.readers(stem, edges)
            waiting = sorted(readers - seen)
            seen |= readers
        return seen

    def sources_of(self, task: str) -> list[str]:
        """Return the source files that a node reads."""
        from encoders.kit.plan import Source
        from pipeline.state.node_table import NodeTable

        nodes = self.build.nodes if self.build else NodeTable(self.project.state)
        planned = nodes.planned(task)
        inputs = planned.node.inputs.values() if planned else ()
        return [one.path for one in inputs if isinstance(one, Source)]

    def known_files(self) -> set[str]:
        """Return all sources and outputs of the manifests that this run is about."""
        tasks = self.all_tasks()
        outputs = (path for paths in self.outputs_by_task().values() for path in paths)
        return {*outputs, *(path for task in tasks for path in self.sources_of(task))}

    def all_tasks(self) -> list[str]:
        """Return all nodes of the manifests that this run is about."""
        return [row.task for stem in self.statuses for row in self.project.state.rows(stem)]

    def has_match(self, pattern: str, others: Iterable[str] = ()) -> bool:
        """Tell whether a pattern fits a node, manifest, target or another name.

        `kac:*` does although the manifest `kac` may have no sources yet.
        """
        targets = self.targets()
        groups = (f"{stem}:" for stem in targets)
        names = chain(self.all_tasks(), targets, targets.values(), groups, others)
        return any(fnmatch(name, pattern) for name in names)
