"""The worker's end: check that this process fits the driver, then encode a batch.

A worker reads inputs by digest from the shared cache, calls encoders as any build does, and
uploads blobs first and the result that names them last, so that no other machine ever sees half
of a result. Several threads of one worker process may run at the same time.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import perf_counter, thread_time

from distributed import get_worker

from pipeline.build.dask.compatibility import differences, own_version
from pipeline.build.dask.input_bundle import unpack_bundle
from pipeline.build.dask.message import (
    Batch,
    BatchReply,
    Failed,
    JobMessage,
    JobReply,
    MessageError,
    Missing,
    Refusal,
    Stored,
    Unshareable,
    WorkerName,
    make_refusal,
    pack_reply,
    unpack_batch,
)
from pipeline.build.job import Job, Result
from pipeline.build.work import encode, failure
from pipeline.cache.shared.action_result import can_travel
from pipeline.cache.shared.shared_cache import SharedCache, open_shared
from pipeline.content.code import Code, Suffixes, changed_since, load_function
from pipeline.content.target_error import describe_error
from pipeline.process.worker import prepare_process
from pipeline.setting import SettingError, variable_of

PUBLISH_ATTEMPTS = 20
KEPT_INPUT_BYTES = 1 << 28  # of inputs that a worker process keeps in memory


class UnfitError(Exception):
    """The batch cannot be done by this worker, though another may do it."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__(*reasons)


class InputCache:
    """Inputs by digest, the latest in memory: many jobs may read the same large scene."""

    def __init__(self, shared: SharedCache) -> None:
        self.shared = shared
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, sha: str) -> bytes | None:
        """Return the bytes that have this digest; None where the shared cache lacks them."""
        with self._lock:
            if sha in self._kept:
                self._kept.move_to_end(sha)
                return self._kept[sha]
        # Without the lock: two threads may fetch the same blob, but none waits for another's.
        data = self.shared.blob(sha)
        if data is not None:
            self._keep(sha, data)
        return data

    def _keep(self, sha: str, data: bytes) -> None:
        with self._lock:
            # Another thread may have fetched it meanwhile; counted twice, it would never be freed.
            if sha not in self._kept:
                self._kept[sha] = data
                self._size += len(data)
            while self._size > KEPT_INPUT_BYTES:
                _, dropped = self._kept.popitem(last=False)
                self._size -= len(dropped)


class WorkerState:
    """What a worker process keeps between batches: its code as first seen, and its inputs."""

    def __init__(self) -> None:
        # A worker has no terminal of the user's: the warnings go to the log of Dask's worker.
        for warning in prepare_process(os.getcwd()):
            logging.getLogger(__name__).warning(warning)
        self.code = Code()
        self.inputs = InputCache(open_writable_cache())
        self._lock = threading.Lock()

    @property
    def shared(self) -> SharedCache:
        """The shared cache; one that was given up in an earlier build is opened again."""
        with self._lock:
            if not self.inputs.shared.takes_uploads:
                self.inputs.shared = open_writable_cache()
            return self.inputs.shared

    def code_of(
        self, encoder: str, suffixes: Suffixes, table: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return the texts of an encoder's code, or raise UnfitError where it is not the driver's.

        The process keeps what it once imported, so code that has changed on disk since is
        refused even where it is the driver's now.
        """
        with self._lock:
            reasons = differences(table, self.code.table(encoder, suffixes))
            # Loaded before texts are compared: an import now reads what is on disk now, which may
            # already differ from what the table was made from.
            if not reasons:
                with suppress(Exception):  # a failing import is the failure of each job
                    load_function(encoder)
                reasons = [
                    f"{name}: changed on disk since the worker started"
                    for name in changed_since(self.code.texts(encoder, suffixes))
                ]
            if reasons:
                raise UnfitError(*reasons)
            return self.code.texts(encoder, suffixes)


def open_writable_cache() -> SharedCache:
    """Open the shared cache that the worker's own settings name, or raise UnfitError."""
    try:
        shared = open_shared(os.getcwd())
    except SettingError as error:
        raise UnfitError(str(error)) from None
    if shared is None:
        raise UnfitError(f"{variable_of('remote_cache')} is not set there")
    if not shared.takes_uploads:
        raise UnfitError(f"{variable_of('remote_write')} is not set there")
    return shared


_state: WorkerState | None = None
_state_lock = threading.Lock()


def worker_state() -> WorkerState:
    """Return the state of this process, made on the first call."""
    global _state  # noqa: PLW0603 - a process has one state, whichever thread comes first
    with _state_lock:
        if _state is None:
            _state = WorkerState()
        return _state


def do_batch(version: str, message: bytes) -> bytes:
    """Do the jobs of a packed batch for a driver of this version; return a packed reply.

    An exception would travel as a pickle, so whatever goes wrong here is a refusal.
    """
    worker = _own_name()
    try:
        # First, because another version may pack another kind of message.
        if own_version() != version:
            raise UnfitError(f"cartwright: {own_version()} there, {version} here")
        reply: BatchReply | Refusal = BatchReply(worker, _do_all(unpack_batch(message)))
    except UnfitError as error:
        reply = make_refusal(worker, error.reasons)
    except MessageError as error:
        reply = make_refusal(worker, [f"it cannot read the driver's message: {error}"])
    except Exception as error:
        reply = make_refusal(worker, [describe_error(error)])
    return pack_reply(reply)


def _own_name() -> WorkerName:
    worker = get_worker()
    address, name = str(worker.address), str(worker.name)
    try:
        return WorkerName(address, name)
    except ValueError:
        return WorkerName(address, address)


def _do_all(batch: Batch) -> tuple[JobReply, ...]:
    state = worker_state()
    shared = state.shared
    # Before any job runs: one encoder that does not fit refuses the batch as a whole.
    read_by = {one.code_key: (one.encoder, one.suffixes) for one in batch.jobs}
    code = {key: state.code_of(*read_by[key], batch.code[key]) for key in read_by}
    jobs = [one.job(code[one.code_key]) for one in batch.jobs]
    bundled: Mapping[str, bytes] = {}
    if batch.bundle is not None:
        data = shared.blob(batch.bundle)
        if data is None:
            # A cache that can't be reached lacks everything, which is not the driver's fault.
            _check(shared)
            return tuple(Missing((batch.bundle,)) for _ in jobs)
        bundled = unpack_bundle(data)

    def read(sha: str) -> bytes | None:
        return bundled[sha] if sha in bundled else state.inputs.read(sha)

    pairs = zip(batch.jobs, jobs, strict=True)
    return tuple(_do(message, job, read, shared) for message, job in pairs)


def _do(
    message: JobMessage, job: Job, read: Callable[[str], bytes | None], shared: SharedCache
) -> JobReply:
    began, cpu_began = perf_counter(), thread_time()
    wanted = {name: sha for name, sha in sorted(message.inputs.items()) if sha is not None}
    inputs = {name: data for name, sha in wanted.items() if (data := read(sha)) is not None}
    if len(inputs) < len(wanted):
        _check(shared)  # as above
        return Missing(tuple(sha for name, sha in wanted.items() if name not in inputs))
    try:
        receipt, outputs = encode(job, inputs)
    # An encoder or a library of its may call sys.exit, which must not end the worker.
    except (Exception, SystemExit) as error:
        return _failed(failure(job, error), perf_counter() - began, thread_time() - cpu_began)
    if not can_travel(receipt):
        return Unshareable()
    # The driver takes results from the shared cache alone, so this one has to get there.
    for _ in range(PUBLISH_ATTEMPTS):
        if shared.publish(job.fingerprint, receipt, lambda one: outputs[one.role]):
            return Stored(perf_counter() - began, thread_time() - cpu_began)
        _check(shared)
    # Quick answers to other requests keep the breaker closed, so it does not end this.
    raise UnfitError(
        f"shared cache {shared.address}: it took no result in {PUBLISH_ATTEMPTS} tries"
    )


def _failed(result: Result, seconds: float, cpu_seconds: float) -> JobReply:
    error = result.error
    assert error is not None
    facts = dict(error.facts)
    try:
        return Failed(error.problem, facts, error.hint, result.traceback, seconds, cpu_seconds)
    except ValueError:  # no message can hold it: the driver gets it by doing the job
        return Unshareable()


def _check(shared: SharedCache) -> None:
    """Raise UnfitError when the shared cache can no longer be used from here."""
    if not shared.takes_uploads:
        reason = shared.no_uploads if shared.is_on else shared.breaker.reason
        raise UnfitError(f"shared cache {shared.address}: {reason}")
