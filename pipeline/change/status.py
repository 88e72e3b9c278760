"""Finding out what is dirty, where a glance did not settle it.

Where only the content of known files differs, the nodes that read or made these files are
judged again. Everything else is planned anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from encoders.kit.plan import Node
from pipeline.build.built import Made, files_of, made_by
from pipeline.change.evaluate import Evaluator
from pipeline.change.fast_path import Standing, changed_folders, same_setting
from pipeline.change.replan import replan
from pipeline.disk.file import leads_out
from pipeline.disk.listing import Listing, differing_names, is_link, is_text, without_fresh
from pipeline.plan.draft import TargetError, load_target
from pipeline.plan.planned_node import unpack_planned
from pipeline.plan.survey import Mapper, Surveyor
from pipeline.project import Project
from pipeline.state.database import OPEN, Row, StateDamagedError
from pipeline.state.node_table import Book

MANY = 500  # from so many files on, reading all that is remembered at once is quicker


class Look:
    """One look at the project: what it finds is noted in the state, in one step a manifest."""

    def __init__(self, project: Project, in_parallel: Mapper) -> None:
        self.project = project
        self.in_parallel = in_parallel
        self.evaluator = Evaluator(project.root, project.code, project.sources.sha)
        self.book = Book(project.state)

    def standing(self, stem: str) -> Standing:
        """Find out how a manifest stands, and note it."""
        project, state = self.project, self.project.state
        record = state.manifest(stem)
        was_killed = state.fact(OPEN, stem) is not None
        same = record is not None and not was_killed and same_setting(project, stem, record)
        same = same and not project.tree.link_to(record["output"])
        judged = same and self._judge_changes(stem, record)
        rows = state.rows(stem, only_dirty=True) if judged else replan(self, stem)
        record = state.manifest(stem)
        with state.transaction():
            project.sources.save(new_stamps=not judged)
        dirty = [row for row in rows if not row.clean]
        self.book.keep_rows(dirty)
        if sum(state.counts(stem)) != record["nodes"]:
            raise StateDamagedError("nodes are missing")
        return Standing(
            stem, record["target"], record["nodes"], record["warnings"], [row.task for row in dirty]
        )

    def _judge_changes(self, stem: str, record: dict[str, Any]) -> bool:
        """Judge the nodes that changed files belong to; False when that calls for a new plan."""
        state = self.project.state
        folders = changed_folders(self.project, stem)
        changed: set[str] = set()
        for folder in folders:
            old, new = state.photo(stem, folder), self.project.tree.listing(folder)
            names = set(differing_names(old, new))
            if folder in record["inputs"] and self._shapes_plan(folder, names, old, new):
                return False
            # No source and no product has a name that is no text.
            names = set(filter(is_text, names))
            changed |= {f"{folder}/{name}" if folder else name for name in names}
        products = state.products(stem, changed)
        with state.transaction():
            sources = self._changed_sources(stem, changed - products.keys())
            if sources is None:
                return False
            tasks = state.consumers(stem, sources) | {task for task, _ in products.values()}
            # A node that was left dirty may hold again by now.
            dirty = state.rows(stem, only_dirty=True)
            tasks |= {row.task for row in dirty if row.frozen_built is not None}
            self._judge_tasks(tasks, set(products))
            self.keep_photos(stem, folders)
        return True

    def _shapes_plan(
        self, folder: str, names: Iterable[str], old: Listing | None, new: Listing | None
    ) -> bool:
        """Tell whether a folder of sources changed in more than the content of plain files."""
        old, new, root = old or {}, new or {}, self.project.root
        if self.project.tree.error(folder) or leads_out(f"{root}/{folder}", root):
            return True
        return any(
            name.endswith("/") or name not in old or name not in new or is_link(new[name])
            for name in names
        )

    def _changed_sources(self, stem: str, paths: set[str]) -> set[str] | None:
        """Give the files whose content is not what the last plan saw; None when it shows there."""
        project, state = self.project, self.project.state
        seen = state.seen(stem, paths)
        if len(paths) > MANY:
            project.sources.load_all()
        now = {path: project.sources.digest(path) for path in seen}
        changed = {path for path, one in now.items() if one is None or one.xxh != seen[path][1]}
        surveyor = Surveyor(
            project.tree, project.sources, project.state, project.code, self.in_parallel
        )
        try:
            target = load_target(state.manifest(stem)["target"])
        except TargetError:  # to plan anew says what is wrong
            return None
        book = surveyor.survey(changed, target.surveys)
        surveyor.save()
        if any(book.digest(path) != seen[path][0] for path in changed):
            return None
        noted = {path: (seen[path][0], surveyor.surveyed_content(path)) for path in changed}
        state.update_seen(stem, noted)
        return changed | (paths - seen.keys())

    def _judge_tasks(self, tasks: Iterable[str], altered: set[str]) -> None:
        state = self.project.state
        for task in sorted(tasks):
            row = state.row(task)
            if row is None:
                raise StateDamagedError("an edge leads to no node")
            node = unpack_planned(task.partition(":")[2], row.plan).node
            made = self.made_in_state(row.stem)
            clean = self.judge(node, row.built, altered if row.clean else None, made)
            state.update_row(Row(task, row.stem, row.frozen_plan, row.frozen_built, clean))

    def judge(
        self,
        node: Node,
        built: Mapping[str, Any] | None,
        altered: set[str] | None,
        made: Callable[[str], Made | None],
    ) -> bool:
        """Tell whether a node still holds.

        `altered` names the files that have to be read again; None means all of the node's.
        """
        if built is None or not self.evaluator.holds(node, built, made):
            return False
        files = files_of(built)
        return self.evaluator.files_hold(files, None if altered is None else files.keys() & altered)

    def made_in_state(self, stem: str) -> Callable[[str], Made | None]:
        """Give a function that tells what a node of the manifest made when it was last built."""

        def made(name: str) -> Made | None:
            row = self.project.state.row(f"{stem}:{name}")
            return made_by(row.built) if row and row.built else None

        return made

    def keep_photos(self, stem: str, folders: Iterable[str]) -> None:
        """Keep how folders look now, but for what was too fresh to trust."""
        for folder in folders:
            listing = without_fresh(self.project.tree.listing(folder), self.project.now_ns)
            self.project.state.set_photo(stem, folder, listing)
