"""The nodes as the state has them, opened once each and kept at hand during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pipeline.build.built import Made
from pipeline.plan.planned_node import Planned, unpack_planned
from pipeline.state.database import Row, State


class Last:
    """What a node last made: the fingerprint, and every role with its digest and its file."""

    __slots__ = ("digests", "fingerprint", "paths")

    def __init__(self, fingerprint: str, made: Iterable[tuple[str, int, str, str | None]]) -> None:
        self.fingerprint = fingerprint
        self.digests: dict[str, str] = {}
        self.paths: dict[str, str | None] = {}
        for role, _, sha, path in made:
            self.digests[role] = sha
            self.paths[role] = path


class Book:
    """Plans and last builds by task."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._rows: dict[str, Row | None] = {}
        self._planned: dict[str, Planned] = {}
        self._last: dict[str, Last | None] = {}

    def open_all(self, stem: str) -> None:
        """Open all nodes of a manifest at once, which is quicker when many will be asked for."""
        self.keep_rows(self.state.rows(stem))

    def keep_rows(self, rows: Iterable[Row]) -> None:
        """Keep nodes as they were read a moment ago."""
        self._rows.update((row.task, row) for row in rows)

    def keep_plans(self, stem: str, planned: Mapping[str, Planned]) -> None:
        """Keep what nodes are to do, as it was planned a moment ago."""
        self._planned.update((f"{stem}:{name}", one) for name, one in planned.items())

    def row(self, task: str) -> Row | None:
        """Give a node as it is stored."""
        if task not in self._rows:
            self._rows[task] = self.state.row(task)
        return self._rows[task]

    def planned(self, task: str) -> Planned | None:
        """Give what a node is to do."""
        if task not in self._planned:
            row = self.row(task)
            if row is None:
                return None
            self._planned[task] = unpack_planned(task.partition(":")[2], row.plan)
        return self._planned[task]

    def last(self, task: str) -> Last | None:
        """Give what a node last made, or None when it was never built."""
        if task not in self._last:
            row = self.row(task)
            built = row.built if row else None
            self._last[task] = Last(built["fingerprint"], built["made"]) if built else None
        return self._last[task]

    def made(self, task: str) -> Made | None:
        """Give the digests of what a node last made, or None when it was never built."""
        last = self.last(task)
        return last.digests if last else None

    def maker(self, stem: str) -> Callable[[str], Made | None]:
        """Give a function that tells by a node's name what it last made."""
        return lambda name: self.made(f"{stem}:{name}")

    def note_built(self, row: Row, built: bytes, last: Last) -> None:
        """Note that a node was built and holds, in the caller's transaction."""
        self._note(row, built, clean=True)
        self._last[row.task] = last

    def note_dirty(self, row: Row) -> None:
        """Note that a node no longer holds, in the caller's transaction."""
        self._note(row, row.frozen_built, clean=False)

    def note_forgotten(self, row: Row) -> None:
        """Note that a node was never built, in the caller's transaction."""
        self._note(row, None, clean=False)
        self._last[row.task] = None

    def _note(self, row: Row, built: bytes | None, clean: bool) -> None:
        noted = Row(row.task, row.stem, row.frozen_plan, built, clean)
        self.state.update_row(noted)
        self._rows[row.task] = noted
