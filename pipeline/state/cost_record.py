"""What a node cost when it was last encoded: the row of the state, as it is.

Costs decide the order of a build and never its results, so they have no checksum: a row whose
values can't be right is left out by the query, which is quicker than looking at each here. They
are kept apart from the build record because a restored node must not replace the duration of its
encoding by that of its restoring.
"""

from __future__ import annotations

from typing import NamedTuple

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
