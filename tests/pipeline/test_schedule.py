"""The order of a build: estimates from earlier runs, longest path first, a limit of memory."""

from __future__ import annotations

import sqlite3
from collections import deque
from heapq import heapreplace
from types import SimpleNamespace

import pytest

from pipeline.build.estimate import FIRST_BYTES_PER_SECOND, Estimate, Estimator
from pipeline.build.schedule import MAX_OVERTAKING, Schedule, path_seconds
from pipeline.process.pool import SLOW_SECONDS, Pool, Worker
from pipeline.report.running import Running
from pipeline.session import Session
from pipeline.state.cost_record import CostRecord, gather_quick
from pipeline.state.state import State

MB = 1_000_000


def cost(seconds=1.0, encoder="e", size=100, peak=0, task="t:a"):
    return CostRecord(task, encoder, size, seconds, seconds, peak)


def schedule(seconds, needs=None, limit=None, peaks=None):
    peaks = peaks or {}
    estimates = {task: Estimate(one, peaks.get(task, 0)) for task, one in seconds.items()}
    return Schedule(estimates, needs or dict.fromkeys(seconds, ()), limit)


def take_all(one):
    return [one.take() for _ in range(len(one))]


# What a node is expected to cost.


def test_a_node_is_expected_to_cost_what_it_did():
    known = Estimator({"t:a": cost(3.0, peak=7)}).known("t:a", "e")
    assert known == Estimate(3.0, 7, is_known=True)


def test_what_another_encoder_took_for_a_node_says_nothing():
    assert Estimator({"t:a": cost(encoder="other")}).known("t:a", "e") is None


def test_a_new_node_costs_what_nodes_of_its_encoder_and_size_did():
    costs = {"t:small": cost(1.0, size=100), "t:large": cost(50.0, size=100_000)}
    costs |= {f"t:{n}": cost(2.0, size=1000, peak=5) for n in range(3)}
    costs["t:other"] = cost(99.0, "other", 1000)
    assert Estimator(costs).guess("e", 1000) == Estimate(2.0, 5)


def test_the_cost_of_a_new_node_grows_with_its_size_within_bounds():
    estimator = Estimator({"t:a": cost(1.0, size=999)})
    assert estimator.guess("e", 3999).seconds == pytest.approx(4.0)
    assert estimator.guess("e", 10**9).seconds == pytest.approx(8.0)


def test_a_node_of_an_encoder_that_never_ran_is_estimated_by_its_size():
    guess = Estimator({}).guess("e", int(FIRST_BYTES_PER_SECOND))
    assert 1.0 < guess.seconds < 1.1


def test_a_small_node_of_an_encoder_that_never_ran_is_not_taken_for_quick(pool):
    estimates = {f"t:{n}": Estimator({}).guess("e", 10) for n in range(4)}
    schedule = Schedule(estimates, dict.fromkeys(estimates, ()))
    for task in estimates:
        pool.submit(task, abs, schedule.expected_seconds(task))
    # Taken for quick, all of them would go to one worker in one message.
    assert [[call.key for call in worker.calls] for worker in pool._workers] == [
        ["t:0", "t:2"],
        ["t:1", "t:3"],
    ]


def test_a_large_node_of_an_encoder_that_never_ran_is_taken_for_slow():
    estimates = {"t:a": Estimator({}).guess("e", int(FIRST_BYTES_PER_SECOND))}
    assert Schedule(estimates, {"t:a": ()}).expected_seconds("t:a") > SLOW_SECONDS


def test_costs_are_read_as_they_were_written(tmp_path):
    state = State(str(tmp_path / "state.db"), is_owner=True)
    state.set_costs([cost(1.5, peak=3), cost(task="t:b")])
    assert state.costs() == {"t:a": cost(1.5, peak=3), "t:b": cost(task="t:b")}
    assert state.costs(["t:b", "t:c"]) == {"t:b": cost(task="t:b")}


def test_a_cost_that_reads_as_none_is_left_out(tmp_path):
    state = State(str(tmp_path / "state.db"), is_owner=True)
    state.db.execute("INSERT INTO cost VALUES ('t:a', 'e', 1, 'long', 1.0, 0)")
    state.db.execute("INSERT INTO cost VALUES ('t:b', 'e', 1, -1.0, 1.0, 0)")
    assert state.costs() == {}


def costs_of(game):
    db = sqlite3.connect(game.path(".cartwright/state.db"))
    return {row[0]: CostRecord(*row) for row in db.execute("SELECT * FROM cost")}


def test_a_build_records_what_its_nodes_cost_and_a_restored_node_keeps_it(game):
    game.write("assets/a.txt", "a" * 500)
    assert game.doit().code == 0
    first = costs_of(game)
    assert set(first) == {"toy:a", "toy:pack"}
    assert first["toy:a"].input_bytes == 500
    assert first["toy:a"].encoder == "encoders.toy:encode_text"
    assert first["toy:a"].seconds > 0
    game.remove("build")
    assert game.doit().restored == ["toy:a", "toy:pack"]
    assert costs_of(game) == first


def test_a_node_that_is_gone_has_no_cost(game):
    game.write("assets/a.txt", "a")
    game.write("assets/b.txt", "b")
    game.doit()
    game.remove("assets/b.txt")
    game.doit()
    assert set(costs_of(game)) == {"toy:a", "toy:pack"}


# Longest path first.


def test_a_path_is_the_longest_chain_of_what_waits():
    needs = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
    seconds = {"a": 1.0, "b": 5.0, "c": 2.0, "d": 3.0}
    assert path_seconds(needs, seconds) == {"a": 9.0, "b": 8.0, "c": 5.0, "d": 3.0}


def test_the_node_that_most_waits_for_goes_first():
    needs = {"quick": (), "slow": (), "chain": (), "end": ("chain",)}
    one = schedule({"quick": 1.0, "slow": 5.0, "chain": 2.0, "end": 9.0}, needs)
    for task in ("quick", "slow", "chain"):
        one.add(task, task)
    assert take_all(one) == ["chain", "slow", "quick"]


def makespan(one, seconds, workers):
    """Return when the last of independent nodes ends, with a clock that only counts."""
    for task in seconds:
        one.add(task, task)
    free = [0.0] * workers
    while (task := one.take()) is not None:
        heapreplace(free, free[0] + seconds[task])
    return max(free)


def test_one_slow_node_late_in_the_list_costs_at_most_a_twentieth_more_than_it_must():
    seconds = {**{f"quick{n:03}": 0.1 for n in range(100)}, "slow": 4.0}
    best = max(4.0, sum(seconds.values()) / 4)
    assert makespan(schedule(seconds), seconds, 4) <= 1.05 * best
    # Without estimates the names decide, and the slow node stands alone at the end.
    assert makespan(schedule(dict.fromkeys(seconds, 0.0)), seconds, 4) > 1.5 * best


def test_nodes_that_take_equally_long_go_in_the_order_of_their_names():
    one = schedule(dict.fromkeys("cab", 1.0))
    for task in "cba":
        one.add(task, task)
    assert take_all(one) == ["a", "b", "c"]


def test_workers_save_at_most_what_does_not_wait_for_anything():
    needs = {"a": (), "b": ("a",)}
    assert schedule({"a": 2.0, "b": 3.0}, needs).saved_seconds(8) == 0
    assert schedule({"a": 4.0, "b": 4.0}).saved_seconds(2) == 4.0


def test_a_build_starts_with_the_node_that_took_longest_before(game, monkeypatch):
    monkeypatch.setattr("pipeline.process.capacity.cores", lambda: 1)
    for name in "abcdef":
        game.write(f"assets/{name}.txt", name)
    game.doit()
    db = sqlite3.connect(game.path(".cartwright/state.db"))
    db.execute("UPDATE cost SET seconds = 0.001")
    db.execute("UPDATE cost SET seconds = 9 WHERE task = 'toy:e'")
    db.execute("UPDATE cost SET seconds = 5 WHERE task = 'toy:c'")
    db.commit()
    db.close()
    ran = game.doit("-a")
    order = [line.split()[1] for line in ran.out.splitlines() if line.startswith("built ")]
    assert order == [f"toy:{name}" for name in ("e", "c", "a", "b", "d", "f", "pack")]


# Slow and quick calls of the pool.


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """A pool whose workers take calls and never answer."""

    def without_process(self, *_):
        self.calls, self.alone, self._since = deque(), 0, 0.0
        self.connection = SimpleNamespace(send=lambda _: None)

    monkeypatch.setattr(Worker, "__init__", without_process)
    one = Pool(2, str(tmp_path))
    one.seconds_of = float
    return one


def test_a_slow_call_has_its_worker_for_itself(pool):
    for seconds in (9, 8):
        assert pool.has_room
        pool.submit(seconds, abs, seconds)
    assert not pool.has_room
    assert [[call.key for call in worker.calls] for worker in pool._workers] == [[9], [8]]


def test_quick_calls_go_to_the_worker_that_has_no_slow_one(pool):
    pool.submit("slow", abs, 9)
    quick = 0
    while pool.has_room:
        pool.submit(quick, abs, 0.001)
        quick += 1
    assert quick > 20
    busy, other = (worker.calls for worker in pool._workers)
    assert [call.key for call in busy] == ["slow"]
    assert len(other) >= 20


def test_nothing_waits_behind_a_call_that_proves_slow_while_another_worker_is_idle(
    pool, monkeypatch
):
    now = 0.0
    monkeypatch.setattr("pipeline.process.pool.monotonic", lambda: now)
    for name in ("slow", "quick"):
        pool.submit(name, abs, 0)  # nothing is known of either
    slow, quick = pool._workers
    now = 1.0
    for name in ("first", "second"):
        quick.take_calls(len(quick.calls))  # it has answered
        pool.submit(name, abs, 0)
        assert [call.key for call in slow.calls] == ["slow"]
        assert [call.key for call in quick.calls] == [name]


# Memory.


def test_large_nodes_do_not_run_together():
    one = schedule(dict.fromkeys("ab", 1.0), limit=100 * MB, peaks={"a": 60 * MB, "b": 60 * MB})
    for task in "ab":
        one.add(task, task)
    assert (one.take(), one.take()) == ("a", None)
    one.release("a")
    assert one.take() == "b"


def test_nodes_that_fit_together_run_together():
    one = schedule(dict.fromkeys("ab", 1.0), limit=120 * MB, peaks={"a": 60 * MB, "b": 60 * MB})
    for task in "ab":
        one.add(task, task)
    assert (one.take(), one.take()) == ("a", "b")


def test_a_node_beyond_the_limit_runs_alone():
    seconds = {"large": 9.0, "small": 1.0, "tiny": 0.5}
    one = schedule(seconds, limit=100 * MB, peaks={"large": 300 * MB, "small": 10 * MB})
    for task in seconds:
        one.add(task, task)
    assert (one.take(), one.take()) == ("large", None)
    one.release("large")
    assert (one.take(), one.take()) == ("small", "tiny")


def test_a_node_that_does_not_fit_is_overtaken_but_not_for_ever():
    names = [f"n{n:03}" for n in range(MAX_OVERTAKING + 5)]
    seconds = {"running": 9.0, "large": 8.0, **dict.fromkeys(names, 1.0)}
    one = schedule(seconds, limit=100 * MB, peaks={"running": 60 * MB, "large": 60 * MB})
    for task in seconds:
        one.add(task, task)
    assert one.take() == "running"
    assert [one.take() for _ in range(MAX_OVERTAKING)] == names[:MAX_OVERTAKING]
    assert one.take() is None
    one.release("running")
    assert one.take() == "large"


def test_without_a_limit_memory_does_not_matter():
    one = schedule(dict.fromkeys("ab", 1.0), peaks=dict.fromkeys("ab", 10**12))
    for task in "ab":
        one.add(task, task)
    assert (one.take(), one.take()) == ("a", "b")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-n", "0"), '-n: found "0"; a number of workers from 1 on is needed, or "auto"'),
        (("-n", "-3"), '-n: found "-3"; a number of workers from 1 on is needed, or "auto"'),
        (("-n", "many"), '-n: found "many"; a number of workers from 1 on is needed, or "auto"'),
        (("--memory", "lots"), '--memory: found "lots"; a size is needed, such as 8G or 500M'),
        (("--memory", "0"), '--memory: found "0"; a size is needed, such as 8G or 500M'),
    ],
)
def test_a_wrong_number_of_workers_or_size_of_memory_is_refused(game, words, said):
    ran = game.doit(*words)
    assert ran.code == 3
    assert said in ran.err


def test_auto_and_a_memory_limit_build_the_same(game):
    game.write("assets/a.txt", "a")
    assert game.doit("-n", "auto", "--memory", "1G").code == 0
    assert game.read("build/toy/a.out") == b"A"


def test_the_time_left_shrinks_as_nodes_end_and_is_shared_among_workers():
    estimates = {name: Estimate(4.0, 0) for name in "abcd"}
    schedule = Schedule(estimates, dict.fromkeys("abcd", ()))
    assert schedule.seconds_left(2) == 8.0
    assert schedule.seconds_left(2, {"a": 1.0, "b": 3.0}) == 6.0
    schedule.release("a")
    assert schedule.seconds_left(2) == 6.0
    assert Schedule({}, {"a": ()}).seconds_left(2) is None


def test_no_time_left_is_told_where_most_encoders_were_never_timed():
    guess, known = Estimate(0.01, is_by_size=True), Estimate(4.0, is_known=True)
    schedule = Schedule({"a": guess, "b": known}, {})
    assert schedule.seconds_left(1) is None
    schedule.release("a")
    assert schedule.seconds_left(1) == 4.0
    many = {"new": guess, **{f"old{number}": known for number in range(9)}}
    assert Schedule(many, {}).seconds_left(1) == pytest.approx(36.01)


def test_the_time_left_is_no_shorter_than_the_longest_chain():
    estimates = {"a": Estimate(9.0), "b": Estimate(1.0), "c": Estimate(2.0)}
    schedule = Schedule(estimates, {"a": (), "b": (), "c": ("a",)})
    assert schedule.seconds_left(4) == 11.0
    assert schedule.seconds_left(4, {"a": 5.0, "b": 0.5}) == 6.0
    assert schedule.seconds_left(4, {"a": 50.0, "b": 0.5}) == 2.0  # it takes longer than expected
    schedule.release("a")
    assert schedule.seconds_left(4) == 2.0


def test_the_time_left_is_known_while_all_nodes_that_are_ready_run():
    session, build = Session.__new__(Session), SimpleNamespace()
    session.build = build
    build.schedule = Schedule({"a": Estimate(3.0)}, {"a": ()})
    assert len(build.schedule) == 0
    assert session.seconds_left(1, {"a": 1.0}) == 2.0


def test_a_node_that_is_not_restored_takes_its_whole_time_however_quick_others_were():
    restored = [f"t:{n}" for n in range(10)]
    estimates = dict.fromkeys(["t:a", *restored], Estimate(60.0, is_known=True))
    one = Schedule(estimates, dict.fromkeys(estimates, ()))
    running = Running(2, clock=lambda: now)
    running.expected_seconds = lambda so_far: one.seconds_left(2, so_far)
    running.least_seconds = one.least_seconds
    now = 0.0
    for task in restored:
        running.begin(task)
        one.release(task)
        running.end(task)
    running.begin("t:a")
    now = 10.0
    assert running.seconds_left() == pytest.approx(50)


def test_costs_of_many_quick_nodes_are_read_as_they_were_written(tmp_path):
    state = State(str(tmp_path / "state.db"), is_owner=True)
    quick = [cost(0.001 * n, task=f"t:{n}") for n in range(4)]
    state.add_quick_costs(gather_quick(quick[:3]))
    assert state.costs() == {one.task: one for one in quick[:3]}
    state.set_costs([cost(7.0, task="t:1")])  # it became slow: a row is newer
    assert state.costs(["t:1", "t:2"]) == {"t:1": cost(7.0, task="t:1"), "t:2": quick[2]}
    state.add_quick_costs(gather_quick(quick[3:]))  # costs of nodes that are gone are dropped
    assert set(state.costs()) == {"t:1", "t:3"}


def test_what_many_quick_nodes_cost_is_known_to_the_next_run(game, monkeypatch):
    monkeypatch.setattr("pipeline.build.cost.MANY_QUICK", 2)
    for name in "abc":
        game.write(f"assets/{name}.txt", name)
    game.doit()
    state = State(game.path(".cartwright/state.db"), is_owner=False)
    known = state.costs()
    assert set(known) == {"toy:a", "toy:b", "toy:c", "toy:pack"}
    assert known["toy:a"].input_bytes == 1
    assert known["toy:pack"].input_bytes == 3  # a digit by each of the others
    assert {one.encoder for one in known.values()} == {
        "encoders.toy:encode_text",
        "encoders.toy:encode_pack",
    }
