"""Doing one node: restore it from the cache, or encode it, store it and write its files.

This is all that runs in a worker process.
"""

from __future__ import annotations

import hashlib
import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from threading import Lock
from time import perf_counter, thread_time
from typing import TypeVar

from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS
from pipeline.build.event import BUILT, FAILED, MISSING_INPUTS, RESTORED
from pipeline.build.job import COST_AT, Input, Job, Result, RunConfig
from pipeline.build.place_files import Tools, place_files
from pipeline.build.purity import pure
from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt, is_small
from pipeline.change.fingerprint import fingerprint
from pipeline.content.code import load_function, loaded_texts
from pipeline.content.source import read_source
from pipeline.content.target_error import target_error
from pipeline.disk.file import NO_FILE, problem_of_link, read_if_there
from pipeline.disk.temporary import name_files_after
from pipeline.output import Output, compare_roles, with_paths
from pipeline.process.capacity import last_peak, take_peak
from pipeline.process.isolate import expecting_code, refuse_changed_code
from pipeline.process.worker import plain_error

Found = TypeVar("Found", Result, "Result | None")
NOT_CACHED = "its result is in no cache"
NOT_CACHED_HINT = (
    "With --require-cached nothing is encoded: let the jobs that fill the cache end first."
)
PEAK_FROM_SECONDS = 0.002  # of CPU: nodes that take more have their peak memory measured


def do_job(job: Job) -> Result:
    """Do a node; whatever goes wrong is a result, too."""
    began, cpu_began = perf_counter(), thread_time()
    return with_cost(_guarded(job, _restore_or_encode), began, cpu_began)


def with_cost(result: Result, began: float, cpu_began: float) -> Result:
    """Add to a result what it has cost since it was begun, and who did it."""
    cpu_seconds = thread_time() - cpu_began
    # Asking the system for the peak takes up to 10 µs: too much for a quick node.
    peak = take_peak() if cpu_seconds > PEAK_FROM_SECONDS else last_peak()
    seconds = perf_counter() - began
    # What `_replace` does, in a fifth of its time.
    cost = (seconds, cpu_seconds, process_name(), began, peak)
    return tuple.__new__(Result, result[:COST_AT] + cost)


@cache
def process_name() -> str:
    """Return how results name this process as their worker."""
    return f"process {os.getpid()}"


def restore_job(job: Job) -> Result | None:
    """Write a node's files from the cache alone; None where the cache lacks them."""
    return _guarded(job, _restore)


def _guarded(job: Job, action: Callable[[Job, Tools], Found]) -> Found | Result:
    tools = tools_for(job.config)
    result: Found | Result
    try:
        result = action(job, tools)
    except (Exception, SystemExit) as error:
        result = failure(job, error)
    if result is not None and tools.cache.set_aside:
        result = result._replace(damaged=tools.cache.take_set_aside())
    return result


def failure(job: Job, error: BaseException) -> Result:
    """Return the result of a node whose encoding raised an exception."""
    if isinstance(error, EncodeError):
        return Result(FAILED, error=_with_broken_link(plain_error(error), job.config.root))
    if isinstance(error, OSError):
        path = str(error.filename2 or error.filename or job.task)
        path = path.removeprefix(f"{job.config.root}/")
        return Result(FAILED, error=EncodeError(error.strerror or str(error), {"file": path}))
    problem = target_error("encoder", error, {"encoder": job.encoder})
    trace = "".join(traceback.format_exception(error))
    return Result(FAILED, error=problem, traceback=trace)


def _with_broken_link(error: EncodeError, root: str) -> EncodeError:
    """Say of a missing file that it is a link, and where that leads."""
    path = f"{root}/{error.facts.get('file', '')}"
    if not os.path.islink(path) or os.path.exists(path):
        return error
    problem, leads_to = problem_of_link(path)
    said = problem.removeprefix("link ")
    facts = {"link": f"{said}: {leads_to}" if leads_to else said}
    hint = "Mend the link, or put the file in its place."
    return EncodeError(error.problem, {**error.facts, **facts}, hint)


_tools: Tools | None = None
_tools_lock = Lock()


def tools_for(config: RunConfig) -> Tools:
    """Return the open files for a run, and close those of an earlier one."""
    global _tools  # noqa: PLW0603 - a process has one set of open files
    with _tools_lock:
        if _tools is None or _tools.config != config:
            if _tools is not None:
                _tools.close()
            name_files_after(config.run)
            _tools = Tools(config)
        return _tools


def close_tools() -> None:
    """Close the open files of this process; the run is over."""
    global _tools  # noqa: PLW0603 - as above
    with _tools_lock:
        if _tools is not None:
            _tools.close()
        _tools = None
        name_files_after("")


def _restore_or_encode(job: Job, tools: Tools) -> Result:
    restored = None if job.config.encode_again else _restore(job, tools)
    if restored is None and job.config.require_cached:
        raise EncodeError(NOT_CACHED, {}, NOT_CACHED_HINT)
    return restored or _encode(job, tools)


def _restore(job: Job, tools: Tools) -> Result | None:
    cache = tools.cache
    is_new = job.is_fetched or job.is_made
    load = cache.load_receipt_of_other if is_new else cache.load_receipt
    receipt = job.receipt or load(job.fingerprint)
    if receipt is None or not _is_promised(receipt, job, cache):
        return None
    outputs = with_paths(receipt.made, job.outputs)
    # Outputs without a file are read later, by other nodes: they must be there all the same.
    if not all(cache.has_output(receipt, one) for one in outputs if one.path is None):
        return None
    placed = place_files(
        tools, outputs, lambda one: cache.load_output(receipt, one), job.known_files
    )
    if placed is None:
        return None
    digests = {name: one.sha for name, one in job.inputs.items()}
    return _result(RESTORED, job, digests, receipt, outputs)._replace(
        stamps=placed.stamps, displaced=placed.displaced, is_shared=job.is_fetched
    )


def _is_promised(receipt: Receipt, job: Job, cache: Cache) -> bool:
    """Tell whether a result has the outputs that its node promises; forget one that does not.

    What came with a snapshot was stored without a plan to compare it with.
    """
    if not any(compare_roles([one.role for one in receipt.made], job.outputs)):
        return True
    cache.drop_receipt(job.fingerprint)
    return False


def _result(
    outcome: str,
    job: Job,
    digests: Mapping[str, str | None],
    receipt: Receipt,
    outputs: tuple[Output, ...],
) -> Result:
    is_same = all(digests[name] == one.sha for name, one in job.inputs.items())
    actual = job.fingerprint if is_same else fingerprint(job.fixed, digests)
    packed = job.pack_build(actual, digests, outputs)
    return Result(outcome, actual, packed, outputs, receipt.warnings, receipt.report)


def _encode(job: Job, tools: Tools) -> Result:
    inputs: dict[str, bytes] = {}
    digests: dict[str, str | None] = {}
    missing = []
    for name, one in sorted(job.inputs.items()):
        data = read_input(job, one, tools.cache)
        digests[name] = one.sha
        if data is not None:
            inputs[name] = data
        if one.task is None:
            digests[name] = _digest_of_source(one, data)
        elif data is None:
            missing.append(one.task)
    if missing:
        return Result(MISSING_INPUTS, missing=tuple(sorted(set(missing))))
    receipt, made = encode(job, inputs)
    outputs = with_paths(receipt.made, job.outputs)
    result = _result(BUILT, job, digests, receipt, outputs)
    # Stored before it is placed: a kill in between leaves a result that the next run restores.
    tools.cache.store_result(result.fingerprint, receipt, made)
    placed = place_files(tools, outputs, lambda one: made[one.role], job.known_files, made)
    assert placed is not None
    return result._replace(stamps=placed.stamps, displaced=placed.displaced)


def _digest_of_source(one: Input, data: bytes | None) -> str | None:
    """Digest what was read: the source may have been saved again since it was planned."""
    if data is None and one.sha is not None:
        raise EncodeError("file went away while the build was running", {"file": one.path})
    return None if data is None else _sha(data)


def encode(job: Job, inputs: Mapping[str, bytes]) -> tuple[Receipt, dict[str, bytes]]:
    """Call a node's encoder; its outputs are exactly what the node promised, or it fails."""
    outputs = {role: _as_bytes(role, data) for role, data in _call(job, inputs).items()}
    return _receipt(job, outputs), outputs


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_input(job: Job, one: Input, cache: Cache) -> bytes | None:
    """Read an input wherever it is; another node's output must have the bytes that it made."""
    if one.task is None:
        return _read_source_if_there(job.config.root, one.path or "")
    data = read_if_there(f"{job.config.root}/{one.path}") if one.path is not None else None
    if data is not None and _sha(data) == one.sha:
        return data
    # The receipt has small outputs inside it, which are no objects of their own.
    data = cache.load_output_of_other(one.fingerprint, one.sha or "")
    return cache.load_object(one.sha or "") if data is None else data


def _read_source_if_there(root: str, path: str) -> bytes | None:
    try:
        return read_source(root, path)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise


def _call(job: Job, inputs: Mapping[str, bytes]) -> dict[str, bytes]:
    function = load_function(job.encoder)
    # Before the call: what runs has to be what the fingerprint says.
    refuse_changed_code(job.code)
    count = len(loaded_texts)
    with expecting_code(job.code), pure() if job.config.lint else nullcontext():
        outputs: dict[str, bytes] = function(inputs, job.params)
    if len(loaded_texts) > count:  # it has imported more modules
        refuse_changed_code(job.code)
    return outputs


def _as_bytes(role: str, data: object) -> bytes:
    """Return an output as bytes, whatever kind of buffer the encoder returned."""
    if type(data) is bytes:
        return data
    try:
        return memoryview(data).tobytes()  # type: ignore[arg-type] # an encoder may do anything
    except TypeError:
        raise TypeError(f'output "{role}" is a {type(data).__name__}, not bytes') from None


def _receipt(job: Job, outputs: Mapping[str, bytes]) -> Receipt:
    roles = sorted(set(outputs) - {WARNINGS, REPORT})
    missing, extra = compare_roles(roles, job.outputs)
    if missing or extra:
        raise TypeError(f"promised but not made: {missing}; made but not promised: {extra}")
    rows = tuple(Output(role, len(outputs[role]), _sha(outputs[role])) for role in roles)
    inline = {one.role: outputs[one.role] for one in rows if is_small(one.size)}
    return Receipt(rows, _lines(outputs, WARNINGS), _lines(outputs, REPORT), inline)


def _lines(outputs: Mapping[str, bytes], role: str) -> tuple[str, ...]:
    return tuple(outputs[role].decode().splitlines()) if role in outputs else ()
