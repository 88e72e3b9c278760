"""What earlier runs found out about the project: the tables, and the questions asked of them.

Rows that decide what is built carry a checksum, because SQLite's pages have none; a row that does
not match raises StateDamagedError. Callers write inside a transaction or a batch.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import xxhash

from pipeline.disk.listing import Listing, digest_listing, is_text, pack_listing, unpack_listing
from pipeline.state.cost_record import (
    COLUMNS,
    SOUND,
    CostRecord,
    CostRow,
    QuickCosts,
    gather_quick,
    spread_quick,
)
from pipeline.state.database import Database, StateDamagedError
from pipeline.state.manifest_record import ManifestRecord
from pipeline.state.serial import freeze, thaw
from pipeline.task_name import TaskName

if TYPE_CHECKING:
    from pipeline.state.node_record import BuildRecord, PlannedNode

# The kind of fact that marks a manifest while it is built, with the name of the run. A mark that
# is found later means that the build was killed, and files may exist that neither outputs nor
# listings know.
BUILDING = "building"
GONE = "gone"  # manifests that are gone though a strict run left their outputs
FAILURE = "failure"  # the kind of fact that keeps why a node failed, until it is built
QUICK_COSTS = "quick costs"  # the kind of fact that keeps what quick nodes cost, by encoder
WARNED = "warned"  # the kind of fact that keeps the warnings of a node's last build
BUCKETS = 64  # the graph's parts: looking up one input reads one of them
VALUES_PER_QUERY = 500

NODE_COLUMNS = "task, stem, plan, built, clean, crc"

Seen = tuple[str, str]  # digests of a source's survey, and of the content that was surveyed
Bucket = tuple[dict[str, list[str]], dict[str, Seen]]


def _crc(record: bytes) -> int:
    return xxhash.xxh3_64_intdigest(record) >> 1


def _verified(record: bytes, crc: int) -> bytes:
    if not isinstance(record, bytes) or _crc(record) != crc:
        raise StateDamagedError("a record does not match its checksum")
    return record


def _row_crc(task: str, stem: str, plan: bytes, built: bytes | None, clean: int) -> int:
    """Digest a node's row; lengths keep one field from passing for a part of another."""
    # The flag is part of it: a flipped bit there would hide a node that is out of date.
    head = f"{task}\0{stem}\0{clean}\0{len(plan)}\0".encode()
    return _crc(b"".join((head, plan, built or b"")))


def _crc_of(row: NodeRow) -> int:
    return _row_crc(row.task, row.stem, row.packed_plan, row.packed_build, int(row.clean))


def _bucket_of(key: str) -> int:
    return xxhash.xxh32_intdigest(key.encode()) % BUCKETS


class NodeRow:
    """A node as planned, as last built, and whether that build is up to date.

    Records stay packed until asked for: most rows of a large graph never are, and a run with
    nothing to do reads none, so it does not even import what they are made of.
    """

    __slots__ = ("clean", "packed_build", "packed_plan", "stem", "task")

    def __init__(self, task: str, stem: str, plan: bytes, built: bytes | None, clean: bool) -> None:
        self.task, self.stem, self.clean = task, stem, clean
        self.packed_plan, self.packed_build = plan, built

    @property
    def planned(self) -> PlannedNode:
        """What the node is to do."""
        from pipeline.state.node_record import PlannedNode

        return PlannedNode.unpack(TaskName.parse(self.task).node, self.packed_plan)

    @property
    def built(self) -> BuildRecord | None:
        """What the node was last built from, and its outputs."""
        from pipeline.state.node_record import BuildRecord

        return BuildRecord.unpack(self.packed_build) if self.packed_build else None


class OwnedOutput(NamedTuple):
    """A file that a node wrote, with the task that owns it."""

    stem: str
    task: str
    path: str
    sha: str


class State(Database):
    """The state of one project."""

    def __init__(self, path: str, is_owner: bool) -> None:
        self._buckets: dict[tuple[str, int], Bucket] = {}
        super().__init__(path, is_owner)

    def _forget_cached(self) -> None:
        self._buckets = {}

    # Facts: what was found out about a file or a text, by kind and key.

    def facts(self, kind: str) -> dict[str, Any]:
        """Return all facts of a kind."""
        rows = self.db.execute("SELECT key, record, crc FROM fact WHERE kind=?", (kind,))
        return {key: thaw(_verified(record, crc)) for key, record, crc in rows}

    def fact(self, kind: str, key: str) -> Any:
        """Return one fact, or None."""
        query = "SELECT record, crc FROM fact WHERE kind=? AND key=?"
        row = self.db.execute(query, (kind, key)).fetchone()
        return thaw(_verified(*row)) if row else None

    def count_facts(self, kind: str) -> int:
        """Count the facts of a kind."""
        query = "SELECT count(*) FROM fact WHERE kind=?"
        count: int = self.db.execute(query, (kind,)).fetchone()[0]
        return count

    def facts_of_nodes(self, kind: str) -> dict[str, Any]:
        """Return the facts of a kind whose key is the task of a node, in the order of tasks."""
        query = (
            "SELECT key, record, fact.crc FROM fact JOIN node ON node.task = fact.key "
            "WHERE kind=? ORDER BY key"
        )
        rows = self.db.execute(query, (kind,))
        return {key: thaw(_verified(record, crc)) for key, record, crc in rows}

    def set_facts(self, kind: str, facts: Mapping[str, object]) -> None:
        """Keep facts, in place of those with the same keys."""
        rows = ((kind, key, data := freeze(value), _crc(data)) for key, value in facts.items())
        self.db.executemany("INSERT OR REPLACE INTO fact VALUES (?,?,?,?)", rows)

    def drop_facts(self, kind: str, keys: Iterable[str]) -> None:
        """Forget facts."""
        self.db.executemany("DELETE FROM fact WHERE kind=? AND key=?", ((kind, k) for k in keys))

    # Manifests, and the folder listings that belong to them.

    def stems(self) -> list[str]:
        """Return the names of the manifests that were planned."""
        return [stem for (stem,) in self.db.execute("SELECT stem FROM manifest ORDER BY stem")]

    def manifest(self, stem: str) -> ManifestRecord | None:
        """Return the record of a manifest's last plan, or None."""
        query = "SELECT record, crc FROM manifest WHERE stem=?"
        row = self.db.execute(query, (stem,)).fetchone()
        return ManifestRecord.unpack(_verified(*row)) if row else None

    def planned_manifest(self, stem: str) -> ManifestRecord:
        """Return the record of a manifest that must have been planned."""
        record = self.manifest(stem)
        if record is None:
            raise StateDamagedError("a manifest is missing")
        return record

    def set_manifest(self, stem: str, record: ManifestRecord) -> None:
        """Keep the record of a manifest's plan."""
        data = record.pack()
        self.db.execute("INSERT OR REPLACE INTO manifest VALUES (?,?,?)", (stem, data, _crc(data)))

    def drop_manifest(self, stem: str) -> None:
        """Forget a manifest, its nodes and its listings; its outputs stay known."""
        self.db.execute(
            "DELETE FROM cost WHERE task IN (SELECT task FROM node WHERE stem=?)", (stem,)
        )
        for table in ("manifest", "listing", "node", "graph"):
            self.db.execute(f"DELETE FROM {table} WHERE stem=?", (stem,))
        self._forget_cached()

    def listing_digests(self, stem: str) -> dict[str, bytes]:
        """Return the digest of every folder listing that matters to a manifest."""
        return dict(self.db.execute("SELECT folder, digest FROM listing WHERE stem=?", (stem,)))

    def listing(self, stem: str, folder: str) -> Listing | None:
        """Return a folder's listing as the manifest last saw it."""
        query = "SELECT digest, rows FROM listing WHERE stem=? AND folder=?"
        row = self.db.execute(query, (stem, folder)).fetchone()
        if row is None or digest_listing(row[1]) != row[0]:
            return None
        return unpack_listing(row[1])

    def set_listing(self, stem: str, folder: str, listing: Listing | None) -> None:
        """Keep a folder's listing."""
        rows = pack_listing(listing)
        values = (stem, folder, digest_listing(rows), rows)
        self.db.execute("INSERT OR REPLACE INTO listing VALUES (?,?,?,?)", values)

    def drop_listings(self, stem: str, folders: Iterable[str]) -> None:
        """Forget folders that no longer matter to a manifest."""
        query = "DELETE FROM listing WHERE stem=? AND folder=?"
        self.db.executemany(query, ((stem, folder) for folder in folders))

    # Nodes.

    def rows(self, stem: str, only_dirty: bool = False) -> list[NodeRow]:
        """Return the nodes of a manifest, or only those that are out of date."""
        query = f"SELECT {NODE_COLUMNS} FROM node WHERE stem=?"
        query += " AND clean=0" if only_dirty else ""
        return [_node_row(values) for values in self.db.execute(query, (stem,))]

    def rows_of(self, tasks: Iterable[str]) -> list[NodeRow]:
        """Return the nodes of these tasks, as far as there are any."""
        query = f"SELECT {NODE_COLUMNS} FROM node WHERE task IN ({{}})"
        return [_node_row(values) for values in self._in_chunks(query, (), tasks)]

    def dirty_tasks(self, stem: str, only_built: bool = False) -> list[str]:
        """Return the tasks of a manifest that are out of date, or those built before."""
        query = "SELECT task FROM node WHERE stem=? AND clean=0"
        query += " AND built IS NOT NULL" if only_built else ""
        return [sys.intern(task) for (task,) in self.db.execute(query, (stem,))]

    def tasks(self, stem: str) -> dict[str, bool]:
        """Return the tasks of a manifest in order, and whether each is up to date."""
        query = "SELECT task, clean FROM node WHERE stem=? ORDER BY task"
        return {task: clean == 1 for task, clean in self.db.execute(query, (stem,))}

    def row(self, task: str) -> NodeRow | None:
        """Return one node; the name may be anything that a user typed."""
        if not is_text(task):
            return None
        query = f"SELECT {NODE_COLUMNS} FROM node WHERE task=?"
        values = self.db.execute(query, (task,)).fetchone()
        return _node_row(values) if values else None

    def set_rows(self, rows: Iterable[NodeRow]) -> None:
        """Keep nodes, in place of those of the same name."""
        values = (
            (*one, _row_crc(*one))
            for row in rows
            for one in [(row.task, row.stem, row.packed_plan, row.packed_build, int(row.clean))]
        )
        self.db.executemany("INSERT OR REPLACE INTO node VALUES (?,?,?,?,?,?)", values)

    def update_rows(self, rows: Iterable[NodeRow]) -> None:
        """Keep the last builds of known nodes, and whether they are up to date."""
        values = ((row.packed_build, int(row.clean), _crc_of(row), row.task) for row in rows)
        self.db.executemany("UPDATE node SET built=?, clean=?, crc=? WHERE task=?", values)

    def set_clean(self, rows: Iterable[NodeRow]) -> None:
        """Keep whether known nodes are up to date; their last builds are as they were."""
        values = ((int(row.clean), _crc_of(row), row.task) for row in rows)
        self.db.executemany("UPDATE node SET clean=?, crc=? WHERE task=?", values)

    def drop_rows(self, tasks: Iterable[str]) -> None:
        """Forget nodes, and what they cost."""
        names = [(task,) for task in tasks]
        for table in ("node", "cost"):
            self.db.executemany(f"DELETE FROM {table} WHERE task=?", names)
        self.db.executemany(f"DELETE FROM fact WHERE kind='{FAILURE}' AND key=?", names)

    def count_nodes(self, stem: str) -> tuple[int, int]:
        """Count the nodes that are up to date, and those that are not."""
        query = "SELECT clean, count(*) FROM node WHERE stem=? GROUP BY clean"
        found = dict(self.db.execute(query, (stem,)))
        return found.get(1, 0), found.get(0, 0)

    # The graph of a manifest, in a fixed number of buckets with a checksum each. A row for each
    # edge could be hidden by a damaged index, and a changed source with it.

    def set_graph(
        self, stem: str, edges: Iterable[tuple[str, str]], seen: Iterable[tuple[str, Seen]]
    ) -> None:
        """Keep which tasks read each input, and what the plan saw of each source."""
        buckets: list[Bucket] = [({}, {}) for _ in range(BUCKETS)]
        for edge, task in edges:
            buckets[_bucket_of(edge)][0].setdefault(edge, []).append(task)
        for path, digests in seen:
            buckets[_bucket_of(path)][1][path] = digests
        self._store_buckets(stem, enumerate(buckets))
        self._forget_cached()

    def _store_buckets(self, stem: str, buckets: Iterable[tuple[int, Bucket]]) -> None:
        rows = ((stem, n, data := freeze(one), _crc(data)) for n, one in buckets)
        self.db.executemany("INSERT OR REPLACE INTO graph VALUES (?,?,?,?)", rows)

    def _bucket(self, stem: str, key: str) -> Bucket:
        where = stem, _bucket_of(key)
        if where not in self._buckets:
            query = "SELECT record, crc FROM graph WHERE stem=? AND bucket=?"
            row = self.db.execute(query, where).fetchone()
            if row is None:
                raise StateDamagedError("a part of a graph is missing")
            self._buckets[where] = thaw(_verified(*row))
        return self._buckets[where]

    def readers(self, stem: str, edges: Iterable[str]) -> set[str]:
        """Return the manifest's tasks that read one of the edges (sources or roles)."""
        return {task for edge in edges for task in self._bucket(stem, edge)[0].get(edge, ())}

    def seen(self, stem: str, paths: Iterable[str]) -> dict[str, Seen]:
        """Return what a manifest's plan saw of those paths that it looked at."""
        found = ((path, self._bucket(stem, path)[1].get(path)) for path in paths)
        return {path: seen for path, seen in found if seen is not None}

    def update_seen(self, stem: str, seen: Mapping[str, Seen]) -> None:
        """Keep that a manifest's plan is right for other content of some sources, too."""
        for path, digests in seen.items():
            self._bucket(stem, path)[1][path] = digests
        touched = {_bucket_of(path) for path in seen}
        self._store_buckets(stem, ((n, self._buckets[stem, n]) for n in touched))

    # Outputs: the files that nodes wrote, by path. Each has one owner.

    def outputs_among(self, stem: str, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return owner and SHA-256 of those paths that are outputs of the manifest."""
        # The plus keeps SQLite from reading all files of the manifest by an index instead.
        query = "SELECT path, task, sha FROM output WHERE +stem=? AND path IN ({})"
        return {path: (task, sha) for path, task, sha in self._in_chunks(query, (stem,), paths)}

    def outputs_of(self, task: str) -> dict[str, str]:
        """Return path and SHA-256 of the files that a task owns."""
        query = "SELECT path, sha FROM output WHERE task=?"
        return dict(self.db.execute(query, (task,)))

    def outputs_of_tasks(self, tasks: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return path and SHA-256 of the files that tasks own, for each that owns any."""
        found: dict[str, dict[str, str]] = {}
        query = "SELECT task, path, sha FROM output WHERE task IN ({})"
        for task, path, sha in self._in_chunks(query, (), tasks):
            found.setdefault(task, {})[path] = sha
        return found

    def output_owners(self) -> set[str]:
        """Return the tasks that own a file."""
        return {task for (task,) in self.db.execute("SELECT DISTINCT task FROM output")}

    def outputs_in_folder(self, folder: str) -> dict[str, str]:
        """Return name and SHA-256 of the outputs of all manifests directly in a folder."""
        query = "SELECT path, sha FROM output WHERE path > ? AND path < ?"
        # "0" follows "/" in ASCII, so this range is every path below the folder, by the
        # primary key.
        below = self.db.execute(query, (f"{folder}/", f"{folder}0"))
        names = ((path[len(folder) + 1 :], sha) for path, sha in below)
        return {name: sha for name, sha in names if "/" not in name}

    def output_paths(self, stem: str) -> list[str]:
        """Return the files of a manifest."""
        query = "SELECT path FROM output WHERE stem=? ORDER BY path"
        return [path for (path,) in self.db.execute(query, (stem,))]

    def output_sizes(self, stem: str) -> list[tuple[str, str, int]]:
        """Return path, owner and size of the files of a manifest."""
        query = "SELECT path, task, size FROM output WHERE stem=? ORDER BY path"
        return self.db.execute(query, (stem,)).fetchall()

    def output_bytes(self) -> dict[str, int]:
        """Return the size of all files of each manifest that has any."""
        # Answered by the index alone: every run asks, one with nothing to do as well.
        return dict(self.db.execute("SELECT stem, sum(size) FROM output GROUP BY stem"))

    def output_stems(self) -> list[str]:
        """Return the manifests that own files, vanished ones too."""
        # From one name to the next by the index: DISTINCT would read the rows of all files, and
        # every run asks.
        query = """
            WITH RECURSIVE found(stem) AS (
                SELECT min(stem) FROM output
                UNION ALL
                SELECT (SELECT min(stem) FROM output WHERE stem > found.stem) FROM found
                WHERE found.stem IS NOT NULL
            )
            SELECT stem FROM found WHERE stem IS NOT NULL
        """
        return [stem for (stem,) in self.db.execute(query)]

    def all_outputs(self) -> list[OwnedOutput]:
        """Return every file that was written."""
        query = "SELECT stem, task, path, sha FROM output ORDER BY path"
        return [OwnedOutput(*row) for row in self.db.execute(query)]

    def set_outputs(self, rows: Iterable[tuple[str, str, str, int, str]]) -> None:
        """Keep files as written: path, stem, task, size and SHA-256."""
        self.db.executemany("INSERT OR REPLACE INTO output VALUES (?,?,?,?,?)", rows)

    def drop_outputs(self, paths: Iterable[str]) -> None:
        """Forget files."""
        self.db.executemany("DELETE FROM output WHERE path=?", ((path,) for path in paths))

    def reassign_outputs(self, task: str, other: str) -> None:
        """Let another task of the same manifest own all files of a task."""
        self.db.execute("UPDATE output SET task=? WHERE task=?", (other, task))

    def reassign_output(self, path: str, task: str) -> None:
        """Let another task, perhaps of another manifest, own a file."""
        values = (task, TaskName.parse(task).stem, path)
        self.db.execute("UPDATE output SET task=?, stem=? WHERE path=?", values)

    # Costs: what nodes took when they were last encoded.

    def costs(self, tasks: Collection[str] | None = None) -> dict[str, CostRecord]:
        """Return the costs of tasks, or of all."""
        query = f"SELECT {COLUMNS} FROM cost WHERE {SOUND}"
        rows: Iterable[tuple[Any, ...]] = (
            self.db.execute(query)
            if tasks is None
            else self._in_chunks(query + " AND task IN ({})", (), tasks)
        )
        found = {row[0]: CostRecord._make(row) for row in rows}
        missing = None if tasks is None else set(tasks) - found.keys()
        if missing is None or missing:
            quick = spread_quick(self.facts(QUICK_COSTS))
            chosen = (one for one in quick if missing is None or one.task in missing)
            found = {one.task: one for one in chosen} | found
        return found

    def add_quick_costs(self, new: dict[str, QuickCosts]) -> None:
        """Keep what many quick nodes cost of which nothing was known, by encoder."""
        known = {one: self.fact(QUICK_COSTS, one) for one in new}
        for encoder, earlier in known.items():
            if earlier is not None:
                kept = self._costs_of_nodes(spread_quick({encoder: earlier}))
                new = gather_quick([*kept, *spread_quick(new)])
        self.set_facts(QUICK_COSTS, new)

    def _costs_of_nodes(self, costs: Iterable[CostRecord]) -> list[CostRecord]:
        """Return the costs of nodes that still exist."""
        nodes = {task for (task,) in self.db.execute("SELECT task FROM node")}
        return [one for one in costs if one.task in nodes]

    def set_costs(self, costs: Iterable[CostRow]) -> None:
        """Keep what nodes cost, in place of what is known of them."""
        self.db.executemany("INSERT OR REPLACE INTO cost VALUES (?,?,?,?,?,?)", costs)

    def _in_chunks(
        self, query: str, first: tuple[str, ...], values: Iterable[str]
    ) -> list[tuple[Any, ...]]:
        waiting = list(filter(is_text, values))
        found: list[tuple[Any, ...]] = []
        # SQLite limits the number of variables in a statement.
        for start in range(0, len(waiting), VALUES_PER_QUERY):
            chunk = waiting[start : start + VALUES_PER_QUERY]
            marks = ",".join("?" * len(chunk))
            found += self.db.execute(query.format(marks), (*first, *chunk)).fetchall()
        return found


def _node_row(values: tuple[Any, ...]) -> NodeRow:
    task, stem, plan, built, clean, crc = values
    if not isinstance(plan, bytes) or _row_crc(task, stem, plan, built, clean) != crc:
        raise StateDamagedError("a node does not match its checksum")
    return NodeRow(sys.intern(task), sys.intern(stem), plan, built, clean == 1)
