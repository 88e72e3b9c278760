"""One run from the user's words to a build: which manifests, how they stand, what is up.

It knows nothing of doit; the modules that do hand it names and get tasks back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from itertools import groupby
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from pipeline.change.fast_path import Standing, glance
from pipeline.project import Project
from pipeline.state.damage import out_of_reach
from pipeline.state.database import OPEN, StateDamagedError

if TYPE_CHECKING:
    from pipeline.build.build import Build
    from pipeline.cache.shared.shared_cache import SharedCache
    from pipeline.change.reason import Reason
    from pipeline.change.status import Look
    from pipeline.change.task_item import Item, Part
    from pipeline.plan.survey import Mapper

Found = TypeVar("Found")
# SQLite quotes what it can't make sense of, and Python can't read every quotation.
DAMAGE = (StateDamagedError, sqlite3.DatabaseError, UnicodeDecodeError)
MANY = 100  # from so many dirty nodes on, opening all of them at once is quicker


class UnknownTaskError(Exception):
    """The user named something that there is not."""


class Session:
    """The project during one run."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.began = perf_counter()
        self.standings: dict[str, Standing] = {}
        self.build: Build | None = None
        self.shared: SharedCache | None = None
        self.whole = True
        self.is_stopped = False

    def targets(self) -> dict[str, str]:
        """Give the target of each manifest; one that can't be read counts under its own name."""
        return {stem: self._target(stem) for stem in self.project.stems()}

    def _target(self, stem: str) -> str:
        record = self.project.state.manifest(stem)
        if record and record["digest"] == self.project.manifest_digest(stem):
            return str(record["target"])
        from pipeline.manifest.mistake import Check, ManifestError
        from pipeline.manifest.schema import parse_toml

        try:
            text = self.project.read_manifest(stem)
        except ManifestError:
            return stem
        return str(parse_toml(text, Check(stem)).get("target", stem))

    def choose(self, names: Sequence[str]) -> list[str]:
        """Say which manifests the user's words are about; words of no manifest may be about any.

        A task is named after its manifest; a word without a colon may also be a target.
        """
        targets = self.targets()
        chosen: set[str] = set()
        for name in names:
            base, colon, _ = name.partition(":")
            meant = {stem for stem, target in targets.items() if base in (stem, target)}
            chosen |= meant & {base} if colon else meant
            if not meant:
                return sorted(targets)
        self.whole = not names
        return sorted(chosen if names else targets)

    def safely(self, question: Callable[[], Found]) -> Found:
        """Do something that stands on the state; if it proves damaged, drop it and do it again."""
        try:
            return question()
        except DAMAGE as error:
            self.drop_state(error)
            return question()

    def drop_state(self, error: Exception) -> None:
        """Forget everything that was known from earlier runs, unless it was only out of reach."""
        refusal = out_of_reach(error, self.project.memory)
        if refusal is not None:
            raise refusal from None
        self.project.lock.acquire()
        self.project.own_state(anew=True)
        self.project.restart()
        self.standings, self.build, self.whole = {}, None, True

    def glance(self, stems: Iterable[str]) -> list[str]:
        """Take in the manifests that have nothing to do, and give the others."""
        found = {stem: glance(self.project, stem) for stem in stems}
        self.standings |= {stem: one for stem, one in found.items() if one is not None}
        return [stem for stem, one in found.items() if one is None]

    def look(self, stems: Iterable[str], in_parallel: Mapper) -> Look:
        """Find out how manifests stand; every mistake in any of them ends in one report."""
        from pipeline.change.status import Look
        from pipeline.manifest.mistake import ManifestError, Mistake

        look = Look(self.project, in_parallel)
        mistakes: list[Mistake] = []
        for stem in stems:
            try:
                self.standings[stem] = look.standing(stem)
            except ManifestError as error:
                mistakes += error.mistakes
        if mistakes:
            raise ManifestError(mistakes)
        return look

    def begin(self, stems: Sequence[str], in_parallel: Mapper, always: bool) -> Build | None:
        """Get ready to build: None when a glance shows that there is nothing to do."""
        if self.whole:
            self.project.refuse_misnamed()
        left = self.glance(stems)
        if not (left or always or self._has_vanished()):
            return None
        waited = self.project.lock.acquire()
        self.project.own_state()
        if waited:  # whoever had the lock may have built what we were about to
            self.project.restart()
            left = self.glance(stems)
        self.build = self._begin(left, in_parallel)
        self.build.encode_again = always
        self.build.open(stem for stem, one in self.standings.items() if one.dirty or always)
        return self.build

    def _has_vanished(self) -> bool:
        state = self.project.state
        gone = set(state.stems()) - set(self.project.stems())
        return self.whole and (bool(gone) or state.has_products(""))

    def _begin(self, stems: Sequence[str], in_parallel: Mapper) -> Build:
        from pipeline.build.build import Build
        from pipeline.build.sweep import adopt_ledger, sweep
        from pipeline.state.ledger import Ledger

        project = self.project
        if project.state.count_facts(OPEN):
            self._clear_scratch()
        adopt_ledger(project, Ledger(project.ledger))
        if self.whole:
            with project.state.transaction():
                for stem in set(project.state.stems()) - set(project.stems()):
                    project.state.drop_manifest(stem)
        look = self.look(stems, in_parallel)
        dirty = [task for standing in self.standings.values() for task in standing.dirty]
        build = Build(project, look.evaluator, look.book, dirty)
        swept = sweep(project, look.evaluator, stems, self.whole)
        for stem, path in swept.removed:
            build.note_removed(stem, path)
        build.warnings += swept.warnings
        return build

    def _clear_scratch(self) -> None:
        """Remove what a killed build left half-written; who has the lock is the only writer."""
        from pipeline.cache.trim import clear_litter

        clear_litter(self.project.scratch, float("inf"))

    def resting(self, asked: Iterable[str], active: set[str]) -> list[str]:
        """Name the nodes among those asked for that rest."""
        left = [task for task in set(asked) - active if stem_of(task) in self.standings]
        return sorted(task for task in left if ":" in task and self.project.state.row(task))

    def makers_of(self, names: Iterable[str]) -> dict[str, str]:
        """Say of those names that are outputs, however they are spelled, which task makes them."""
        from pipeline.change.find_task import makers_of, path_in

        paths = {name: path_in(self.project.root, name) for name in names}
        found = makers_of(self.project.state, self.standings, paths.values())
        return {name: found[path] for name, path in paths.items() if path in found}

    def outputs_by_task(self) -> dict[str, list[str]]:
        """List the files of every task, as far as they are known."""
        from pipeline.change.find_task import outputs_by_task

        return outputs_by_task(self.project.state, self.standings)

    def whole_graph(self, in_parallel: Mapper) -> list[Part]:
        """Give all nodes of all manifests as they stand; nothing of this look is kept."""
        from pipeline.change.task_item import Part
        from pipeline.state.node_table import Book

        self.project.refuse_misnamed()
        state, parts = self.project.state, []
        with state.rehearsal():
            self.look(self.project.stems(), in_parallel)
            book = Book(state)
            for stem in self.standings:
                book.open_all(stem)
                parts += [Part.of(book, row) for row in state.rows(stem)]
        return sorted(parts, key=lambda part: part.task)

    def explain(self, names: Sequence[str], in_parallel: Mapper) -> dict[str, Reason]:
        """Say what would be built, and why; nothing of this look is kept."""
        stems = self.choose(names)
        if self.whole:
            self.project.refuse_misnamed()
        found = self._explain(stems, in_parallel)
        targets = self.targets()
        for name in names:
            known = name in targets or name in targets.values() or "*" in name
            if not known and self.project.state.row(name) is None and name not in found:
                raise UnknownTaskError(name)
        return {task: one for task, one in found.items() if _is_meant(task, names, targets)}

    def _explain(self, stems: Sequence[str], in_parallel: Mapper) -> dict[str, Reason]:
        from pipeline.build.build import Build
        from pipeline.change.explain import Why

        with self.project.state.rehearsal():
            look = self.look(stems, in_parallel)
            dirty = [task for one in self.standings.values() for task in one.dirty]
            build = Build(self.project, look.evaluator, look.book, dirty)
            needs = {item.task: item.needs for item in self.items(build)}
            return Why(build.book, look.evaluator).reasons(build.dirty, needs)

    def forget(self, task: str | None) -> None:
        """Forget that a node (or all of them) was ever built, so that it is encoded again.

        Its readers are looked at again once it is built: what it was, nobody knows any more.
        """
        from pipeline.plan.graph import edges_from
        from pipeline.state.node_table import Book

        if not self.project.lock.is_held:
            self.project.lock.acquire()
            self.project.own_state()
        state = self.project.state
        tasks = [row.task for stem in state.stems() for row in state.rows(stem)]
        book = Book(state)
        with state.transaction():
            for one in tasks if task is None else [task]:
                row = book.row(one)
                if row is not None and row.built is not None:
                    self.project.cache.drop_receipt(row.built["fingerprint"])
                    book.note_forgotten(row)
                    planned = book.planned(one)
                    edges = edges_from(planned.node) if planned else ()
                    for reader in map(book.row, state.consumers(row.stem, edges)):
                        if reader is not None:
                            book.note_dirty(reader)

    def items(self, build: Build, everything: bool = False) -> list[Item]:
        """List what is up, in order: dirty nodes and all that may change downstream of them."""
        from pipeline.change.task_item import Item, needs_of
        from pipeline.plan.graph import edges_from

        state = self.project.state
        count = sum(standing.nodes for standing in self.standings.values())
        if everything or MANY < len(build.dirty) < count:
            for stem in self.standings:
                build.book.open_all(stem)
        active = set(self.all_tasks()) if everything else set(build.dirty)
        waiting = sorted(active) if len(active) < count else []
        while waiting:
            readers: set[str] = set()
            for stem, tasks in groupby(waiting, key=stem_of):
                planned = [build.book.planned(task) for task in tasks]
                edges = [edge for one in planned if one for edge in edges_from(one.node)]
                readers |= state.consumers(stem, edges)
            waiting = sorted(readers - active)
            active |= readers
        needs = {task: needs_of(build.book, task) for task in sorted(active)}
        return [Item(task, tuple(n for n in found if n in active)) for task, found in needs.items()]

    def all_tasks(self) -> list[str]:
        """Name all nodes of the manifests that this run is about."""
        return [row.task for stem in self.standings for row in self.project.state.rows(stem)]


def _is_meant(task: str, names: Sequence[str], targets: Mapping[str, str]) -> bool:
    stem = stem_of(task)
    return not names or any(
        name in (task, stem, targets.get(stem)) or fnmatch(task, name) for name in names
    )


def stem_of(task: str) -> str:
    """Say which manifest a task belongs to."""
    return task.partition(":")[0]
