"""`doit snapshot publish` and `doit snapshot fetch`: the outputs of a build without building."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.build.duration import known_durations, merge_durations, shard_durations
from pipeline.build.fetch_snapshot import fetch_snapshot
from pipeline.build.snapshot import publish_snapshot
from pipeline.cache.shared.shared_cache import SharedCache, open_shared
from pipeline.cache.shared.snapshot import (
    Snapshot,
    SnapshotError,
    check_name,
    get_named,
    snapshot_name,
    unpack_snapshot,
)
from pipeline.doit_plugin.checkout import checked_out_commit, clean_commit, find_commit
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session, survey_in_parallel
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors
from pipeline.inquiry import Inquiry
from pipeline.project_root import find_root_above, is_root
from pipeline.report.message import describe_failure
from pipeline.session import Session
from pipeline.setting import SettingError
from pipeline.size import format_bytes
from pipeline.typed_command import typed

PUBLISH, FETCH = "publish", "fetch"
opt_name = {
    "name": "name",
    "long": "name",
    "type": str,
    "default": "",
    "help": "the name that is published, beside that of the commit; main without another",
}


class SnapshotCommand(PlainCommand):
    """Publishes the outputs of the last build, or fetches those of another's."""

    name = "snapshot"
    doc_purpose = "publish the outputs of a build in the shared cache, or fetch them"
    doc_usage = "publish [--name NAME] | fetch [NAME or COMMIT] [TARGET ...]"
    doc_description = (
        "`publish` puts the outputs of the build and the list of them into the shared cache, under "
        "a name and under the commit. `fetch` writes the outputs of a snapshot that differ from "
        "what is there, without sources and without encoders; `doit` goes on from there."
    )
    cmd_options = (opt_name,)
    needs_project = False  # to fetch, an empty folder will do

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Publish or fetch."""
        word, *rest = pos_args or [""]
        if word not in (PUBLISH, FETCH) or (word == PUBLISH and rest):
            raise InvalidCommand(f"snapshot: {self.doc_usage}")
        here = os.getcwd()
        root = None if is_root(here) else find_root_above(here)
        if root:
            raise InvalidCommand(f"snapshot: change to {root} and run it there")
        session = open_session()
        try:
            with user_errors_as_doit_errors(), _opened(session) as shared:
                if word == PUBLISH:
                    publish(session, shared, opt_values["name"])
                else:
                    with _keeping_everything():
                        fetch(session, shared, rest)
        except SettingError as error:
            raise InvalidCommand(str(error)) from None
        except SnapshotError as error:
            print(describe_failure("snapshot", None, error))
            return 1
        finally:
            session.project.close()
        return 0


@contextmanager
def _opened(session: Session) -> Iterator[SharedCache]:
    """Open the shared cache, which a snapshot cannot do without."""
    project = session.project
    try:
        shared = open_shared(project.root, None, f"{project.private}/packs")
    except SettingError as error:
        raise InvalidCommand(str(error)) from None
    if shared is None:
        raise InvalidCommand("snapshot: no shared cache is set (CARTWRIGHT_REMOTE_CACHE)")
    try:
        yield shared
    finally:
        shared.close()


@contextmanager
def _keeping_everything() -> Iterator[None]:
    """Collect no garbage: a list of 100,000 files lives to the end, and is scanned for nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def publish(session: Session, shared: SharedCache, name: str) -> None:
    """Publish what is built, which has to be everything."""
    name = check_name("--name", name) if name else snapshot_name(session.project.root)
    if not shared.takes_uploads:
        raise InvalidCommand("snapshot publish: set CARTWRIGHT_REMOTE_WRITE=1")
    commit = clean_commit(session.project.root)
    in_parallel = survey_in_parallel(session.project.root)
    with Inquiry(session).looking_at([], in_parallel) as (build, tasks):
        if build.dirty:
            raise InvalidCommand(
                f"snapshot publish: {len(build.dirty):,} nodes are not up to date; run doit first"
            )
        names = [name, commit] if commit else [name]
        durations = durations_to_publish(session, shared, name)
        snapshot = publish_snapshot(build, tasks, shared, names, commit, durations)
    count = sum(1 for node in snapshot.nodes for one in node.files if one.path)
    sent = format_bytes(shared.client.bytes_up)
    also = f" and {commit[:12]}" if commit else ""
    print(f"{count:,} files published as {name}{also}, {sent} sent")


def durations_to_publish(session: Session, shared: SharedCache, name: str) -> dict[str, float]:
    """Return what nodes take, as far as an earlier snapshot, shards or this machine know."""
    left = shard_durations(shared, checked_out_commit(session.project.root))
    own = {task: one.seconds for task, one in session.project.state.costs().items()}
    return merge_durations(known_durations(shared, name), own | left)


def fetch(session: Session, shared: SharedCache, words: Sequence[str]) -> None:
    """Fetch a snapshot into the working folder."""
    name = words[0] if words else snapshot_name(session.project.root)
    snapshot = find_snapshot(session.project.root, shared, name)
    known = {*snapshot.manifests, *snapshot.manifests.values()}
    unknown = [word for word in words[1:] if word not in known]
    if unknown:
        there = ", ".join(sorted(known))
        raise InvalidCommand(f"snapshot fetch: {unknown[0]}: no such target in it; it has {there}")
    session.project.lock.acquire()
    done = fetch_snapshot(session.project, shared, snapshot, words[1:])
    down = format_bytes(shared.client.bytes_down)
    removed = f", {done.removed:,} removed" if done.removed else ""
    print(f"{done.files:,} files of {name}: {done.written:,} written{removed}, {down} fetched")
    for path in done.displaced:
        print(f"a file that was not Cartwright's was in the way, and is now {path}")


def find_snapshot(root: str, shared: SharedCache, name: str) -> Snapshot:
    """Return the snapshot of a name or a commit, which may be abbreviated in a checkout."""
    data = get_named(shared, name)
    if data is None and shared.is_on:
        commit = find_commit(root, name)
        data = get_named(shared, commit) if commit else None
    if data is not None:
        return unpack_snapshot(data)
    facts = {"name": name, "cache": str(shared.address)}
    problem = shared.breaker.reason or shared.breaker.first_problem
    if problem:
        raise SnapshotError("the shared cache cannot be used", facts | {"because": problem})
    raise SnapshotError("no such snapshot", facts, f"{typed('snapshot publish')} makes one.")
