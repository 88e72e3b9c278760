"""`doit verify`: encode nodes again and compare them with the cache. Writes no output."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from doit.exceptions import InvalidCommand

from encoders.kit.error import EncodeError
from encoders.kit.plan import Product
from pipeline.build.build import Build
from pipeline.build.job import Job
from pipeline.build.verify import (
    DIFFERS,
    FAILED,
    NOT_CACHED,
    SAME,
    Verified,
    verify_job,
)
from pipeline.build.work import close_tools
from pipeline.cache.local import Cache
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session, survey_in_parallel
from pipeline.doit_plugin.user_error import unknown_name, user_errors_as_doit_errors
from pipeline.inquiry import Inquiry, UnknownTaskError
from pipeline.process.capacity import cores
from pipeline.process.pool import Pool
from pipeline.process.worker import prepare_process
from pipeline.report.message import describe_failure
from pipeline.session import Session
from pipeline.setting import SettingError
from pipeline.size import count_of
from pipeline.task_name import stem_of

POOL_FROM = 8  # with fewer nodes, starting workers takes longer than it saves
FETCHES_AT_ONCE = 16
opt_shared = {
    "name": "shared",
    "long": "shared",
    "type": bool,
    "default": False,
    "help": "compare with the shared cache instead of this machine's",
}


class Verify(PlainCommand):
    """Prints which nodes are not reproducible, and what differs."""

    name = "verify"
    doc_purpose = "encode again and compare with the cache"
    doc_usage = "[TASK or TARGET ...]"
    doc_description = (
        "Encodes nodes again and compares the bytes with what the cache holds for the same key. "
        "No output is written. Exits with 1 where bytes differ or a node fails."
    )
    cmd_options = (opt_shared,)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Verify, and print what differs."""
        session = open_session()
        try:
            with user_errors_as_doit_errors():
                found = verify(session, pos_args, opt_values["shared"])
        finally:
            close_tools()
            session.project.close()
        for one in found:
            if one.outcome in (DIFFERS, FAILED):
                print("\n".join(shown_lines(one)))
        counts = Counter(one.outcome for one in found)
        words = [f"{counts[word]:,} {word}" for word in (SAME, DIFFERS, NOT_CACHED, FAILED)]
        print(f"{count_of(len(found), 'node')}: {', '.join(one for one in words if one[0] != '0')}")
        return 1 if counts[DIFFERS] or counts[FAILED] else 0


def shown_lines(one: Verified) -> list[str]:
    """Return what to print of a node that differs or failed."""
    if one.error is not None:
        return [describe_failure(one.task, None, one.error)]
    return [f"{one.task}  differs", *(f"  {difference}" for difference in one.differences)]


def verify(session: Session, names: Sequence[str], is_shared: bool) -> list[Verified]:
    """Encode nodes again and compare them with a cache."""
    in_parallel = survey_in_parallel(session.project.root)
    try:
        with Inquiry(session).looking_at(names, in_parallel) as (build, tasks):
            build.encode_again = True  # nothing is restored instead
            prepare_process(session.project.root)
            if not is_shared:
                return _verify_all(build, tasks, session.project.cache.folder)
            return _verify_shared(session, build, tasks)
    except UnknownTaskError as error:
        known = {*session.targets(), *session.targets().values(), *session.all_tasks()}
        raise unknown_name(str(error), "is no task, manifest or target", known) from None


def _verify_shared(session: Session, build: Build, tasks: Sequence[str]) -> list[Verified]:
    """Fetch results into a folder of their own, so that those of this machine play no part."""
    from pipeline.cache.shared.shared_cache import open_shared

    try:
        shared = open_shared(session.project.root)
    except SettingError as error:
        raise InvalidCommand(str(error)) from None
    if shared is None:
        raise InvalidCommand("verify --shared: no shared cache is set (CARTWRIGHT_REMOTE_CACHE)")
    folder = f"{session.project.scratch}/verify"
    cache = Cache(folder)
    try:
        jobs = [job for job in map(build.prepare, tasks) if isinstance(job, Job)]
        with ThreadPoolExecutor(FETCHES_AT_ONCE) as threads:
            list(threads.map(lambda job: shared.fetch(job.fingerprint, job.outputs, cache), jobs))
        cache.close()
        if not shared.is_on:
            raise InvalidCommand(f"verify --shared: {shared.breaker.reason}")
        return _verify_all(build, tasks, folder)
    finally:
        shared.close()
        shutil.rmtree(folder, ignore_errors=True)


def _verify_all(build: Build, tasks: Sequence[str], folder: str) -> list[Verified]:
    state = build.project.state
    targets = {stem: state.planned_manifest(stem).target for stem in set(map(stem_of, tasks))}
    done: dict[str, Verified] = {}

    def calls() -> Iterator[tuple[Job, str, str]]:
        for task in tasks:
            job = build.prepare(task)
            if isinstance(job, Job):
                yield job, folder, targets[stem_of(task)]
            elif _lacks_inputs(build, task):
                done[task] = Verified(task, NOT_CACHED)
            else:  # it could not be planned
                done[task] = Verified(task, FAILED, error=job.error)

    for one in _answers(calls(), len(tasks), build.project.root):
        done[one.task] = one
    left = (task for task in tasks if task not in done)
    died = EncodeError("the worker process died")
    done |= {task: Verified(task, FAILED, error=died) for task in left}
    return [done[task] for task in tasks]


def _lacks_inputs(build: Build, task: str) -> bool:
    """Tell whether a node reads what no node has made yet, so that it was never built either."""
    planned = build.nodes.planned(task)
    inputs = planned.node.inputs.values() if planned else ()
    made = build.nodes.digests_in(stem_of(task))
    return any(isinstance(one, Product) and made(one.node) is None for one in inputs)


def _answers(calls: Iterator[tuple[Job, str, str]], count: int, root: str) -> Iterator[Verified]:
    if count < POOL_FROM or cores() == 1:
        yield from (verify_job(*one) for one in calls)
        return
    pool = Pool(cores(), root, close_tools)
    try:
        yield from (one for one in pool.map(verify_job, calls) if isinstance(one, Verified))
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.close()
