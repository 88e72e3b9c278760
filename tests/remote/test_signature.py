"""Signed results: whoever has the key uses no other, and the key shows nowhere."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from encoders.kit.plan import Place
from pipeline.cache.receipt import Receipt
from pipeline.cache.shared import action_result
from pipeline.cache.shared.action_result import (
    SIGNATURE,
    BadActionError,
    UnsignedError,
    pack_action,
    seal,
    sign,
    unpack_action,
)
from pipeline.cache.shared.address import Address, find_address
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.output import Output
from pipeline.setting import SettingError
from tests.pipeline.game import Game
from tests.remote.conftest import share
from tests.remote.fake import Fake, fake_server
from tests.remote.message import ActionResult
from tests.remote.server import installed, running
from tests.remote.test_build import clone, new_game, remote_warnings

NODE = hashlib.sha256(b"node").hexdigest()
SECRET, OTHER = "a-key-of-many-letters", "another-key-of-letters"
OUTPUTS: dict[str, Place] = {"data": "build/toy/a.bin", "note": None}
NOT_USED = "7 results without a valid signature were not used [shared-cache]"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


DATA, NOTE = Output("data", 4, sha(b"data")), Output("note", 0, sha(b""))
RECEIPT = Receipt((DATA, NOTE), ("a warning",), ("a line",), {"data": b"data", "note": b""})


def test_a_signed_result_is_used_by_who_has_the_key_and_by_who_has_none() -> None:
    data = pack_action(NODE, RECEIPT, SECRET.encode())
    for key in (SECRET.encode(), b""):
        assert unpack_action(data, NODE, OUTPUTS, key).receipt.made == RECEIPT.made


def test_an_unsigned_result_is_not_used_by_who_has_a_key() -> None:
    data = pack_action(NODE, RECEIPT)
    assert unpack_action(data, NODE, OUTPUTS).receipt.made == RECEIPT.made
    with pytest.raises(UnsignedError):
        unpack_action(data, NODE, OUTPUTS, SECRET.encode())


def test_a_result_that_was_signed_with_another_key_is_not_used() -> None:
    data = pack_action(NODE, RECEIPT, OTHER.encode())
    with pytest.raises(UnsignedError):
        unpack_action(data, NODE, OUTPUTS, SECRET.encode())


@pytest.mark.parametrize("end", ["", "x", "0" * 64, "\u00e9" * 64])
def test_a_signature_that_is_none_is_not_used(end: str) -> None:
    message = ActionResult()
    message.ParseFromString(pack_action(NODE, RECEIPT))
    message.execution_metadata.worker += SIGNATURE + end
    with pytest.raises(UnsignedError):
        unpack_action(message.SerializeToString(), NODE, OUTPUTS, SECRET.encode())


@pytest.mark.parametrize(
    "other",
    [
        RECEIPT._replace(made=(DATA._replace(sha=sha(b"DATA")), NOTE)),
        RECEIPT._replace(made=(DATA._replace(size=5), NOTE)),
        RECEIPT._replace(made=(DATA._replace(role="date"), NOTE)),
        RECEIPT._replace(made=(DATA,)),
        RECEIPT._replace(warnings=()),
        RECEIPT._replace(warnings=("another warning",)),
        RECEIPT._replace(report=("a line", "")),
        RECEIPT._replace(warnings=("a line",), report=("a warning",)),
    ],
)
def test_a_signature_covers_everything_that_a_result_says(other: Receipt) -> None:
    key = SECRET.encode()
    assert sign(NODE, other, key) != sign(NODE, RECEIPT, key)
    assert sign(sha(b"other node"), RECEIPT, key) != sign(NODE, RECEIPT, key)


def test_every_flipped_bit_of_a_signed_result_is_refused_or_changes_nothing() -> None:
    key = SECRET.encode()
    data = pack_action(NODE, RECEIPT, key)
    for position in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        try:
            receipt = unpack_action(bytes(flipped), NODE, OUTPUTS, key).receipt
        except BadActionError:
            continue
        assert receipt == RECEIPT._replace(inline={})


def test_a_forger_without_the_key_cannot_put_other_bytes_under_a_signature() -> None:
    """The forger knows the seal, and takes the signature from the real result."""
    message = ActionResult()
    message.ParseFromString(pack_action(NODE, RECEIPT, SECRET.encode()))
    signature = message.execution_metadata.worker.partition(SIGNATURE)[2]
    made = (DATA._replace(sha=sha(b"evil")), NOTE)
    forged = RECEIPT._replace(made=made, inline={"data": b"evil", "note": b""})
    message.ParseFromString(pack_action(NODE, forged))
    message.execution_metadata.worker = seal(NODE, forged) + SIGNATURE + signature
    data = message.SerializeToString()
    assert unpack_action(data, NODE, OUTPUTS).inline["data"] == b"evil"
    with pytest.raises(UnsignedError):
        unpack_action(data, NODE, OUTPUTS, SECRET.encode())


def test_signatures_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    compare = action_result.hmac.compare_digest
    monkeypatch.setattr(
        "pipeline.cache.shared.action_result.hmac.compare_digest",
        lambda one, other: compared.append(other) or compare(one, other),
    )
    unpack_action(pack_action(NODE, RECEIPT, SECRET.encode()), NODE, OUTPUTS, SECRET.encode())
    assert compared == [sign(NODE, RECEIPT, SECRET.encode()).encode()]


@pytest.fixture
def fake() -> Iterator[Fake]:
    with fake_server() as server:
        yield server


@pytest.fixture(params=["fake", *installed()])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A server of our own, which takes everything, and each of the real ones that is there."""
    if request.param == "fake":
        with fake_server() as server:
            yield server.address
    else:
        with running(tmp_path / "server", request.param) as real:
            yield real.address


@pytest.fixture
def signed(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Game:
    """A game whose results are on the server, signed."""
    share(monkeypatch, address, write=True)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY", SECRET)
    game = new_game(tmp_path / "first")
    ran = game.doit()
    assert (ran.code, remote_warnings(ran)) == (0, [])
    share(monkeypatch, address)
    return game


def test_builds_with_the_key_and_without_any_use_signed_results(
    signed: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in (("same", SECRET), ("none", None)):
        if key is None:
            monkeypatch.delenv("CARTWRIGHT_REMOTE_KEY")
        other = clone(signed, tmp_path / name)
        ran = other.doit()
        assert (ran.built, len(ran.restored)) == ([], 7)
        assert not remote_warnings(ran)
        assert other.outputs() == signed.outputs()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_build_with_another_key_uses_none_and_replaces_them(
    signed: Game,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workers: tuple[str, ...],
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY", OTHER)
    share(monkeypatch, address, write=True)
    ran = clone(signed, tmp_path / "second").doit(*workers)
    assert len(ran.built) == 7
    (warning,) = remote_warnings(ran)
    assert warning.endswith(NOT_USED)
    ran = clone(signed, tmp_path / "third").doit()
    assert (ran.built, remote_warnings(ran)) == ([], [])


def test_unsigned_results_are_not_used_however_many_there_are(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share(monkeypatch, address, write=True)
    game = new_game(tmp_path / "first", 40)
    assert game.doit().code == 0
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY", SECRET)
    ran = clone(game, tmp_path / "second").doit()
    assert len(ran.built) == 44
    (warning,) = remote_warnings(ran)
    assert warning.endswith(": 44 results without a valid signature were not used [shared-cache]")


def test_a_key_comes_from_a_file_as_well(
    signed: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(f"{SECRET}\n")
    monkeypatch.delenv("CARTWRIGHT_REMOTE_KEY")
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY_FILE", str(tmp_path / "key"))
    assert clone(signed, tmp_path / "second").doit().built == []
    (tmp_path / "key").write_text(f"{OTHER}\n")
    ran = clone(signed, tmp_path / "third").doit()
    assert len(ran.built) == 7
    assert NOT_USED in ran.out


def test_the_key_is_in_no_output_and_in_no_file(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = new_game(tmp_path / "game")
    settings = {
        "CARTWRIGHT_REMOTE_CACHE": fake.address,
        "CARTWRIGHT_REMOTE_WRITE": "1",
        "CARTWRIGHT_REMOTE_KEY": SECRET,
    }
    ran = game.process("-n", "2", **settings)
    assert ran.code == 0
    fake.rule = lambda method, path: 500
    failed = clone(game, tmp_path / "other").process(**settings)
    assert "warning: shared cache" in failed.out
    assert SECRET not in ran.out + ran.err + failed.out + failed.err
    assert not any(SECRET.encode() in data for data in fake.entries.values())
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_the_key_is_in_no_representation_and_cannot_be_serialised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "http://a")
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY", SECRET)
    found = find_address("/nowhere")
    assert found is not None
    assert found.key == SECRET.encode()
    shared = SharedCache(found)
    assert SECRET not in f"{found} {found!r} {shared!r} {shared.client!r} {shared.breaker!r}"
    for write in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            write(found)


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"KEY": ""}, "CARTWRIGHT_REMOTE_KEY: the key is empty"),
        ({"KEY": " \n"}, "CARTWRIGHT_REMOTE_KEY: the key is empty"),
        ({"KEY": SECRET, "KEY_FILE": "/a"}, "set only one of them"),
        ({"KEY_FILE": "/nowhere/key"}, "CARTWRIGHT_REMOTE_KEY_FILE: No such file"),
        ({"KEY_FILE": ""}, "CARTWRIGHT_REMOTE_KEY_FILE: No such file"),
        ({"KEY_FILE": "/dev/null"}, "CARTWRIGHT_REMOTE_KEY_FILE: "),
    ],
)
def test_a_key_that_is_none_stops_the_run_by_its_name(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], problem: str
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "http://a")
    for name, value in environment.items():
        monkeypatch.setenv(f"CARTWRIGHT_REMOTE_{name}", value)
    with pytest.raises(SettingError) as caught:
        find_address("/nowhere")
    assert problem in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("key", ["remote_key", "remote_key_file", "remote_password"])
def test_a_secret_in_the_projects_file_is_refused_unquoted(tmp_path: Path, key: str) -> None:
    text = f'[tool.cartwright]\nremote_cache = "http://a:1"\n{key} = "{SECRET}"\n'
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SettingError, match=f"set CARTWRIGHT_{key.upper()} instead") as caught:
        find_address(str(tmp_path))
    assert SECRET not in str(caught.value)


def test_an_address_has_no_key_by_itself() -> None:
    assert Address("http", "a", 80, "").key == b""
