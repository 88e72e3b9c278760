"""The tasks that are running: as many as there are workers, oldest first.

More tasks are submitted than run, so that no worker waits. They are taken to run in the order in
which they were submitted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import islice
from time import monotonic

SLOW_SECONDS = 5.0
# The share of the expected time for which the pace of the run hardly counts yet.
SETTLING_SHARE = 0.1


class Running:
    """Tasks that were submitted and are not done."""

    def __init__(self, workers: int | None, clock: Callable[[], float] = monotonic) -> None:
        """Note the number of workers; None where it is not known."""
        self._workers, self._clock = workers, clock
        self._began: dict[str, float] = {}  # a dict, because it keeps the order
        # How long the tasks that are left will take, where earlier runs tell: set by the driver.
        # It is given the seconds so far of those that run.
        self.expected_seconds: Callable[[Mapping[str, float]], float | None] = lambda _: None
        # How long at least those that run will go on, given that and the pace of the run.
        self.least_seconds: Callable[[Mapping[str, float], float], float] = lambda *_: 0.0
        self.failed = 0
        self._first_began: float | None = None
        self._expected_total: float | None = None

    def begin(self, name: str) -> None:
        """Note that a task was submitted."""
        now = self._clock()
        if self._first_began is None:
            self._first_began, self._expected_total = now, self.expected_seconds({})
        self._began[name] = now

    def end(self, name: str) -> None:
        """Note that a task is done, and that the first one that waited for a worker begins."""
        began, workers = self._began, self._workers
        # Nobody else changes the dict, so it need not be copied. With an unknown number of
        # workers all tasks are taken to run.
        is_running = workers is not None and name in islice(began, workers)
        began.pop(name, None)
        if workers is not None and is_running:
            for one in islice(began, workers - 1, workers):
                began[one] = self._clock()

    def _oldest(self) -> list[tuple[str, float]]:
        # A copy in one step: another thread may add or remove tasks meanwhile.
        items = list(self._began.items())
        return list(islice(items, self._workers))

    def slow(self) -> list[tuple[str, float]]:
        """Return the running tasks that take long, with their seconds so far."""
        now = self._clock()
        found = [(name, now - began) for name, began in self._oldest()]
        return [one for one in found if one[1] >= SLOW_SECONDS]

    def names(self) -> list[str]:
        """Return the names of running tasks; slow ones with their seconds."""
        slow = dict(self.slow())
        names = [name for name, _ in self._oldest()]
        return [f"{name} ({slow[name]:.0f} s)" if name in slow else name for name in names]

    def describe(self) -> str:
        """Return how many tasks run, and their names."""
        return describe_running(self.names(), self._workers)

    def time_left(self, left: int) -> str:
        """Return the time that is left as earlier runs tell, or nothing."""
        seconds = self.seconds_left() if left else None
        # That nothing is left is no estimate while tasks wait for a worker: their costs are new.
        if seconds is None or (round(seconds) == 0 and left > (self._workers or 0)):
            return ""
        return f", {format_seconds(seconds)} left"

    def seconds_left(self) -> float | None:
        """Return the time that is left as earlier runs and the pace of this one tell, or None."""
        now = self._clock()
        running = {name: now - began for name, began in self._oldest()}
        seconds = self.expected_seconds(running)
        if seconds is None:
            return None
        pace = self._pace(seconds)
        return max(seconds * pace, self.least_seconds(running, pace))

    def _pace(self, seconds_left: float) -> float:
        """Return how many times longer the run has taken so far than was expected of it."""
        if self._first_began is None or not self._expected_total:
            return 1.0
        settling = SETTLING_SHARE * self._expected_total
        done = max(self._expected_total - seconds_left, 0.0)
        return (self._clock() - self._first_began + settling) / (done + settling)


def describe_running(submitted: Collection[str], workers: int | None) -> str:
    """Return how many tasks run, at most one for each worker, and their names."""
    names = list(islice(submitted, workers))
    return f"{len(names)} running: {', '.join(names)}" if names else ""


def format_seconds(seconds: float) -> str:
    """Write a duration as people say it: 42 s, 3 min, 1 h 20 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
