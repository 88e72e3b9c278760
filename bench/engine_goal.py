"""What the engine is to reach, and whether it does.

A goal compares wall times of one run of the benchmark; the same comparison of CPU times stands
beside it, because wall times suffer from whatever else the machine is doing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine_parallel import BARE, Speedup
from engine_peer import TYPED_DOIT
from engine_table import AFTER, CHANGED, NOTHING, SCRATCH, TOUCHED, Figures, columns

Key = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class Goal:
    """At most `limit` times the other figure."""

    text: str
    ours: Key
    other: Key
    limit: float

    def row(self, figures: Figures) -> list[str]:
        """Say how far the goal is reached."""
        ours, other = figures.get(self.ours), figures.get(self.other)
        if ours is None or other is None:
            return [self.text, f"{self.limit:g}", "", "", "not measured"]
        wall, cpu = ours.wall / other.wall, ours.cpu / other.cpu
        return [
            self.text,
            f"{self.limit:g}",
            f"{wall:.2f}",
            f"{cpu:.2f}",
            verdict(wall <= self.limit),
        ]


def ours(size: int, state: str) -> Key:
    """Name a figure of our own."""
    return size, state, "cartwright"


def peer(size: int, state: str, tool: str) -> Key:
    """Name a figure of a peer."""
    return size, state, tool


IDLE, LARGE_IDLE = ours(10_000, NOTHING), ours(50_000, NOTHING)
GOALS = (
    Goal("nothing to do, 10,000, to ninja", IDLE, peer(10_000, NOTHING, "ninja"), 2),
    Goal(
        "the same, typed `doit`",
        peer(10_000, NOTHING, TYPED_DOIT),
        peer(10_000, NOTHING, "ninja"),
        2,
    ),
    Goal("nothing to do, 10,000, to doit", IDLE, peer(10_000, NOTHING, "doit"), 0.2),
    Goal("nothing to do, 50,000, to ninja", LARGE_IDLE, peer(50_000, NOTHING, "ninja"), 1),
    Goal(
        "the same, typed `doit`",
        peer(50_000, NOTHING, TYPED_DOIT),
        peer(50_000, NOTHING, "ninja"),
        1,
    ),
    Goal("nothing to do, 50,000, to 10,000", LARGE_IDLE, IDLE, 5.5),
    Goal("one changed, 10,000, to nothing to do", ours(10_000, CHANGED), IDLE, 1.5),
    Goal("all touched, 10,000, to nothing to do", ours(10_000, TOUCHED), IDLE, 3),
    Goal("the run after, 10,000, to nothing to do", ours(10_000, AFTER), IDLE, 1.1),
    Goal("from scratch, 10,000, to doit", ours(10_000, SCRATCH), peer(10_000, SCRATCH, "doit"), 1),
)
PEAK_MB = 200
GAIN = 1.8


def verdict(reached: bool) -> str:
    """Put it in a word."""
    return "reached" if reached else "MISSED"


def goal_lines(figures: Figures, speedups: Sequence[Speedup]) -> Iterator[str]:
    """Give the table of goals."""
    rows = [["goal", "limit", "wall", "CPU", "verdict"], *(goal.row(figures) for goal in GOALS)]
    rows.append(peak_row(figures))
    rows += gain_rows({one.tool: one.gain for one in speedups})
    yield from columns(rows)


def peak_row(figures: Figures) -> list[str]:
    """Judge the memory of a large project with nothing to do."""
    cost = figures.get(LARGE_IDLE)
    peak = f"{cost.peak_mb:.0f}" if cost else ""
    reached = verdict(cost.peak_mb < PEAK_MB) if cost else "not measured"
    return ["nothing to do, 50,000, peak MB", f"{PEAK_MB}", peak, "", reached]


def gain_rows(gains: Mapping[str, float]) -> Iterator[list[str]]:
    """Judge the gain of a second worker, where the machine has a second processor to give."""
    gain, possible = gains.get("cartwright"), gains[BARE]
    if gain is None:
        return
    reached = verdict(gain >= GAIN)
    if gain < GAIN and possible < GAIN:
        reached = f"undecided: bare processes gain {possible:.2f}"
    yield ["gain of -n 2 to -n 1, at least", f"{GAIN:g}", f"{gain:.2f}", "", reached]
