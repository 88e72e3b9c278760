"""When a build that was begun in one process calls in workers."""

from pipeline.build import executor
from pipeline.build.executor import InProcess


class Clock:
    """A clock that jobs move."""

    def __init__(self):
        self.now = 0.0

    def take(self, seconds):
        self.now += seconds


class FakePool:
    """Workers that never get ready."""

    is_warm = False

    def warm_up(self, job_seconds):
        self.job_seconds = job_seconds


def workers_started(monkeypatch, seconds, count, wall_per_cpu=1):
    """Do the first of `count` jobs, which take so many seconds, and tell whether workers start."""
    clock, pools = Clock(), []
    monkeypatch.setattr(executor, "monotonic", lambda: clock.now * wall_per_cpu)
    monkeypatch.setattr(executor, "process_time", lambda: clock.now)

    def make_pool():
        pools.append(FakePool())
        return pools[-1]

    done = []
    here = InProcess(make_pool, lambda: count - len(done))
    for job in seconds:
        here.submit(job, clock.take, job)
        here.next_answer()
        done.append(job)
    return bool(pools)


def test_workers_that_were_started_for_quick_jobs_learn_how_long_jobs_take(monkeypatch):
    clock, pool = Clock(), FakePool()
    monkeypatch.setattr(executor, "monotonic", lambda: clock.now)
    monkeypatch.setattr(executor, "process_time", lambda: clock.now)
    here = InProcess(lambda: pool, lambda: executor.START_AT_ONCE_FROM + 1)
    assert pool.job_seconds == executor.QUICK_SECONDS
    pool.is_warm = True
    here.submit("job", clock.take, executor.IMPORT_SECONDS + 2)
    assert pool.job_seconds == 2


def test_the_imports_of_a_first_job_start_no_workers_for_a_few_quick_ones(monkeypatch):
    assert not workers_started(monkeypatch, [0.4, 0.01, 0.01], 8)


def test_a_first_job_that_is_long_by_itself_starts_workers_at_once(monkeypatch):
    assert workers_started(monkeypatch, [2.0], 8)


def test_jobs_that_stay_long_after_the_imports_start_workers(monkeypatch):
    assert workers_started(monkeypatch, [0.4, 0.4], 8)


def test_many_quick_jobs_start_workers(monkeypatch):
    assert workers_started(monkeypatch, [0.4, *[0.01] * 12], 500)


def test_the_second_job_alone_says_nothing_of_many_quick_ones(monkeypatch):
    assert not workers_started(monkeypatch, [0.3, 0.06, *[0.001] * 40], 400)


def test_one_long_job_among_few_quick_ones_starts_no_workers(monkeypatch):
    assert not workers_started(monkeypatch, [0.01, 0.01, 0.45, 0.01], 8)


def test_a_machine_that_is_busy_already_gets_no_workers_for_it(monkeypatch):
    assert not workers_started(monkeypatch, [0.3, *[0.002] * 60], 400, wall_per_cpu=5)


def test_jobs_that_wait_for_decoders_count_by_the_clock(monkeypatch):
    assert workers_started(monkeypatch, [0.01, *[0.002] * 60], 400, wall_per_cpu=20)
