from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.build.dask.errand import Errand
from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.parcel import SMALL_BYTES, Parcel, unpack_parcel
from pipeline.build.dask.stock import Stock
from pipeline.build.job import Input, Job, RunConfig
from pipeline.change.fingerprint import fingerprint


class Shelf:
    """A shared cache in a dictionary, which counts what it is asked."""

    address = "http://shelf"
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


def errand(root: Path, **inputs: Input) -> Errand:
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
    return Errand("a", job)


LARGE, SMALL = bytes(SMALL_BYTES + 1), b"small"


def test_a_large_input_is_sent_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    shelf = Shelf()
    stock = Stock(shelf)
    for _ in range(3):
        parcel = Parcel()
        assert stock.supply(errand(tmp_path, source=Input("a", sha(LARGE))), parcel) == ()
        assert stock.put_parcel(parcel) is None
    assert shelf.blobs == {sha(LARGE): LARGE}
    assert shelf.puts == 1


def test_a_large_input_that_is_there_is_not_sent(tmp_path: Path) -> None:
    data = bytes(100_000)
    (tmp_path / "a").write_bytes(data)
    shelf = Shelf()
    shelf.blobs[sha(data)] = data
    Stock(shelf).supply(errand(tmp_path, source=Input("a", sha(data))), Parcel())
    assert shelf.puts == 0


def test_small_inputs_of_many_nodes_go_in_one_blob(tmp_path: Path) -> None:
    texts = [SMALL, b"", b"other", SMALL]
    shelf, parcel = Shelf(), Parcel()
    stock = Stock(shelf)
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_bytes(text)
        stock.supply(errand(tmp_path, source=Input(str(number), sha(text))), parcel)
    name = stock.put_parcel(parcel)
    assert name is not None
    assert shelf.puts == 1
    assert unpack_parcel(shelf.blobs[name]) == {sha(text): text for text in texts}


def test_every_truncated_parcel_is_refused() -> None:
    parcel = Parcel()
    for text in (SMALL, b"other"):
        assert parcel.add(sha(text), text)
    data = parcel.pack()
    assert data[:4] == b"\2\0\0\0"
    for end in range(len(data)):
        with pytest.raises((ValueError, struct.error)):
            unpack_parcel(data[:end])
    with pytest.raises(ValueError, match="no parcel"):
        unpack_parcel(data + b"!")


def test_a_source_saved_since_it_was_looked_at_counts_as_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    one = errand(tmp_path, source=Input("a", sha(b"old")))
    before = one.fingerprint
    Stock(Shelf()).supply(one, Parcel())
    assert one.digests == {"source": sha(b"new")}
    assert one.fingerprint == one.describe().fingerprint == one.final_job().fingerprint != before
    assert one.final_job().inputs["source"].sha == sha(b"new")


def test_a_source_that_is_gone_counts_as_absent(tmp_path: Path) -> None:
    one = errand(tmp_path, source=Input("a", sha(b"old")))
    assert Stock(Shelf()).supply(one, Parcel()) == ()
    assert one.digests == {"source": None}


def test_a_product_that_nobody_has_is_named_by_its_maker(tmp_path: Path) -> None:
    one = errand(tmp_path, part=Input(None, sha(b"part"), "toy:b", "0" * 64))
    assert Stock(Shelf()).supply(one, Parcel()) == ("toy:b",)


def test_a_blob_that_went_away_is_sent_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    shelf = Shelf()
    stock = Stock(shelf)
    stock.supply(errand(tmp_path, source=Input("a", sha(LARGE))), Parcel())
    assert stock.is_there([sha(LARGE)])
    shelf.blobs.clear()
    assert not stock.is_there([sha(LARGE)])
    stock.supply(errand(tmp_path, source=Input("a", sha(LARGE))), Parcel())
    assert shelf.blobs


def test_a_cache_that_takes_nothing_any_more_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    shelf = Shelf()
    shelf.no_uploads = "it takes none: 403"
    with pytest.raises(ClusterError, match="shared cache http://shelf: it takes none: 403"):
        Stock(shelf).supply(errand(tmp_path, source=Input("a", sha(LARGE))), Parcel())
