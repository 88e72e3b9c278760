"""Who owns an output file: the one module that decides it.

A file belongs to the task that wrote it last. Where that task is gone, or was never known, it goes
to the task whose current plan produces the file; where no plan does, it is stale.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from encoders.kit.plan import Family, Place
from pipeline.disk.file import read_if_there
from pipeline.plan.graph import claims_of
from pipeline.project import Project
from pipeline.state.ledger import Ledger
from pipeline.state.node_record import PlannedNode
from pipeline.state.state import BUILDING, NodeRow, OwnedOutput, State
from pipeline.task_name import TaskName

NOBODY = ""  # the owner of a file that no known task wrote


class PlannedFiles:
    """The files that the current plans produce, with the task of each."""

    def __init__(self, state: State, stems: Iterable[str]) -> None:
        self._state = state
        self.tasks: set[str] = set()
        self._exact: dict[str, str] = {}
        self._families: list[tuple[Family, str]] = []
        self._is_below_file = {"": False}
        self._written_before: dict[str, Collection[str] | None] = {}
        for stem in stems:
            rows = state.rows(stem)
            self.tasks |= {row.task for row in rows}
            nodes = {row.task: row.planned.node for row in rows}
            for task, place in claims_of(stem, nodes):
                if isinstance(place, Family):
                    self._families.append((place, task))
                else:
                    self._exact[place] = task

    def producer(self, path: str) -> str | None:
        """Return the task that produces a file, or whose family of files may include it."""
        if path in self._exact:
            return self._exact[path]
        return next((task for family, task in self._families if is_member(path, family)), None)

    def blocks(self, path: str) -> bool:
        """Tell whether a file lies where a folder is needed, or in a folder where a file is."""
        if path in self._exact:
            return False
        return path in self._folders or self._lies_below_file(posixpath.dirname(path))

    @cached_property
    def _folders(self) -> set[str]:
        found: set[str] = set()
        for path in (*self._exact, *(family.prefix for family, _ in self._families)):
            folder = posixpath.dirname(path)
            while folder and folder not in found:
                found.add(folder)
                folder = posixpath.dirname(folder)
        return found

    def _lies_below_file(self, folder: str) -> bool:
        if folder not in self._is_below_file:
            is_file = self.producer(folder) is not None
            above = posixpath.dirname(folder)
            self._is_below_file[folder] = is_file or self._lies_below_file(above)
        return self._is_below_file[folder]

    def is_stale(self, output: OwnedOutput) -> bool:
        """Tell whether no node produces a file, and give it to the node that does.

        A planned node removes its own stale files when it is rebuilt, unless they block it, or it
        is up to date: it got them after a killed build, and is not rebuilt. A file with no known
        producer is assigned to the node that could produce it, unless that node is up to date and
        did not.
        """
        if output.task in self.tasks:
            is_exact = self._exact.get(output.path) == output.task
            return not is_exact and (
                self.blocks(output.path) or self._was_left_out_before(output.path, output.task)
            )
        producer = self.producer(output.path)
        if producer is None or self._was_left_out_before(output.path, producer):
            return True
        self._state.reassign_output(output.path, producer)
        return False

    def _was_left_out_before(self, path: str, task: str) -> bool:
        # Once for all files of a task: it may have thousands, and its record names them all.
        if task not in self._written_before:
            self._written_before[task] = self._written(task)
        written = self._written_before[task]
        return written is not None and path not in written

    def _written(self, task: str) -> Collection[str] | None:
        """Return the files that a task wrote; None unless it is up to date.

        A family may include a path by name; what the node really wrote is known.
        """
        row = self._state.row(task)
        built = row.built if row is not None and row.clean else None
        return None if built is None else built.files

    def reassign_if_produced(self, path: str, task: str) -> str | None:
        """Give a file that a task no longer writes to the task that does, and return that."""
        producer = self.producer(path)
        if producer is None or producer == task:
            return None
        written = self._written(producer)
        if written is not None and path not in written:
            return None
        self._state.reassign_output(path, producer)
        return producer


def is_member(path: str, family: Family) -> bool:
    """Tell whether a file could belong to a family."""
    if not (path.startswith(family.prefix) and path.endswith(family.suffix)):
        return False
    return family.can_have(path[len(family.prefix) : len(path) - len(family.suffix)])


def keep_files_of_broken_assets(
    state: State, stem: str, planned: Mapping[str, PlannedNode], old: Mapping[str, NodeRow]
) -> None:
    """Let an asset that can't be planned keep its files until it can be planned again."""
    broken = {one.asset for one in planned.values() if one.is_broken}
    for task, row in old.items():
        if broken and TaskName.parse(task).node not in planned and row.planned.asset in broken:
            state.reassign_outputs(task, str(TaskName(stem, row.planned.asset)))


def find_producers(state: State, stems: Iterable[str], paths: Iterable[str]) -> dict[str, str]:
    """Return the task that produces each path: from recorded outputs first, then from plans."""
    found: dict[str, str] = {}
    wanted = set(paths)
    for stem in stems:
        record = state.manifest(stem)
        below = {path for path in wanted if record and path.startswith(f"{record.output}/")}
        if below:
            found |= _producers_in(state, stem, below)
    return found


def _producers_in(state: State, stem: str, paths: set[str]) -> dict[str, str]:
    found = {}
    for path, (task, _) in state.outputs_among(stem, paths).items():
        row = state.row(task)
        if row is not None and _produces(row, path):  # an older plan may have produced it
            found[path] = task
    left = paths - found.keys()
    for row in state.rows(stem) if left else ():
        found |= {path: row.task for path in left if _produces(row, path)}
    return found


def _produces(row: NodeRow, path: str) -> bool:
    places = row.planned.node.outputs.values()
    return any(_may_be(place, path, row) for place in places)


def _may_be(place: Place, path: str, row: NodeRow) -> bool:
    """Tell whether a place can be a file; the members of a node that is up to date are known."""
    if not isinstance(place, Family):
        return place == path
    if row.clean and (built := row.built) is not None:
        return path in built.files
    return is_member(path, place) or path == place.alone


def outputs_by_task(state: State, stems: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of every task: those that it wrote, and those that its plan names."""
    producers = {output.path: output.task for output in state.all_outputs()}
    for stem in stems:
        for row in state.rows(stem):
            places = row.planned.node.outputs.values()
            producers |= {place: row.task for place in places if isinstance(place, str)}
    outputs: dict[str, list[str]] = {}
    for path, task in producers.items():
        outputs.setdefault(task, []).append(path)
    return outputs


def reconcile_ledger(project: Project, ledger: Ledger) -> None:
    """Add to state and ledger what only the other lists, unless neither has changed."""
    state = project.state
    if project.is_ledger_known() and not state.count_facts(BUILDING):
        return
    noted = ledger.files()
    with state.transaction():
        _adopt(project, noted)
        made = {one.path: one.sha for one in state.all_outputs()}
        ledger.note({path: sha for path, sha in made.items() if sha not in noted.get(path, ())})
        ledger.close()
        project.remember_ledger()


def _adopt(project: Project, noted: Mapping[str, Sequence[str]]) -> None:
    """Add files to the state that only the ledger lists, after a lost state or a killed build."""
    state = project.state
    known = {output.path: output for output in state.all_outputs()}
    for path, digests in noted.items():
        stem, task, sha = NOBODY, NOBODY, None
        if path in known:
            stem, task, _, sha = known[path]
        # The ledger may be ahead of the state: a killed build had written the file already.
        # Only a file with bytes that we wrote counts as ours.
        if sha != digests[-1]:
            size, found = _size_and_digest(f"{project.root}/{path}", digests)
            if found in digests:
                state.set_outputs([(path, stem, task, size, found)])


def _size_and_digest(path: str, digests: Sequence[str]) -> tuple[int, str]:
    """Return size and SHA-256 of a file; an unreadable one counts as the last that we wrote."""
    try:
        data = read_if_there(path) or b""
    except OSError:
        return 0, digests[-1]
    return len(data), hashlib.sha256(data).hexdigest()
