"""Restoring many small results before the run: it ends as node by node, and nothing is lost."""

import errno
import json
import math
import os

import pytest

from pipeline.build import small_results, work
from pipeline.cache import local
from pipeline.cache.local import Cache
from pipeline.cache.receipt import INLINE_BYTES, Receipt
from pipeline.doit_plugin import runner
from pipeline.doit_plugin.runner import RESTORE_FROM
from pipeline.state.state import State
from tests.pipeline.death import Death
from tests.pipeline.game import Game
from tests.pipeline.test_kill import copy_of

COUNT = RESTORE_FROM + 8


@pytest.fixture
def crowd(game: Game, monkeypatch) -> Game:
    """A game with more nodes than are restored one by one; all are built."""
    monkeypatch.setattr(small_results, "SLOW_SECONDS", math.inf)  # the machine may be busy
    for n in range(COUNT):
        game.write(f"assets/{n:02}.txt", f"text {n}")
    assert game.doit().code == 0
    game.rest()
    return game


@pytest.fixture
def jobs(monkeypatch):
    """The tasks that went through a job."""
    found = []
    do = work.do_job

    def note(job):
        found.append(job.task)
        return do(job)

    monkeypatch.setattr(work, "do_job", note)
    return found


NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def stop_batches(monkeypatch, after, error):
    """Let the disk take so many files of each batch before the error."""
    write = local.write_batch

    def stop(root, files, scratch):
        write(root, dict(list(files.items())[:after]), scratch)
        raise error

    monkeypatch.setattr(local, "write_batch", stop)


def records(game):
    """What the state knows of each node's last build, and of all output files."""
    state = State(str(game.path(".cartwright/state.db")), is_owner=False)
    rows = {row.task: (row.packed_plan, row.packed_build, row.clean) for row in state.rows("toy")}
    code = state.facts("code")
    outputs = sorted(state.all_outputs())
    state.close()
    return rows, code, outputs


def last_build(game):
    return json.loads(game.read(".cartwright/last-build.json"))


def test_a_deleted_output_folder_is_restored_without_jobs(crowd, jobs):
    before = crowd.outputs()
    crowd.remove("build")
    ran = crowd.doit()
    assert ran.code == 0
    assert jobs == []
    assert len(ran.restored) == COUNT + 1  # the pack, which reads them all, too
    assert crowd.outputs() == before
    nodes = last_build(crowd)["nodes"]
    assert {one["reason"][0]["kind"] for one in nodes} == {"output altered"}
    assert {one["worker"] for one in nodes} == {f"process {os.getpid()}"}
    assert "nothing to do" in crowd.doit().out


def test_outputs_that_are_right_are_not_written_again(crowd, jobs):
    before = {path: crowd.path(path).stat().st_ino for path in crowd.outputs()}
    crowd.remove(".cartwright/state.db")
    crowd.remove("build/toy/05.out")
    del before["build/toy/05.out"]
    crowd.doit()
    assert jobs == []
    assert {path: crowd.path(path).stat().st_ino for path in before} == before


def test_a_lost_state_is_no_hindrance(crowd, jobs):
    before = crowd.outputs()
    crowd.remove("build")
    crowd.remove(".cartwright")
    ran = crowd.doit()
    assert jobs == []
    assert len(ran.restored) == COUNT + 1
    assert crowd.outputs() == before
    assert "nothing to do" in crowd.doit().out


def test_the_state_is_the_same_as_after_a_build_node_by_node(crowd, jobs, monkeypatch):
    crowd.write("assets/words.bst", "a b c")
    crowd.write("assets/list.lst", "one\ntwo\n")
    monkeypatch.setattr(runner, "RESTORE_FROM", math.inf)
    crowd.doit()
    crowd.rest()
    built = records(crowd)
    monkeypatch.setattr(runner, "RESTORE_FROM", 1)
    jobs.clear()
    for lost in (["build"], ["build", ".cartwright"]):
        for folder in lost:
            crowd.remove(folder)
        crowd.doit()
        crowd.rest()
        assert records(crowd) == built
    assert jobs == []


def test_going_back_to_other_sources_overwrites_what_was_made_of_these(crowd, jobs):
    first = crowd.outputs()
    for n in range(COUNT):
        crowd.write(f"assets/{n:02}.txt", f"other {n}")
    assert len(crowd.doit().built) == COUNT + 1
    crowd.rest()
    jobs.clear()
    for n in range(COUNT):
        crowd.write(f"assets/{n:02}.txt", f"text {n}")
    ran = crowd.doit()
    assert jobs == []
    assert len(ran.restored) == COUNT + 1
    assert crowd.outputs() == first
    details = {one["task"]: one["reason"][0]["detail"] for one in last_build(crowd)["nodes"]}
    assert details["toy:00"] == "assets/00.txt"


def test_a_file_of_somebody_else_in_the_way_is_kept(crowd, jobs):
    crowd.remove("build")
    crowd.remove(".cartwright")
    crowd.write("build/toy/03.out", "mine")
    ran = crowd.doit()
    assert jobs == ["toy:03", "toy:pack"]
    assert crowd.read(".cartwright/displaced/build/toy/03.out") == b"mine"
    assert "moved out of an output's place" in ran.out
    assert crowd.read("build/toy/03.out") == b"TEXT 3"


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_a_damaged_result_is_encoded_again_and_said(crowd, words):
    before = crowd.outputs()
    crowd.remove("build")
    for path in crowd.path("cache").rglob("*"):
        if path.is_file() and b"TEXT 3" in path.read_bytes():
            path.write_bytes(path.read_bytes().replace(b"TEXT 3", b"TEXT X"))
    ran = crowd.doit(*words)
    assert "damaged in the cache, set aside" in ran.out
    assert "toy:03" in ran.built
    assert crowd.outputs() == before


def test_a_result_of_which_bytes_are_gone_is_encoded_again(crowd, jobs):
    crowd.write("assets/large.txt", "x" * (INLINE_BYTES + 1))  # an object of its own
    crowd.doit()
    crowd.rest()
    before = crowd.outputs()
    crowd.remove("build")
    crowd.remove("cache/v2/objects")
    jobs.clear()
    ran = crowd.doit()
    assert ran.built == ["toy:large"]
    assert jobs == ["toy:large", "toy:pack"]
    assert crowd.outputs() == before


def test_a_result_with_other_outputs_than_promised_is_encoded_again(crowd, jobs):
    """As a snapshot may have brought it, which is stored without a plan to compare it with."""
    before = crowd.outputs()
    state = State(str(crowd.path(".cartwright/state.db")), is_owner=False)
    fingerprint = state.row("toy:05").built.fingerprint
    state.close()
    cache = Cache(str(crowd.path("cache")))
    receipt = cache.load_receipt(fingerprint)
    cache.drop_receipt(fingerprint)
    (length, _) = receipt.made
    cache.store_receipt(fingerprint, Receipt((length,), inline={"length": b"6"}))
    crowd.remove("build")
    assert crowd.doit().built == ["toy:05"]
    assert jobs == ["toy:05", "toy:pack"]
    assert crowd.outputs() == before


def test_what_nobody_asked_for_stays_as_it_is(crowd):
    crowd.remove("build")
    ran = crowd.doit("toy:05", "toy:07")
    assert ran.restored == ["toy:05", "toy:07"]
    assert sorted(crowd.outputs()) == ["build/toy/05.out", "build/toy/07.out"]


def test_who_asks_for_everything_anew_gets_nothing_from_the_cache(crowd):
    crowd.remove("build")
    ran = crowd.doit("-a")
    assert ran.restored == []
    assert len(ran.built) == COUNT + 1


FAILING_MAKER = """
def task_make():
    return {"actions": [lambda: False], "targets": ["assets/00.txt"]}
"""


def test_a_node_whose_source_could_not_be_made_is_not_restored(crowd):
    crowd.write("dodo.py", crowd.read("dodo.py").decode() + FAILING_MAKER)
    crowd.remove("build")
    ran = crowd.doit()
    assert ran.code == 1
    assert ran.failed == ["make", "toy:00", "toy:pack"]
    assert "build/toy/00.out" not in crowd.outputs()
    assert "build/toy/01.out" in crowd.outputs()


def test_an_ignored_node_is_not_restored(crowd):
    assert crowd.doit("ignore", "toy:05").code == 0
    crowd.remove("build")
    crowd.doit()
    assert "build/toy/05.out" not in crowd.outputs()
    assert "build/toy/06.out" in crowd.outputs()


def test_a_reader_of_what_is_encoded_waits_for_it(crowd, jobs):
    crowd.remove("build")
    crowd.write("assets/05.txt", "a longer text than before")
    ran = crowd.doit()
    assert ran.built == jobs == ["toy:05", "toy:pack"]
    assert len(ran.restored) == COUNT - 1
    assert b"05=25\n" in crowd.read("build/toy/all.pack")


def test_a_reader_that_is_up_to_date_is_not_restored_with_what_it_reads(crowd, jobs):
    for n in range(COUNT):
        crowd.remove(f"build/toy/{n:02}.out")
    ran = crowd.doit()
    assert ran.restored == [f"toy:{n:02}" for n in range(COUNT)]
    assert jobs == []


SECOND_READER = """
        top = Product("pack", "pack")
        yield Node("top", "encoders.toy:encode_parts", {"pack": top}, {}, {"parts": "top.pack"})
"""


def test_what_reads_from_a_node_that_is_up_to_date_is_restored_too(crowd, jobs):
    code = crowd.read("encoders/toy.py").decode()
    after_pack = "    parts = {node.name: Product"
    crowd.write("encoders/toy.py", code.replace(after_pack, SECOND_READER + after_pack))
    assert "toy:top" in crowd.doit().built
    crowd.rest()
    for n in range(COUNT):
        crowd.remove(f"build/toy/{n:02}.out")
    crowd.remove("build/toy/top.pack")
    jobs.clear()
    ran = crowd.doit()
    assert len(ran.restored) == COUNT + 1
    assert jobs == []
    assert crowd.path("build/toy/top.pack").exists()


def test_a_family_that_shrinks_leaves_no_stale_file(crowd, jobs):
    crowd.write("assets/words.bst", "a b")
    crowd.doit()
    crowd.rest()
    few = crowd.outputs()
    crowd.write("assets/words.bst", "a b c d")
    crowd.doit()
    assert len(crowd.outputs()) > len(few)
    crowd.rest()
    crowd.write("assets/words.bst", "a b")
    for n in range(COUNT):
        crowd.remove(f"build/toy/{n:02}.out")
    jobs.clear()
    crowd.doit()
    assert jobs == []
    assert crowd.outputs() == few


def test_a_cache_that_has_nothing_is_soon_left_alone(crowd, monkeypatch):
    asked = []
    look_up = small_results.SmallResults._look_up
    monkeypatch.setattr(
        small_results.SmallResults,
        "_look_up",
        lambda self, task: asked.append(task) or look_up(self, task),
    )
    monkeypatch.setattr(small_results, "MISSES", 10)
    crowd.remove("build")
    crowd.remove("cache")
    assert len(crowd.doit().built) == COUNT + 1
    assert len(asked) == 11


def test_a_cache_that_has_half_of_the_results_gives_them_all(crowd, jobs, monkeypatch):
    monkeypatch.setattr(small_results, "MISSES", 2)
    lacking = [f"toy:{n:02}" for n in range(0, COUNT, 2)]
    crowd.doit("forget", *lacking)
    crowd.remove("build")
    crowd.doit()
    assert sorted(jobs) == [*lacking, "toy:pack"]


def test_a_broken_asset_fails_alone_beside_nodes_that_are_restored(crowd, jobs):
    before = crowd.outputs()
    crowd.write("assets/bad.txt", b"\xff")
    crowd.remove("build")
    ran = crowd.doit()
    assert ran.failed == ["toy:bad", "toy:pack"]
    assert len(ran.restored) == COUNT
    assert jobs == []
    assert crowd.outputs().items() <= before.items()


def test_a_link_in_the_place_of_an_output_folder_is_not_followed(crowd):
    crowd.write("assets/sub/one.txt", "one")
    crowd.doit()
    crowd.remove("build")
    crowd.path("elsewhere").mkdir()
    crowd.path("build/toy").mkdir(parents=True)
    crowd.path("build/toy/sub").symlink_to("../../elsewhere")
    ran = crowd.doit()
    assert ran.failed == ["toy:pack", "toy:sub/one"]
    assert "its output folder is a link" in ran.out + ran.err
    assert list(crowd.path("elsewhere").iterdir()) == []


def test_what_a_node_said_is_said_of_its_restored_result_too(crowd, jobs):
    crowd.write("assets/loss.txt", "lossy")
    crowd.write("assets/told.txt", "tell")
    crowd.doit()
    crowd.rest()
    crowd.remove("build")
    crowd.remove(".cartwright")
    jobs.clear()
    ran = crowd.doit()
    assert jobs == ["toy:loss", "toy:told", "toy:pack"]
    assert "something was lost" in ran.out
    assert "something was lost" in crowd.doit("warnings").out


def test_a_disk_that_takes_no_file_is_reported_by_the_nodes_and_the_rest_is_kept(
    crowd, monkeypatch
):
    crowd.remove("build")
    stop_batches(monkeypatch, 8, NO_SPACE)
    ran = crowd.doit()
    assert ran.code == 0  # there was room again for the jobs
    assert len(ran.restored) == COUNT + 1


def test_a_disk_that_takes_no_file_at_all_is_tried_once_before_the_run(crowd, monkeypatch):
    def full(cache, sha, data, path, scratch):
        raise NO_SPACE

    batches = []
    write = small_results.SmallResults._write
    monkeypatch.setattr(
        small_results.SmallResults,
        "_write",
        lambda self, batch: batches.append(batch) or write(self, batch),
    )
    monkeypatch.setattr(small_results, "BATCH", 5)
    stop_batches(monkeypatch, 0, NO_SPACE)
    monkeypatch.setattr(Cache, "put_in_place", full)
    crowd.remove("build")
    ran = crowd.doit()
    assert len(batches) == 1
    assert ran.code == 1
    assert len(ran.did("failed")) == COUNT


def test_a_batch_ends_when_it_has_enough_bytes(crowd, monkeypatch):
    batches = []
    put = small_results.SmallResults._put_in_place
    monkeypatch.setattr(
        small_results.SmallResults,
        "_put_in_place",
        lambda self, batch: batches.append(len(batch.nodes)) or put(self, batch),
    )
    monkeypatch.setattr(small_results, "BATCH_BYTES", 20)
    crowd.remove("build")
    crowd.doit()
    assert sum(batches) == COUNT + 1
    assert max(batches) < 8


def test_a_slow_disk_is_left_to_workers_that_wait_side_by_side(crowd, jobs, monkeypatch):
    before = crowd.outputs()
    clock = [0.0]
    put = Cache.put_all_in_place

    def put_slowly(*arguments):
        clock[0] += 5.0
        return put(*arguments)

    monkeypatch.setattr(small_results, "BATCH", 5)
    monkeypatch.setattr(small_results, "SLOW_SECONDS", 0.5)
    monkeypatch.setattr(small_results, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Cache, "put_all_in_place", put_slowly)
    crowd.remove("build")
    ran = crowd.doit()
    assert len(ran.restored) == COUNT + 1
    assert len(jobs) == COUNT + 1 - 5
    assert crowd.outputs() == before


def test_a_cache_that_is_slow_to_read_is_left_to_workers_before_many_have_waited(
    crowd, jobs, monkeypatch
):
    clock = [0.0]
    load = Cache.load_receipt

    def load_slowly(cache, fingerprint):
        clock[0] += 1.0
        return load(cache, fingerprint)

    monkeypatch.setattr(small_results, "SLOW_SECONDS", 0.5)
    monkeypatch.setattr(small_results, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Cache, "load_receipt", load_slowly)
    before = crowd.outputs()
    crowd.remove("build")
    ran = crowd.doit()
    assert len(ran.restored) == COUNT + 1
    assert len(jobs) == COUNT  # all but the first
    assert crowd.outputs() == before


@pytest.mark.parametrize("cpu_share", [1.0, 0.25])
def test_work_on_a_busy_machine_is_not_taken_for_a_slow_disk(crowd, jobs, monkeypatch, cpu_share):
    """Large projects lost the quick way with their first batch, which reads what all have."""
    clock = [0.0]
    load = Cache.load_receipt

    def load_while_others_run(cache, fingerprint):
        clock[0] += 1.0
        return load(cache, fingerprint)

    monkeypatch.setattr(small_results, "SLOW_SECONDS", 0.5)
    monkeypatch.setattr(small_results, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(small_results, "thread_time", lambda: clock[0] * cpu_share)
    monkeypatch.setattr(Cache, "load_receipt", load_while_others_run)
    crowd.remove("build")
    ran = crowd.doit()
    assert len(ran.restored) == COUNT + 1
    assert jobs == []


def test_one_batch_that_waits_is_not_taken_for_a_slow_disk(crowd, jobs, monkeypatch):
    """On a busy machine any may, and the rest of a large project was restored one by one."""
    clock, calls = [0.0], []
    put = Cache.put_all_in_place

    def put_slowly_once(*arguments):
        calls.append(arguments)
        clock[0] += 4.0 if len(calls) == 3 else 0.0
        return put(*arguments)

    monkeypatch.setattr(small_results, "BATCH", 5)
    monkeypatch.setattr(small_results, "SLOW_SECONDS", 0.5)
    monkeypatch.setattr(small_results, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Cache, "put_all_in_place", put_slowly_once)
    crowd.remove("build")
    ran = crowd.doit()
    assert len(ran.restored) == COUNT + 1
    assert jobs == []


def test_a_receipt_that_the_disk_does_not_give_is_left_to_the_run(crowd, jobs, monkeypatch):
    before = crowd.outputs()
    crowd.remove("build")
    read = local.read_if_there
    asked = []

    def read_or_fail(path):
        asked.append(path)
        if len(asked) == 5:
            raise OSError(errno.EIO, "Input/output error", path)
        return read(path)

    monkeypatch.setattr(local, "read_if_there", read_or_fail)
    ran = crowd.doit()
    assert ran.code == 0, ran.err
    assert len(jobs) == 2  # the node of that receipt, and the pack that reads them all
    assert len(ran.restored) == COUNT + 1
    assert crowd.outputs() == before


def test_files_of_a_stopped_batch_are_known_to_the_next_run(crowd, monkeypatch):
    """They were written and not recorded, and their assets are gone."""
    crowd.remove("build")
    crowd.remove(".cartwright")
    with monkeypatch.context() as patch:
        stop_batches(patch, 8, KeyboardInterrupt())
        assert crowd.doit().code == 130
    assert len(crowd.outputs()) == 8
    for n in range(COUNT):
        crowd.remove(f"assets/{n:02}.txt")
    crowd.write("assets/last.txt", "last")
    assert crowd.doit().code == 0
    assert sorted(crowd.outputs()) == ["build/toy/all.pack", "build/toy/last.out"]


OWN_TASK = """
from pathlib import Path

def look():
    Path("seen").write_text(str(Path("build/toy/00.out").exists()))
    return {result}

def task_look():
    return {{"actions": [look], "task_dep": {needs}}}
"""


@pytest.mark.parametrize(
    ("words", "needs", "seen"),
    [
        (("look", "toy"), [], b"False"),
        ((), [], b"False"),
        (("look", "toy"), ["toy:00"], b"True"),
        (("toy", "look"), [], b"True"),
    ],
)
def test_an_own_task_runs_in_its_turn_before_or_after_nodes(crowd, jobs, words, needs, seen):
    own = OWN_TASK.format(result=True, needs=needs)
    crowd.write("dodo.py", crowd.read("dodo.py").decode() + own)
    crowd.remove("build")
    assert crowd.doit(*words).code == 0
    assert crowd.read("seen") == seen
    assert jobs == []


def test_nothing_is_restored_after_an_own_task_that_stops_the_run(crowd):
    own = OWN_TASK.format(result=False, needs=[])
    crowd.write("dodo.py", crowd.read("dodo.py").decode() + own)
    crowd.remove("build")
    assert crowd.doit("--no-continue", "look", "toy").code == 1
    assert not crowd.path("build").exists()


@pytest.mark.parametrize(("count", "is_small"), [(INLINE_BYTES + 1, True), (1 << 17, False)])
def test_small_is_what_a_worker_would_not_make_quicker(crowd, jobs, count, is_small):
    crowd.write("assets/large.txt", "x" * count)  # and its length is an output, too
    crowd.doit()
    crowd.rest()
    before = crowd.outputs()
    crowd.remove("build")
    jobs.clear()
    crowd.doit()
    assert jobs == ([] if is_small else ["toy:large", "toy:pack"])
    assert crowd.outputs() == before


def test_few_nodes_are_left_to_the_run(crowd, monkeypatch):
    monkeypatch.setattr(runner, "RESTORE_FROM", COUNT)
    used = []
    monkeypatch.setattr(
        small_results.SmallResults, "restore", lambda *_: used.append(1) or iter(())
    )
    crowd.remove("build/toy/05.out")
    crowd.doit()
    assert used == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("batch_s", [3600.0, 0.0], ids=["one transaction", "many"])
def test_a_kill_at_any_moment_leaves_no_half_and_loses_nothing(tmp_path, monkeypatch, batch_s):
    monkeypatch.setattr(runner, "RESTORE_FROM", 1)
    monkeypatch.setattr(small_results, "BATCH", 3)
    monkeypatch.setattr("pipeline.state.database.BATCH_SECONDS", batch_s)
    first = Game(tmp_path / "first")
    for n in range(7):
        first.write(f"assets/{n}.txt", f"text {n}")
    assert first.doit().code == 0
    whole = first.outputs()
    first.rest()
    first.remove("build")
    moment, came = 1, True
    while came:
        game = copy_of(first, tmp_path / str(moment))
        with Death(after=moment) as death:
            game.doit()
        came = death.came
        assert game.outputs().items() <= whole.items(), f"half-made after {moment}"
        ran = game.doit()
        assert (ran.code, ran.built) == (0, []), ran.out + ran.err
        assert game.outputs() == whole, f"after {moment} changes"
        moment += 2
    assert moment > 20
