"""Several jobs that build one project together: `--shard` and `--require-cached`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doit.exceptions import InvalidCommand, InvalidDodoFile

from pipeline.disk.file import read_if_there
from pipeline.doit_plugin.checkout import checked_out_commit
from pipeline.setting import SettingError, find_switch, is_set

LFS = b"filter=lfs"  # in .gitattributes: other machines may have pointers instead of files

if TYPE_CHECKING:
    from pipeline.build.shard import Shard
    from pipeline.cache.shared.shared_cache import SharedCache
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
opt_from_pointers = {
    "name": "from_pointers",
    "long": "from-pointers",
    "type": bool,
    "default": False,
    "help": "take Git LFS pointers for the files they stand for, whose results the caches have",
}
FLEET_OPTIONS: tuple[dict[str, Any], ...] = (
    opt_shard,
    opt_require_cached,
    opt_from_pointers,
)


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
        from pipeline.build.duration import known_durations
        from pipeline.cache.shared.shared_cache import open_shared
        from pipeline.cache.shared.snapshot import snapshot_name

        shared, name = open_shared(root), snapshot_name(root)
    except SettingError as error:
        raise InvalidDodoFile(str(error)) from None
    if shared is None:
        return {}
    try:
        return known_durations(shared, name)
    finally:
        shared.close()


def exchange_surveys(session: Session, from_pointers: bool) -> None:
    """Let surveys come from other machines for pointers, and go to them where these may have some.

    The shared cache is opened here already, because surveys come before anything is built.
    """
    project = session.project
    try:
        project.from_pointers = from_pointers or find_switch(project.root, "from_pointers", False)
        has_lfs = LFS in (read_if_there(f"{project.root}/.gitattributes") or b"")
        if not (project.from_pointers or has_lfs):
            return
        session.shared = open_shared_cache(session)
    except SettingError as error:
        project.close()
        raise InvalidDodoFile(str(error)) from None
    from pipeline.plan.survey_exchange import SurveyExchange

    project.survey_exchange = SurveyExchange(project.cache, session.shared)


def open_shared_cache(session: Session) -> SharedCache | None:
    """Open the shared cache of a run, if one is set."""
    project = session.project
    if not is_set(project.root, "remote_cache"):
        return None
    from pipeline.cache.shared.pending import Pending
    from pipeline.cache.shared.shared_cache import open_shared

    pending = Pending(f"{project.private}/uploads", project.scratch)
    shared = open_shared(project.root, pending, f"{project.private}/packs")
    if shared is not None:
        shared.timeline = project.timeline
    return shared


def leave_durations(session: Session, shard: Shard) -> None:
    """Leave what the nodes of this shard took, for the snapshot that all jobs end in."""
    shared, build = session.shared, session.build
    if shared is None or build is None or not shared.takes_uploads:
        return
    from pipeline.build.duration import publish_durations
    from pipeline.build.event import BUILT

    built = {one.task: one.seconds for one in build.log.nodes.values() if one.outcome == BUILT}
    publish_durations(shared, shard.number, checked_out_commit(session.project.root), built)
