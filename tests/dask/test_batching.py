from __future__ import annotations

from pipeline.build.dask.batching import BATCH_SECONDS, LINGER_SECONDS, Batching
from pipeline.build.dask.message import BATCH_JOBS
from pipeline.build.dask.remote_job import RemoteJob
from pipeline.build.job import Input, Job, RunConfig

ENCODER = "encoders.toy:encode"


def remote_jobs(count: int, encoder: str = ENCODER) -> list[RemoteJob]:
    job = Job(
        task="toy:a",
        encoder=encoder,
        code={},
        params={},
        inputs={"source": Input("assets/a", "0" * 64)},
        outputs={"data": "build/a"},
        fixed="f",
        fingerprint="f",
        config=RunConfig("game", "game/cache", "game/tmp", "game/ledger"),
    )
    return [RemoteJob(number, job) for number in range(count)]


def sizes(batching: Batching, count: int, unanswered: int, threads: int) -> list[int]:
    return [len(batch) for batch in batching.batches(remote_jobs(count), unanswered, threads)]


def test_slow_nodes_travel_alone_and_quick_ones_together() -> None:
    batching = Batching()
    batching.note(ENCODER, 3.0)
    assert sizes(batching, 3, 1000, 2) == [1, 1, 1]
    batching = Batching()
    batching.note(ENCODER, BATCH_SECONDS / 9.5)
    assert sizes(batching, 25, 1000, 2) == [10, 10, 5]


def test_no_batch_is_so_large_that_a_worker_has_nothing_to_do() -> None:
    batching = Batching()
    batching.note(ENCODER, 0.0001)
    assert sizes(batching, 8, 8, 2) == [2, 2, 2, 2]
    assert sizes(batching, 3, 3, 100) == [1, 1, 1]


def test_no_batch_grows_beyond_what_may_be_lost_with_a_worker() -> None:
    batching = Batching()
    batching.note(ENCODER, 0.0)
    assert max(sizes(batching, 2000, 100_000, 2)) == BATCH_JOBS


def test_the_expected_duration_follows_what_jobs_take() -> None:
    batching = Batching()
    batching.note("a", 1.0)
    for _ in range(20):
        batching.note("a", 0.01)
    assert batching.expected("a") < 0.02
    assert batching.expected("b") != batching.expected("a")


def test_enough_jobs_to_fill_every_thread_are_sent_at_once() -> None:
    batching = Batching()
    batching.note(ENCODER, BATCH_SECONDS / 10)
    assert batching.is_due(remote_jobs(20), 0, 2, 0.0)
    assert not batching.is_due(remote_jobs(19), 0, 2, 0.0)


def test_few_jobs_wait_for_others_only_for_a_moment() -> None:
    batching = Batching()
    batching.note(ENCODER, BATCH_SECONDS / 10)
    assert not batching.is_due(remote_jobs(1), 0, 2, LINGER_SECONDS / 2)
    assert batching.is_due(remote_jobs(1), 0, 2, LINGER_SECONDS)


def test_few_jobs_wait_as_long_as_workers_have_enough_to_do() -> None:
    batching = Batching()
    batching.note(ENCODER, BATCH_SECONDS / 10)
    assert not batching.is_due(remote_jobs(1), 41, 2, 60.0)
    assert batching.is_due(remote_jobs(1), 40, 2, 60.0)


def test_a_job_message_names_no_place_of_this_machine() -> None:
    (one,) = remote_jobs(1)
    assert "game" not in repr(one.message())
    assert "assets/a" not in repr(one.message())
