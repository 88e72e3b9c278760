"""The order of a build: longest path first, within a limit of memory.

A node's path is the time of the longest chain that begins with it: the node itself, what waits
for it, what waits for that. Nodes with long paths go first, so that no slow chain is left for the
end while other workers are idle. Nodes that are known to need much memory do not run together.
Nodes that are late, because other machines may still be at what they need, go after all others.
The order depends on the estimates alone, never on which worker is quicker.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from pipeline.build.estimate import UNKNOWN, Estimate
from pipeline.process.pool import SLOW_SECONDS

# A node below this part of the limit is not counted: even 64 workers with one each stay below it.
SMALL_PART = 1 / 64
# How many others may start before a node that does not fit yet. After that nothing starts until
# it fits, so that it does not wait for ever.
MAX_OVERTAKING = 32
# A larger share of nodes of whose encoders nothing is known makes the time that is left a guess.
MAX_GUESSED_SHARE = 0.1


def path_seconds(
    needs: Mapping[str, Sequence[str]], seconds: Mapping[str, float]
) -> dict[str, float]:
    """Return the time of the longest chain that begins with each task."""
    waiting = dict.fromkeys(needs, 0)  # how many tasks that read it are not done yet
    for needed in needs.values():
        for one in needed:
            waiting[one] = waiting.get(one, 0) + 1
    paths = {task: seconds.get(task, 0.0) for task in waiting}
    # From the end: a task's path is known when those of all its readers are.
    ready = [task for task, count in waiting.items() if count == 0]
    while ready:
        task = ready.pop()
        for one in needs.get(task, ()):
            paths[one] = max(paths[one], seconds.get(one, 0.0) + paths[task])
            waiting[one] -= 1
            if waiting[one] == 0:
                ready.append(one)
    return paths


class Schedule:
    """Ready nodes in the order in which they should start."""

    def __init__(
        self,
        estimates: Mapping[str, Estimate],
        needs: Mapping[str, Sequence[str]],
        memory_limit: int | None = None,
        late: Collection[str] = (),
    ) -> None:
        self._limit, self._late = memory_limit, late
        # Of tasks that have not ended: of all, they would take much of a large build's memory.
        self._left = dict(estimates)
        self._paths = path_seconds(needs, {task: one.seconds for task, one in estimates.items()})
        self._guessed_left = sum(one.is_by_size for one in estimates.values())
        self._total_seconds = self._left_seconds = sum(one.seconds for one in estimates.values())
        self._longest = max(self._paths.values(), default=0.0)
        self._by_path: list[str] | None = None  # shortest first; made when it is asked for
        self._ready: list[tuple[bool, float, str, Any]] = []  # a heap
        self._running: dict[str, int] = {}  # the memory of running tasks, as far as it counts
        self._used_bytes = 0
        self._overtaken = 0

    def saved_seconds(self, workers: int) -> float:
        """Return how much sooner so many workers would be done than one, at best."""
        return self._total_seconds - max(self._longest, self._total_seconds / max(workers, 1))

    def seconds_left(self, workers: int, running: Mapping[str, float] = {}) -> float | None:
        """Return how long so many workers will take for what is left; None if too little is known.

        `running` are tasks that have begun, with their seconds so far.
        """
        is_guess = self._guessed_left > MAX_GUESSED_SHARE * len(self._left)
        if not self._total_seconds or is_guess:
            return None
        done = {task: min(so_far, self._estimate(task).seconds) for task, so_far in running.items()}
        shared = (self._left_seconds - sum(done.values())) / max(workers, 1)
        return max(shared, self._longest_left(done), 0.0)

    def least_seconds(self, running: Mapping[str, float], pace: float) -> float:
        """Return how long at least the tasks that run will go on, by what they took before.

        `pace` is the part of expected times that the run has taken so far. A task that has run for
        longer than that is not restored, as others may have been: it will take its whole time.
        """
        known = {task: self.known_seconds(task) or 0.0 for task in running}
        late = (task for task, so_far in running.items() if so_far > known[task] * pace)
        return max((known[task] - running[task] for task in late), default=0.0)

    def _longest_left(self, done: Mapping[str, float]) -> float:
        """Return the longest chain that is left: more workers do not make it shorter."""
        if self._by_path is None:
            self._by_path = sorted(self._left, key=lambda task: self._paths.get(task, 0.0))
        while self._by_path and self._by_path[-1] not in self._left:
            self._by_path.pop()
        longest = 0.0
        for task in reversed(self._by_path):
            if task in self._left:
                longest = max(longest, self._paths.get(task, 0.0) - done.get(task, 0.0))
                if task not in done:
                    break
        return longest

    def expected_seconds(self, task: str) -> float:
        """Return how long a task is expected to take, 0 where that is not known."""
        found = self._estimate(task)
        # A small input may take long: that a node is quick, only a record can tell.
        is_doubtful = found.is_by_size and found.seconds < SLOW_SECONDS
        return 0.0 if is_doubtful else found.seconds

    def known_seconds(self, task: str) -> float | None:
        """Return how long a task took when it was last encoded; None where that is not known."""
        found = self._estimate(task)
        return found.seconds if found.is_known else None

    def add(self, task: str, item: Any) -> None:
        """Add a task that is ready, with whatever stands for it."""
        # The name decides between equal paths, so that the order is the same each time.
        heappush(self._ready, (task in self._late, -self._paths.get(task, 0.0), task, item))

    def __len__(self) -> int:
        return len(self._ready)

    def take(self) -> Any:
        """Return the next task's item and count its memory; None where none fits now."""
        if not self._ready:
            return None
        if self._fits(self._ready[0][2]):
            self._overtaken = 0
            return self._start(heappop(self._ready))
        return self._overtake()

    def _overtake(self) -> Any:
        """Return the first task that fits beside those that run, before others that do not."""
        if self._overtaken >= MAX_OVERTAKING:
            return None
        fitting = (one for one in sorted(self._ready) if self._fits(one[2]))
        found = next(fitting, None)
        if found is None:
            return None
        self._overtaken += 1
        self._ready.remove(found)
        heapify(self._ready)
        return self._start(found)

    def _start(self, entry: tuple[bool, float, str, Any]) -> Any:
        _, _, task, item = entry
        self._running[task] = self._memory(task)
        self._used_bytes += self._running[task]
        return item

    def release(self, task: str) -> None:
        """Take note that a task has ended."""
        self._used_bytes -= self._running.pop(task, 0)
        ended = self._left.pop(task, UNKNOWN)
        self._left_seconds -= ended.seconds
        self._guessed_left -= ended.is_by_size
        self._paths.pop(task, None)

    def _estimate(self, task: str) -> Estimate:
        return self._left.get(task, UNKNOWN)

    def _memory(self, task: str) -> int:
        """Return the memory of a task; 0 where it is too little to count."""
        peak = self._estimate(task).peak_bytes
        return peak if self._limit is not None and peak > self._limit * SMALL_PART else 0

    def _fits(self, task: str) -> bool:
        """Tell whether a task fits beside those that run; one beyond the limit runs alone."""
        if self._limit is None or not self._running:
            return True
        needed = self._memory(task)
        if self._used_bytes > self._limit:  # the one that runs has to be alone
            return False
        return not needed or self._used_bytes + needed <= self._limit
