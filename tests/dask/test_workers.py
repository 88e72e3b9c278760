from __future__ import annotations

import pytest

from pipeline.build.dask.compatibility import differences
from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.workers import Workers

HERE = {"encoders.kac": "aa" * 16, "numpy": "2.4.0", "python": "3.11", "encoders.kit.error": "e"}


class Scheduler:
    """As much of a Dask client as Workers needs."""

    status = "running"
    error: Exception | None = None

    def __init__(self, workers: dict[str, int]) -> None:
        self.workers = workers

    def nthreads(self, callback_timeout: float) -> dict[str, int]:
        if self.error is not None:
            raise self.error
        return self.workers


def test_the_same_code_and_libraries_differ_in_nothing() -> None:
    assert differences(HERE, dict(HERE)) == []


def test_every_difference_is_named_with_both_sides() -> None:
    there = {**HERE, "encoders.kac": "bb" * 16, "numpy": "2.3.1", "etcpak": "1.0"}
    del there["encoders.kit.error"]
    assert differences(HERE, there) == [
        "encoders.kac: code bbbbbbbb there, code aaaaaaaa here",
        "encoders.kit.error: absent there, code e here",
        "etcpak: 1.0 there, absent here",
        "numpy: 2.3.1 there, 2.4.0 here",
    ]


def test_other_sources_of_the_native_kernels_are_shown_as_code_is() -> None:
    here, there = {**HERE, "native kernels": "aa" * 32}, {**HERE, "native kernels": "bb" * 32}
    assert differences(here, there) == ["native kernels: code bbbbbbbb there, code aaaaaaaa here"]


def test_workers_with_the_same_fault_share_a_line() -> None:
    workers = Workers(Scheduler({"a": 1, "b": 1, "c": 1, "d": 1, "e": 4}), "tcp://host", 1.0)
    for worker in "abcd":
        workers.refuse(worker, ("numpy: 1 there, 2 here",))
    assert workers.refusals() == ["workers a, b, c and 1 more refused: numpy: 1 there, 2 here"]
    assert workers.allowed() == ["e"]
    assert workers.threads == 4


def test_a_cluster_in_which_no_worker_is_fit_says_why() -> None:
    workers = Workers(Scheduler({"a": 1}), "tcp://host", 1.0)
    workers.refuse("a", ("numpy: 1 there, 2 here", "etcpak: absent there, 1 here"))
    with pytest.raises(ClusterError) as caught:
        workers.refresh()
    assert str(caught.value) == (
        "no worker of the cluster is fit:\n"
        "worker a refused: numpy: 1 there, 2 here; etcpak: absent there, 1 here"
    )


def test_workers_are_waited_for_only_so_long() -> None:
    now = iter((0.0, 0.0, 29.0, 31.0))
    workers = Workers(Scheduler({}), "tcp://host", 30.0, lambda: next(now))
    workers.refresh()
    with pytest.raises(ClusterError, match="the cluster had no worker for 30 s"):
        workers.refresh()


@pytest.mark.parametrize(
    "error",
    # The last is what Dask's client says between giving the scheduler up and having closed.
    [TimeoutError(), ConnectionRefusedError(), RuntimeError("ConnectionPool is closed")],
    ids=["timeout", "refused", "closing"],
)
def test_a_scheduler_that_is_silent_for_a_moment_is_forgiven(error: Exception) -> None:
    now = iter((0.0, 0.0, 29.0, 31.0))
    scheduler = Scheduler({"a": 1})
    workers = Workers(scheduler, "tcp://host", 30.0, lambda: next(now))
    scheduler.error = error
    workers.refresh()
    assert workers.threads == 1
    with pytest.raises(ClusterError, match="tcp://host: no answer from the scheduler for 30 s"):
        workers.refresh()


def test_work_for_workers_that_are_gone_is_called_back() -> None:
    scheduler = Scheduler({"a": 1, "b": 1})
    workers = Workers(scheduler, "tcp://host", 30.0)
    workers.refuse("a", ("numpy: 1 there, 2 here",))
    allowed = workers.allowed()
    assert not workers.are_gone(allowed)
    assert not workers.are_gone(None)
    scheduler.workers = {"a": 1, "c": 1}
    workers.refresh()
    assert workers.are_gone(allowed)
    assert workers.allowed() == ["c"]
