"""What a node cost when it was last encoded: the row of the state, as it is.

Costs decide the order of a build and never its results, so they have no checksum: a row whose
values can't be right is left out by the query, which is quicker than looking at each here. They
are kept apart from the build record because a restored node must not replace the duration of its
encoding by that of its restoring.

Nodes that are new, quick and many are kept as one fact for each encoder, with a list for each
column, because a row for each would take a hundredth of the time of trivial nodes. A row is always
newer than such a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

COLUMNS = "task, encoder, input_bytes, seconds, cpu_seconds, peak_bytes"
SOUND = (
    "typeof(encoder)='text' AND typeof(input_bytes)='integer' AND typeof(seconds)='real'"
    " AND typeof(cpu_seconds)='real' AND typeof(peak_bytes)='integer'"
    " AND min(input_bytes, seconds, cpu_seconds, peak_bytes) >= 0"
)


class CostRecord(NamedTuple):
    """The last encoding of a node; `peak_bytes` is 0 where the node was too quick to measure it."""

    task: str
    encoder: str
    input_bytes: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


CostRow: TypeAlias = tuple[str, str, int, float, float, int]  # the fields of a CostRecord
QuickCosts: TypeAlias = tuple[list[str], list[int], list[float], list[float]]  # of one encoder


def gather_quick(rows: Iterable[CostRow]) -> dict[str, QuickCosts]:
    """Return the costs of quick nodes by encoder: tasks, sizes, seconds and CPU seconds."""
    found: dict[str, QuickCosts] = {}
    for row in rows:
        add_quick(found, row)
    return found


def add_quick(found: dict[str, QuickCosts], row: CostRow) -> None:
    """Add the cost of a node to those of its encoder."""
    task, encoder, size, seconds, cpu_seconds, _ = row
    tasks, sizes, times, cpu_times = found.get(encoder) or found.setdefault(
        encoder, ([], [], [], [])
    )
    tasks.append(task)
    sizes.append(size)
    times.append(seconds)
    cpu_times.append(cpu_seconds)


def spread_quick(facts: Mapping[str, QuickCosts]) -> Iterator[CostRecord]:
    """Return what `gather_quick` was given."""
    for encoder, columns in facts.items():
        for task, size, seconds, cpu_seconds in zip(*columns, strict=True):
            yield CostRecord(task, encoder, size, seconds, cpu_seconds, 0)
