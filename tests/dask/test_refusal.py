from __future__ import annotations

import pytest

from pipeline.build.dask.crew import Crew
from pipeline.build.dask.descriptor import Refusal, differences
from pipeline.build.dask.error import ClusterError

HERE = {"encoders.kac": "aa" * 16, "numpy": "2.4.0", "python": "3.11", "encoders.kit.error": "e"}


class Scheduler:
    """As much of a Dask client as a crew needs."""

    status = "running"
    is_silent = False

    def __init__(self, workers: dict[str, int]) -> None:
        self.workers = workers

    def nthreads(self, callback_timeout: float) -> dict[str, int]:
        if self.is_silent:
            raise TimeoutError
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
    crew = Crew(Scheduler({"a": 1, "b": 1, "c": 1, "d": 1, "e": 4}), "tcp://host", 1.0)
    for worker in "abcd":
        crew.refuse(Refusal(worker, ("numpy: 1 there, 2 here",)))
    assert crew.complaints() == ["workers a, b, c and 1 more refused: numpy: 1 there, 2 here"]
    assert crew.chosen() == ["e"]
    assert crew.threads == 4


def test_a_crew_in_which_nobody_is_fit_says_why() -> None:
    crew = Crew(Scheduler({"a": 1}), "tcp://host", 1.0)
    crew.refuse(Refusal("a", ("numpy: 1 there, 2 here", "etcpak: absent there, 1 here")))
    with pytest.raises(ClusterError) as caught:
        crew.look()
    assert str(caught.value) == (
        "no worker of the cluster is fit:\n"
        "worker a refused: numpy: 1 there, 2 here; etcpak: absent there, 1 here"
    )


def test_nobody_is_waited_for_in_vain() -> None:
    now = iter((0.0, 0.0, 29.0, 31.0))
    crew = Crew(Scheduler({}), "tcp://host", 30.0, lambda: next(now))
    crew.look()
    with pytest.raises(ClusterError, match="the cluster had no worker for 30 s"):
        crew.look()


def test_a_scheduler_that_is_silent_for_a_moment_is_forgiven() -> None:
    now = iter((0.0, 0.0, 29.0, 31.0))
    scheduler = Scheduler({"a": 1})
    crew = Crew(scheduler, "tcp://host", 30.0, lambda: next(now))
    scheduler.is_silent = True
    crew.look()
    assert crew.threads == 1
    with pytest.raises(ClusterError, match="tcp://host: no answer from the scheduler for 30 s"):
        crew.look()


def test_work_for_workers_that_are_gone_is_called_back() -> None:
    scheduler = Scheduler({"a": 1, "b": 1})
    crew = Crew(scheduler, "tcp://host", 30.0)
    crew.refuse(Refusal("a", ("numpy: 1 there, 2 here",)))
    chosen = crew.chosen()
    assert not crew.are_gone(chosen)
    assert not crew.are_gone(None)
    scheduler.workers = {"a": 1, "c": 1}
    crew.look()
    assert crew.are_gone(chosen)
    assert crew.chosen() == ["c"]
