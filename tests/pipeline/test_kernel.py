"""The sources of the native kernels as part of the key, and extensions of other sources."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from encoders.kit.native import kernel
from pipeline.content.code import Code
from pipeline.content.kernel import DIGEST_FILE, KERNELS, digest_files, source_digest
from tests.pipeline.checkout import Checkout
from tests.pipeline.game import ROOT, Game, Ran

FOREIGN = "the native kernels were built from other sources"
TARGET = """
from encoders.kit.plan import Kind, Node, Source, Target

def plan(asset, surveys, settings):
    inputs, outputs = {"source": Source(asset.source)}, {"data": f"{asset.place}.out"}
    yield Node(asset.name, f"encoders.own.{asset.kind}:encode", inputs, {}, outputs)

TARGET = Target(kinds={"block": Kind((".block",), {}), "plain": Kind((".plain",), {})}, plan=plan)
"""
# What an encoder must never do, and a test has to: tell whether a kernel or a reference runs.
BLOCK = """
from encoders.kit.native.kernel import choose

def encode(inputs, params):
    chosen = choose("bc1_encode", None)
    return {"data": b"native" if chosen else b"reference"}
"""
PLAIN = 'def encode(inputs, params):\n    return {"data": inputs["source"]}\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


@pytest.fixture
def own(game: Game) -> Game:
    """A game with three nodes that may use a kernel, and one that may not."""
    game.remove("manifests/toy.toml")
    game.write("manifests/own.toml", 'target = "own"\n[[asset]]\nsource = "assets/*"\n')
    for name, text in (("target", TARGET), ("block", BLOCK), ("plain", PLAIN)):
        game.write(f"encoders/own/{name}.py", text)
    for name in ("a.block", "b.block", "c.block", "d.plain"):
        game.write(f"assets/{name}", name)
    return game


BLOCKS = ["own:a", "own:b", "own:c"]


def run(own: Game, checkout: Checkout, *arguments: str, **environment: str) -> Ran:
    ran = own.process(*arguments, PYTHONPATH=str(checkout.root), **environment)
    assert ran.code == 0, ran.out + ran.err
    return ran


def what_ran(own: Game) -> set[bytes]:
    return {data for path, data in own.outputs().items() if not path.endswith("/d.out")}


def test_a_changed_source_builds_exactly_the_nodes_that_may_use_a_kernel(own, checkout):
    assert run(own, checkout).built == [*BLOCKS, "own:d"]
    assert "nothing to do" in run(own, checkout).out
    checkout.change()
    assert run(own, checkout, "explain").out.splitlines() == [
        f"{task}  code changed: native kernels" for task in BLOCKS
    ]
    assert run(own, checkout).built == BLOCKS
    assert "nothing to do" in run(own, checkout).out


def test_a_source_that_comes_or_goes_is_a_change(own, checkout):
    run(own, checkout)
    extra = checkout.native / "extra.h"
    extra.write_text("")
    assert run(own, checkout).built == BLOCKS
    extra.unlink()
    assert run(own, checkout).restored == BLOCKS


@pytest.mark.parametrize("digest", ["0" * 64, None], ids=["other digest", "no digest"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_extension_of_other_sources_is_not_used_and_warned_of_once(
    own, checkout, workers, digest
):
    checkout.build(digest)
    ran = run(own, checkout, "-n", workers)
    assert ran.built == [*BLOCKS, "own:d"]
    assert what_ran(own) == {b"reference"}
    assert (ran.out + ran.err).count(FOREIGN) == 1
    warning = f"warning: {checkout.extension}: {FOREIGN}; the slower Python references are used."
    mend = f"Reinstall: `pip install --editable {checkout.root}` [kernels]\n"
    assert f"{warning} {mend}" in ran.out
    assert FOREIGN not in run(own, checkout, "-n", workers).out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_extension_of_the_sources_that_are_there_is_used(own, checkout, workers):
    checkout.build(checkout.digest)
    assert "warning" not in run(own, checkout, "-n", workers).out
    assert what_ran(own) == {b"native"}


def test_whether_there_is_an_extension_is_no_part_of_the_key(own, checkout):
    run(own, checkout)
    checkout.build(checkout.digest)
    assert "nothing to do" in run(own, checkout).out
    assert what_ran(own) == {b"reference"}


def test_references_that_were_asked_for_are_nothing_to_warn_of(own, checkout):
    checkout.build("0" * 64)
    assert "warning" not in run(own, checkout, CARTWRIGHT_PURE="1").out
    assert what_ran(own) == {b"reference"}


def test_a_package_without_sources_has_their_digest(own, checkout):
    digest = checkout.digest
    for path in checkout.native.glob("*.[ch]"):
        path.unlink()
    (checkout.native / DIGEST_FILE).write_text(f"{digest}\n")
    checkout.build(digest)
    assert "warning" not in run(own, checkout).out
    assert what_ran(own) == {b"native"}
    checkout.build("0" * 64)
    ran = run(own, checkout, "-a")
    assert f"{FOREIGN}; " in ran.out
    assert "Reinstall: `pip install --force-reinstall --no-deps cartwright-build` " in ran.out
    (checkout.native / DIGEST_FILE).write_text("0" * 64)
    assert run(own, checkout).built == BLOCKS
    assert what_ran(own) == {b"native"}


def test_a_package_with_neither_sources_nor_digest_has_no_kernels_that_fit(tmp_path):
    assert source_digest(str(tmp_path)) == "absent"


def test_the_digest_counts_names_and_bytes_and_nothing_else(tmp_path):
    def digest(**files: str) -> str:
        for path in tmp_path.iterdir():
            path.unlink()
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return source_digest(str(tmp_path))

    found = [
        digest(a_c="x", b_h="y"),
        digest(a_c="xb", b_h="y"),
        digest(a_c="y", b_h="x"),
        digest(a_c="x", c_h="y"),
        digest(a_c="x"),
        digest(a_c="x", b_h="y", z_c=""),
        digest(a_c="xb.h", b_h="y"),
    ]
    assert len(set(found)) == len(found)
    assert digest(b_h="y", a_c="x", kernel_py="z", a_cpp="w", a_o="v") == found[0]


def test_the_files_that_decide_the_digest_are_the_sources_their_folder_and_the_packaged_one():
    folder = str(ROOT / "encoders/kit/native")
    names = {path.removeprefix(f"{folder}/") for path in digest_files(folder)}
    assert {folder, "bc1.c", "kernel.h", DIGEST_FILE} <= names
    assert not any(name.endswith(".py") for name in names)


def test_what_may_not_use_a_kernel_has_none_in_its_key():
    code = Code()
    assert KERNELS in code.table("encoders.kit.image.bc.bc1:encode_bc1")
    assert KERNELS not in code.table("encoders.kit.source.wav.decode:decode_wav")


@pytest.mark.skipif(kernel.built_extension() is None, reason="the extension is not built")
def test_the_extension_that_is_tested_here_was_built_from_the_sources_here():
    folder = str(ROOT / "encoders/kit/native")
    assert getattr(kernel.built_extension(), "SOURCE_DIGEST", None) == source_digest(folder)


TABLE = """
import json, sys
from pipeline.content.code import Code
print(json.dumps(dict(Code().table(sys.argv[1]))))
"""


def table_of(root: Path, encoder: str) -> dict[str, str]:
    command = [sys.executable, "-c", TABLE, encoder]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    table: dict[str, str] = json.loads(done.stdout)
    return table


def test_a_machine_with_other_kernel_sources_differs_from_this_one_in_them_alone(checkout):
    from pipeline.build.dask.compatibility import differences

    encoder = "encoders.kit.image.bc.bc1:encode_bc1"
    here = table_of(ROOT, encoder)
    assert differences(here, table_of(checkout.root, encoder)) == []
    checkout.change()
    there = table_of(checkout.root, encoder)
    assert differences(here, there) == [
        f"{KERNELS}: code {there[KERNELS][:8]} there, code {here[KERNELS][:8]} here"
    ]
