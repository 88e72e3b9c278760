"""What a message may cost: a hostile server can neither take time nor memory with one."""

from __future__ import annotations

import hashlib
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.plan import Family, Place
from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt, is_small
from pipeline.cache.shared import action_result, client
from pipeline.cache.shared.action_result import (
    FIELDS_OF_DIGEST,
    FIELDS_OF_FILE,
    MOST_MEMBERS,
    SPARE_FIELDS,
    TEXT_LINES,
    BadActionError,
    can_travel,
    message_limit,
    pack_action,
    unpack_action,
)
from pipeline.cache.shared.address import Address
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.output import Output
from tests.remote.fake import fake_server

KEY = hashlib.sha256(b"key").hexdigest()
FAMILY = Family("build/toy/a_", ".part")
NOTHING: dict[str, Place] = {}
TWO: dict[str, Place] = {"data": "build/toy/a.bin", "note": None}
PARTS: dict[str, Place] = {"note": None, "part": FAMILY}
TINY = b"\x08\x01"  # field 1, a number, 1
MIB = 1 << 20


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def receipt_of(outputs: dict[str, bytes], warnings: tuple[str, ...] = ()) -> Receipt:
    made = tuple(Output(role, len(data), sha(data)) for role, data in sorted(outputs.items()))
    inline = {one.role: outputs[one.role] for one in made if is_small(one.size)}
    return Receipt(made, warnings, (), inline)


@pytest.fixture
def numbers_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what is read of messages: every field begins with a number."""
    read = action_result._read_varint
    counts = [0]

    def counting(data: bytes, at: int) -> tuple[int, int]:
        counts[0] += 1
        return read(data, at)

    monkeypatch.setattr(action_result, "_read_varint", counting)
    return counts


@pytest.mark.parametrize("outputs", [NOTHING, TWO, PARTS], ids=["none", "two", "family"])
def test_a_message_of_tiny_fields_is_refused_before_it_is_read(
    numbers_read: list[int], outputs: dict[str, Place]
) -> None:
    longest = message_limit(outputs) // 2 * 2
    for size in (longest, 16 * MIB - 16):
        numbers_read[0] = 0
        with pytest.raises(BadActionError, match=r"it has too many fields|it is too large"):
            unpack_action(TINY * (size // 2), KEY, outputs)
        has_family = outputs is PARTS
        most = len(outputs) + SPARE_FIELDS + (MOST_MEMBERS if has_family else 0)
        assert numbers_read[0] <= 2 * most


@pytest.mark.parametrize("outputs", [NOTHING, TWO, PARTS], ids=["none", "two", "family"])
def test_a_message_of_tiny_fields_takes_no_memory(outputs: dict[str, Place]) -> None:
    data = TINY * (message_limit(outputs) // 2)
    tracemalloc.start()
    try:
        with pytest.raises(BadActionError):
            unpack_action(data, KEY, outputs)
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


def _nested(*numbers: int) -> bytes:
    """Write tiny fields inside of fields inside of fields."""
    data = b"\x78\x01" * 100_000  # field 15, which nobody uses
    for number in numbers:
        data = action_result._field(number, data)
    return data


@pytest.mark.parametrize(
    ("data", "most"),
    [
        (_nested(action_result.OUTPUT_FILES), FIELDS_OF_FILE),
        (_nested(action_result.DIGEST, action_result.OUTPUT_FILES), FIELDS_OF_DIGEST),
        (_nested(action_result.EXECUTION_METADATA), action_result.FIELDS_OF_METADATA),
    ],
    ids=["output", "digest", "metadata"],
)
def test_tiny_fields_inside_of_a_field_are_refused_as_soon(
    numbers_read: list[int], data: bytes, most: int
) -> None:
    with pytest.raises(BadActionError, match="it has too many fields"):
        unpack_action(data, KEY, TWO)
    assert numbers_read[0] <= 2 * most + 8


def test_a_message_of_line_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = action_result._field(action_result.STDERR_RAW, b"\n" * (TEXT_LINES + 1))
    with pytest.raises(BadActionError, match="its messages are too long"):
        unpack_action(data, KEY, TWO)
    assert not can_travel(receipt_of({}, ("",) * (TEXT_LINES + 1)))


def test_a_family_as_large_as_may_be_is_accepted() -> None:
    parts = {f"part/{number:064}": b"" for number in range(MOST_MEMBERS - 1)}
    receipt = receipt_of(parts | {"note": b""})
    assert can_travel(receipt)
    data = pack_action(KEY, receipt)
    assert unpack_action(data, KEY, PARTS).receipt.made == receipt.made


def test_a_family_that_others_would_refuse_does_not_travel() -> None:
    one = Output("part/0", 0, sha(b""))
    assert can_travel(Receipt((one,) * MOST_MEMBERS))
    assert not can_travel(Receipt((one,) * (MOST_MEMBERS + 1)))
    long = Output("part" * 250, 0, sha(b""))
    assert not can_travel(Receipt((long,) * MOST_MEMBERS))


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(names, st.binary(max_size=2000), max_size=20), st.integers(0, 300))
def test_no_result_of_ours_is_longer_than_its_roles_allow(
    outputs: dict[str, bytes], warnings: int
) -> None:
    receipt = receipt_of(outputs, ("a warning",) * warnings)
    promised: dict[str, Place] = dict.fromkeys(outputs)
    data = pack_action(KEY, receipt, b"a key")
    assert len(data) <= message_limit(promised)
    assert unpack_action(data, KEY, promised).receipt.made == receipt.made


def test_many_look_ups_of_a_hostile_server_stay_within_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """14 look-ups, each of which is answered with as many tiny fields as a family may have."""
    results: list[Any] = []
    with fake_server() as server:
        server.default = TINY * (message_limit(PARTS) // 2)
        shared = SharedCache(Address("http", "127.0.0.1", server.port, "", patience_seconds=60.0))
        cache = Cache(str(tmp_path))
        tracemalloc.start()
        try:
            threads = [
                threading.Thread(
                    target=lambda key: results.append(shared.fetch(key, PARTS, cache)),
                    args=(sha(bytes([number])),),
                )
                for number in range(14)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        shared.close()
    assert results == [False] * 14
    assert len(server.default) > client.LARGE_BYTES
    # Every look-up holds a message, and of the few that are read at once also its chunks.
    assert peak < (14 + client.LARGE_AT_ONCE + 2) * len(server.default) < 128 * MIB
