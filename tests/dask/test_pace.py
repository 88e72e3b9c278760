from __future__ import annotations

from pipeline.build.dask.errand import Errand
from pipeline.build.dask.pace import MOST_NODES, TARGET_SECONDS, Pace
from pipeline.build.job import Input, Job, RunConfig


def errands(count: int, encoder: str = "encoders.toy:encode") -> list[Errand]:
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
    return [Errand(number, job) for number in range(count)]


def sizes(pace: Pace, count: int, up: int, threads: int) -> list[int]:
    return [len(batch) for batch in pace.batches(errands(count), up, threads)]


def test_slow_nodes_travel_alone_and_quick_ones_together() -> None:
    pace = Pace()
    pace.note("encoders.toy:encode", 3.0)
    assert sizes(pace, 3, 1000, 2) == [1, 1, 1]
    pace = Pace()
    pace.note("encoders.toy:encode", TARGET_SECONDS / 9.5)
    assert sizes(pace, 25, 1000, 2) == [10, 10, 5]


def test_no_batch_is_so_large_that_a_worker_has_nothing_to_do() -> None:
    pace = Pace()
    pace.note("encoders.toy:encode", 0.0001)
    assert sizes(pace, 8, 8, 2) == [2, 2, 2, 2]
    assert sizes(pace, 3, 3, 100) == [1, 1, 1]


def test_no_batch_grows_beyond_what_may_be_lost_with_a_worker() -> None:
    pace = Pace()
    pace.note("encoders.toy:encode", 0.0)
    assert max(sizes(pace, 2000, 100_000, 2)) == MOST_NODES


def test_a_pace_follows_what_nodes_take() -> None:
    pace = Pace()
    pace.note("a", 1.0)
    for _ in range(20):
        pace.note("a", 0.01)
    assert pace.expected("a") < 0.02
    assert pace.expected("b") != pace.expected("a")


def test_a_descriptor_names_no_place_of_this_machine() -> None:
    (errand,) = errands(1)
    assert "somebody" not in repr(errand.describe())
    assert "assets/a" not in repr(errand.describe())
