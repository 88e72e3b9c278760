"""The messages between driver and worker: MessagePack, checked field by field when it is read.

A batch goes out, a reply or a refusal comes back. Messages hold descriptions and digests, never
the bytes of inputs or outputs, nor the address or a credential of the shared cache. Reading one
builds the types below and nothing else: an unknown field, another type or a size beyond the limit
raises MessageError. A job or an error that no message can hold is done by the driver itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from encoders.kit.error import EncodeError
from encoders.kit.plan import Family, Place
from pipeline.build.job import Job, RunConfig
from pipeline.content.code import Suffixes
from pipeline.state.serial import SCALARS

BATCH_JOBS = 250  # what is lost with a worker stays bounded, however quick the jobs are
BATCH_BYTES = 1 << 23
# A reply fits by construction: an error has ERROR_CHARACTERS of 4 bytes at most, 33 MB for a full
# batch, and missing inputs are digests from the batch.
ERROR_CHARACTERS = 1 << 15
REPLY_BYTES = 1 << 26
LINE_CHARACTERS = 1 << 10  # of a worker's name, or a reason
REASONS = 5  # that are named; the rest is counted

Digest: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]  # refuses infinity and NaN
PackedPlace: TypeAlias = "str | tuple[str, str, str | None, bool] | None"
# The keys of the maps that stand for a tuple and for a dict: MessagePack has no tuples.
TUPLE, DICT = "tuple", "dict"


class MessageError(ValueError):
    """A message cannot be packed, or is not one that the other end could have packed."""


# From the driver to a worker.


def code_key(encoder: str, suffixes: Suffixes) -> str:
    """Return the key of a code table: an encoder, with the source formats that it reads."""
    return " ".join((encoder, *suffixes))


class JobMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """One job, with its inputs by digest; None stands for an input that is absent."""

    task: str
    encoder: str
    suffixes: Suffixes
    params: dict[str, Any]
    inputs: dict[str, Digest | None]
    outputs: dict[str, PackedPlace]
    fixed: str
    fingerprint: Digest
    lint: bool

    @property
    def code_key(self) -> str:
        """The key of its code table in the batch."""
        return code_key(self.encoder, self.suffixes)

    def job(self, code: Mapping[str, str]) -> Job:
        """Return the job for a process that has no project."""
        return Job(
            task=self.task,
            encoder=self.encoder,
            code=code,
            params={name: unpack_value(value) for name, value in self.params.items()},
            # The worker reads inputs by digest, and writes no files: both need no paths.
            inputs={},
            outputs={role: _unpack_place(place) for role, place in self.outputs.items()},
            fixed=self.fixed,
            fingerprint=self.fingerprint,
            config=RunConfig("", "", "", "", lint=self.lint),
            suffixes=self.suffixes,
        )


class Batch(Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs that travel together, and the code tables that they need.

    `bundle` is the digest of a blob in the shared cache that holds their small inputs.
    """

    jobs: Annotated[tuple[JobMessage, ...], Meta(min_length=1, max_length=BATCH_JOBS)]
    code: dict[str, dict[str, str]]
    bundle: Digest | None

    def __post_init__(self) -> None:
        # msgspec turns a ValueError from here into a decoding error, which `_unpack` reports.
        for job in self.jobs:
            if job.code_key not in self.code:
                raise ValueError(f"no code table for {job.code_key!r}")


# From a worker to the driver.


class Stored(Struct, frozen=True, forbid_unknown_fields=True, tag="stored"):
    """The job is done, and its result is in the shared cache."""

    seconds: Seconds
    cpu_seconds: Seconds


class Failed(Struct, frozen=True, forbid_unknown_fields=True, tag="failed"):
    """The encoder raised: the fields of an EncodeError, and the traceback of a bug.

    People read these texts in a terminal, so control characters are refused.
    """

    problem: str
    facts: dict[str, str]
    hint: str
    traceback: str
    seconds: Seconds
    cpu_seconds: Seconds

    def __post_init__(self) -> None:
        texts = (self.problem, self.hint, self.traceback, *self.facts, *self.facts.values())
        if sum(map(len, texts)) > ERROR_CHARACTERS:
            raise ValueError("an error is too long")
        if not all(map(is_plain_text, texts)):
            raise ValueError("an error has control characters")

    def error(self) -> EncodeError:
        """Return the error."""
        return EncodeError(self.problem, self.facts, self.hint)


class Missing(Struct, frozen=True, forbid_unknown_fields=True, tag="missing"):
    """Blobs that the worker did not find in its shared cache."""

    digests: Annotated[tuple[Digest, ...], Meta(min_length=1)]


class Unshareable(Struct, frozen=True, forbid_unknown_fields=True, tag="unshareable"):
    """The result or the error cannot travel, so the driver has to do the job itself."""


JobReply: TypeAlias = Stored | Failed | Missing | Unshareable


class WorkerName(Struct, frozen=True, forbid_unknown_fields=True):
    """A worker's address, and the name that Dask knows it by."""

    address: str
    name: str

    def __post_init__(self) -> None:
        _check_lines(self.address, self.name)

    def __str__(self) -> str:
        return self.address if self.name == self.address else f"{self.name} ({self.address})"


class BatchReply(Struct, frozen=True, forbid_unknown_fields=True, tag="reply"):
    """What became of each job, in the order of the batch."""

    worker: WorkerName
    replies: Annotated[tuple[JobReply, ...], Meta(max_length=BATCH_JOBS)]


class Refusal(Struct, frozen=True, forbid_unknown_fields=True, tag="refusal"):
    """Why a worker cannot do the batch, though another may."""

    worker: WorkerName
    reasons: Annotated[tuple[str, ...], Meta(min_length=1, max_length=REASONS + 1)]

    def __post_init__(self) -> None:
        _check_lines(*self.reasons)


def make_refusal(worker: WorkerName, reasons: Sequence[str]) -> Refusal:
    """Return a refusal with any texts, shortened and made printable where necessary."""
    more = len(reasons) - REASONS
    rest = [f"and {more} more"] if more > 0 else []
    return Refusal(worker, tuple(_as_line(reason) for reason in [*reasons[:REASONS], *rest]))


def _as_line(text: str) -> str:
    printable = "".join(one if one.isprintable() else " " for one in text)
    return printable[:LINE_CHARACTERS]


def _check_lines(*texts: str) -> None:
    for text in texts:
        if len(text) > LINE_CHARACTERS or not text.isprintable():
            raise ValueError("a line is too long, or has control characters")


def is_plain_text(text: str) -> bool:
    """Tell whether a text can be shown in a terminal: printable, with line breaks and tabs."""
    return text.replace("\n", " ").replace("\t", " ").isprintable()


# Packing and unpacking.

_batch_decoder = msgspec.msgpack.Decoder(Batch)
_reply_decoder = msgspec.msgpack.Decoder(BatchReply | Refusal)


def pack_batch(batch: Batch) -> bytes:
    """Serialise a batch; MessageError where it is too large or holds what no message can."""
    data = _pack(batch)
    if len(data) > BATCH_BYTES:
        raise MessageError(f"a batch of {len(data):,} bytes is too large")
    return data


def unpack_batch(data: object) -> Batch:
    """Read a batch; MessageError for anything else."""
    batch: Batch = _unpack(_batch_decoder, data, BATCH_BYTES)
    return batch


def pack_reply(reply: BatchReply | Refusal) -> bytes:
    """Serialise a worker's answer."""
    return _pack(reply)


def unpack_reply(data: object, batch: Batch) -> BatchReply | Refusal:
    """Read the answer to a batch; MessageError for anything that does not fit the batch."""
    reply: BatchReply | Refusal = _unpack(_reply_decoder, data, REPLY_BYTES)
    if isinstance(reply, BatchReply):
        if len(reply.replies) != len(batch.jobs):
            raise MessageError(f"{len(reply.replies)} replies to {len(batch.jobs)} jobs")
        for job, one in zip(batch.jobs, reply.replies, strict=True):
            # The driver uploads what is missing, so a worker may only ask for a job's own inputs.
            inputs = {*job.inputs.values(), batch.bundle}
            if isinstance(one, Missing) and not inputs.issuperset(one.digests):
                raise MessageError(f"{job.task} has no such input")
    return reply


def _pack(message: Struct) -> bytes:
    try:
        return msgspec.msgpack.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise MessageError(str(error)) from None


def _unpack(decoder: msgspec.msgpack.Decoder[Any], data: object, limit: int) -> Any:
    # Dask delivers what the other end returned, of whatever type.
    if type(data) is not bytes:
        raise MessageError(f"it is a {type(data).__name__}, not bytes")
    if len(data) > limit:
        raise MessageError(f"it has {len(data):,} bytes, more than {limit:,}")
    try:
        return decoder.decode(data)
    except (ValueError, RecursionError) as error:
        raise MessageError(str(error)) from None


def pack_value(value: object) -> Any:
    """Return a parameter's value in a form that keeps tuples apart from lists."""
    if type(value) in SCALARS:
        return value
    # The fingerprint does not tell a tuple from a list, but an encoder may: it has to get the same
    # type as in a local build.
    if isinstance(value, tuple):
        return {TUPLE: [pack_value(one) for one in value]}
    if isinstance(value, list):
        return [pack_value(one) for one in value]
    if isinstance(value, Mapping):
        return {DICT: {key: pack_value(one) for key, one in value.items()}}
    raise MessageError(f"a {type(value).__name__} is no plain value")


def unpack_value(value: object) -> Any:
    """Return what `pack_value` was given; MessageError for anything that it does not give."""
    if type(value) in SCALARS:
        return value
    if isinstance(value, list):
        return [unpack_value(one) for one in value]
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == TUPLE and isinstance(inner, list):
            return tuple(unpack_value(one) for one in inner)
        if kind == DICT and isinstance(inner, dict) and all(type(key) is str for key in inner):
            return {key: unpack_value(one) for key, one in inner.items()}
    raise MessageError(f"a {type(value).__name__} is no value of a parameter")


def pack_place(place: Place) -> PackedPlace:
    """Return where an output goes, as plain values."""
    return astuple(place) if isinstance(place, Family) else place


def _unpack_place(place: PackedPlace) -> Place:
    return Family(*place) if isinstance(place, tuple) else place
