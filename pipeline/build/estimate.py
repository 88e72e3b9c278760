"""How long a node will take and how much memory it will need, from earlier runs.

A node that was encoded before is taken to cost the same again. A new one is taken to cost what
nodes of the same encoder with inputs of a similar size did.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pipeline.state.cost_record import CostRecord

SIMILAR = 3  # the median of so many nodes of nearest size is taken
MAX_SCALE = 8.0  # beyond such a difference in size, cost is not taken to grow with it
# Where nothing of an encoder is known yet.
FIRST_SECONDS, FIRST_BYTES_PER_SECOND = 0.001, 20e6


class Estimate(NamedTuple):
    """What a node is expected to cost; no memory is expected of one that nothing is known of.

    `is_known` tells that this is what the node itself cost before, `is_by_size` that no node of
    its encoder has a record, so that the size of its inputs is all there is.
    """

    seconds: float
    peak_bytes: int = 0
    is_known: bool = False
    is_by_size: bool = False


UNKNOWN = Estimate(0.0)


def _median_low(values: Iterable[float]) -> float:
    """Return the median, of two middle values the lower."""
    # To import `statistics` takes longer than most one-node builds have to spare.
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


class Estimator:
    """Estimates from the costs of earlier runs, by task."""

    def __init__(self, costs: Mapping[str, CostRecord]) -> None:
        self._costs = costs
        self._by_encoder: dict[str, list[CostRecord]] | None = None

    def known(self, task: str, encoder: str) -> Estimate | None:
        """Return what a node cost before; None where it was never encoded by this encoder."""
        found = self._costs.get(task)
        if found is None or found.encoder != encoder:
            return None
        return Estimate(found.seconds, found.peak_bytes, is_known=True)

    def guess(self, encoder: str, input_bytes: int) -> Estimate:
        """Return what a new node is expected to cost."""
        similar = self._similar(encoder, input_bytes)
        if not similar:
            seconds = FIRST_SECONDS + input_bytes / FIRST_BYTES_PER_SECOND
            return Estimate(seconds, is_by_size=True)
        return Estimate(
            _median_low(one.seconds * _scale(one, input_bytes) for one in similar),
            int(_median_low(one.peak_bytes * _scale(one, input_bytes) for one in similar)),
        )

    def _similar(self, encoder: str, input_bytes: int) -> list[CostRecord]:
        """Return the nodes of an encoder whose inputs are nearest in size."""
        if self._by_encoder is None:
            self._by_encoder = {}
            for one in sorted(self._costs.values(), key=lambda one: one.input_bytes):
                self._by_encoder.setdefault(one.encoder, []).append(one)
        found = self._by_encoder.get(encoder, [])
        middle = bisect_left(found, input_bytes, key=lambda one: one.input_bytes)
        near = found[max(0, middle - SIMILAR) : middle + SIMILAR]
        return sorted(near, key=lambda one: abs(one.input_bytes - input_bytes))[:SIMILAR]


def _scale(known: CostRecord, input_bytes: int) -> float:
    """Return how much larger an input is than a known one, within bounds."""
    ratio = (input_bytes + 1) / (known.input_bytes + 1)
    return min(max(ratio, 1 / MAX_SCALE), MAX_SCALE)
