"""Durations that several jobs know: from the last snapshot, and from the shards of one night.

Shards divide nodes by the durations of the last snapshot. While they start, another pipeline may
publish the next one, so a published duration stays until a node takes twice or half as long: jobs
that read one or the other divide the nodes that both have alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.build.shard import MOST_SHARDS
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.snapshot import (
    Snapshot,
    SnapshotError,
    SnapshotNode,
    get_named,
    pack_snapshot,
    put_named,
    unpack_snapshot,
)

SAME_RATIO, SAME_SECONDS = 2.0, 0.01  # durations that differ by less are published as they were


def known_durations(shared: SharedCache, name: str) -> dict[str, float]:
    """Return the durations that a snapshot has; the same for all who ask."""
    return _read_durations(shared, name) or {}


def _read_durations(shared: SharedCache, name: str) -> dict[str, float] | None:
    try:
        data = get_named(shared, name)
        snapshot = unpack_snapshot(data) if data is not None else None
    except SnapshotError:  # the build does without
        return None
    if snapshot is None:
        return None
    return {one.task: one.seconds for one in snapshot.nodes if one.seconds >= 0}


def merge_durations(before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    """Return what is known now, and of nodes that take much the same what was known before."""
    return {**before, **{task: _steady(before.get(task), one) for task, one in now.items()}}


def _steady(before: float | None, now: float) -> float:
    if before is None:
        return now
    is_near = before / SAME_RATIO <= now <= before * SAME_RATIO
    return before if is_near or abs(now - before) <= SAME_SECONDS else now


def shard_name(number: int, commit: str) -> str:
    """Return the name under which a shard of a commit leaves its durations."""
    return f"durations of shard {number} of {commit}"


def publish_durations(
    shared: SharedCache, number: int, commit: str, durations: Mapping[str, float]
) -> None:
    """Leave the durations of a shard for the snapshot that its night ends with."""
    nodes = [SnapshotNode(task, "", [], [], [], one) for task, one in sorted(durations.items())]
    put_named(shared, [shard_name(number, commit)], pack_snapshot(Snapshot({}, nodes, [], commit)))


def shard_durations(shared: SharedCache, commit: str) -> dict[str, float]:
    """Return the durations that the shards of a commit have left."""
    found: dict[str, float] = {}
    for number in range(1, MOST_SHARDS + 1):
        durations = _read_durations(shared, shard_name(number, commit))
        if durations is None:
            break
        found |= durations
    return found
