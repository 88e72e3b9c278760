"""The driver's end of a Dask cluster, with the face of a pool of worker processes.

Nodes are restored here where that is possible; the others go out in batches, once the shared
cache has their inputs. What workers made comes back through the shared cache into the local one,
and is put in place like anything restored. Threads carry things to and fro; the main thread alone
decides, and raises ClusterError when there is nobody left to work with.
"""

from __future__ import annotations

import logging
import pickle
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from distributed import CancelledError, Client, Future, KilledWorker

from encoders.kit.error import EncodeError
from pipeline.build.dask.crew import CONTACT_SECONDS, Crew
from pipeline.build.dask.descriptor import Answer, Batch, Refusal, Reply, own_version
from pipeline.build.dask.errand import Errand
from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.mailbox import Mailbox
from pipeline.build.dask.pace import ROUNDS, TARGET_SECONDS, Pace
from pipeline.build.dask.parcel import Parcel
from pipeline.build.dask.stock import Stock
from pipeline.build.dask.worker import do_batch
from pipeline.build.event import BUILT, FAILED, MISSING_INPUTS, RESTORED
from pipeline.build.job import Job, Result
from pipeline.build.work import do_job, restore_job, tools_for
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.content.code import Suffixes

ROOM, ROOM_PER_THREAD = 512, 64
CARRIERS = 8
TICK_SECONDS = 1.0
LINGER_SECONDS = 0.02
RESULT_SECONDS = 30.0  # it is small, but the worker that has it may be dying
ATTEMPTS = 3
LOGGERS = ("distributed", "distributed.client")
SAME_EVERYWHERE = "Install the same Cartwright on the scheduler and on every worker."


@dataclass(frozen=True, slots=True)
class Flight:
    """A batch on its way, and the workers that may do it; None stands for any."""

    future: Future
    errands: Sequence[Errand]
    workers: list[str] | None


class Cluster:
    """Runs jobs on the workers of a Dask cluster; answers come in the order they are ready in."""

    def __init__(
        self,
        address: str,
        shared: SharedCache,
        table: Callable[[str, Suffixes], Mapping[str, str]],
        patience_seconds: float,
        warnings: list[str],
    ) -> None:
        self._client = _connect(address, patience_seconds)
        self._crew = Crew(self._client, address, patience_seconds)
        self._shared, self._stock, self._pace = shared, Stock(shared), Pace()
        self._table, self._warnings = table, warnings
        self._carriers = ThreadPoolExecutor(CARRIERS, "cartwright-carrier")
        self._waiting: list[Errand] = []
        self._suspects: deque[Errand] = deque()
        self._arrivals: Mailbox[tuple[Sequence[Errand], Any]] = Mailbox()
        self._flights: dict[str, Flight] = {}
        self._tables: dict[tuple[str, Suffixes], Mapping[str, str]] = {}
        self._waiting_since = 0.0
        self._up = 0
        self._is_suspect_out = self._is_over = False
        self._next_look = 0.0

    @property
    def has_room(self) -> bool:
        """Tell whether another job should be handed over before an answer is taken."""
        return self._up < ROOM + ROOM_PER_THREAD * self._crew.threads

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is still to come."""
        return self._up > 0

    def submit(self, key: Any, _function: Any, job: Job) -> None:
        """Have a job done; its result will come with the key."""
        self._tables[job.encoder, job.suffixes] = self._table(job.encoder, job.suffixes)
        self._wait([Errand(key, job)])
        self._up += 1

    def next_answer(self) -> tuple[Any, Any]:
        """Wait for a result; raise ClusterError when none can come."""
        answer = self.answer_or_wake(None)
        assert answer is not None
        return answer

    def answer_or_wake(self, bell: Connection | None) -> tuple[Any, Any] | None:
        """Wait for a result; None where the bell has something to read before there is one."""
        while True:
            self._send_out()
            if time.monotonic() >= self._next_look:
                self._look()
            arrival = self._arrivals.get(LINGER_SECONDS if self._waiting else TICK_SECONDS, bell)
            if arrival is None:
                if bell is not None and bell.poll():
                    return None
                continue
            errands, news = arrival
            if isinstance(news, Result):
                self._up -= 1
                self._is_suspect_out &= not errands[0].is_suspect
                return errands[0].key, news
            self._take(errands, news)

    def _take(self, errands: Sequence[Errand], news: Any) -> None:
        """Decide about nodes that came back undone."""
        if isinstance(news, Refusal):
            self._crew.refuse(news)
            self._look()
        elif isinstance(news, KilledWorker):
            self._suspect(errands)
            return
        elif isinstance(news, BaseException):
            raise news
        self._is_suspect_out &= not errands[0].is_suspect
        self._wait(one for one in errands if not one.is_suspect)
        self._suspects.extendleft(one for one in errands if one.is_suspect)

    def _suspect(self, errands: Sequence[Errand]) -> None:
        """Try nodes that were there when workers died one by one: it need not be their fault."""
        for one in errands:
            self._is_suspect_out &= not one.is_suspect
            one.attempts += one.is_suspect
            one.is_suspect = True
            if one.attempts < ATTEMPTS:
                self._suspects.append(one)
            else:
                problem = EncodeError(
                    "every worker that tried it died", hint="Its memory may not suffice."
                )
                self._arrivals.put(([one], Result(FAILED, error=problem)))

    def _send_out(self) -> None:
        """Send what is waiting, when there is enough of it or workers would have nothing to do."""
        if self._suspects and not self._is_suspect_out:
            self._is_suspect_out = True
            self._in_background(self._dispatch, [self._suspects.popleft()])
        if self._waiting and self._is_time():
            waiting, self._waiting = self._waiting, []
            for batch in self._pace.batches(waiting, self._up, self._crew.threads):
                self._in_background(self._dispatch, batch)

    def _is_time(self) -> bool:
        each = self._pace.expected(self._waiting[0].job.encoder)
        full = TARGET_SECONDS * self._crew.threads
        if len(self._waiting) * each >= full:
            return True
        is_enough_out = (self._up - len(self._waiting)) * each > ROUNDS * full
        return not is_enough_out and time.monotonic() - self._waiting_since >= LINGER_SECONDS

    def _wait(self, errands: Iterable[Errand]) -> None:
        if not self._waiting:
            self._waiting_since = time.monotonic()
        self._waiting += errands

    def _look(self) -> None:
        """See who is there, and call back what was meant for workers that are gone."""
        self._crew.look()
        self._next_look = time.monotonic() + TICK_SECONDS
        for key, flight in list(self._flights.items()):
            if self._crew.are_gone(flight.workers) and self._flights.pop(key, None) is not None:
                flight.future.cancel()
                self._arrivals.put((flight.errands, None))

    def _in_background(self, function: Callable[..., None], *arguments: Any) -> None:
        def carry() -> None:
            try:
                function(*arguments)
            except Exception as error:  # the main thread raises it
                self._arrivals.put(((), error))

        with suppress(RuntimeError):  # the build is over, and nobody waits for this any more
            self._carriers.submit(carry)

    def _dispatch(self, errands: Sequence[Errand]) -> None:
        ready, parcel = [], Parcel()
        for one in errands:
            if self._is_restored(one):
                continue
            missing = self._stock.supply(one, parcel)
            if missing:
                self._arrivals.put(([one], Result(MISSING_INPUTS, missing=missing)))
            else:
                ready.append(one)
        if ready:
            self._send(ready, self._stock.put_parcel(parcel))

    def _is_restored(self, errand: Errand) -> bool:
        result = None if errand.job.config.encode_again else restore_job(errand.job)
        if result is not None:
            self._arrivals.put(([errand], result))
        return result is not None

    def _send(self, errands: Sequence[Errand], parcel: str | None) -> None:
        called = {(one.job.encoder, one.job.suffixes) for one in errands}
        code = {one: self._tables[one] for one in sorted(called)}
        message = pickle.dumps(Batch(tuple(one.describe() for one in errands), code, parcel))
        workers = self._crew.chosen()
        future = self._client.submit(
            do_batch,
            own_version(),
            message,
            key=f"cartwright-{uuid.uuid4().hex}",
            pure=False,
            workers=workers,
        )
        self._flights[future.key] = Flight(future, errands, workers)
        future.add_done_callback(self._land)

    def _land(self, future: Future) -> None:
        flight = self._flights.pop(future.key, None)
        if flight is not None:
            self._in_background(self._receive, flight)

    def _receive(self, flight: Flight) -> None:
        try:
            reply = flight.future.result(timeout=RESULT_SECONDS)
        except (CancelledError, TimeoutError, OSError):  # the scheduler is gone, and may be back
            self._arrivals.put((flight.errands, None))
        except KilledWorker as error:
            self._arrivals.put((flight.errands, error))
        except Exception as error:
            problem = f"the cluster cannot take the work: {type(error).__name__}: {error}"
            raise ClusterError(f"{problem.strip()}\n{SAME_EVERYWHERE}") from None
        else:
            self._take_home(flight.errands, reply)

    def _take_home(self, errands: Sequence[Errand], reply: Reply | Refusal) -> None:
        if isinstance(reply, Refusal):
            self._arrivals.put((errands, reply))
            return
        for errand, answer in zip(errands, reply.answers, strict=True):
            if answer.error is not None:
                result = Result(FAILED, error=answer.error, traceback=answer.trace)
                self._arrivals.put(([errand], result))
            elif answer.stays:
                self._arrivals.put(([errand], do_job(errand.job)))
            elif answer.missing:
                self._look_for(errand, answer, reply.worker)
            else:
                self._pace.note(errand.job.encoder, answer.seconds)
                self._fetch(errand)

    def _look_for(self, errand: Errand, answer: Answer, worker: str) -> None:
        """Find out whose fault it is that a worker did not find an input."""
        if self._stock.is_there(answer.missing):
            reason = "it does not find in its shared cache what the driver put there"
            self._arrivals.put(([errand], Refusal(worker, (reason,))))
        else:
            self._try_again(errand, "its inputs do not stay in the shared cache")

    def _fetch(self, errand: Errand) -> None:
        job = errand.final_job()
        result = None
        if self._shared.bring(job.fingerprint, job.outputs, tools_for(job.config).cache):
            result = restore_job(job)
        if result is None:
            self._try_again(errand, "its result does not stay in the shared cache")
            return
        if result.outcome == RESTORED:
            result = result._replace(outcome=BUILT)
        self._arrivals.put(([errand], result))

    def _try_again(self, errand: Errand, problem: str) -> None:
        self._stock.check()
        errand.attempts += 1
        if errand.attempts < ATTEMPTS:
            self._arrivals.put(([errand], None))
        else:
            facts = {"cache": self._shared.address}
            self._arrivals.put(([errand], Result(FAILED, error=EncodeError(problem, facts))))

    def close(self) -> None:
        """Let go of the cluster, and warn of workers that were refused."""
        if not self._is_over:
            self._warnings += self._crew.complaints()
            self._let_go()

    def kill(self) -> None:
        """Call everything back, and let go of the cluster."""
        flights, self._flights = self._flights, {}
        with suppress(Exception):  # who cannot be told finds out when we are gone
            self._client.cancel([flight.future for flight in flights.values()])
        self._let_go()

    def _let_go(self) -> None:
        self._is_over = True
        self._carriers.shutdown(wait=False, cancel_futures=True)
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=CONTACT_SECONDS)


def _connect(address: str, patience_seconds: float) -> Client:
    for name in LOGGERS:  # what there is to say is said by us
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=patience_seconds, set_as_default=False, name="cartwright")
    except (OSError, TimeoutError) as error:
        raise ClusterError(f"{address}: the scheduler cannot be reached") from error
    except ValueError as error:
        raise ClusterError(f"{address}: {error}") from error
