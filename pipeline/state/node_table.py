"""The nodes of a run in memory: each row is read from the state and unpacked once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from pipeline.output import Output
from pipeline.state.node_record import BuildRecord, BuiltFields, PlannedNode, built_fields
from pipeline.state.state import NodeRow, State
from pipeline.task_name import TaskName

# So many rows and plans are kept that can be read again: more would take most of the memory.
MOST_KEPT = 1 << 14
ROWS_PER_QUERY = 500
FEW_OUTPUTS = 8  # so many are searched one by one
RoleDigests = Mapping[str, str]  # the SHA-256 of each output by role


class LastBuild:
    """What other nodes need of a node's last build: its fingerprint and its outputs by role."""

    __slots__ = ("_by_role", "_digests", "fingerprint", "outputs")

    def __init__(self, fingerprint: str, outputs: tuple[Output, ...]) -> None:
        self.fingerprint, self.outputs = fingerprint, outputs
        self._digests: RoleDigests | None = None
        self._by_role: dict[str, Output] | None = None

    @property
    def digests(self) -> RoleDigests:
        """The SHA-256 of each output by role."""
        if self._digests is not None:
            return self._digests
        digests = {one.role: one.sha for one in self.outputs}
        # Most nodes have a few: a dict for each would be most of what a node takes.
        if len(digests) > FEW_OUTPUTS:
            self._digests = digests
        return digests

    def output(self, role: str) -> Output | None:
        """Return the output of a role."""
        if self._by_role is None:
            if len(self.outputs) <= FEW_OUTPUTS:
                for one in self.outputs:  # a loop, because a generator takes longer than it
                    if one.role == role:
                        return one
                return None
            self._by_role = {one.role: one for one in self.outputs}
        return self._by_role.get(role)


class NodeTable:
    """Plans and last builds by task."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._rows: dict[str, NodeRow | None] = {}
        self._planned: dict[str, PlannedNode] = {}
        self._last: dict[str, LastBuild | None] = {}
        # The record that was unpacked last: a node is asked for several times in a row, and to
        # keep those of all nodes would take too much memory.
        self._unpacked: tuple[NodeRow | None, BuildRecord | None] = (None, None)

    def load_all(self, stem: str) -> None:
        """Read all nodes of a manifest in one query, which is faster when many are needed."""
        self.keep_rows(self.state.rows(stem))

    def loaded(self, tasks: Iterable[str]) -> Iterator[str]:
        """Give tasks whose rows are read in one query for many of them.

        Where there are more than are kept, earlier ones are dropped.
        """
        waiting = iter(tasks)
        while chunk := list(islice(waiting, ROWS_PER_QUERY)):
            self.load(chunk)
            yield from chunk

    def load(self, tasks: Iterable[str]) -> None:
        """Read the rows of tasks that are not in memory, in one query."""
        missing = [task for task in tasks if task not in self._rows]
        if missing:
            if len(self._rows) + len(missing) > MOST_KEPT:
                self._rows.clear()
            self.keep_rows(self.state.rows_of(missing))

    def keep_rows(self, rows: Iterable[NodeRow]) -> None:
        """Keep rows that were just read or written."""
        self._rows.update((row.task, row) for row in rows)

    def keep_plans(self, stem: str, planned: Mapping[str, PlannedNode]) -> None:
        """Keep plans that were just made, so that they need not be unpacked, unless too many."""
        if len(planned) <= MOST_KEPT:
            self._planned.update((str(TaskName(stem, name)), one) for name, one in planned.items())

    def row(self, task: str) -> NodeRow | None:
        """Return a node's row."""
        if task not in self._rows:
            self._rows[task] = self.state.row(task)
        return self._rows[task]

    def planned(self, task: str) -> PlannedNode | None:
        """Return what a node is to do."""
        found = self._planned.get(task)
        if found is None:
            row = self.row(task)
            if row is None:
                return None
            if len(self._planned) >= MOST_KEPT:
                self._planned.clear()
            found = self._planned[task] = row.planned
        return found

    def built(self, task: str) -> BuildRecord | None:
        """Return what a node was last built from, or None when it was never built."""
        row = self.row(task)
        if row is None:
            return None
        if self._unpacked[0] is not row:
            self._unpacked = row, row.built
            if task not in self._last:
                self._keep_last(task, self._unpacked[1])
        return self._unpacked[1]

    def built_fields(self, task: str) -> BuiltFields:
        """Return the record of the last build of a node that was built, as plain values."""
        row = self.row(task)
        assert row is not None
        assert row.packed_build is not None
        return built_fields(row.packed_build)

    def last_build(self, task: str) -> LastBuild | None:
        """Return what a node last made, or None when it was never built."""
        if task not in self._last:
            self._keep_last(task, self.built(task))
        return self._last[task]

    def _keep_last(self, task: str, built: BuildRecord | None) -> None:
        self._last[task] = LastBuild(built.fingerprint, built.outputs) if built else None

    def digests(self, task: str) -> RoleDigests | None:
        """Return the digests of what a node last made, or None when it was never built."""
        last = self.last_build(task)
        return last.digests if last else None

    def digests_in(self, stem: str) -> Callable[[str], RoleDigests | None]:
        """Return a function from the name of a manifest's node to its digests."""
        return lambda name: self.digests(str(TaskName(stem, name)))

    def set_built(self, builds: Iterable[tuple[NodeRow, bytes, LastBuild]]) -> None:
        """Record that nodes were built and are up to date, in the caller's transaction."""
        new: list[NodeRow] = []
        restored: list[NodeRow] = []  # as they were recorded before
        for row, packed, last in builds:
            updated = NodeRow(row.task, row.stem, row.packed_plan, packed, clean=True)
            (restored if packed == row.packed_build else new).append(updated)
            self._last[row.task] = last
            # What other nodes need is kept in `_last`. The rest of a built node is asked for once,
            # by the result of the run, and would take most of the memory of a large build.
            if len(self._rows) < MOST_KEPT:
                self._rows[row.task] = updated
            else:
                self._rows.pop(row.task, None)
            self._planned.pop(row.task, None)
        if new:
            self.state.update_rows(new)
        if restored:
            self.state.set_clean(restored)

    def set_clean(self, row: NodeRow, clean: bool) -> None:
        """Record whether a node is up to date, in the caller's transaction."""
        # State and memory change together: a row that is clean in one and dirty in the other would
        # lose a rebuild when the process is killed.
        updated = NodeRow(row.task, row.stem, row.packed_plan, row.packed_build, clean)
        self.state.set_clean([updated])
        self._rows[row.task] = updated

    def forget_build(self, row: NodeRow) -> None:
        """Record that a node was never built, in the caller's transaction."""
        updated = NodeRow(row.task, row.stem, row.packed_plan, None, clean=False)
        self.state.update_rows([updated])
        self._rows[row.task], self._last[row.task] = updated, None
