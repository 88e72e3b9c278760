"""Progress in a log, where there is no terminal: a line now and then, not one for each node.

A line comes with each tenth of a large build and after 10 seconds without one. A node that runs
for 5 seconds is named once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from pipeline.report.running import Running

EACH_SECONDS, PARTS = 10.0, 10
TICK_SECONDS = 1.0


class ProgressLog:
    """Writes lines about a build with so many tasks."""

    def __init__(
        self,
        write: Callable[[str], object],
        total: int,
        running: Running,
        shows_parts: bool = True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._write, self._total, self._running, self._clock = write, total, running, clock
        self._shows_parts = shows_parts
        self._done, self._part = 0, 0
        self._began = self._last = clock()
        self._named: set[str] = set()
        self._lock = threading.Lock()  # lines come from the ticking thread, too
        self._is_over = threading.Event()

    def start(self) -> None:
        """Tick in a thread of its own: a slow node may keep the driver busy."""
        threading.Thread(target=self._tick_regularly, daemon=True).start()

    def _tick_regularly(self) -> None:
        while not self._is_over.wait(TICK_SECONDS):
            self.tick()

    def end(self, name: str) -> None:
        """Count a task as done."""
        with self._lock:
            self._done += 1
            self._named.discard(name)
            part = self._done * PARTS // max(self._total, 1)
            if self._shows_parts and part > self._part and self._done < self._total:
                self._part = part
                self._line()

    def tick(self) -> None:
        """Name slow nodes, and write a line if there was none for a while."""
        with self._lock:
            for name, seconds in self._running.slow():
                if name not in self._named:
                    self._named.add(name)
                    self._write(f"running   {name} for {seconds:.0f} s\n")
            if self._clock() - self._last >= EACH_SECONDS:
                self._line()

    def _line(self) -> None:
        self._last = self._clock()
        seconds = max(self._last - self._began, 1e-6)
        failed = f", {self._running.failed:,} failed" if self._running.failed else ""
        left = self._running.time_left(self._total - self._done)
        shown = (
            f"{self._done:,} of {self._total:,} done{failed}, {self._done / seconds:.0f}/s{left}"
        )
        names = self._running.describe()
        self._write(f"{shown}{f', {names}' if names else ''}\n")

    def close(self) -> None:
        """Stop ticking."""
        self._is_over.set()
