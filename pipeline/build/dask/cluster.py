"""The executor on a Dask cluster: the driver's end.

Jobs that the caches have are restored here. The others go to workers in batches, once the shared
cache has their inputs; a worker stores its results there, and the driver fetches them into the
local cache and writes the files as for any restored job.

Threads: the main thread alone decides what is sent, requeued or given up, and raises ClusterError.
Background threads upload, send and fetch, and report to it through `_inbox`.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import perf_counter, thread_time
from typing import Any, TypeAlias
from warnings import filterwarnings

from distributed import CancelledError, Future, KilledWorker

from encoders.kit.error import EncodeError
from encoders.kit.warning import grouped
from pipeline.build.dask.batching import LINGER_SECONDS, Batching
from pipeline.build.dask.compatibility import own_version
from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.input_bundle import InputBundle
from pipeline.build.dask.input_store import InputStore
from pipeline.build.dask.local_cluster import LocalScheduler
from pipeline.build.dask.message import (
    Batch,
    Failed,
    JobReply,
    MessageError,
    Missing,
    Refusal,
    Stored,
    WorkerName,
    code_key,
    pack_batch,
    unpack_reply,
)
from pipeline.build.dask.remote_job import RemoteJob
from pipeline.build.dask.scheduler import Scheduler
from pipeline.build.dask.wakeable_queue import WakeableQueue
from pipeline.build.dask.worker import do_batch
from pipeline.build.dask.workers import CONTACT_SECONDS, Workers
from pipeline.build.event import BUILT, FAILED, MISSING_INPUTS
from pipeline.build.job import Job, Result
from pipeline.build.work import do_job, failure, process_name, restore_job, tools_for
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.content.code import Suffixes

ROOM, ROOM_PER_THREAD = 512, 64
BACKGROUND_THREADS = 8
TICK_SECONDS = 1.0
RESULT_SECONDS = 30.0  # a reply is small, but the worker that has it may be dying
ATTEMPTS = 3
SAME_EVERYWHERE = "Install the same Cartwright on the scheduler and on every worker."

# What became of a job. Beside a result: the worker refused it or died, or (None) send it again.
Event: TypeAlias = "Result | Refusal | BaseException | None"


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch in flight, and the workers that may do it; None for any."""

    future: Future
    jobs: Sequence[RemoteJob]
    batch: Batch
    workers: list[str] | None


class Cluster:
    """Does jobs on the workers of a Dask cluster; satisfies `Waitable` of `lookup.py`.

    `code_table` returns the digests and versions that decide what an encoder does. Refused
    workers are added to `warnings` at the end.
    """

    def __init__(
        self,
        scheduler: Scheduler | LocalScheduler,
        shared: SharedCache,
        code_table: Callable[[str, Suffixes], Mapping[str, str]],
        warnings: list[str],
    ) -> None:
        self._client = scheduler.connect()
        self._workers = Workers(self._client, scheduler.address, scheduler.wait_seconds)
        self._shared, self._inputs, self._batching = shared, InputStore(shared), Batching()
        self._code_table, self._warnings = code_table, warnings
        self._threads = ThreadPoolExecutor(BACKGROUND_THREADS, "cartwright-cluster")
        self._inbox: WakeableQueue[tuple[Sequence[RemoteJob], Event]] = WakeableQueue()
        self._pending: list[RemoteJob] = []
        self._pending_since = 0.0
        self._suspects: deque[RemoteJob] = deque()
        self._is_suspect_in_flight = False
        # Filled by background threads and emptied by several: whoever pops a batch has it.
        self._in_flight: dict[str, SentBatch] = {}
        self._code_tables: dict[str, dict[str, str]] = {}
        self._unanswered = 0
        self._next_refresh = 0.0
        self._is_closed = False

    # The executor: called by the main thread.

    @property
    def has_room(self) -> bool:
        """Tell whether another job should be submitted before an answer is taken."""
        return self._unanswered < ROOM + ROOM_PER_THREAD * self._workers.threads

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return self._unanswered > 0

    def submit(self, key: Any, function: Callable[..., Any], job: Job) -> None:  # noqa: ARG002
        """Queue a job; workers do it in their own way, so `function` is not called."""
        code = code_key(job.encoder, job.suffixes)
        if code not in self._code_tables:
            self._code_tables[code] = dict(self._code_table(job.encoder, job.suffixes))
        if not self._unanswered:
            self._workers.begin_waiting()
        self._queue([RemoteJob(key, job)])
        self._unanswered += 1

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for the next answer; raise ClusterError when none can come."""
        answer = self.answer_or_wake(None)
        assert answer is not None
        return answer

    def answer_or_wake(self, wake: Connection | None) -> tuple[Any, Any] | None:
        """Wait for an answer; None where `wake` has something to read first."""
        while True:
            self._send_due()
            if time.monotonic() >= self._next_refresh:
                self._refresh_workers()
            timeout = LINGER_SECONDS if self._pending else TICK_SECONDS
            received = self._inbox.get(timeout, wake)
            if received is None:
                if wake is not None and wake.poll():
                    return None
                continue
            jobs, event = received
            if isinstance(event, Result):
                self._unanswered -= 1
                self._note_returned(jobs)
                return jobs[0].key, event
            self._handle_undone(jobs, event)

    def close(self) -> None:
        """Disconnect from the cluster, and warn of the workers that were refused."""
        if not self._is_closed:
            refusals = self._workers.refusals()
            self._warnings += [grouped("cluster", one) for one in refusals]
            self._disconnect()

    def abandon(self) -> None:
        """End without waiting for calls that are under way; the scheduler drops them."""
        self.close()

    def kill(self) -> None:
        """Cancel all batches in flight, and disconnect from the cluster."""
        # Ctrl-C may interrupt a call to the scheduler that Dask has not begun: no news to the user.
        filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        sent, self._in_flight = self._in_flight, {}
        with suppress(Exception):  # a scheduler that is gone drops them with our connection
            self._client.cancel([one.future for one in sent.values()])
        self._disconnect()

    def _disconnect(self) -> None:
        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=CONTACT_SECONDS)

    # Decisions: made by the main thread.

    def _queue(self, jobs: Iterable[RemoteJob]) -> None:
        if not self._pending:
            self._pending_since = time.monotonic()
        self._pending += jobs

    def _send_due(self) -> None:
        """Send the pending jobs when they are due, and the next suspect."""
        # One suspect at a time, in a batch of its own: if a worker dies again, it is the culprit.
        if self._suspects and not self._is_suspect_in_flight:
            self._is_suspect_in_flight = True
            self._in_background(self._dispatch, [self._suspects.popleft()])
        if not self._pending:
            return
        threads, waited = self._workers.threads, time.monotonic() - self._pending_since
        in_flight = self._unanswered - len(self._pending)
        if self._batching.is_due(self._pending, in_flight, threads, waited):
            pending, self._pending = self._pending, []
            for batch in self._batching.batches(pending, self._unanswered, threads):
                self._in_background(self._dispatch, batch)

    def _refresh_workers(self) -> None:
        """Find out which workers are there, and requeue batches whose workers are all gone."""
        self._workers.refresh()
        self._next_refresh = time.monotonic() + TICK_SECONDS
        for key, sent in list(self._in_flight.items()):
            # Without another worker allowed, the scheduler would keep such a batch for ever. It
            # may have come back at this very moment: then the pop finds nothing.
            if self._workers.are_gone(sent.workers) and self._in_flight.pop(key, None) is not None:
                sent.future.cancel()
                self._inbox.put((sent.jobs, None))

    def _handle_undone(self, jobs: Sequence[RemoteJob], event: Event) -> None:
        """Decide about jobs that came back without a result."""
        if isinstance(event, KilledWorker):
            self._suspect(jobs, event)
            return
        if isinstance(event, Refusal):
            self._workers.refuse(event.worker.address, event.reasons)
            self._refresh_workers()
        elif isinstance(event, BaseException):
            raise event
        self._note_returned(jobs)
        self._queue(one for one in jobs if not one.is_suspect)
        self._suspects.extendleft(one for one in jobs if one.is_suspect)

    def _note_returned(self, jobs: Sequence[RemoteJob]) -> None:
        if jobs[0].is_suspect:  # it travels alone, so the first job tells
            self._is_suspect_in_flight = False

    def _suspect(self, jobs: Sequence[RemoteJob], death: KilledWorker) -> None:
        """Try the jobs of a worker that died one by one: most of them are innocent."""
        self._note_returned(jobs)
        for one in jobs:
            one.attempts += one.is_suspect
            one.is_suspect = True
            if one.attempts < ATTEMPTS:
                self._suspects.append(one)
            else:
                last = getattr(death.last_worker, "address", "")
                problem = EncodeError(
                    "every worker that tried it died",
                    {"last worker": last} if last else {},
                    "Its memory may not suffice.",
                )
                self._inbox.put(([one], Result(FAILED, error=problem)))

    # Sending and fetching: done by background threads.

    def _in_background(self, function: Callable[..., None], *arguments: Any) -> None:
        def run() -> None:
            try:
                function(*arguments)
            except Exception as error:  # the main thread raises it
                self._inbox.put(((), error))

        with suppress(RuntimeError):  # the threads were shut down: nobody waits for this any more
            self._threads.submit(run)

    def _dispatch(self, jobs: Sequence[RemoteJob]) -> None:
        """Restore what the local cache has, upload the inputs of the rest, and send it."""
        ready, bundle = [], InputBundle()
        for one in jobs:
            if self._is_restored(one):
                continue
            try:
                lost = self._inputs.upload_inputs(one, bundle)
            except EncodeError as error:  # a source that no encoder may get
                self._inbox.put(([one], failure(one.job, error)))
                continue
            if lost:
                self._inbox.put(([one], Result(MISSING_INPUTS, missing=lost)))
            else:
                ready.append(one)
        if ready:
            self._send(ready, self._inputs.upload_bundle(bundle))

    def _is_restored(self, job: RemoteJob) -> bool:
        if job.job.config.encode_again:
            return False
        began, cpu_began = perf_counter(), thread_time()
        result = restore_job(job.job)
        if result is None:
            return False
        result = result._replace(
            seconds=perf_counter() - began,
            cpu_seconds=thread_time() - cpu_began,
            worker=process_name(),
        )
        self._inbox.put(([job], result))
        return True

    def _send(self, jobs: Sequence[RemoteJob], bundle: str | None) -> None:
        try:
            messages = tuple(one.message() for one in jobs)
            code = {one.code_key: self._code_tables[one.code_key] for one in messages}
            batch = Batch(messages, code, bundle)
            message = pack_batch(batch)
        except (MessageError, RecursionError):
            self._send_in_parts(jobs, bundle)
            return
        workers = self._workers.allowed()
        future = self._client.submit(
            do_batch,
            own_version(),
            message,
            key=f"cartwright-{uuid.uuid4().hex}",
            pure=False,
            workers=workers,
        )
        self._in_flight[future.key] = SentBatch(future, jobs, batch, workers)
        # Last: a callback that ran before would not find the batch.
        future.add_done_callback(self._on_done)

    def _send_in_parts(self, jobs: Sequence[RemoteJob], bundle: str | None) -> None:
        """Send a batch that is too large in halves; do a job here that no message can hold."""
        if len(jobs) == 1:
            self._inbox.put((jobs, do_job(jobs[0].job)))
            return
        middle = len(jobs) // 2
        self._send(jobs[:middle], bundle)
        self._send(jobs[middle:], bundle)

    def _on_done(self, future: Future) -> None:
        """Take a batch out of flight; Dask calls this in a thread of its own."""
        sent = self._in_flight.pop(future.key, None)
        if sent is not None:  # else it was cancelled
            self._in_background(self._receive, sent)

    def _receive(self, sent: SentBatch) -> None:
        try:
            data = sent.future.result(timeout=RESULT_SECONDS)
        except (CancelledError, TimeoutError, OSError):  # the scheduler is gone, and may be back
            self._inbox.put((sent.jobs, None))
            return
        except KilledWorker as error:
            self._inbox.put((sent.jobs, error))
            return
        except Exception as error:
            problem = f"the cluster cannot take the work: {type(error).__name__}: {error}"
            raise ClusterError(f"{problem.strip()}\n{SAME_EVERYWHERE}") from None
        try:
            reply = unpack_reply(data, sent.batch)
        except MessageError as error:
            problem = f"the cluster sent a malformed reply: {error}"
            raise ClusterError(f"{problem}\n{SAME_EVERYWHERE}") from None
        if isinstance(reply, Refusal):
            self._inbox.put((sent.jobs, reply))
            return
        for job, one in zip(sent.jobs, reply.replies, strict=True):
            self._finish(job, one, reply.worker)

    def _finish(self, job: RemoteJob, reply: JobReply, worker: WorkerName) -> None:
        if isinstance(reply, Stored):
            self._batching.note(job.job.encoder, reply.seconds)
            self._fetch(job, reply, worker)
        elif isinstance(reply, Failed):
            result = Result(
                FAILED,
                error=reply.error(),
                traceback=reply.traceback,
                seconds=reply.seconds,
                cpu_seconds=reply.cpu_seconds,
                worker=str(worker),
            )
            self._inbox.put(([job], result))
        elif isinstance(reply, Missing):
            self._blame_for_missing(job, reply, worker)
        else:
            self._inbox.put(([job], do_job(job.job)))

    def _fetch(self, job: RemoteJob, reply: Stored, worker: WorkerName) -> None:
        """Bring a result from the shared cache into the local one, and write its files."""
        sent = job.job_as_sent()
        result = None
        if self._shared.bring(sent.fingerprint, sent.outputs, tools_for(sent.config).cache):
            result = restore_job(sent)
        if result is None:
            problem = "its result does not stay in the shared cache"
            if self._shared.unsigned:
                problem = "its result has no valid signature: the worker needs the driver's key"
            self._try_again(job, problem)
            return
        if result.outcome != FAILED:
            result = result._replace(
                outcome=BUILT,
                seconds=reply.seconds,
                cpu_seconds=reply.cpu_seconds,
                worker=str(worker),
            )
        self._inbox.put(([job], result))

    def _blame_for_missing(self, job: RemoteJob, reply: Missing, worker: WorkerName) -> None:
        """Refuse a worker that does not find inputs which are there; upload the others again."""
        if self._inputs.has_all(reply.digests):
            reason = "it does not find in its shared cache what the driver put there"
            self._inbox.put(([job], Refusal(worker, (reason,))))
        else:
            self._try_again(job, "its inputs do not stay in the shared cache")

    def _try_again(self, job: RemoteJob, problem: str) -> None:
        self._inputs.check()
        job.attempts += 1
        if job.attempts < ATTEMPTS:
            self._inbox.put(([job], None))
        else:
            facts = {"cache": self._shared.address}
            self._inbox.put(([job], Result(FAILED, error=EncodeError(problem, facts))))
