"""Encode a node again and compare with what a cache holds: whether results are reproducible.

Nothing is stored and nothing is placed. What differs is named as closely as possible: the output,
its sizes, the first byte, and the decoded field where the target has a reader.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.plan import Reader
from pipeline.build.job import Job
from pipeline.build.work import encode, failure, read_input, tools_for
from pipeline.cache.local import Cache
from pipeline.content.code import load_function
from pipeline.disk.file import read_if_there
from pipeline.output import output_path
from pipeline.plan.find_reader import Origin, find_readers

SAME, DIFFERS, NOT_CACHED, FAILED = "same", "differs", "not in the cache", "failed"
MISSING = object()
REMARKS = "warnings"  # the key of what readers remark on a file


class Difference(NamedTuple):
    """One output that came out otherwise; a size is None on the side that lacks the output."""

    name: str
    kept_bytes: int | None
    new_bytes: int | None
    offset: int = 0
    field: str = ""

    def __str__(self) -> str:
        if self.kept_bytes is None or self.new_bytes is None:
            where = "cache" if self.new_bytes is None else "new result"
            return f"{self.name}: only in the {where}"
        sizes = f"{self.kept_bytes:,} bytes in the cache, {self.new_bytes:,} now"
        at = f"first difference at byte {self.offset:,}"
        return f"{self.name}: {sizes}, {at}{f', {self.field}' if self.field else ''}"


class Verified(NamedTuple):
    """What verifying a node found out."""

    task: str
    outcome: str
    differences: tuple[Difference, ...] = ()
    error: EncodeError | None = None


def verify_job(job: Job, folder: str, target: str) -> Verified:
    """Encode a node again and compare it with the cache in a folder."""
    own = tools_for(job.config).cache
    kept = own if folder == own.folder else Cache(folder)
    receipt = kept.load_receipt(job.fingerprint)
    if receipt is None:
        return Verified(job.task, NOT_CACHED)
    found = {name: read_input(job, one, own) for name, one in sorted(job.inputs.items())}
    if any(found[name] is None and one.sha is not None for name, one in job.inputs.items()):
        return Verified(job.task, NOT_CACHED)
    inputs = {name: data for name, data in found.items() if data is not None}
    try:
        _, made = encode(job, inputs)
    except (Exception, SystemExit) as error:
        return Verified(job.task, FAILED, error=failure(job, error).error)
    before = {one.role: kept.load_output(receipt, one) for one in receipt.made}
    if any(data is None for data in before.values()):
        return Verified(job.task, NOT_CACHED)
    after = {one: made[one] for one in made if one in before or output_path(one, job.outputs)}
    differences = tuple(
        _difference(job, role, before.get(role), after.get(role), target)
        for role in sorted({*before, *after})
        if before.get(role) != after.get(role)
    )
    return Verified(job.task, DIFFERS if differences else SAME, differences)


def _difference(
    job: Job, role: str, kept: bytes | None, new: bytes | None, target: str
) -> Difference:
    path = output_path(role, job.outputs)
    name = path or f'output "{role}"'
    if kept is None or new is None:
        sizes = [None if one is None else len(one) for one in (kept, new)]
        return Difference(name, sizes[0], sizes[1])
    pairs = enumerate(zip_longest(kept, new))
    offset = next(number for number, (one, other) in pairs if one != other)
    field = _decoded_difference(job, path, (kept, new), target) if path else ""
    return Difference(name, len(kept), len(new), offset, field)


def _decoded_difference(job: Job, path: str, pair: tuple[bytes, bytes], target: str) -> str:
    """Return the first field that a reader decodes otherwise; "" where there is none."""
    origin = Origin(job.task, target, "")
    try:
        reader = next(iter(find_readers(pair[0], path, origin)), None)
        if reader is None:
            return ""
        old, new = (_decode(reader, data, path, job.config.root) for data in pair)
    except Exception:  # a reader may do anything with bytes that are not what they should be
        return ""
    return first_difference(old, new)


def _decode(reader: Reader, data: bytes, path: str, root: str) -> Mapping[str, Any]:
    function, folder = load_function(reader.decode), posixpath.dirname(path)
    if not reader.needs_siblings:
        return function(data, path)  # type: ignore[no-any-return] # named, not imported
    found: Mapping[str, Any] = function(
        data, path, lambda name: read_if_there(f"{root}/{folder}/{posixpath.basename(name)}")
    )
    return found


def first_difference(old: Any, new: Any, where: str = "") -> str:
    """Return the path of the first value that differs in two decoded files, from and to."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        # A field that differs says more than what a reader remarks on it.
        keys = sorted({**old, **new}, key=lambda key: key == REMARKS)
        pairs = [(f"{where}.{key}".lstrip("."), key) for key in keys]
        inner = (
            first_difference(old.get(key, MISSING), new.get(key, MISSING), at) for at, key in pairs
        )
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        both = enumerate(zip_longest(old, new, fillvalue=MISSING))
        inner = (first_difference(*pair, f"{where}[{number}]") for number, pair in both)
    else:
        is_same = old is new or (old == new and type(old) is type(new))
        return "" if is_same else f"{where} {_short(old)} -> {_short(new)}"
    return next(filter(None, inner), "")


def _short(value: Any) -> str:
    text = "none" if value is MISSING else str(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
