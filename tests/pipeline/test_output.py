"""Output folders: what was made makes way, what was not stays, and nothing leads elsewhere."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pipeline.disk import file
from pipeline.disk.file import is_equal
from tests.pipeline.game import MANIFEST, Game


@pytest.fixture
def village(game: Game) -> Game:
    """Two texts in one folder each, not built yet; `times` says how their outputs are called."""
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "bye")
    return game


def let_times_place_outputs(game: Game) -> None:
    """Let the toy target put a text that comes twice into a folder of its own."""
    code = game.read("encoders/toy.py").decode()
    place = '{"text": f"{asset.place}.out" + "/inner" * (asset.options["times"] > 1), '
    game.write("encoders/toy.py", code.replace('{"text": f"{asset.place}.out", ', place))


def placed(game: Game, times: int) -> list[str]:
    game.write("manifests/toy.toml", f"{MANIFEST}times = {times}\n")
    ran = game.doit()
    assert (ran.code, ran.failed) == (0, []), ran.out
    return sorted(game.outputs())


def test_an_output_can_become_a_folder_and_a_file_again(village):
    let_times_place_outputs(village)
    files = ["build/toy/a.out", "build/toy/all.pack", "build/toy/sub/b.out"]
    deep = ["build/toy/a.out/inner", "build/toy/all.pack", "build/toy/sub/b.out/inner"]
    for times in (1, 2, 1, 3):
        assert placed(village, times) == (files if times == 1 else deep)
        assert "nothing to do" in village.doit().out


def test_an_output_that_is_in_the_way_and_was_altered_stays(village):
    let_times_place_outputs(village)
    placed(village, 1)
    village.write("build/toy/a.out", "mine")
    village.write("manifests/toy.toml", f"{MANIFEST}times = 2\n")
    ran = village.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert "build/toy/a.out: nothing makes it any more; altered, so it stays" in ran.out
    assert village.read("build/toy/a.out") == b"mine"


def test_a_foreign_file_in_a_folder_that_has_to_make_way_stays(village):
    let_times_place_outputs(village)
    placed(village, 2)
    village.write("build/toy/a.out/mine", "mine")
    village.write("manifests/toy.toml", MANIFEST)
    ran = village.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert village.outputs()["build/toy/a.out/mine"] == b"mine"


def elsewhere(game: Game, tmp_path: Path, inside: bool) -> Path:
    """Make a folder with a file of somebody else in it."""
    folder = game.path("assets") if inside else tmp_path / "elsewhere"
    folder.mkdir(exist_ok=True)
    (folder / "mine").write_text("mine")
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("link", ["build", "build/toy"])
def test_an_output_folder_that_is_a_link_is_a_mistake_and_nothing_is_written(
    village, tmp_path, link, inside
):
    folder = elsewhere(village, tmp_path, inside)
    before = files_in(folder)
    village.path(link).parent.mkdir(exist_ok=True)
    os.symlink(folder, village.path(link))
    for arguments in ((), ("explain",), ("-a",)):
        ran = village.doit(*arguments)
        assert (ran.code, "Traceback" in ran.err) == (3, False)
        assert f'output  "{link}" is a link' in ran.err
    assert files_in(folder) == before


def test_an_output_folder_that_was_moved_and_linked_is_neither_filled_nor_emptied(
    village, tmp_path
):
    village.doit()
    os.rename(village.path("build/toy"), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", village.path("build/toy"))
    before = {name: (tmp_path / "elsewhere" / name).read_bytes() for name in ("a.out", "sub/b.out")}
    village.write("assets/a.txt", "changed")
    village.remove("assets/sub/b.txt")
    assert village.doit().code == 3
    assert village.doit().code == 3
    village.write("manifests/toy.toml", 'output = "build/other"\n' + MANIFEST)
    ran = village.doit()
    assert ran.code == 0
    assert "build/toy/a.out: nothing makes it any more; build/toy is a link, so it stays" in ran.out
    after = {name: (tmp_path / "elsewhere" / name).read_bytes() for name in ("a.out", "sub/b.out")}
    assert after == before


@pytest.mark.parametrize("times", [1, 2])
def test_a_linked_folder_below_the_output_folder_fails_the_nodes_that_write_there(
    village, tmp_path, times
):
    folder = elsewhere(village, tmp_path, inside=False)
    village.path("build/toy").mkdir(parents=True)
    os.symlink(folder, village.path("build/toy/sub"))
    for _ in range(times):
        ran = village.doit()
        assert (ran.code, ran.failed) == (1, ["toy:pack", "toy:sub/b"])
        assert "toy:sub/b  its output folder is a link\n" in ran.out
        assert "build/toy/sub" in ran.out
    assert village.read("build/toy/a.out") == b"HELLO"
    assert files_in(folder) == ["mine"]


def test_empty_folders_behind_a_link_stay(village, tmp_path):
    village.doit()
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    village.write("assets/sub/deep/c.txt", "deep")
    village.doit()
    village.remove("build/toy/sub")
    os.symlink(tmp_path / "elsewhere", village.path("build/toy/sub"))
    village.remove("assets/sub")
    assert village.doit().code == 0
    assert (tmp_path / "elsewhere/deep").is_dir()


@pytest.mark.parametrize("arguments", [("-n",), (), ("toy:a",), ("--forget",)])
def test_clean_leaves_what_was_altered_and_says_so(village, arguments):
    village.doit()
    village.write("build/toy/a.out", "mine")
    ran = village.doit("clean", *arguments)
    assert ran.code == 0
    assert "toy:a - leaving 'build/toy/a.out': altered\n" in ran.out
    assert village.read("build/toy/a.out") == b"mine"
    gone = arguments in ((), ("--forget",))
    assert village.path("build/toy/sub/b.out").exists() != gone


def test_clean_removes_nothing_behind_a_link(village, tmp_path):
    village.doit()
    os.rename(village.path("build/toy/sub"), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", village.path("build/toy/sub"))
    ran = village.doit("clean")
    assert "toy:sub/b - leaving 'build/toy/sub/b.out': build/toy/sub is a link\n" in ran.out
    assert (tmp_path / "elsewhere/b.out").exists()
    assert not village.path("build/toy/a.out").exists()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))  # a socket's path can't be long


def make_circle(path: Path) -> None:
    os.symlink(path.name, path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("make", [make_pipe, make_socket, make_circle])
def test_an_output_that_became_something_else_than_a_file_is_altered_and_replaced(
    village, monkeypatch, make
):
    village.doit()
    village.path("build/toy/a.out").unlink()
    monkeypatch.chdir(village.root)
    make(village.path("build/toy/a.out"))
    told = village.doit("explain", "toy:a")
    assert told.out == "toy:a  output altered: build/toy/a.out\n"
    assert village.doit("list", "-s", "--all").code == 0
    ran = village.doit()
    assert (ran.code, ran.restored) == (0, ["toy:a"])
    assert village.read("build/toy/a.out") == b"HELLO"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_where_an_output_was_that_nothing_makes_any_more_stays(village):
    village.doit()
    village.path("build/toy/a.out").unlink()
    os.mkfifo(village.path("build/toy/a.out"))
    village.remove("assets/a.txt")
    ran = village.doit()
    assert "build/toy/a.out: nothing makes it any more; altered, so it stays" in ran.out


def test_a_file_is_equal_only_where_it_has_all_of_the_bytes_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "PART_BYTES", 4)  # several parts
    data = bytes(range(11))
    path = tmp_path / "out.bin"
    others = [data[:-1], data + b"\0", b"", b"\1" + data[1:], data[:-1] + b"\0"]
    for content in (data, *others):
        path.write_bytes(content)
        assert is_equal(str(path), data) == (content == data)
    assert is_equal(str(path), others[-1])
    assert not is_equal(str(tmp_path), data)
    assert not is_equal(str(tmp_path / "missing"), data)
