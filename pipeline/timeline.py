"""The timeline of a run: which phase of the engine took how long, on which lane.

Nodes have times of their own. This holds the rest: planning, surveys, look-ups, uploads. Times are
those of `perf_counter`, which all processes of a machine share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple

PLANNING, SURVEY, LOOK_UPS, UPLOADS = "planning", "survey", "look-ups", "uploads"


class Span(NamedTuple):
    """Something that took time."""

    lane: str
    name: str
    began: float
    seconds: float


class Timeline:
    """The spans of a run, in the order in which they ended; any thread may add one."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        # Called in the driver when a phase of it begins and ends, to show it.
        self.on_begin: Callable[[str, str], None] | None = None
        self.on_end: Callable[[], None] | None = None

    @contextmanager
    def phase(self, lane: str, name: str) -> Iterator[None]:
        """Add what the driver does in the block, and show it meanwhile."""
        if self.on_begin is not None:
            self.on_begin(lane, name)
        try:
            with self.span(lane, name):
                yield
        finally:
            if self.on_end is not None:
                self.on_end()

    @contextmanager
    def span(self, lane: str, name: str) -> Iterator[None]:
        """Add what happens in the block, however it ends."""
        began = perf_counter()
        try:
            yield
        finally:
            self.spans.append(Span(lane, name, began, perf_counter() - began))
