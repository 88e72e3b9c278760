"""What a Dask worker does: see whether it is fit for a batch, then encode it.

A worker reads inputs by digest from the shared cache, calls the encoders as any build does, and
puts blobs first and the result that names them last, so that nothing half-made is ever seen.
Several threads of one worker may be at it.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress

from distributed import get_worker

from pipeline.build.dask.descriptor import (
    Answer,
    Batch,
    Descriptor,
    Refusal,
    Reply,
    differences,
    own_version,
)
from pipeline.build.dask.parcel import unpack_parcel
from pipeline.build.work import encode, failure
from pipeline.cache.shared.action_result import can_travel
from pipeline.cache.shared.shared_cache import SharedCache, open_shared
from pipeline.content.code import Code, Suffixes, changed_since, load_function
from pipeline.process.worker import prepare_process
from pipeline.setting import SettingError, variable_of

KEPT_BYTES = 1 << 28
MOST_REASONS = 5


class UnfitError(Exception):
    """The work cannot be done here, though another worker may do it."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__(*reasons)


class Blobs:
    """Inputs by digest, the latest kept at hand: many nodes may read the same large scene."""

    def __init__(self, shared: SharedCache) -> None:
        self.shared = shared
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, sha: str) -> bytes | None:
        """Give bytes that have this digest, or None where nobody has them."""
        with self._lock:
            if sha in self._kept:
                self._kept.move_to_end(sha)
                return self._kept[sha]
        data = self.shared.blob(sha)
        if data is not None:
            self._keep(sha, data)
        return data

    def _keep(self, sha: str, data: bytes) -> None:
        with self._lock:
            if sha not in self._kept:
                self._kept[sha] = data
                self._size += len(data)
            while self._size > KEPT_BYTES:
                _, dropped = self._kept.popitem(last=False)
                self._size -= len(dropped)


class WorkerState:
    """What a worker process has for all its batches: its code as first seen, and the cache."""

    def __init__(self) -> None:
        prepare_process(os.getcwd())
        self.code = Code(lambda _: None, lambda *_: None)
        self.blobs = Blobs(open_for_work())
        self._lock = threading.Lock()

    @property
    def shared(self) -> SharedCache:
        """The shared cache. One that was given up in an earlier run is tried anew."""
        with self._lock:
            if not self.blobs.shared.takes_uploads:
                self.blobs.shared = open_for_work()
            return self.blobs.shared

    def texts(
        self, encoder: str, suffixes: Suffixes, table: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Give the texts of an encoder that is what the driver's is, or refuse the work."""
        with self._lock:
            reasons = differences(table, self.code.table(encoder, suffixes))
            if not reasons:
                with suppress(Exception):  # an import that fails is told of by each node
                    load_function(encoder)
                reasons = [
                    f"{name}: changed on disk since the worker started"
                    for name in changed_since(self.code.texts(encoder, suffixes))
                ]
            if reasons:
                more = len(reasons) - MOST_REASONS
                rest = [f"and {more} more"] if more > 0 else []
                raise UnfitError(*reasons[:MOST_REASONS], *rest)
            return self.code.texts(encoder, suffixes)


def open_for_work() -> SharedCache:
    """Open the shared cache that this worker's own surroundings name."""
    try:
        shared = open_shared(os.getcwd())
    except SettingError as error:
        raise UnfitError(str(error)) from None
    if shared is None:
        raise UnfitError(f"{variable_of('remote_cache')} is not set there")
    if not shared.takes_uploads:
        raise UnfitError(f"{variable_of('remote_write')} is not set there")
    return shared


_places: list[WorkerState] = []
_setting_up = threading.Lock()


def worker_state() -> WorkerState:
    """Set this process up, once."""
    with _setting_up:
        if not _places:
            _places.append(WorkerState())
    return _places[0]


def do_batch(wanted: str, message: bytes) -> Reply | Refusal:
    """Do the nodes of a batch, or say why this worker is not fit for them."""
    worker = str(get_worker().address)
    try:
        if own_version() != wanted:
            raise UnfitError(f"cartwright: {own_version()} there, {wanted} here")
        place = worker_state()
        shared = place.shared
        batch: Batch = pickle.loads(message)
        texts = {called: place.texts(*called, table) for called, table in batch.code.items()}
        return Reply(worker, _do_all(place, shared, batch, texts))
    except UnfitError as error:
        return Refusal(worker, error.reasons)


def _do_all(
    place: WorkerState,
    shared: SharedCache,
    batch: Batch,
    texts: Mapping[tuple[str, Suffixes], Mapping[str, str]],
) -> tuple[Answer, ...]:
    pieces: Mapping[str, bytes] = {}
    if batch.parcel is not None:
        data = shared.blob(batch.parcel)
        if data is None:
            _check(shared)
            return tuple(Answer(missing=(batch.parcel,)) for _ in batch.nodes)
        pieces = unpack_parcel(data)

    def read(sha: str) -> bytes | None:
        return pieces[sha] if sha in pieces else place.blobs.read(sha)

    def do(node: Descriptor) -> Answer:
        return _do(node, texts[node.encoder, node.suffixes], read, shared)

    return tuple(map(do, batch.nodes))


def _do(
    node: Descriptor,
    texts: Mapping[str, str],
    read: Callable[[str], bytes | None],
    shared: SharedCache,
) -> Answer:
    began = time.perf_counter()
    wanted = {name: sha for name, sha in sorted(node.inputs.items()) if sha is not None}
    inputs = {name: read(sha) for name, sha in wanted.items()}
    found = {name: data for name, data in inputs.items() if data is not None}
    if len(found) < len(wanted):
        _check(shared)
        return Answer(missing=tuple(wanted[name] for name in wanted if name not in found))
    job = node.job(texts)
    try:
        receipt, outputs = encode(job, found)
    except (Exception, SystemExit) as error:
        result = failure(job, error)
        return Answer(error=result.error, trace=result.traceback)
    if not can_travel(receipt):
        return Answer(stays=True)
    while not shared.publish(node.fingerprint, receipt, lambda one: outputs[one.role]):
        _check(shared)
    return Answer(time.perf_counter() - began)


def _check(shared: SharedCache) -> None:
    """Refuse to work when the shared cache can no longer be used from here."""
    if not shared.takes_uploads:
        reason = shared.no_uploads if shared.is_on else shared.breaker.reason
        raise UnfitError(f"shared cache {shared.address}: {reason}")
