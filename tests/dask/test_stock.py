from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.dask.bundle import SMALL_BYTES, Bundle, unpack_bundle
from pipeline.dask.errand import Errand
from pipeline.dask.error import ClusterError
from pipeline.dask.stock import Stock
from pipeline.fingerprint import fingerprint
from pipeline.work import Input, Job


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
        root=str(root),
        cache=str(root / "cache"),
        scratch=str(root / "tmp"),
        ledger=str(root / "ledger"),
    )
    return Errand("a", job)


LARGE, SMALL = bytes(SMALL_BYTES + 1), b"small"


def test_a_large_input_is_sent_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    shelf = Shelf()
    stock = Stock(shelf)
    for _ in range(3):
        bundle = Bundle()
        assert stock.supply(errand(tmp_path, source=Input("a", sha(LARGE))), bundle) == ()
        assert stock.put_bundle(bundle) is None
    assert shelf.blobs == {sha(LARGE): LARGE}
    assert shelf.puts == 1


def test_a_large_input_that_is_there_is_not_sent(tmp_path: Path) -> None:
    data = bytes(100_000)
    (tmp_path / "a").write_bytes(data)
    shelf = Shelf()
    shelf.blobs[sha(data)] = data
    Stock(shelf).supply(errand(tmp_path, source=Input("a", sha(data))), Bundle())
    assert shelf.puts == 0


def test_small_inputs_of_many_nodes_go_in_one_blob(tmp_path: Path) -> None:
    texts = [SMALL, b"", b"other", SMALL]
    shelf, bundle = Shelf(), Bundle()
    stock = Stock(shelf)
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_bytes(text)
        stock.supply(errand(tmp_path, source=Input(str(number), sha(text))), bundle)
    name = stock.put_bundle(bundle)
    assert name is not None
    assert shelf.puts == 1
    assert unpack_bundle(shelf.blobs[name]) == {sha(text): text for text in texts}


def test_every_truncated_bundle_is_refused() -> None:
    bundle = Bundle()
    for text in (SMALL, b"other"):
        assert bundle.add(sha(text), text)
    data = bundle.pack()
    assert data[:4] == b"\2\0\0\0"
    for end in range(len(data)):
        with pytest.raises((ValueError, struct.error)):
            unpack_bundle(data[:end])
    with pytest.raises(ValueError, match="no bundle"):
        unpack_bundle(data + b"!")


def test_a_source_saved_since_it_was_looked_at_counts_as_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    one = errand(tmp_path, source=Input("a", sha(b"old")))
    before = one.fingerprint
    Stock(Shelf()).supply(one, Bundle())
    assert one.digests == {"source": sha(b"new")}
    assert one.fingerprint == one.describe().fingerprint == one.final_job().fingerprint != before
    assert one.final_job().inputs["source"].sha == sha(b"new")


def test_a_source_that_is_gone_counts_as_absent(tmp_path: Path) -> None:
    one = errand(tmp_path, source=Input("a", sha(b"old")))
    assert Stock(Shelf()).supply(one, Bundle()) == ()
    assert one.digests == {"source": None}


def test_a_product_that_nobody_has_is_named_by_its_maker(tmp_path: Path) -> None:
    one = errand(tmp_path, part=Input(None, sha(b"part"), "toy:b", "0" * 64))
    assert Stock(Shelf()).supply(one, Bundle()) == ("toy:b",)


def test_a_blob_that_went_away_is_sent_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    shelf = Shelf()
    stock = Stock(shelf)
    stock.supply(errand(tmp_path, source=Input("a", sha(LARGE))), Bundle())
    assert stock.is_there([sha(LARGE)])
    shelf.blobs.clear()
    assert not stock.is_there([sha(LARGE)])
    stock.supply(errand(tmp_path, source=Input("a", sha(LARGE))), Bundle())
    assert shelf.blobs


def test_a_cache_that_takes_nothing_any_more_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LARGE)
    shelf = Shelf()
    shelf.no_uploads = "it takes none: 403"
    with pytest.raises(ClusterError, match="shared cache http://shelf: it takes none: 403"):
        Stock(shelf).supply(errand(tmp_path, source=Input("a", sha(LARGE))), Bundle())
