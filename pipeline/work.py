"""Doing one node: restore it from the cache, or encode it, store it and put its files in place.

This is all that runs in a worker process. It gets a description of the work and reads the
inputs itself; nothing large ever travels between processes.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar

from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Params, Place
from pipeline.apart import call_apart, is_apart
from pipeline.cache import Cache
from pipeline.code import changed_since, load_function
from pipeline.files import read_if_there
from pipeline.fingerprint import fingerprint
from pipeline.ledger import Ledger
from pipeline.outcome import BUILT, FAILED, RESTORED, STARVED
from pipeline.photo import Stamp, take_stamp
from pipeline.place import broken_promise, place_of
from pipeline.pool import plain_error
from pipeline.purity import pure
from pipeline.receipt import Made, Receipt


@dataclass(frozen=True, slots=True)
class Input:
    """Where an input's bytes are: a source by path, or a product by digest.

    A product may be a file too, and is named in the receipt of the task that made it.
    """

    path: str | None
    sha: str | None
    node: str | None = None
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a worker needs to know to do a node."""

    task: str
    encoder: str
    code: Mapping[str, str]
    params: Params
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Place]
    fixed: str
    fingerprint: str
    root: str
    cache: str
    scratch: str
    ledger: str
    encode_again: bool = False
    lint: bool = False


@dataclass(slots=True)
class Result:
    """What became of a job."""

    outcome: str
    fingerprint: str = ""
    inputs: Mapping[str, str | None] = field(default_factory=dict)
    receipt: Receipt = field(default_factory=lambda: Receipt(()))
    stamps: dict[str, Stamp] = field(default_factory=dict)
    error: EncodeError | None = None
    trace: str = ""
    starved_of: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()


Found = TypeVar("Found", Result, "Result | None")


def do_job(job: Job) -> Result:
    """Do a node; whatever goes wrong comes back as a result."""
    return _guarded(job, _restore_or_encode)


def restore_job(job: Job) -> Result | None:
    """Put a node's files in place from the cache alone; None where it does not hold them."""
    return _guarded(job, _restore)


def _guarded(job: Job, action: Callable[[Job, Cache], Found]) -> Found | Result:
    cache = Cache(job.cache)
    result: Found | Result
    try:
        result = action(job, cache)
    except (Exception, SystemExit) as error:
        result = failure(job, error)
    if result is not None:
        result.set_aside = tuple(cache.set_aside)
    return result


def failure(job: Job, error: BaseException) -> Result:
    """Say what went wrong with a node, as its result."""
    if isinstance(error, EncodeError):
        return Result(FAILED, error=plain_error(error))
    if isinstance(error, OSError):
        path = str(error.filename2 or error.filename or job.task).removeprefix(f"{job.root}/")
        return Result(FAILED, error=EncodeError(error.strerror or str(error), {"file": path}))
    problem = EncodeError(
        f"{type(error).__name__}: {error}",
        {"encoder": job.encoder},
        "This is a mistake in the encoder, not in your files.",
    )
    trace = "".join(traceback.format_exception(error))
    return Result(FAILED, error=problem, trace=trace)


def _restore_or_encode(job: Job, cache: Cache) -> Result:
    restored = None if job.encode_again else _restore(job, cache)
    return restored or _encode(job, cache)


def _restore(job: Job, cache: Cache) -> Result | None:
    receipt = cache.load_receipt(job.fingerprint)
    if receipt is None:
        return None
    stamps = {}
    _note_files(job, receipt)
    for made in receipt.made:
        place = place_of(made.role, job.outputs)
        if place is None:
            if not cache.has_output(made):
                return None
            continue
        if not _has_bytes(f"{job.root}/{place}", made.sha):
            data = cache.load_output(receipt, made)
            if data is None:
                return None
            cache.put_in_place(made.sha, data, f"{job.root}/{place}", job.scratch)
        stamps[place] = take_stamp(f"{job.root}/{place}")
    inputs = {name: one.sha for name, one in job.inputs.items()}
    return Result(RESTORED, job.fingerprint, inputs, without_bytes(receipt), stamps)


def _note_files(job: Job, receipt: Receipt) -> None:
    """Note files as ours before they appear, so that a kill leaves none that nobody knows."""
    ledger = Ledger(job.ledger)
    try:
        places = ((place_of(made.role, job.outputs), made.sha) for made in receipt.made)
        ledger.note({place: sha for place, sha in places if place is not None})
    finally:
        ledger.close()


def _has_bytes(path: str, sha: str) -> bool:
    data = read_if_there(path)
    return data is not None and hashlib.sha256(data).hexdigest() == sha


def _encode(job: Job, cache: Cache) -> Result:
    inputs: dict[str, bytes] = {}
    starved = []
    for name, one in sorted(job.inputs.items()):
        data = read_input(job, one, cache)
        if data is not None:
            inputs[name] = data
        elif one.node is not None:
            starved.append(one.node)
    if starved:
        return Result(STARVED, starved_of=tuple(sorted(set(starved))))
    digests = {name: None if one.node is None else one.sha for name, one in job.inputs.items()}
    for name, data in inputs.items():
        digests[name] = digests[name] or hashlib.sha256(data).hexdigest()
    receipt, outputs = encode(job, inputs)
    # A source may have been saved again since it was looked at: what counts is what was read.
    actual = fingerprint(job.fixed, digests)
    cache.store_result(actual, receipt, outputs)
    stamps = _put_in_place(job, cache, receipt, outputs)
    return Result(BUILT, actual, digests, without_bytes(receipt), stamps)


def encode(job: Job, inputs: Mapping[str, bytes]) -> tuple[Receipt, dict[str, bytes]]:
    """Call a node's encoder and write down what it made, which is exactly what was promised."""
    outputs = _call(job, inputs)
    return _receipt(job, outputs), outputs


def without_bytes(receipt: Receipt) -> Receipt:
    """Give a receipt that is light enough to travel to the driver."""
    return replace(receipt, inline={})


def read_input(job: Job, one: Input, cache: Cache) -> bytes | None:
    """Read an input wherever it is; what another node made must have the bytes that it made."""
    if one.node is None:
        return read_if_there(f"{job.root}/{one.path}")
    data = read_if_there(f"{job.root}/{one.path}") if one.path is not None else None
    if data is not None and hashlib.sha256(data).hexdigest() == one.sha:
        return data
    receipt = cache.load_receipt(one.receipt)
    for made in receipt.made if receipt else ():
        if receipt and made.sha == one.sha:
            return cache.load_output(receipt, made)
    return cache.load_object(one.sha or "")


def _call(job: Job, inputs: Mapping[str, bytes]) -> dict[str, bytes]:
    function = load_function(job.encoder)
    outdated = changed_since(job.code)
    if outdated:
        raise EncodeError(
            "code changed while the build was running",
            {"module": ", ".join(outdated)},
            "Run doit again.",
        )
    if is_apart(job.encoder):
        made: dict[str, bytes] = call_apart(job.encoder, inputs, job.params)
        return made
    with pure() if job.lint else nullcontext():
        outputs: dict[str, bytes] = function(inputs, job.params)
    return outputs


def _receipt(job: Job, outputs: Mapping[str, bytes]) -> Receipt:
    """Check that exactly what was promised was made, and write it down."""
    roles = sorted(set(outputs) - {WARNINGS, REPORT})
    missing, extra = broken_promise(roles, job.outputs)
    if missing or extra:
        raise TypeError(f"promised but not made: {missing}; made but not promised: {extra}")
    made = tuple(
        Made(role, len(outputs[role]), hashlib.sha256(outputs[role]).hexdigest()) for role in roles
    )
    inline = {one.role: bytes(outputs[one.role]) for one in made if one.is_inline}
    return Receipt(made, _lines(outputs, WARNINGS), _lines(outputs, REPORT), inline)


def _lines(outputs: Mapping[str, bytes], role: str) -> tuple[str, ...]:
    return tuple(outputs.get(role, b"").decode().splitlines())


def _put_in_place(
    job: Job, cache: Cache, receipt: Receipt, outputs: Mapping[str, bytes]
) -> dict[str, Stamp]:
    """Put the public outputs in place; what is there already stays untouched."""
    stamps = {}
    _note_files(job, receipt)
    for made in receipt.made:
        data = outputs[made.role]
        place = place_of(made.role, job.outputs)
        if place is not None:
            path = f"{job.root}/{place}"
            if read_if_there(path) != data:
                cache.put_in_place(made.sha, data, path, job.scratch)
            stamps[place] = take_stamp(path)
    return stamps
