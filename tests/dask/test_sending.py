"""What the driver hands to Dask, with as much of a Dask client as that needs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.build.dask import message, worker
from pipeline.build.dask.cluster import Cluster
from pipeline.build.dask.message import Batch, pack_batch, unpack_batch
from pipeline.build.dask.remote_job import RemoteJob
from pipeline.build.dask.worker import UnfitError
from pipeline.build.job import Job, RunConfig

ENCODER = "encoders.toy:encode"
TABLE = {"encoders.toy": "0123"}
WAIT_SECONDS = 60


class Sent:
    """A future that never ends."""

    def __init__(self, key: str) -> None:
        self.key = key

    def add_done_callback(self, callback: Any) -> None:
        pass


class Client:
    """A cluster with one worker of one thread, which keeps what it is sent."""

    status = "running"

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.cancelled: list[Sent] = []

    def nthreads(self, callback_timeout: float) -> dict[str, int]:
        return {"tcp://worker:1": 1}

    def submit(self, function: Any, *arguments: Any, key: str, **options: Any) -> Sent:
        version, data = arguments
        assert (type(version), type(data)) == (str, bytes)
        self.batches.append(unpack_batch(data))
        return Sent(key)

    def cancel(self, futures: list[Sent]) -> None:
        self.cancelled += futures

    def close(self, timeout: float) -> None:
        self.status = "closed"


class Scheduler:
    """A scheduler that is always there."""

    address, wait_seconds = "tcp://scheduler:8786", 1.0

    def __init__(self) -> None:
        self.client = Client()

    def connect(self) -> Client:
        return self.client


class Shared:
    """A shared cache that nothing has to be put into."""

    address, takes_uploads = "http://cache", True


def job(root: Path, number: int) -> Job:
    folders = (str(root / name) for name in ("", "cache", "tmp", "ledger"))
    return Job(
        task=f"toy:{number}",
        encoder=ENCODER,
        code={},
        params={"number": number, "text": "x" * 1000},
        inputs={},
        outputs={"data": f"build/{number}"},
        fixed="fixed",
        fingerprint="0" * 64,
        config=RunConfig(*folders, encode_again=True),
    )


def send(scheduler: Scheduler, jobs: list[Job]) -> list[Batch]:
    """Submit jobs, and wait until all of them are sent."""
    cluster: Any = Cluster(scheduler, Shared(), lambda *_: TABLE, [])  # type: ignore[arg-type]
    for one in jobs:
        cluster.submit(one.task, None, one)
    batches = scheduler.client.batches
    end = time.monotonic() + WAIT_SECONDS
    while sum(len(one.jobs) for one in batches) < len(jobs):
        assert time.monotonic() < end
        cluster._send_due()
    in_flight = len(cluster._in_flight)
    cluster.kill()
    assert len(scheduler.client.cancelled) == in_flight == len(batches)
    return batches


def test_jobs_are_sent_in_batches_of_plain_data(tmp_path: Path) -> None:
    jobs = [job(tmp_path, number) for number in range(8)]
    batches = send(Scheduler(), jobs)
    assert [len(one.jobs) for one in batches] == [4, 4]
    assert {one.task for batch in batches for one in batch.jobs} == {one.task for one in jobs}
    assert all(one.code == {ENCODER: TABLE} for one in batches)


def test_a_batch_that_is_too_large_is_sent_in_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job(tmp_path, number) for number in range(8)]
    pair = tuple(RemoteJob(one.task, one).message() for one in jobs[:2])
    limit = len(pack_batch(Batch(pair, {ENCODER: TABLE}, None)))
    monkeypatch.setattr(message, "BATCH_BYTES", limit)
    batches = send(Scheduler(), jobs)
    assert [len(one.jobs) for one in batches] == [2, 2, 2, 2]
    assert sorted(one.task for batch in batches for one in batch.jobs) == [x.task for x in jobs]


class Refusing(Shared):
    """A shared cache that answers quickly and takes nothing."""

    def __init__(self) -> None:
        self.tries = 0

    def publish(self, *_: object) -> bool:
        self.tries += 1
        return False


def test_a_worker_gives_up_a_cache_that_takes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "encode", lambda *_: (None, {}))
    monkeypatch.setattr(worker, "can_travel", lambda _: True)
    one, shared = job(tmp_path, 1), Refusing()
    with pytest.raises(UnfitError, match="it took no result in"):
        worker._do(RemoteJob(one.task, one).message(), one, lambda _: None, shared)  # type: ignore[arg-type]
    assert shared.tries == worker.PUBLISH_ATTEMPTS
