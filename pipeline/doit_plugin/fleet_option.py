"""Several jobs that build one project together: `--shard` and `--require-cached`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doit.exceptions import InvalidCommand, InvalidDodoFile

from pipeline.setting import SettingError, is_set

if TYPE_CHECKING:
    from pipeline.build.shard import Shard
    from pipeline.session import Session


def parse_shard(text: str) -> Shard | None:
    """Read a shard; imported late, because most runs have none."""
    from pipeline.build import shard

    return shard.parse_shard(text) if text else None


opt_shard = {
    "name": "shard",
    "long": "shard",
    "type": parse_shard,
    "default": None,
    "help": "build one share of several, such as 3/8; durations decide, the same for all jobs",
}
opt_require_cached = {
    "name": "require_cached",
    "long": "require-cached",
    "type": bool,
    "default": False,
    "help": "encode nothing: restore from the caches, and fail where they lack a result",
}
FLEET_OPTIONS: tuple[dict[str, Any], ...] = (opt_shard, opt_require_cached)


def refuse_contradictions(
    always: bool, shard: Shard | None, require_cached: bool, executor: str
) -> None:
    """Refuse options that cannot be meant together."""
    if require_cached and (always or shard is not None or executor == "dask"):
        other = "--always" if always else f"--shard {shard}" if shard else "--executor dask"
        raise InvalidCommand(f"--require-cached encodes nothing, and {other} does; leave one out")
    if always and shard is not None:
        raise InvalidCommand("--shard builds what no cache has, and --always everything")


def known_durations(session: Session) -> Mapping[str, float]:
    """Return the durations of nodes that all jobs know: those of the published snapshot.

    Those in the state of this machine are no use, because every machine has others.
    """
    root = session.project.root
    try:
        if not is_set(root, "remote_cache"):
            return {}
        from pipeline.build.snapshot import known_durations
        from pipeline.cache.shared.shared_cache import open_shared
        from pipeline.cache.shared.snapshot import DEFAULT_NAME

        shared = open_shared(root)
    except SettingError as error:
        raise InvalidDodoFile(str(error)) from None
    if shared is None:
        return {}
    try:
        return known_durations(shared, DEFAULT_NAME)
    finally:
        shared.close()


def leave_durations(session: Session, shard: Shard) -> None:
    """Leave what the nodes of this shard took, for the snapshot that all jobs end in."""
    shared, build = session.shared, session.build
    if shared is None or build is None or not shared.takes_uploads:
        return
    from pipeline.build.event import BUILT
    from pipeline.build.snapshot import publish_durations

    events = build.log.nodes.values()
    publish_durations(
        shared, shard.number, {one.task: one.seconds for one in events if one.outcome == BUILT}
    )
