"""Measure what several machines share: a cache server, a bucket, a cluster, all on the loopback.

Run `python bench/scale.py`; all figures are in one table at the end. `--only-bucket` leaves out the
cache server and the cluster, `--only-snapshot` all but a snapshot from a bucket and the loop that
it is held against, for sizes such as 20,000; `--only-usual` leaves all but files of a usual size.
The bucket is that of the first server of S3 that is installed: versitygw, MinIO, moto's. Every
measured build starts in a fresh copy of the tree, because a file system that has just deleted
thousands of files makes new ones more slowly. The states take turns, so that whatever else the
machine does falls on all of them; figures are medians, and CPU is that of the client alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine_peer import environment, find_program
from engine_tree import REPOSITORY, SOURCE_BYTES, Tree, write_cartwright
from scale_dask import SLOW_NODES, SMALL_NODES, cache_server, small_walls, waiting_walls
from scale_table import Cost, Row, table

sys.path.insert(0, str(REPOSITORY))

from tests.remote.bucket import bucket_server
from tests.remote.cloud import MINIO, VERSITYGW, is_installed, running_cloud
from tests.remote.proxy import Harm, Proxy, between
from tests.remote.server import Server, running

SHARDS = 4
USUAL = "files of 64 KiB to 1 MiB"  # as they are in most games
USUAL_COUNT, USUAL_BYTES = 500, (1 << 16, 1 << 20)
COUNTED_SOURCES = 1000  # of the tree for which requests are counted
ANSWER = b"HTTP/1.1 "
WRITING = {"CARTWRIGHT_REMOTE_WRITE": "1", "CARTWRIGHT_REMOTE_WAIT": "60"}
PLAIN, DELETED, LOCAL, LOCAL_TWO, EMPTY, FULL, FULL_TWO = (
    "no remote, encoded",
    "no remote, not fresh: only the outputs are gone",
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
RESTORING = (DELETED, LOCAL, LOCAL_TWO, BUCKET_FULL, FETCH)
RATE_GOALS = {FULL: 1000, BUCKET_FULL: 2000, FETCH: 2000}  # in nodes a second


@dataclass(frozen=True, slots=True)
class Bucket:
    """A server of S3 that is up: its program, and the settings that lead to its bucket."""

    program: str
    port: int
    settings: Mapping[str, str]


@contextmanager
def s3_bucket(folder: Path) -> Iterator[Bucket]:
    """Start the quickest server of S3 that is installed, with an empty bucket."""
    program = next((one for one in (VERSITYGW, MINIO) if is_installed(one)), "")
    if not program:
        with bucket_server() as moto:
            yield Bucket("moto", moto.port, moto.settings())
        return
    with running_cloud(program, Path(tempfile.mkdtemp(prefix="s3-", dir=folder))) as cloud:
        settings = {**cloud.settings, "CARTWRIGHT_REMOTE_CACHE": cloud.address}
        yield Bucket(program, cloud.port, settings)


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


def measure(bench: Bench, rounds: int, with_server: bool) -> Iterator[Row]:
    """Measure all states, taking turns; those with a cache server may be left out."""
    rows: dict[str, Row] = {}
    for turn in range(rounds):
        found = list(local_costs(bench, turn))
        if with_server:
            found += server_costs(bench, turn)
        with s3_bucket(bench.folder) as bucket:
            found += fleet_costs(bench, bucket)
        for name, cost in found:
            rows.setdefault(name, Row(name, bench.nodes)).costs.append(cost)
            print(f"{name}: {cost.wall:.2f} s, CPU {cost.cpu:.2f} s", file=sys.stderr)
    for name, rate in RATE_GOALS.items():
        if name in rows:
            rows[name].least_rate = rate
    yield from beside_loop(rows)


def beside_loop(rows: Mapping[str, Row]) -> Iterator[Row]:
    """Hold what restores files against the loop that writes them."""
    for row in rows.values():
        if row.name in RESTORING:
            row.loop = rows[LOOP]
        yield row


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
    yield DELETED, restore_deleted(tree)


def server_costs(bench: Bench, turn: int) -> Iterator[tuple[str, Cost]]:
    """Measure builds with a cache server."""
    with running(bench.folder / f"server-{turn}") as server:
        sending = {"CARTWRIGHT_REMOTE_CACHE": server.address, "CARTWRIGHT_REMOTE_WRITE": "1"}
        yield EMPTY, bench.build(EMPTY, server, **sending)[1]
        yield FULL, bench.build(FULL, server)[1]
        yield FULL_TWO, bench.build(FULL_TWO, server, "-n", "2")[1]


def restore_deleted(tree: Tree, **more: str) -> Cost:
    """Build once more where only the outputs are gone: the plan and all sources are known."""
    os.rename(tree.folder / "build", tree.folder / "gone")
    return run(tree, (), environment() | more)


def fleet_costs(bench: Bench, bucket: Bucket) -> Iterator[tuple[str, Cost]]:
    """Measure builds, shards and snapshots with a bucket; all give the bytes of one build."""
    writing = {**bucket.settings, **WRITING}
    tree, cost = bench.build(BUCKET_EMPTY, None, **writing)
    yield BUCKET_EMPTY, cost
    yield BUCKET_FULL, bench.build(BUCKET_FULL, None, **bucket.settings)[1]
    yield PUBLISH, run(tree, ("snapshot", "publish"), environment() | writing)
    empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=bench.folder)), bench.size)
    yield FETCH, run(empty, ("snapshot", "fetch"), {**environment(), **bucket.settings})
    if contents(empty.folder) != contents(tree.folder):
        raise AssertionError(f"{empty.folder}: the snapshot is not the build")
    yield FETCH_AGAIN, run(empty, ("snapshot", "fetch"), {**environment(), **bucket.settings})
    shards = writing | {
        "CARTWRIGHT_REMOTE_CACHE": f"{bucket.settings['CARTWRIGHT_REMOTE_CACHE']}/shards"
    }
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


class Counter:
    """Counts the answers that pass through a proxy, for each 1,000 nodes."""

    def __init__(self, nodes: int) -> None:
        self._nodes, self._answered = nodes, 0

    def harm(self, _: Proxy) -> Harm:
        """Hand every answer on as it is."""

        def count(data: bytes) -> bytes:
            self._answered += data.count(ANSWER)
            return data

        return count

    def count(self, work: Callable[[], object]) -> int:
        """Return how many requests some work makes."""
        before = self._answered
        work()
        return round((self._answered - before) * 1000 / self._nodes)


def count_requests(folder: Path) -> Iterator[tuple[str, int]]:
    """Count the requests that small nodes take, with a cache server and with a bucket."""
    bench = Bench(folder, COUNTED_SOURCES, None)
    counter = Counter(bench.nodes)
    with running(folder / "counted") as server, between(server.port, counter.harm) as proxy:
        # The proxy makes round trips longer: without this, quick nodes would not be shared.
        all_nodes = {"CARTWRIGHT_REMOTE_LEAST_SECONDS": "0"}
        settings = {"CARTWRIGHT_REMOTE_CACHE": proxy.address, **all_nodes}
        yield EMPTY, counter.count(lambda: bench.build(EMPTY, None, **settings, **WRITING))
        yield FULL, counter.count(lambda: bench.build(BUCKET_FULL, None, **settings))
    with s3_bucket(folder) as bucket, between(bucket.port, counter.harm) as proxy:
        settings = {**bucket.settings, "AWS_ENDPOINT_URL": proxy.address}
        trees: list[Tree] = []
        build = partial(bench.build, BUCKET_EMPTY, None, **settings, **WRITING)
        yield BUCKET_EMPTY, counter.count(lambda: trees.append(build()[0]))
        yield BUCKET_FULL, counter.count(lambda: bench.build(BUCKET_FULL, None, **settings))
        everything = environment() | settings
        publish, fetch = ("snapshot", "publish"), ("snapshot", "fetch")
        yield PUBLISH, counter.count(lambda: run(trees[0], publish, everything | WRITING))
        empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=folder)), bench.size)
        yield FETCH, counter.count(lambda: run(empty, fetch, everything))
        yield FETCH_AGAIN, counter.count(lambda: run(empty, fetch, everything))


def measure_snapshot(bench: Bench, rounds: int) -> Iterator[Row]:
    """Measure fetching a snapshot into an empty folder, and the loop, taking turns."""
    rows = {one: Row(one, bench.nodes) for one in (PUBLISH, FETCH, LOOP)}
    rows[FETCH].least_rate = RATE_GOALS[FETCH]
    with s3_bucket(bench.folder) as bucket:
        tree, _ = bench.build(PLAIN, None)
        settings = environment() | bucket.settings
        rows[PUBLISH].costs.append(run(tree, ("snapshot", "publish"), settings | WRITING))
        for _ in range(rounds):
            empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=bench.folder)), bench.size)
            rows[FETCH].costs.append(run(empty, ("snapshot", "fetch"), settings))
            rows[LOOP].costs.append(write_in_a_loop(tree))
        if contents(empty.folder) != contents(tree.folder):
            raise AssertionError(f"{empty.folder}: the snapshot is not the build")
    yield from beside_loop(rows)


def measure_usual(bench: Bench, rounds: int) -> Iterator[Row]:
    """Measure restoring files of a usual size, from the local cache and as a snapshot."""
    names = (LOCAL, LOCAL_TWO, DELETED, BUCKET_FULL, FETCH, LOOP)
    rows = {one: Row(one, bench.nodes) for one in names}
    with s3_bucket(bench.folder) as bucket:
        tree, _ = bench.build(BUCKET_EMPTY, None, **bucket.settings, **WRITING)
        settings = environment() | bucket.settings
        run(tree, ("snapshot", "publish"), settings | WRITING)
        cache = {"CARTWRIGHT_CACHE": f"{tree.folder}/cache"}
        for _ in range(rounds):
            rows[LOCAL].costs.append(bench.build(LOCAL, None, **cache)[1])
            restored, cost = bench.build(LOCAL_TWO, None, "-n", "2", **cache)
            rows[LOCAL_TWO].costs.append(cost)
            rows[DELETED].costs.append(restore_deleted(restored, **cache))
            rows[BUCKET_FULL].costs.append(bench.build(BUCKET_FULL, None, **bucket.settings)[1])
            empty = Tree(Path(tempfile.mkdtemp(prefix="empty-", dir=bench.folder)), bench.size)
            rows[FETCH].costs.append(run(empty, ("snapshot", "fetch"), settings))
            rows[LOOP].costs.append(write_in_a_loop(tree))
    for row in beside_loop(rows):
        row.name = f"{row.name}, {USUAL}"
        yield row


def measure_cluster(rounds: int) -> Iterator[Row]:
    """Measure a Dask cluster, without its CPU, because its processes live longer than a build."""
    with cache_server() as (server, folder):
        walls = small_walls(server, folder, rounds)
        yield Row("a Dask cluster: two workers, encoded", SMALL_NODES, only_walls(walls))
        for workers, found in waiting_walls(server, folder, rounds):
            name = f"a Dask cluster: nodes that wait 50 ms, workers: {workers}"
            yield Row(name, SLOW_NODES, only_walls(found))


def only_walls(walls: Iterable[float]) -> list[Cost]:
    """Return costs of which nobody knows the CPU."""
    return [Cost(one, 0.0) for one in walls]


def all_rows(bench: Bench, given: argparse.Namespace) -> Iterator[Row]:
    """Measure what was asked for."""
    is_whole = not (given.only_snapshot or given.only_bucket or given.only_usual)
    if given.only_snapshot:
        yield from measure_snapshot(bench, given.rounds)
    elif not given.only_usual:
        requests = dict(count_requests(bench.folder)) if is_whole else {}
        for row in measure(bench, given.rounds, with_server=is_whole):
            row.requests = requests.get(row.name)
            yield row
    if is_whole or given.only_usual:
        usual = Bench(bench.folder, USUAL_COUNT, None, USUAL_BYTES)
        yield from measure_usual(usual, given.rounds)
    if is_whole:
        yield from measure_cluster(given.rounds)


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
        with s3_bucket(bench.folder) as bucket:
            print(f"Python {platform.python_version()}, {os.cpu_count()} processors")
            print(f"S3: {bucket.program}, load before: {os.getloadavg()[0]:.1f}")
        print("\n".join(["", *table(list(all_rows(bench, given)))]))


if __name__ == "__main__":
    main()
