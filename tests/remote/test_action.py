"""Results as ActionResult messages: read alike by a second implementation, and never believed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.plan import Family, Place
from pipeline.cache.receipt import INLINE_BYTES, Receipt, is_small
from pipeline.cache.shared.action_result import (
    INLINE_TOTAL,
    BadActionError,
    can_travel,
    inlined,
    pack_action,
    seal,
    unpack_action,
)
from pipeline.output import Output, output_path
from tests.remote.message import ActionResult

KEY = hashlib.sha256(b"key").hexdigest()
OUTPUTS: dict[str, Place] = {
    "data": "build/toy/a.bin",
    "note": None,
    "part": Family("build/toy/a_", ".part", "build/toy/a.part"),
}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def receipt_of(outputs: dict[str, bytes], *warnings: str, report: tuple[str, ...] = ()) -> Receipt:
    made = tuple(Output(role, len(data), sha(data)) for role, data in sorted(outputs.items()))
    inline = {one.role: outputs[one.role] for one in made if is_small(one.size)}
    return Receipt(made, warnings, report, inline)


GOOD = receipt_of({"data": b"data", "note": b"", "part/0": b"zero", "part/1": b"x" * 20_000})


def message_of(receipt: Receipt = GOOD) -> Any:
    message = ActionResult()
    message.ParseFromString(pack_action(KEY, receipt))
    return message


def sealed(message: Any) -> bytes:
    """Write a message with the seal that belongs to what it says, as a forger would."""
    made = tuple(
        Output(one.path, one.digest.size_bytes, one.digest.hash) for one in message.output_files
    )
    warnings = tuple(message.stderr_raw.decode().split("\n")[:-1])
    report = tuple(message.stdout_raw.decode().split("\n")[:-1])
    message.execution_metadata.worker = seal(KEY, Receipt(made, warnings, report))
    data: bytes = message.SerializeToString()
    return data


roles = st.sampled_from(["data", "note", "part", "part/0", "part/7", "part/12"])
lines = st.lists(st.text(st.characters(categories=["L", "N", "P"]), max_size=20), max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(roles, st.binary(max_size=300)), lines, lines)
def test_another_implementation_reads_and_writes_the_same_message(
    outputs: dict[str, bytes], warnings: list[str], report: list[str]
) -> None:
    receipt = receipt_of(outputs, *warnings, report=tuple(report))
    data = pack_action(KEY, receipt)
    message = ActionResult()
    message.ParseFromString(data)
    assert [(one.path, one.digest.size_bytes, one.digest.hash) for one in message.output_files] == [
        (one.role, one.size, one.sha) for one in receipt.made
    ]
    assert [one.contents for one in message.output_files] == [
        outputs[one.role] for one in receipt.made
    ]
    assert message.stderr_raw.decode() == "".join(f"{line}\n" for line in warnings)
    assert message.SerializeToString(deterministic=True) == data
    promised: dict[str, Place] = dict.fromkeys({"data", "note"} & set(outputs))
    action = unpack_action(data, KEY, promised | {"part": OUTPUTS["part"]})
    assert action.receipt.made == receipt.made
    assert action.receipt.warnings == receipt.warnings
    assert action.receipt.report == receipt.report
    assert action.inline == outputs


def test_what_is_too_much_for_the_message_stays_outside() -> None:
    parts = {f"part/{number:03}": bytes([number]) * INLINE_BYTES for number in range(40)}
    receipt = receipt_of(parts)
    assert len(inlined(receipt)) == INLINE_TOTAL // INLINE_BYTES
    assert len(pack_action(KEY, receipt)) < INLINE_TOTAL + 40 * 200
    message = message_of(receipt)
    assert {one.path for one in message.output_files if one.contents} == inlined(receipt)


def test_fields_that_a_server_adds_are_passed_over() -> None:
    added = bytes([15 << 3 | 0, 5, 14 << 3 | 1, *b"12345678", 13 << 3 | 5, *b"1234"])
    data = pack_action(KEY, GOOD) + added
    assert unpack_action(data, KEY, OUTPUTS).receipt.made == GOOD.made


def test_every_truncation_is_refused() -> None:
    data = pack_action(KEY, receipt_of({"data": b"data", "note": b"note", "part/0": b"zero"}))
    for end in range(len(data)):
        with pytest.raises(BadActionError):
            unpack_action(data[:end], KEY, OUTPUTS)


def test_every_flipped_byte_is_refused_or_changes_nothing() -> None:
    receipt = receipt_of({"data": b"data", "note": b"note"}, "a warning")
    data = pack_action(KEY, receipt)
    for at in range(len(data)):
        altered = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        try:
            action = unpack_action(altered, KEY, OUTPUTS)
        except BadActionError:
            continue
        assert action.receipt.made == receipt.made
        assert action.receipt.warnings == receipt.warnings


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(BadActionError):
        unpack_action(data, KEY, OUTPUTS)


def test_a_result_of_another_key_is_refused() -> None:
    with pytest.raises(BadActionError, match="seal"):
        unpack_action(pack_action(sha(b"other"), GOOD), KEY, OUTPUTS)


@pytest.mark.parametrize(
    "role",
    [
        "/etc/passwd",
        "../data",
        "data/../../x",
        "part/../0",
        "part/..",
        "part//0",
        "./data",
        "part\\0",
        "part/0\0",
        "part/\n",
        "C:/data",
        "part/" + "1" * 300,
        "x" * 5000,
        "",
        "unknown",
        "part/name",
        "part/0/1",
    ],
)
def test_a_role_that_the_node_cannot_have_is_refused(role: str) -> None:
    message = message_of()
    message.output_files[-1].path = role
    with pytest.raises(BadActionError):
        unpack_action(sealed(message), KEY, OUTPUTS)


@pytest.mark.parametrize(
    "role", ["/data", "../data", "data/..", "a//b", "./a", "a\\b", "a\0", "a\n"]
)
def test_a_role_that_leads_elsewhere_is_refused_even_where_it_was_promised(role: str) -> None:
    data = pack_action(KEY, receipt_of({role: b""}))
    with pytest.raises(BadActionError, match="a name that none can have"):
        unpack_action(data, KEY, {role: None})


def _missing(message: Any) -> None:
    del message.output_files[0]


def _repeated(message: Any) -> None:
    message.output_files.add().CopyFrom(message.output_files[-1])


def _out_of_order(message: Any) -> None:
    message.output_files.add().CopyFrom(message.output_files[0])
    del message.output_files[0]


def _wrong_contents(message: Any) -> None:
    message.output_files[0].contents = b"DATA"


def _longer_contents(message: Any) -> None:
    message.output_files[0].contents += b"!"


def _contents_of_nothing(message: Any) -> None:
    message.output_files[1].digest.hash = sha(b"something")


def _no_digest(message: Any) -> None:
    message.output_files[0].ClearField("digest")


def _strange_digest(message: Any) -> None:
    message.output_files[3].digest.hash = "../" * 21 + "a"


def _upper_case_digest(message: Any) -> None:
    message.output_files[3].digest.hash = message.output_files[3].digest.hash.upper()


def _negative_size(message: Any) -> None:
    message.output_files[3].digest.size_bytes = -1


def _huge_size(message: Any) -> None:
    message.output_files[3].digest.size_bytes = 1 << 60


def _huge_in_sum(message: Any) -> None:
    for one in message.output_files[2:]:
        one.ClearField("contents")
        one.digest.size_bytes = 3 << 30


def _failed_action(message: Any) -> None:
    message.exit_code = 1


def _link(message: Any) -> None:
    message.output_symlinks.add(path="data", target="/etc/passwd")


def _directory(message: Any) -> None:
    message.output_directories.add(path="data").tree_digest.hash = sha(b"")


def _text_by_digest(message: Any) -> None:
    message.stdout_digest.hash = sha(b"")


def _terminal_codes(message: Any) -> None:
    message.stderr_raw = b"\x1b[2Jnothing to see\n"


def _long_text(message: Any) -> None:
    message.stdout_raw = b"a" * (2 << 20) + b"\n"


@pytest.mark.parametrize(
    "forge",
    [
        _missing,
        _repeated,
        _out_of_order,
        _wrong_contents,
        _longer_contents,
        _contents_of_nothing,
        _no_digest,
        _strange_digest,
        _upper_case_digest,
        _negative_size,
        _huge_size,
        _huge_in_sum,
        _failed_action,
        _link,
        _directory,
        _text_by_digest,
        _terminal_codes,
        _long_text,
    ],
    ids=lambda one: one.__name__,
)
def test_a_forged_result_is_refused(forge: Callable[[Any], None]) -> None:
    message = message_of()
    assert unpack_action(sealed(message), KEY, OUTPUTS).receipt.made == GOOD.made
    forge(message)
    with pytest.raises(BadActionError):
        unpack_action(sealed(message), KEY, OUTPUTS)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 11,  # a number that never ends
        b"\x12\xff\xff\xff\xff\x07",  # two gigabytes of output to come
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a length beyond all memory
        b"\x13\x14",  # a group
        b"\x10\x01",  # a number where an output should be
        b"\x12\x02\x0a\x05",  # an output that is cut short inside
        b"\x39\x00",  # a fixed number that is cut short
    ],
)
def test_a_message_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(BadActionError):
        unpack_action(data + pack_action(KEY, GOOD), KEY, OUTPUTS)
    with pytest.raises(BadActionError):
        unpack_action(pack_action(KEY, GOOD) + data, KEY, OUTPUTS)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_no_role_that_is_accepted_leads_out_of_the_output_folder(role: str) -> None:
    message = message_of(receipt_of({"data": b"", "note": b""}))
    message.output_files.add(path=role).digest.hash = sha(b"")
    try:
        action = unpack_action(sealed(message), KEY, OUTPUTS)
    except (BadActionError, UnicodeEncodeError):
        return
    for one in action.receipt.made:
        place = output_path(one.role, OUTPUTS)
        assert place is None or (place.startswith("build/toy/a") and ".." not in place)


def test_a_result_that_others_would_refuse_does_not_travel() -> None:
    assert can_travel(GOOD)
    assert not can_travel(receipt_of({"data": b""}, "a \x1b[31mred\x1b[0m warning"))
