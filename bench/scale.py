"""Measure what several machines share: a cache server and a bucket on this machine's loopback.

Run `python bench/scale.py`; `--only-bucket` leaves out the cache server, `--only-snapshot` all but
a snapshot from a bucket and the loop that it is held against, for sizes such as 20,000. The last
table is of files of a usual size, alone with `--only-usual`. Every measured build starts in a fresh
copy of the tree, because a file system that has just deleted thousands of files makes new ones more
slowly. The states take turns, so that whatever else the machine does falls on all of them; figures
are medians.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine_peer import environment, find_program
from engine_table import columns
from engine_tree import REPOSITORY, SOURCE_BYTES, Tree, write_cartwright
from suite import run_suite

sys.path.insert(0, str(REPOSITORY))

from tests.remote.bucket import BucketServer, bucket_server
from tests.remote.proxy import Harm, Proxy, between
from tests.remote.server import Server, running

GOAL_PER_SECOND, BUCKET_GOAL_PER_SECOND = 1000, 2000
LOOP_GOAL = 1.5  # restoring may take so many times what writing the files in a loop does
SHARDS = 4
USUAL_COUNT, USUAL_BYTES = 500, (1 << 16, 1 << 20)  # files of a usual size
COUNTED_SOURCES = 1000  # of the tree for which requests are counted
ANSWER = b"HTTP/1.1 "
PLAIN, LOCAL, LOCAL_TWO, EMPTY, FULL, FULL_TWO = (
    "no remote, encoded",
    "no remote, restored from the local cache",
    "no remote, restored from the local cache, -n 2",
    "empty shared cache, encoded and sent",
    "warm shared cache",
    "warm shared cache, -n 2",
)
BUCKET_EMPTY, BUCKET_FULL, SHARD, LAST, PUBLISH, FETCH, FETCH_AGAIN, LOOP = (
    "empty bucket, encoded and sent",
    "warm bucket",
    f"a bucket: the slowest of {SHARDS} shards",
    "a bucket: --require-cached after them",
    "a bucket: snapshot publish",
    "a bucket: snapshot fetch into an empty folder",
    "a bucket: snapshot fetch where all is there",
    "the same files written in a loop",
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a build took: seconds, and CPU seconds, in which other users show less."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Bench:
    """Where trees are made, and how large they are."""

    folder: Path
    size: int
    baseline: Path | None
    source_bytes: tuple[int, int] = (SOURCE_BYTES, SOURCE_BYTES)

    @property
    def nodes(self) -> int:
        """How many nodes the tree has: its sources, a pack of each hundred, and one on top."""
        return self.size + (self.size + 99) // 100 + 1

    def build(
        self, name: str, server: Server | None, *words: str, **more: str
    ) -> tuple[Tree, Cost]:
        """Build a fresh copy of the tree and give what it took; what was built is checked."""
        folder = Path(tempfile.mkdtemp(prefix="tree-", dir=self.folder))
        tree = Tree(folder, self.size, source_bytes=self.source_bytes)
        tree.write_sources()
        write_cartwright(tree)
        is_warm = server is not None and name in (FULL, FULL_TWO)
        remote = {"CARTWRIGHT_REMOTE_CACHE": server.address} if server and is_warm else {}
        return tree, run(tree, words, environment() | remote | more)


def run(tree: Tree, words: tuple[str, ...], settings: Mapping[str, str]) -> Cost:
    """Run doit to its end, which must be a good one: a warm cache leaves nothing to encode."""
    began, used = time.perf_counter(), children_seconds()
    command = [str(find_program("doit")), *words]
    output = subprocess.run(
        command, cwd=tree.folder, env=settings, capture_output=True, text=True, check=True
    ).stdout
    cost = Cost(time.perf_counter() - began, children_seconds() - used)
    if not {"--shard", "fetch"} & set(words):  # a part of the files, or no sources to compare with
        tree.check()
    is_warm = "CARTWRIGHT_REMOTE_CACHE" in settings and "CARTWRIGHT_REMOTE_WRITE" not in settings
    if "warning: shared cache" in output or (is_warm and " built" in output):
        raise AssertionError(output)
    return cost


def children_seconds() -> float:
    """Give the CPU seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(bench: Bench, rounds: int, with_server: bool) -> dict[str, list[Cost]]:
    """Measure all states, taking turns; those with a cache server may be left out."""
    costs: dict[str, list[Cost]] = {}
    for turn in range(rounds):
        found = list(local_costs(bench, turn))
        if with_server:
            found += server_costs(bench, turn)
        with bucket_server() as bucket:
            found += fleet_costs(bench, bucket)
        for name, cost in found:
            costs.setdefault(name, []).append(cost)
            print(f"{name}: {cost.wall:.2f} s, CPU {cost.cpu:.2f} s", file=sys.stderr)
    return costs


def local_costs(bench: Bench, turn: int) -> Iterator[tuple[str, Cost]]:
    """Measure builds without a shared cache, and the loop that writes the same files."""
    before = f"before, {PLAIN}"
    if bench.baseline and turn % 2 == 0:  # neither of the two is always the first
        yield before, bench.build(before, None, PYTHONPATH=str(bench.baseline))[1]
    tree, cost = bench.build(PLAIN, None)
    yield PLAIN, cost
    if bench.baseline and turn % 2 == 1:
        yield before, bench.build(before, None, PYTHONPATH=str(bench.baseline))[1]
    yield LOCAL, bench.build(LOCAL, None, CARTWRIGHT_CACHE=f"{tree.folder}/cache")[1]
    yield LOOP, write_in_a_loop(tree)


def server_costs(bench: Bench, turn: int) -> Iterator[tuple[str, Cost]]:
    """Measure builds with a cache server."""
    with running(bench.folder / f"server-{turn}") as server:
        sending = {"CARTWRIGHT_REMOTE_CACHE": server.address, "CARTWRIGHT_REMOTE_WRITE": "1"}
        yield EMPTY, bench.build(EMPTY, server, **sending)[1]
        yield FULL, bench.build(FULL, server)[1]
        yield FULL_TWO, bench.build(FULL_TWO, server, "-n", "2")[1]


def fleet_costs(bench: Bench, bucket: BucketServer) -> Iterator[tuple[str, Cost]]:
    """Measure builds, shards and snapshots with a bucket; all give the bytes of one build."""
    writing = bucket.settings() | {"CARTWRIGHT_REMOTE_WRITE": "1", "CARTWRIGHT_REMOTE_WAIT": "60"}
    tree, cost = bench.build(BUCKET_EMPTY, None, **writing)
    yield BUCKET_EMPTY, cost
    yield BUCKET_FULL, bench.build(BUCKET_FULL, None, **bucket.settings())[1]
    yield PUBLISH, run(tree, ("snapshot", "publish"), environment() | writing)
    empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=bench.folder)), bench.size)
    yield FETCH, run(empty, ("snapshot", "fetch"), environment() | bucket.settings())
    if contents(empty.folder) != contents(tree.folder):
        raise AssertionError(f"{empty.folder}: the snapshot is not the build")
    yield FETCH_AGAIN, run(empty, ("snapshot", "fetch"), environment() | bucket.settings())
    shards = writing | {"CARTWRIGHT_REMOTE_CACHE": f"{bucket.address}/shards"}
    jobs = [
        bench.build(SHARD, None, "--shard", f"{number}/{SHARDS}", **shards)[1]
        for number in range(1, SHARDS + 1)
    ]
    yield SHARD, max(jobs, key=lambda one: one.wall)
    yield LAST, bench.build(LAST, None, "--require-cached", **shards)[1]


def contents(folder: Path) -> dict[str, bytes]:
    """Return all outputs by their paths."""
    files = (one for one in (folder / "build").rglob("*") if one.is_file())
    return {str(one.relative_to(folder)): one.read_bytes() for one in files}


def write_in_a_loop(tree: Tree) -> Cost:
    """Write what was built once more, to the same paths, with nothing but open and write.

    The folders are made before, and the bytes are in memory: the least that files can cost.
    """
    files = contents(tree.folder)
    target = tempfile.mkdtemp(prefix="loop-", dir=tree.folder.parent)
    for folder in {os.path.dirname(path) for path in files}:
        os.makedirs(f"{target}/{folder}", exist_ok=True)
    began, used = time.perf_counter(), time.process_time()
    for path, data in files.items():
        with open(f"{target}/{path}", "wb") as file:
            file.write(data)
    return Cost(time.perf_counter() - began, time.process_time() - used)


def count_requests(folder: Path) -> Iterator[str]:
    """Count the requests that 1,000 small nodes take, by the answers that pass through a proxy."""
    bench = Bench(folder, COUNTED_SOURCES, None)
    answered: list[int] = []

    def counting(_: Proxy) -> Harm:
        def count(data: bytes) -> bytes:
            answered.append(data.count(ANSWER))
            return data

        return count

    def counted(work: Callable[[], object]) -> int:
        before = sum(answered)
        work()
        return round((sum(answered) - before) * 1000 / bench.nodes)

    write = {"CARTWRIGHT_REMOTE_WRITE": "1", "CARTWRIGHT_REMOTE_WAIT": "60"}
    with running(folder / "counted") as server, between(server.port, counting) as proxy:
        # The proxy makes round trips longer: without this, quick nodes would not be shared.
        all_nodes = {"CARTWRIGHT_REMOTE_LEAST_SECONDS": "0"}
        settings = {"CARTWRIGHT_REMOTE_CACHE": proxy.address, **all_nodes}
        sent = counted(lambda: bench.build(EMPTY, None, **settings, **write))
        fetched = counted(lambda: bench.build(BUCKET_FULL, None, **settings))
        yield f"requests per 1,000 nodes, server: {sent} to send, {fetched} to fetch from nothing"
    with bucket_server() as bucket, between(bucket.port, counting) as proxy:
        settings = bucket.settings() | {"AWS_ENDPOINT_URL": proxy.address}
        trees: list[Tree] = []
        sent = counted(lambda: trees.append(bench.build(EMPTY, None, **settings, **write)[0]))
        fetched = counted(lambda: bench.build(BUCKET_FULL, None, **settings))
        yield f"requests per 1,000 nodes, bucket: {sent} to send, {fetched} to fetch from nothing"
        everything = environment() | settings
        publish, fetch = ("snapshot", "publish"), ("snapshot", "fetch")
        sent = counted(lambda: run(trees[0], publish, everything | write))
        empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=folder)), bench.size)
        fetched = counted(lambda: run(empty, fetch, everything))
        yield f"requests per 1,000 nodes, snapshot: {sent} to publish, {fetched} to fetch"


def measure_snapshot(bench: Bench, rounds: int) -> dict[str, list[Cost]]:
    """Measure fetching a snapshot into an empty folder, and the loop, taking turns."""
    costs: dict[str, list[Cost]] = {PUBLISH: [], FETCH: [], LOOP: []}
    with bucket_server() as bucket:
        tree, _ = bench.build(PLAIN, None)
        settings = environment() | bucket.settings()
        words = ("snapshot", "publish")
        costs[PUBLISH].append(run(tree, words, settings | {"CARTWRIGHT_REMOTE_WRITE": "1"}))
        for _ in range(rounds):
            empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=bench.folder)), bench.size)
            costs[FETCH].append(run(empty, ("snapshot", "fetch"), settings))
            costs[LOOP].append(write_in_a_loop(tree))
        if contents(empty.folder) != contents(tree.folder):
            raise AssertionError(f"{empty.folder}: the snapshot is not the build")
    return costs


def measure_usual(bench: Bench, rounds: int) -> dict[str, list[Cost]]:
    """Measure restoring files of a usual size, from the local cache and as a snapshot."""
    costs: dict[str, list[Cost]] = {one: [] for one in (LOCAL, LOCAL_TWO, BUCKET_FULL, FETCH, LOOP)}
    with bucket_server() as bucket:
        writing = bucket.settings() | {"CARTWRIGHT_REMOTE_WRITE": "1"}
        tree, _ = bench.build(BUCKET_EMPTY, None, **writing, CARTWRIGHT_REMOTE_WAIT="60")
        run(tree, ("snapshot", "publish"), environment() | writing)
        cache = f"{tree.folder}/cache"
        for _ in range(rounds):
            costs[LOCAL].append(bench.build(LOCAL, None, CARTWRIGHT_CACHE=cache)[1])
            costs[LOCAL_TWO].append(
                bench.build(LOCAL_TWO, None, "-n", "2", CARTWRIGHT_CACHE=cache)[1]
            )
            costs[BUCKET_FULL].append(bench.build(BUCKET_FULL, None, **bucket.settings())[1])
            empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=bench.folder)), bench.size)
            settings = environment() | bucket.settings()
            costs[FETCH].append(run(empty, ("snapshot", "fetch"), settings))
            costs[LOOP].append(write_in_a_loop(tree))
    return costs


def median(costs: Iterable[Cost]) -> Cost:
    """Give the median of each figure by itself."""
    walls, cpus = zip(*((one.wall, one.cpu) for one in costs), strict=True)
    return Cost(statistics.median(walls), statistics.median(cpus))


def lines(costs: Mapping[str, list[Cost]], nodes: int, are_small: bool = True) -> Iterator[str]:
    """Lay the figures out, and the goals beside them."""
    rows = [["from a fresh clone", "s", "CPU s", "nodes a second", "best round", "a CPU second"]]
    medians = {name: median(found) for name, found in costs.items()}
    for name, cost in medians.items():
        best = nodes / min(one.wall for one in costs[name])
        figures = f"{cost.wall:.2f}", f"{cost.cpu:.2f}"
        rates = (nodes / cost.wall, best, nodes / cost.cpu)
        rows.append([name, *figures, *(f"{one:,.0f}" for one in rates)])
    yield from columns(rows)
    if are_small:
        yield from rate_goals(medians, nodes)
    yield from loop_goals(medians)
    before = medians.get(f"before, {PLAIN}")
    if before:
        now = medians[PLAIN]
        ratios = f"{now.wall / before.wall:.2f} x the time, {now.cpu / before.cpu:.2f} x the CPU"
        yield f"no remote set, beside the baseline: {ratios}"


def rate_goals(medians: Mapping[str, Cost], nodes: int) -> Iterator[str]:
    """Say whether small outputs come as quickly as they should."""
    for goal, names in ((GOAL_PER_SECOND, (FULL,)), (BUCKET_GOAL_PER_SECOND, (BUCKET_FULL, FETCH))):
        for name in (one for one in names if one in medians):
            verdict = "reached" if nodes / medians[name].wall >= goal else "not reached"
            yield f"goal: {goal:,} small outputs a second, {name}: {verdict}"


def loop_goals(medians: Mapping[str, Cost]) -> Iterator[str]:
    """Hold what restores files against the loop that writes them."""
    loop = medians[LOOP]
    for name in (one for one in (LOCAL, LOCAL_TWO, BUCKET_FULL, FETCH) if one in medians):
        cost = medians[name]
        ratios = f"{cost.wall / loop.wall:.1f} x the time, {cost.cpu / loop.cpu:.1f} x the CPU"
        verdict = "reached" if cost.wall <= LOOP_GOAL * loop.wall else "not reached"
        yield f"goal: {LOOP_GOAL} x a loop that writes the files; {name}: {verdict}, {ratios}"


def print_small(bench: Bench, given: argparse.Namespace) -> None:
    """Measure what many small files take."""
    print(f"{bench.nodes:,} nodes of 4 KiB\n")
    if given.only_snapshot:
        print("\n".join(lines(measure_snapshot(bench, given.rounds), bench.nodes)))
        return
    costs = measure(bench, given.rounds, with_server=not given.only_bucket)
    print("\n".join(lines(costs, bench.nodes)))
    if not given.only_bucket:
        print("\n".join(count_requests(bench.folder)))


def main() -> None:
    """Measure in a folder of our own."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=5000, help="how many sources")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that medians are taken of")
    parser.add_argument("--folder", type=Path, help="where the trees go, instead of a temporary")
    parser.add_argument("--baseline", type=Path, help="another checkout, to compare with")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--only-snapshot", action="store_true", help="only that and the loop")
    only.add_argument("--only-usual", action="store_true", help="only files of a usual size")
    only.add_argument("--only-bucket", action="store_true", help="no cache server, no Dask")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scale-", dir=given.folder) as folder:
        bench = Bench(Path(folder), given.size, given.baseline)
        print(f"Python {platform.python_version()}, {os.cpu_count()} processors")
        print(f"load before: {os.getloadavg()[0]:.1f}")
        if not given.only_usual:
            print_small(bench, given)
        if not (given.only_snapshot or given.only_bucket):
            usual = Bench(Path(folder), USUAL_COUNT, None, USUAL_BYTES)
            print(f"\n{USUAL_COUNT} files of 64 KiB to 1 MiB\n")
            found = measure_usual(usual, given.rounds)
            print("\n".join(lines(found, usual.nodes, are_small=False)))
    if given.only_snapshot or given.only_bucket or given.only_usual:
        return
    run_suite("scale")


if __name__ == "__main__":
    main()
