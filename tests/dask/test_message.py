"""What goes over the wire is plain data, and anything else is refused."""

from __future__ import annotations

import math
import os
import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.kit.plan import Family
from pipeline.build.dask import message, worker
from pipeline.build.dask.compatibility import own_version
from pipeline.build.dask.message import (
    BATCH_BYTES,
    BATCH_JOBS,
    ERROR_CHARACTERS,
    REPLY_BYTES,
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
    pack_batch,
    pack_place,
    pack_reply,
    pack_value,
    unpack_batch,
    unpack_reply,
    unpack_value,
)

SHA, OTHER = "0a" * 32, "0b" * 32
ENCODER = "encoders.toy:encode"
WORKER = WorkerName("tcp://10.0.0.7:4000", "render-1")
FAMILY = Family("build/a_", ".bin", None, True)


def job_message(**changes: Any) -> JobMessage:
    fields: dict[str, Any] = {
        "task": "toy:a",
        "encoder": ENCODER,
        "suffixes": (),
        "params": {"size": pack_value((1, 2.0))},
        "inputs": {"source": SHA, "absent": None},
        "outputs": {"data": "build/a", "part": None, "many": pack_place(FAMILY)},
        "fixed": "f",
        "fingerprint": OTHER,
        "lint": False,
    }
    return JobMessage(**{**fields, **changes})


def batch(*jobs: JobMessage, bundle: str | None = None) -> Batch:
    return Batch(jobs or (job_message(),), {ENCODER: {"encoders.toy": "1"}}, bundle)


def reply(*replies: JobReply) -> BatchReply:
    return BatchReply(WORKER, replies)


def failed(**changes: Any) -> Failed:
    fields: dict[str, Any] = {
        "problem": "no such bone",
        "facts": {"file": "source"},
        "hint": "Add it.",
        "traceback": "",
        "seconds": 1.0,
        "cpu_seconds": 0.5,
    }
    return Failed(**{**fields, **changes})


class Trap:
    """Makes a folder when somebody unpickles it."""

    def __init__(self, folder: Path = Path("trap")) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


# There and back.


def test_a_batch_is_read_as_it_was_packed() -> None:
    one = batch(bundle=SHA)
    assert unpack_batch(pack_batch(one)) == one


def test_a_job_comes_back_from_its_message() -> None:
    job = unpack_batch(pack_batch(batch())).jobs[0].job({"encoders.toy": "text"})
    assert job.params == {"size": (1, 2.0)}
    assert job.outputs == {"data": "build/a", "part": None, "many": FAMILY}
    assert (job.task, job.encoder, job.fingerprint) == ("toy:a", ENCODER, OTHER)
    assert job.code == {"encoders.toy": "text"}


@pytest.mark.parametrize(
    "one", [Stored(1.5, 0.5), failed(), failed(traceback="line\n\tline"), Missing((SHA,))]
)
def test_a_reply_is_read_as_it_was_packed(one: JobReply) -> None:
    answer = reply(one, Unshareable())
    asked = batch(job_message(), job_message())
    assert unpack_reply(pack_reply(answer), asked) == answer


def test_an_error_travels_as_its_fields() -> None:
    answer = unpack_reply(pack_reply(reply(failed())), batch())
    assert isinstance(answer, BatchReply)
    (one,) = answer.replies
    assert isinstance(one, Failed)
    error = one.error()
    assert (error.problem, error.facts, error.hint) == (
        "no such bone",
        {"file": "source"},
        "Add it.",
    )


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", "tuple", "dict"]), inner)
    ),
    max_leaves=20,
)


def exactly(value: Any) -> str:
    """Show a value with its types: 1, 1.0 and True are equal, and a tuple is no list."""
    return repr(value)


@given(VALUES)
def test_a_parameter_keeps_its_value_and_its_types(value: Any) -> None:
    sent = pack_batch(batch(job_message(params={"value": pack_value(value)})))
    (got,) = unpack_batch(sent).jobs[0].job({}).params.values()
    assert exactly(got) == exactly(value)


def test_not_a_number_is_a_value_of_a_parameter() -> None:
    sent = pack_batch(batch(job_message(params={"value": math.nan})))
    (got,) = unpack_batch(sent).jobs[0].job({}).params.values()
    assert isinstance(got, float)
    assert math.isnan(got)


def test_a_refusal_is_read_as_it_was_packed_however_long_its_reasons() -> None:
    refusal = make_refusal(WORKER, ["\x1b[2J" + "x" * 10_000, *"abcdefg"])
    assert unpack_reply(pack_reply(refusal), batch()) == refusal
    assert refusal.reasons[0].startswith(" [2Jxxx")
    assert refusal.reasons[1:] == ("a", "b", "c", "d", "and 3 more")


# What no message holds.


@pytest.mark.parametrize("value", [2**64, "\ud800", {"a": 2**70}])
def test_a_value_that_no_message_holds_is_refused_when_it_is_packed(value: Any) -> None:
    with pytest.raises(MessageError):
        pack_batch(batch(job_message(params={"value": pack_value(value)})))


def test_an_object_is_no_value_of_a_parameter() -> None:
    with pytest.raises(MessageError, match="a Trap is no plain value"):
        pack_value([Trap()])


def test_a_batch_that_is_too_large_is_refused_when_it_is_packed() -> None:
    with pytest.raises(MessageError, match="too large"):
        pack_batch(batch(job_message(params={"value": "x" * BATCH_BYTES})))


def test_an_error_that_could_steer_a_terminal_is_refused() -> None:
    for field in ("problem", "hint", "traceback"):
        with pytest.raises(ValueError, match="control characters"):
            failed(**{field: "\x1b[2J"})
    with pytest.raises(ValueError, match="control characters"):
        failed(facts={"file": "\x07"})


def test_the_largest_errors_of_the_largest_batch_fit_into_a_reply() -> None:
    text = "\U0001f600" * (ERROR_CHARACTERS - len("no such bone") - len("Add it."))
    one = failed(facts={}, traceback=text)
    with pytest.raises(ValueError, match="too long"):
        failed(facts={}, traceback=text + "x")
    assert len(pack_reply(reply(*[one] * BATCH_JOBS))) + BATCH_BYTES < REPLY_BYTES


# What is read.


def raw(one: msgspec.Struct) -> Any:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(one))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> bytes:
    """Pack plain data with one place in it changed."""
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return msgspec.msgpack.encode(value)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("more",), 1),
        (("jobs", 0, "more"), 1),
        (("jobs",), []),
        (("jobs",), [raw(job_message())] * (BATCH_JOBS + 1)),
        (("jobs", 0, "task"), 1),
        (("jobs", 0, "encoder"), "encoders.other:encode"),
        (("jobs", 0, "fingerprint"), "../../etc/passwd"),
        (("jobs", 0, "fingerprint"), f"{OTHER}\n"),
        (("jobs", 0, "inputs", "source"), "short"),
        (("jobs", 0, "outputs", "data"), ["too", "short"]),
        (("jobs", 0, "outputs", "data"), 5),
        (("jobs", 0, "lint"), "yes"),
        (("code",), {ENCODER: {"encoders.toy": 1}}),
        (("bundle",), "short"),
    ],
)
def test_a_batch_with_anything_wrong_is_refused(path: tuple[Any, ...], new: Any) -> None:
    with pytest.raises(MessageError):
        unpack_batch(changed(raw(batch()), path, new))


@pytest.mark.parametrize(
    "value",
    [
        b"bytes",
        msgspec.msgpack.Ext(5, b"x"),
        {"tuple": 1},
        {"dict": []},
        {"dict": {1: 2}},
        {"tuple": [], "dict": {}},
        {"other": []},
        {},
    ],
)
def test_a_parameter_that_is_no_plain_value_is_refused(value: Any) -> None:
    with pytest.raises(MessageError):
        unpack_value(msgspec.msgpack.decode(msgspec.msgpack.encode(value), strict=False))


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("more",), 1),
        (("type",), "other"),
        (("worker",), "tcp://10.0.0.7:4000"),
        (("worker", "name"), "\x1b[2J"),
        (("worker", "address"), "x" * 2000),
        (("replies",), []),
        (("replies",), [raw(Stored(1.0, 1.0))] * 2),
        (("replies", 0), raw(Missing((OTHER,)))),
        (("replies", 0), {"type": "missing", "digests": []}),
        (("replies", 0), {"type": "stored", "seconds": math.nan, "cpu_seconds": 0}),
        (("replies", 0), {"type": "stored", "seconds": -1, "cpu_seconds": 0}),
        (("replies", 0), {"type": "stored", "seconds": 1}),
        (("replies", 0), {"type": "unshareable", "more": 1}),
        (("replies", 0, "problem"), "\x1b[2J"),
        (("replies", 0, "problem"), None),
        (("replies", 0, "traceback"), "x" * (ERROR_CHARACTERS + 1)),
        (("replies", 0, "facts"), {"file": ["source"]}),
    ],
)
def test_a_reply_with_anything_wrong_is_refused(path: tuple[Any, ...], new: Any) -> None:
    data = changed(raw(reply(failed())), path, new)
    with pytest.raises(MessageError):
        unpack_reply(data, batch())


def test_the_bundle_may_be_missing_too() -> None:
    answer = reply(Missing((OTHER,)))
    assert unpack_reply(pack_reply(answer), batch(bundle=OTHER)) == answer


@pytest.mark.parametrize("reasons", [[], ["x"] * 7, ["\n"], ["x" * 2000], [1]])
def test_a_refusal_with_anything_wrong_is_refused(reasons: list[Any]) -> None:
    data = changed(raw(Refusal(WORKER, ("x",))), ("reasons",), reasons)
    with pytest.raises(MessageError):
        unpack_reply(data, batch())


def test_every_truncated_message_is_refused() -> None:
    sent, answer = pack_batch(batch()), pack_reply(reply(failed()))
    for end in range(len(sent)):
        with pytest.raises(MessageError):
            unpack_batch(sent[:end])
    for end in range(len(answer)):
        with pytest.raises(MessageError):
            unpack_reply(answer[:end], batch())
    with pytest.raises(MessageError):
        unpack_reply(answer + b"\0", batch())


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_are_refused(data: bytes) -> None:
    for unpack in (unpack_batch, lambda one: unpack_reply(one, batch())):
        with pytest.raises(MessageError):
            unpack(data)


@pytest.mark.parametrize(
    "data",
    [None, "text", bytearray(b"\x80"), {"type": "reply"}, reply(Stored(1.0, 1.0)), Trap()],
    ids=lambda one: type(one).__name__,
)
def test_an_object_is_no_message(data: object) -> None:
    with pytest.raises(MessageError, match="not bytes"):
        unpack_reply(data, batch())


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    data = pickle.dumps(Trap(tmp_path / "trap"))
    with pytest.raises(MessageError):
        unpack_batch(data)
    with pytest.raises(MessageError):
        unpack_reply(data, batch())
    assert not (tmp_path / "trap").exists()
    pickle.loads(data)
    assert (tmp_path / "trap").exists()


def test_deep_nesting_is_refused() -> None:
    nested = b"\x91" * 100_000 + b"\xc0"
    data = pack_batch(batch(job_message(params={"value": None})))
    data = data.replace(b"\xa5value\xc0", b"\xa5value" + nested)
    with pytest.raises(MessageError, match="recursion"):
        unpack_batch(data)


def test_a_message_beyond_the_limit_is_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack_reply(reply(Stored(1.0, 1.0)))
    monkeypatch.setattr(message, "REPLY_BYTES", len(data) - 1)
    with pytest.raises(MessageError, match="more than"):
        unpack_reply(data, batch())


# A worker that gets a message.


class DaskWorker:
    address, name = WORKER.address, WORKER.name


@pytest.mark.parametrize("sent", [b"", b"no message", b"\x80", 5])
def test_a_worker_refuses_what_is_no_batch(sent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "get_worker", DaskWorker)
    answer = unpack_reply(worker.do_batch(own_version(), sent), batch())
    assert isinstance(answer, Refusal)
    assert answer.worker == WORKER
    assert answer.reasons[0].startswith("it cannot read the driver's message: ")


def test_a_worker_of_another_version_does_not_read_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "get_worker", DaskWorker)
    monkeypatch.setattr(worker, "unpack_batch", None)
    answer = unpack_reply(worker.do_batch("0.0.1 (abcdef)", b""), batch())
    assert isinstance(answer, Refusal)
    assert answer.reasons == (f"cartwright: {own_version()} there, 0.0.1 (abcdef) here",)


def test_whatever_goes_wrong_on_a_worker_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise PermissionError(13, "Permission denied", "cache")

    monkeypatch.setattr(worker, "get_worker", DaskWorker)
    monkeypatch.setattr(worker, "worker_state", fail)
    answer = unpack_reply(worker.do_batch(own_version(), pack_batch(batch())), batch())
    assert isinstance(answer, Refusal)
    assert answer.reasons == ("PermissionError: [Errno 13] Permission denied: 'cache'",)


def test_a_worker_is_called_by_its_name_and_its_address() -> None:
    assert str(WORKER) == "render-1 (tcp://10.0.0.7:4000)"
    assert str(WorkerName(WORKER.address, WORKER.address)) == WORKER.address
