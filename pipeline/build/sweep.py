"""Taking away what nothing makes any more, and only what Cartwright itself made.

A file goes when it is known as an output, no node claims it, and it still has the bytes that
were put there. Whatever somebody else wrote stays.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from encoders.kit.plan import Family
from pipeline.build.built import files_of
from pipeline.change.evaluate import Evaluator
from pipeline.disk.file import read_if_there, remove_empty_folders
from pipeline.plan.graph import claims_of
from pipeline.plan.planned_node import unpack_planned
from pipeline.project import Project
from pipeline.state.database import OPEN, State
from pipeline.state.ledger import Ledger


def adopt_ledger(project: Project, ledger: Ledger) -> None:
    """After the state was lost, or a build was killed, learn from the ledger which are outputs."""
    state = project.state
    if state.fact("ledger", "adopted") is not None and not state.count_facts(OPEN):
        return
    with state.transaction():
        known = {path: (stem, task, sha) for stem, task, path, sha in state.all_products()}
        for path, digests in ledger.files().items():
            stem, task, sha = known.get(path, ("", "", None))
            if sha != digests[-1]:
                size, found = _look_at(f"{project.root}/{path}", digests)
                if found in digests:
                    state.set_products([(path, stem, task, size, found)])
        state.set_facts("ledger", {"adopted": True})


def _look_at(path: str, digests: Sequence[str]) -> tuple[int, str]:
    """Give size and SHA-256 of a file; one that can't be read is taken for the last we made."""
    try:
        data = read_if_there(path) or b""
    except OSError:
        return 0, digests[-1]
    return len(data), hashlib.sha256(data).hexdigest()


@dataclass(slots=True)
class Swept:
    """What a sweep removed, by manifest, and what it left although nothing makes it."""

    removed: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def sweep(project: Project, evaluator: Evaluator, stems: Iterable[str], whole: bool) -> Swept:
    """Remove the outputs that nothing makes any more; `whole` also covers vanished manifests."""
    state, swept, chosen = project.state, Swept(), set(stems)
    vanished = set(state.product_stems()) - set(state.stems()) if whole else set()
    if all(state.manifest(stem)["swept"] for stem in chosen) and not vanished:
        return swept
    products = state.all_products()
    claims = Claims(state, state.stems() if products else ())
    for stem, task, path, sha in products:
        if stem in chosen | vanished and not _is_claimed(state, claims, task, path):
            warning = remove_output(project, evaluator, path, sha)
            if warning:
                swept.warnings.append(warning)
            else:
                swept.removed.append((stem, path))
    with state.transaction():
        for stem in sorted(chosen):
            state.set_manifest(stem, {**state.manifest(stem), "swept": True})
    return swept


def _is_claimed(state: State, claims: Claims, task: str, path: str) -> bool:
    """Tell whether a file is made by a node, or was made by one that is still there.

    What a node that is still there no longer makes is taken away when it is built, unless it is
    in the way of that. A file whose maker is not known goes to the node that may make it, unless
    that holds and does not.
    """
    if task in claims.tasks:
        return not claims.is_in_the_way(path)
    owner = claims.owner(path)
    row = state.row(owner) if owner else None
    if owner is None or row is None:
        return False
    if row.clean and row.built and path not in files_of(row.built):
        return False
    state.give_product(path, owner)
    return True


class Claims:
    """Which files the current plans make, and which task makes each."""

    def __init__(self, state: State, stems: Iterable[str]) -> None:
        self.tasks: set[str] = set()
        self._exact: dict[str, str] = {}
        self._families: list[tuple[Family, str]] = []
        self._taken = {"": False}
        for stem in stems:
            rows = state.rows(stem)
            self.tasks |= {row.task for row in rows}
            nodes = {row.task: unpack_planned(row.task, row.plan).node for row in rows}
            for claimant, place in claims_of("", nodes):
                task = claimant.removeprefix(":")
                if isinstance(place, Family):
                    self._families.append((place, task))
                else:
                    self._exact[place] = task

    def owner(self, path: str) -> str | None:
        """Name the task that makes a file, or may turn out to make it."""
        if path in self._exact:
            return self._exact[path]
        return next((task for family, task in self._families if is_member(path, family)), None)

    def is_in_the_way(self, path: str) -> bool:
        """Tell whether a file lies where a folder is needed, or in a folder where a file is."""
        if path in self._exact:
            return False
        return path in self._folders or self._is_below_a_file(posixpath.dirname(path))

    @cached_property
    def _folders(self) -> set[str]:
        """All folders that files of the current plans lie in."""
        found: set[str] = set()
        for path in (*self._exact, *(family.prefix for family, _ in self._families)):
            folder = posixpath.dirname(path)
            while folder and folder not in found:
                found.add(folder)
                folder = posixpath.dirname(folder)
        return found

    def _is_below_a_file(self, folder: str) -> bool:
        """Tell whether a file is to be where a folder, or one above it, is; once for each."""
        if folder not in self._taken:
            is_file = self.owner(folder) is not None
            self._taken[folder] = is_file or self._is_below_a_file(posixpath.dirname(folder))
        return self._taken[folder]


def is_member(path: str, family: Family) -> bool:
    """Tell whether a file could belong to a family."""
    if not (path.startswith(family.prefix) and path.endswith(family.suffix)):
        return False
    return family.can_have(path[len(family.prefix) : len(path) - len(family.suffix)])


def remove_output(project: Project, evaluator: Evaluator, path: str, sha: str) -> str:
    """Remove a file that nothing makes any more, and forget it; gives a warning where it stays.

    One that may not be removed stays known, as nobody's, so that the next run tries again.
    """
    try:
        warning = _remove(project, evaluator, path, sha)
    except OSError as error:
        project.state.give_product(path, "")
        return f"{path}: nothing makes it any more; {error.strerror}, so it stays"
    project.state.drop_products([path])
    return warning


def _remove(project: Project, evaluator: Evaluator, path: str, sha: str) -> str:
    """Remove a file and the folders that it leaves empty; gives a warning where it stays."""
    reason = reason_to_stay(project, evaluator, path, sha)
    if reason:
        return f"{path}: nothing makes it any more; {reason}, so it stays"
    with suppress(FileNotFoundError):
        os.unlink(f"{project.root}/{path}")
    remove_empty_folders(os.path.dirname(f"{project.root}/{path}"), project.root)
    return ""


def reason_to_stay(project: Project, evaluator: Evaluator, path: str, sha: str) -> str:
    """Say why a file is not to be removed; "" where it is what was made, or not there."""
    link = project.tree.link_to(posixpath.dirname(path))
    if link:
        return f"{link} is a link"
    holds = evaluator.file_holds(path, sha) or not os.path.lexists(f"{project.root}/{path}")
    return "" if holds else "altered"
