"""Worker processes: answers, order, deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from encoders.kit.error import EncodeError
from pipeline.process.pool import MAX_BATCH, Pool, Worker
from tests.pipeline.game import ROOT


def double(number):
    return 2 * number


def die(code):
    os._exit(code)


def deaf_to_ctrl_c():
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def wait_for(path):
    end = time.monotonic() + 20
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.01)
    return os.path.exists(path)


def fail(text):
    raise EncodeError(text)


@pytest.fixture
def pool(tmp_path):
    pool = Pool(2, str(tmp_path))
    yield pool
    pool.close()


def test_answers_come_back_in_order(pool):
    assert list(pool.map(double, [(n,) for n in range(50)])) == [2 * n for n in range(50)]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="a matter of POSIX")
def test_workers_never_see_ctrl_c_from_their_very_start(pool):
    assert list(pool.map(deaf_to_ctrl_c, [()])) == [True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("batch", [1, 4])
def test_a_death_is_the_answer_to_one_call_and_the_rest_goes_on(pool, batch):
    pool._batch = batch
    for number in range(6):
        pool.submit(number, die if number == 2 else double, number)
    answers = {}
    while pool.is_busy:
        key, answer = pool.next_answer()
        answers[key] = answer
    assert isinstance(answers.pop(2), EncodeError)
    assert answers == {0: 0, 1: 2, 3: 6, 4: 8, 5: 10}


def get_killed(path, times):
    """Be killed so many times, as when memory runs out; write down which processes were."""
    with open(path, "a+") as file:
        file.seek(0)
        is_enough = len(file.readlines()) == times
        if not is_enough:
            file.write(f"{os.getpid()}\n")
    if not is_enough:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def outlive(path):
    """Return when the driver has taken note that the first of those processes died."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with suppress(OSError, ValueError), open(path) as file:
            try:
                os.kill(int(file.readline()), 0)
            except ProcessLookupError:
                return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.parametrize(("times", "answer"), [(1, "done"), (2, "the worker process died")])
def test_a_call_whose_worker_was_killed_beside_others_is_made_once_more_alone(
    pool, tmp_path, times, answer
):
    path = str(tmp_path / "killed")
    pool.submit("large", get_killed, path, times)
    pool.submit("other", outlive, path)
    assert pool.next_answer() == ("other", True)
    key, found = pool.next_answer()
    assert (key, getattr(found, "problem", found)) == ("large", answer)
    assert not pool.is_busy
    assert list(pool.map(double, [(1,), (2,)])) == [2, 4]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_calls_whose_workers_were_killed_at_once_are_all_made_once_more(pool, tmp_path):
    """None of them ran alone, and the last one that the driver heard of was told to have."""
    for name in ("one", "other"):
        pool.submit(name, get_killed, str(tmp_path / name), 1)
    assert dict(pool.next_answer() for _ in range(2)) == {"one": "done", "other": "done"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_call_that_is_made_once_more_is_alone_with_the_driver(pool, tmp_path):
    """Idle workers keep memory, and one of them may be dead already."""
    path = str(tmp_path / "killed")
    pool.submit("large", get_killed, path, 1)
    pool.submit("other", outlive, path)
    assert pool.next_answer() == ("other", True)
    (idle,) = pool._workers
    idle.process.kill()
    idle.process.join()
    assert pool.next_answer() == ("large", "done")
    assert idle not in pool._workers


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a file")
def test_workers_are_killed_before_the_driver_when_memory_runs_out(pool):
    pool.submit("x", own_text, "/proc/self/oom_score_adj")
    assert int(pool.next_answer()[1]) > int(own_text("/proc/self/oom_score_adj"))


def own_text(path):
    with open(path) as file:
        return file.read()


def test_quick_calls_travel_together(pool, monkeypatch):
    sent = []
    send = Worker.send

    def count_and_send(worker, calls):
        sent.append(len(calls))
        send(worker, calls)

    monkeypatch.setattr(Worker, "send", count_and_send)
    assert list(pool.map(double, [(n,) for n in range(2000)])) == [2 * n for n in range(2000)]
    assert sum(sent) == 2000
    assert len(sent) < 200


def test_a_slow_call_holds_up_no_answer_of_its_batch(tmp_path):
    pool = Pool(1, str(tmp_path))
    pool._batch = 8
    pool.submit("quick", double, 1)
    pool.submit("slow", wait_for, str(tmp_path / "go on"))
    assert pool.next_answer() == ("quick", 2)
    (tmp_path / "go on").touch()
    assert pool.next_answer() == ("slow", True)
    pool.close()


def test_an_error_in_a_call_is_its_answer(pool):
    pool.submit("x", fail, "no")
    key, answer = pool.next_answer()
    assert key == "x"
    assert isinstance(answer, EncodeError)
    assert answer.problem == "no"


SLOW_S, QUICK_S = 1.0, 0.0001


@pytest.mark.parametrize(("call_s", "workers"), [(SLOW_S, 2), (QUICK_S, 1)])
def test_a_pool_warms_up_with_as_many_workers_as_its_calls_are_worth(pool, call_s, workers):
    pool.warm_up(call_s)
    end = time.monotonic() + 20
    while not pool.is_warm and time.monotonic() < end:
        time.sleep(0.01)
    assert pool.is_warm
    assert len(pool._workers) == workers
    assert list(pool.map(double, [(n,) for n in range(9)])) == [2 * n for n in range(9)]


def test_quick_calls_get_another_worker_when_the_first_cannot_keep_up(pool):
    pool._cores = 3
    pool.warm_up(QUICK_S)
    for n in range(MAX_BATCH):
        pool.submit(n, double, n)
    assert len(pool._workers) == 1
    for n in range(3 * MAX_BATCH):
        pool.submit(n, double, n)
    assert len(pool._workers) == 2
    answers = [pool.next_answer() for _ in range(4 * MAX_BATCH)]
    assert all(answer == 2 * key for key, answer in answers)


def test_quick_calls_leave_a_processor_to_the_driver(pool):
    pool._cores = 2
    pool.warm_up(QUICK_S)
    assert sum(pool.map(double, [(1,)] * (5 * MAX_BATCH))) == 10 * MAX_BATCH
    assert len(pool._workers) == 1


def test_a_worker_does_not_load_the_program_that_started_it(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import sys\n"
        "if __name__ != '__main__':\n"
        "    sys.exit('a worker ran the program')\n"
        "from pipeline.process.pool import Pool\n"
        "pool = Pool(1, '.')\n"
        "print(list(pool.map(abs, [(-3,)])))\n"
        "pool.close()\n"
    )
    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (ran.stdout, ran.stderr) == ("[3]\n", "")


def test_no_more_processes_are_started_than_there_is_work_for(pool):
    pool.submit("x", double, 1)
    assert len(pool._workers) == 1
    assert pool.next_answer() == ("x", 2)


def test_killed_workers_are_gone(tmp_path):
    pool = Pool(2, str(tmp_path))
    pool.submit("x", double, 1)
    processes = [worker.process for worker in pool._workers]
    pool.kill()
    assert all(process.exitcode is not None for process in processes)


def who(number):
    return number, os.getpid()


def test_a_driver_that_runs_in_driver_makes_quick_calls_itself(pool):
    pool._cores, pool.runs_in_driver = 2, True
    pool.warm_up(QUICK_S)
    answers = list(pool.map(who, [(n,) for n in range(6 * MAX_BATCH)]))
    assert [number for number, _ in answers] == list(range(6 * MAX_BATCH))
    assert os.getpid() in {process for _, process in answers}


def test_a_driver_makes_no_call_itself_that_may_kill_it(pool):
    pool._cores, pool.runs_in_driver = 2, True
    pool.warm_up(QUICK_S)
    for n in range(3 * MAX_BATCH):
        pool.submit(n, die if n == 0 else double, n)
    pool._workers[0].process.kill()
    answers = dict(pool.next_answer() for _ in range(3 * MAX_BATCH))
    assert answers[0].problem == "the worker process died"
    assert all(answers[n] == 2 * n for n in range(1, 3 * MAX_BATCH))


def test_a_worker_that_does_not_understand_a_call_is_not_waited_for(pool):
    pool.submit("x", double, Odd())
    key, answer = pool.next_answer()
    assert (key, answer.problem) == ("x", "the worker process died")


class Odd:
    """Travels to where it is not understood."""

    def __reduce__(self):
        return refuse, ()


def refuse():
    raise TypeError("not here")
