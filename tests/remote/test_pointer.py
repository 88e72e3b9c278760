"""Git LFS pointers: built without their sources, where the shared cache has the results."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image

from pipeline.disk.lfs import pointed_sha
from tests.pipeline.game import Game
from tests.remote.fake import Fake
from tests.remote.test_build import clone

MANIFEST = 'target = "rp2350"\n[[asset]]\nsource = "assets/*.png"\n'


def picture(number: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGBA", (8 * number, 8), (number, 2, 3, 255)).save(file, "PNG")
    return file.getvalue()


def pointer_to(data: bytes) -> bytes:
    sha = hashlib.sha256(data).hexdigest()
    lines = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha}\nsize {len(data)}\n"
    return lines.encode()


@pytest.fixture
def game(tmp_path: Path, remote: Fake) -> Game:
    """A game whose pictures, of which surveys are made, are built and shared."""
    game = Game(tmp_path / "first")
    game.remove("manifests/toy.toml")
    game.write("manifests/pico.toml", MANIFEST)
    game.write(".gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n")
    for number in (1, 2):
        game.write(f"assets/picture{number}.png", picture(number))
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    return game


def with_pointers(game: Game, folder: Path) -> Game:
    other = clone(game, folder)
    other.remove("manifests/toy.toml")
    for path in other.path("assets").iterdir():
        path.write_bytes(pointer_to(path.read_bytes()))
    return other


def test_pointers_are_built_from_the_shared_cache(game: Game, tmp_path: Path) -> None:
    other = with_pointers(game, tmp_path / "second")
    ran = other.doit("--from-pointers")
    assert (ran.code, ran.built) == (0, []), ran.out + ran.err
    assert other.outputs() == game.outputs()
    assert other.doit("--from-pointers").code == 0


def test_the_sources_that_come_later_change_nothing(game: Game, tmp_path: Path) -> None:
    other = with_pointers(game, tmp_path / "second")
    other.doit("--from-pointers")
    for number in (1, 2):
        name = f"assets/picture{number}.png"
        other.write(name, game.read(name))
    ran = other.doit()
    assert (ran.code, ran.built, ran.restored) == (0, [], []), ran.out


def test_a_pointer_whose_result_nobody_has_says_what_to_do(game: Game, tmp_path: Path) -> None:
    other = with_pointers(game, tmp_path / "second")
    other.write("assets/picture1.png", pointer_to(b"of another time"))
    ran = other.doit("--from-pointers")
    assert ran.code == 1
    assert "run `git lfs pull`" in ran.out
    assert "pico:picture1" in " ".join(ran.failed)
    assert "pico:picture2" not in " ".join(ran.failed)


def test_without_the_option_a_pointer_is_no_source(game: Game, tmp_path: Path) -> None:
    ran = with_pointers(game, tmp_path / "second").doit()
    assert ran.code == 1
    assert "run `git lfs pull`" in ran.out


def test_a_digest_is_read_from_a_pointer_alone() -> None:
    assert pointed_sha(pointer_to(b"x")) == hashlib.sha256(b"x").hexdigest()
    for text in (b"", b"oid sha256:" + b"a" * 64, pointer_to(b"x").replace(b"sha256:", b"md5:")):
        assert pointed_sha(text) is None
