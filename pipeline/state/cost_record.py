"""What a node cost when it was last encoded: the one place that packs and unpacks this record.

Costs decide the order of a build and never its results, so they have no checksum: a row that does
not read as one is left out. They are kept apart from the build record because a restored node
must not replace the duration of its encoding by that of its restoring.
"""

from __future__ import annotations

from typing import Any, NamedTuple

COLUMNS = "encoder, input_bytes, seconds, cpu_seconds, peak_bytes"


class CostRecord(NamedTuple):
    """The last encoding of a node; `peak_bytes` is 0 where the node was too quick to measure it."""

    encoder: str
    input_bytes: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int

    def pack(self, task: str) -> tuple[Any, ...]:
        """Return the row of a task."""
        return (task, *self)

    @classmethod
    def unpack(cls, row: tuple[Any, ...]) -> CostRecord | None:
        """Read the columns of a row; None where they can't be what `pack` wrote."""
        encoder, *numbers = row
        if not isinstance(encoder, str):
            return None
        if not all(isinstance(one, int | float) and one >= 0 for one in numbers):
            return None
        return cls(encoder, *numbers)
