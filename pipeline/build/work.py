"""Doing one node: restore it from the cache, or encode it, store it and put its files in place.

This is all that runs in a worker process. It gets a description of the work and reads the
inputs itself; nothing large ever travels between processes.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from threading import Lock
from typing import NamedTuple, TypeVar

from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Params, Place
from pipeline.build.built import Output, freeze_built, placed
from pipeline.build.deliver import deliver
from pipeline.build.outcome import BUILT, FAILED, RESTORED, STARVED
from pipeline.build.purity import pure
from pipeline.cache.local import Cache
from pipeline.cache.receipt import Made, Receipt
from pipeline.change.fingerprint import fingerprint
from pipeline.content.code import Suffixes, load_function, loaded_texts
from pipeline.content.target_error import bug_in
from pipeline.disk.file import read_if_there
from pipeline.disk.listing import Stamp
from pipeline.plan.place import broken_promise
from pipeline.process.isolate import call_apart, is_apart, refuse_changed_code
from pipeline.process.worker import plain_error
from pipeline.state.ledger import Ledger

Outputs = tuple[Output, ...]


class Input(NamedTuple):
    """Where an input's bytes are: a source by path, or a product by digest.

    A product may be a file too, and is named in the receipt of the task that made it.
    """

    path: str | None
    sha: str | None
    node: str | None = None
    receipt: str = ""


class Workplace(NamedTuple):
    """What all jobs of a run have in common: where things are, and how to go about it."""

    root: str
    cache: str
    scratch: str
    ledger: str
    encode_again: bool = False
    lint: bool = False


class Job(NamedTuple):
    """Everything that a worker needs to know to do a node."""

    task: str
    encoder: str
    code: Mapping[str, str]
    params: Params
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Place]
    fixed: str
    fingerprint: str
    at: Workplace
    code_digest: str = ""
    suffixes: Suffixes = ()  # of the sources that decide which code the encoder runs
    known: tuple[str, ...] = ()  # the files that the node is known to have made
    is_fetched: bool = False  # its receipt has just been written, perhaps by another process


class Result(NamedTuple):
    """What became of a job: facts alone, light enough to travel.

    `built` is the record of the build as the state keeps it.
    """

    outcome: str
    fingerprint: str = ""
    built: bytes = b""
    made: Outputs = ()
    warnings: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    stamps: Mapping[str, Stamp] = {}
    error: EncodeError | None = None
    trace: str = ""
    starved_of: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    displaced: tuple[str, ...] = ()  # files of others that were in the way, where they are now


Found = TypeVar("Found", Result, "Result | None")


def do_job(job: Job) -> Result:
    """Do a node; whatever goes wrong comes back as a result."""
    return _guarded(job, _restore_or_encode)


def restore_job(job: Job) -> Result | None:
    """Put a node's files in place from the cache alone; None where it does not hold them."""
    return _guarded(job, _restore)


def _guarded(job: Job, action: Callable[[Job, Bench], Found]) -> Found | Result:
    bench = bench_for(job.at)
    result: Found | Result
    try:
        result = action(job, bench)
    except (Exception, SystemExit) as error:
        result = failure(job, error)
    if result is not None and bench.cache.set_aside:
        result = result._replace(set_aside=tuple(bench.cache.set_aside))
        bench.cache.set_aside = []
    return result


def failure(job: Job, error: BaseException) -> Result:
    """Say what went wrong with a node, as its result."""
    if isinstance(error, EncodeError):
        return Result(FAILED, error=plain_error(error))
    if isinstance(error, OSError):
        path = str(error.filename2 or error.filename or job.task).removeprefix(f"{job.at.root}/")
        return Result(FAILED, error=EncodeError(error.strerror or str(error), {"file": path}))
    problem = bug_in("encoder", error, {"encoder": job.encoder})
    trace = "".join(traceback.format_exception(error))
    return Result(FAILED, error=problem, trace=trace)


class Bench:
    """A process's own tools for the jobs of one workplace, opened once; threads may share it."""

    def __init__(self, at: Workplace) -> None:
        self.at = at
        self.cache = Cache(at.cache)
        self.ledger = Ledger(at.ledger)


_bench: Bench | None = None
_changing_bench = Lock()


def bench_for(at: Workplace) -> Bench:
    """Give the bench of a workplace, in place of another that this process had."""
    global _bench  # noqa: PLW0603 - a process has one pair of hands
    with _changing_bench:
        if _bench is None or _bench.at != at:
            _close(_bench)
            _bench = Bench(at)
        return _bench


def clear_bench() -> None:
    """Close what the bench has open; the run is over."""
    global _bench  # noqa: PLW0603 - as above
    with _changing_bench:
        _close(_bench)
        _bench = None


def _close(bench: Bench | None) -> None:
    if bench is not None:
        bench.ledger.close()
        bench.cache.close()


def _restore_or_encode(job: Job, bench: Bench) -> Result:
    restored = None if job.at.encode_again else _restore(job, bench)
    return restored or _encode(job, bench)


def _restore(job: Job, bench: Bench) -> Result | None:
    cache = bench.cache
    load = cache.load_receipt_of_other if job.is_fetched else cache.load_receipt
    receipt = load(job.fingerprint)
    if receipt is None:
        return None
    made = placed(receipt.made, job)
    private = (row for row, one in zip(receipt.made, made, strict=True) if one.path is None)
    if not all(map(cache.has_output, private)):
        return None
    rows = {row.role: row for row in receipt.made}
    delivery = deliver(job, bench, made, lambda one: cache.load_output(receipt, rows[one.role]))
    if delivery is None:
        return None
    digests = {name: one.sha for name, one in job.inputs.items()}
    return _result(RESTORED, job, digests, receipt, made)._replace(
        stamps=delivery.stamps, displaced=delivery.displaced
    )


def _result(
    outcome: str, job: Job, digests: Mapping[str, str | None], receipt: Receipt, made: Outputs
) -> Result:
    same = all(digests[name] == one.sha for name, one in job.inputs.items())
    actual = job.fingerprint if same else fingerprint(job.fixed, digests)
    built = freeze_built(job, actual, digests, made)
    return Result(outcome, actual, built, made, receipt.warnings, receipt.report)


def _encode(job: Job, bench: Bench) -> Result:
    inputs: dict[str, bytes] = {}
    digests: dict[str, str | None] = {}
    starved = []
    for name, one in sorted(job.inputs.items()):
        data = read_input(job, one, bench.cache)
        digests[name] = one.sha
        if data is not None:
            inputs[name] = data
        if one.node is None:
            digests[name] = _digest_of_source(one, data)
        elif data is None:
            starved.append(one.node)
    if starved:
        return Result(STARVED, starved_of=tuple(sorted(set(starved))))
    receipt, outputs = encode(job, inputs)
    made = placed(receipt.made, job)
    result = _result(BUILT, job, digests, receipt, made)
    bench.cache.store_result(result.fingerprint, receipt, outputs)
    delivery = deliver(job, bench, made, lambda one: outputs[one.role])
    assert delivery is not None
    return result._replace(stamps=delivery.stamps, displaced=delivery.displaced)


def _digest_of_source(one: Input, data: bytes | None) -> str | None:
    """Digest what was read: the source may have been saved again since it was looked at."""
    if data is None and one.sha is not None:
        raise EncodeError("file went away while the build was running", {"file": one.path})
    return None if data is None else _sha(data)


def encode(job: Job, inputs: Mapping[str, bytes]) -> tuple[Receipt, dict[str, bytes]]:
    """Call a node's encoder and write down what it made, which is exactly what was promised."""
    outputs = {role: _as_bytes(role, data) for role, data in _call(job, inputs).items()}
    return _receipt(job, outputs), outputs


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_input(job: Job, one: Input, cache: Cache) -> bytes | None:
    """Read an input wherever it is; what another node made must have the bytes that it made."""
    if one.node is None:
        return read_if_there(f"{job.at.root}/{one.path}")
    data = read_if_there(f"{job.at.root}/{one.path}") if one.path is not None else None
    if data is not None and _sha(data) == one.sha:
        return data
    receipt = cache.load_receipt_of_other(one.receipt)
    for made in receipt.made if receipt else ():
        if receipt and made.sha == one.sha:
            return cache.load_output(receipt, made)
    return cache.load_object(one.sha or "")


def _call(job: Job, inputs: Mapping[str, bytes]) -> dict[str, bytes]:
    function = load_function(job.encoder)
    refuse_changed_code(job.code)
    if is_apart(function):
        made: dict[str, bytes] = call_apart(job.encoder, inputs, job.params, code=job.code)
        return made
    count = len(loaded_texts)
    with pure() if job.at.lint else nullcontext():
        outputs: dict[str, bytes] = function(inputs, job.params)
    if len(loaded_texts) > count:  # it has imported more
        refuse_changed_code(job.code)
    return outputs


def _as_bytes(role: str, data: object) -> bytes:
    """Give an output as bytes, whatever kind of buffer the encoder made."""
    if type(data) is bytes:
        return data
    try:
        return memoryview(data).tobytes()  # type: ignore[arg-type] # an encoder may do anything
    except TypeError:
        raise TypeError(f'output "{role}" is a {type(data).__name__}, not bytes') from None


def _receipt(job: Job, outputs: Mapping[str, bytes]) -> Receipt:
    """Check that exactly what was promised was made, and write it down."""
    roles = sorted(set(outputs) - {WARNINGS, REPORT})
    missing, extra = broken_promise(roles, job.outputs)
    if missing or extra:
        raise TypeError(f"promised but not made: {missing}; made but not promised: {extra}")
    made = tuple(Made(role, len(outputs[role]), _sha(outputs[role])) for role in roles)
    inline = {one.role: outputs[one.role] for one in made if one.is_inline}
    return Receipt(made, _lines(outputs, WARNINGS), _lines(outputs, REPORT), inline)


def _lines(outputs: Mapping[str, bytes], role: str) -> tuple[str, ...]:
    return tuple(outputs[role].decode().splitlines()) if role in outputs else ()
