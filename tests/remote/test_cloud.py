"""The same shared cache in the buckets of three clouds, on servers that others wrote."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cache.local import Cache
from tests.remote.cloud import CLOUDS, Cloud, is_installed, prefix_of, running_cloud
from tests.remote.test_bucket import OUTPUTS, keep, key_of, open_bucket, send
from tests.remote.test_build import clone, new_game, remote_warnings

# In a receipt, in a pack, an object of its own, and one that libraries like to send in parts.
SIZES = (10, 20_000, 200_000, 6_000_000)


@pytest.fixture(scope="module", params=CLOUDS)
def cloud(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cloud]:
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed")
    with running_cloud(request.param, tmp_path_factory.mktemp("cloud")) as one:
        yield one


@pytest.fixture
def bucket(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> str:
    """Settings that lead to a folder of the bucket for this test alone."""
    for name in [one for one in os.environ if one.startswith(("AWS_", "GOOGLE_", "AZURE_"))]:
        monkeypatch.delenv(name)
    address = f"{cloud.address}/{prefix_of(request.node.name)}"
    ours = {"CARTWRIGHT_REMOTE_CACHE": address, "CARTWRIGHT_REMOTE_WRITE": "1"}
    for key, value in {**cloud.settings, **ours, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(key, value)
    return address


def test_results_of_all_sizes_arrive(bucket: str, tmp_path: Path) -> None:
    ours, theirs = Cache(str(tmp_path / "ours")), Cache(str(tmp_path / "theirs"))
    kept = [keep(ours, number, size) for number, size in enumerate(SIZES)]
    send(ours, *range(len(SIZES)))
    shared = open_bucket()
    assert all(shared.fetch(key_of(number), OUTPUTS, theirs) for number in range(len(SIZES)))
    assert not shared.fetch(key_of(99), OUTPUTS, theirs)
    assert shared.finish() == []
    for number, data in enumerate(kept):
        receipt = theirs.load_receipt_of_other(key_of(number))
        assert receipt is not None
        assert theirs.load_output(receipt, receipt.made[0]) == data


def test_a_name_stands_for_what_was_put_last(bucket: str) -> None:
    shared, data = open_bucket(), b"bytes by digest"
    sha = hashlib.sha256(data).hexdigest()
    assert shared.get_name(key_of(0), 100) is None
    assert shared.has_blobs([sha]) == set()
    assert shared.put_blob(sha, data)
    assert shared.has_blobs([sha]) == {sha}
    assert shared.blob(sha) == data
    for message in (b"the first", b"the second"):
        assert shared.put_name(key_of(0), message)
        assert shared.get_name(key_of(0), 100) == message
    assert shared.finish() == []


def test_a_clean_clone_encodes_nothing_and_a_snapshot_equals_the_build(
    bucket: str, tmp_path: Path
) -> None:
    game = new_game(tmp_path / "first", 8)
    for words in ((), ("snapshot", "publish")):
        ran = game.doit(*words)
        assert ran.code == 0, ran.out
        assert not remote_warnings(ran), ran.out
    other = clone(game, tmp_path / "second")
    ran = other.doit()
    assert (ran.code, ran.built) == (0, []), ran.out
    assert other.outputs() == game.outputs()
    empty = clone(game, tmp_path / "third")
    for one in (empty.root / "assets").rglob("*.*"):
        one.unlink()
    assert empty.doit("snapshot", "fetch").code == 0
    assert empty.outputs() == game.outputs()


def test_wrong_credentials_are_said_and_not_told(
    cloud: Cloud, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cloud.scheme == "gs":
        pytest.skip("moto's server lets everybody in")
    wrong = cloud.secret[::-1] if cloud.scheme == "s3" else cloud.secret[4:] + cloud.secret[:4]
    monkeypatch.setenv(cloud.secret_variable, wrong)
    game = new_game(tmp_path / "game")
    ran = game.doit("--json", "result.json", "-v")
    assert ran.code == 0, ran.out
    assert "access is denied" in remote_warnings(ran)[0]
    files = [one for one in game.root.rglob("*") if one.is_file()]
    told = ran.out + ran.err + "".join(one.read_bytes().decode("latin-1") for one in files)
    assert wrong not in told


def test_a_missing_bucket_is_named_as_such(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = bucket.partition(":")[0]
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", f"{scheme}://nowhere")
    ran = new_game(tmp_path / "game").doit()
    assert ran.code == 0
    assert "there is no such bucket" in remote_warnings(ran)[0], ran.out
