from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from encoders.kit.error import EncodeError
from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.input_bundle import SMALL_BYTES, InputBundle, unpack_bundle
from pipeline.build.dask.input_store import InputStore
from pipeline.build.dask.remote_job import RemoteJob
from pipeline.build.job import Input, Job, RunConfig
from pipeline.change.fingerprint import fingerprint


class FakeCache:
    """A shared cache in a dictionary, which counts what it is asked."""

    address = "http://cache"
    is_on = True
    no_uploads = ""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.puts = 0

    @property
    def takes_uploads(self) -> bool:
        return not self.no_uploads

    def has_blobs(self, shas: Iterable[str]) -> set[str]:
        return set(shas) & set(self.blobs)

    def put_blob(self, sha: str, data: bytes) -> bool:
        if not self.takes_uploads:
            return False
        self.puts += 1
        self.blobs[sha] = data
        return True


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def remote_job(root: Path, **inputs: Input) -> RemoteJob:
    job = Job(
        task="toy:a",
        encoder="encoders.toy:encode",
        code={},
        params={},
        inputs=inputs,
        outputs={"data": "build/a"},
        fixed="fixed",
        fingerprint=fingerprint("fixed", {name: one.sha for name, one in inputs.items()}),
        config=RunConfig(*(str(root / name) for name in ("", "cache", "tmp", "ledger"))),
    )
    return RemoteJob("a", job)


LARGE, SMALL = bytes(SMALL_BYTES + 1), b"small"


def test_a_large_input_is_sent_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    server = FakeCache()
    store = InputStore(server)
    for _ in range(3):
        bundle = InputBundle()
        assert (
            store.upload_inputs(remote_job(tmp_path, source=Input("a", sha(LARGE))), bundle) == ()
        )
        assert store.upload_bundle(bundle) is None
    assert server.blobs == {sha(LARGE): LARGE}
    assert server.puts == 1


def test_a_large_input_that_is_there_is_not_sent(tmp_path: Path) -> None:
    data = bytes(100_000)
    (tmp_path / "a").write_bytes(data)
    server = FakeCache()
    server.blobs[sha(data)] = data
    InputStore(server).upload_inputs(
        remote_job(tmp_path, source=Input("a", sha(data))), InputBundle()
    )
    assert server.puts == 0


def test_small_inputs_of_many_nodes_go_in_one_blob(tmp_path: Path) -> None:
    texts = [SMALL, b"", b"other", SMALL]
    server, bundle = FakeCache(), InputBundle()
    store = InputStore(server)
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_bytes(text)
        store.upload_inputs(remote_job(tmp_path, source=Input(str(number), sha(text))), bundle)
    name = store.upload_bundle(bundle)
    assert name is not None
    assert server.puts == 1
    assert unpack_bundle(server.blobs[name]) == {sha(text): text for text in texts}


def test_every_truncated_bundle_is_refused() -> None:
    bundle = InputBundle()
    for text in (SMALL, b"other"):
        assert bundle.add(sha(text), text)
    data = bundle.pack()
    assert data[:4] == b"\2\0\0\0"
    for end in range(len(data)):
        with pytest.raises(ValueError, match="an input bundle"):
            unpack_bundle(data[:end])
    with pytest.raises(ValueError, match="another size"):
        unpack_bundle(data + b"!")


def test_a_source_saved_since_it_was_planned_is_sent_as_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    one = remote_job(tmp_path, source=Input("a", sha(b"old")))
    before = one.fingerprint
    InputStore(FakeCache()).upload_inputs(one, InputBundle())
    assert one.digests == {"source": sha(b"new")}
    assert one.fingerprint == one.message().fingerprint == one.job_as_sent().fingerprint != before
    assert one.job_as_sent().inputs["source"].sha == sha(b"new")


def test_a_source_that_is_gone_counts_as_absent(tmp_path: Path) -> None:
    one = remote_job(tmp_path, source=Input("a", sha(b"old")))
    assert InputStore(FakeCache()).upload_inputs(one, InputBundle()) == ()
    assert one.digests == {"source": None}


def test_an_output_that_is_lost_is_named_by_its_task(tmp_path: Path) -> None:
    one = remote_job(tmp_path, part=Input(None, sha(b"part"), "toy:b", "0" * 64))
    assert InputStore(FakeCache()).upload_inputs(one, InputBundle()) == ("toy:b",)


def test_a_blob_that_went_away_is_sent_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    server = FakeCache()
    store = InputStore(server)
    store.upload_inputs(remote_job(tmp_path, source=Input("a", sha(LARGE))), InputBundle())
    assert store.has_all([sha(LARGE)])
    server.blobs.clear()
    assert not store.has_all([sha(LARGE)])
    store.upload_inputs(remote_job(tmp_path, source=Input("a", sha(LARGE))), InputBundle())
    assert server.blobs


def test_a_cache_that_takes_nothing_any_more_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    server = FakeCache()
    server.no_uploads = "it takes none: 403"
    with pytest.raises(ClusterError, match="shared cache http://cache: it takes none: 403"):
        InputStore(server).upload_inputs(
            remote_job(tmp_path, source=Input("a", sha(LARGE))), InputBundle()
        )


def test_a_source_that_leads_out_of_the_project_is_not_uploaded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "game").mkdir()
    (tmp_path / "game/source").symlink_to(tmp_path / "secret")
    shared = FakeCache()
    for planned in (sha(b"planned"), None):
        job = remote_job(tmp_path / "game", source=Input("source", planned))
        with pytest.raises(EncodeError, match="link leads out of the project"):
            InputStore(shared).upload_inputs(job, InputBundle())  # type: ignore[arg-type]
    assert shared.blobs == {}
