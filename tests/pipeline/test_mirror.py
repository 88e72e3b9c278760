"""Copies of outputs in folders of others, and the command that makes them for cargo."""

import pytest

from pipeline.disk.mirror import NotOursError, mirror


def write(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in files}


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_copy_has_the_files_and_touches_none_that_is_right(tmp_path):
    files = write(tmp_path / "from", a="1", b="2")
    mirror(files, str(tmp_path / "to"))
    assert names(tmp_path / "to") == [".cartwright/files", "a", "b"]
    before = (tmp_path / "to/a").stat()
    write(tmp_path / "from", b="3")
    mirror(files, str(tmp_path / "to"))
    after = (tmp_path / "to/a").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert (tmp_path / "to/b").read_text() == "3"


def test_only_what_a_copy_put_there_is_removed(tmp_path):
    files = write(tmp_path / "from", a="1", b="2")
    files["deep/c"] = files["a"]
    to = tmp_path / "to"
    mirror(files, str(to))
    (to / "mine").write_text("kept")
    mirror({"a": files["a"]}, str(to))
    assert names(to) == [".cartwright/files", "a", "mine"]
    assert not (to / "deep").exists()


def test_a_folder_of_somebody_else_is_refused(tmp_path):
    files = write(tmp_path / "from", a="1")
    (tmp_path / "to").mkdir()
    (tmp_path / "to/theirs").write_text("x")
    with pytest.raises(NotOursError):
        mirror(files, str(tmp_path / "to"))
    assert names(tmp_path / "to") == ["theirs"]


def lines(ran):
    return [line.removeprefix("cargo:rerun-if-changed=") for line in ran.out.splitlines()]


def test_cargo_gets_the_files_and_hears_only_what_to_watch(game):
    game.write("assets/a/one.txt", "hello\nref two.inc\n")
    game.write("assets/a/two.inc", "there")
    to = game.path("elsewhere/out")
    ran = game.process("cargo", "toy", "--into", str(to))
    assert ran.code == 0, ran.err
    assert names(to) == [".cartwright/files", "a/one.out", "all.pack"]
    assert all(line.startswith("cargo:") for line in ran.out.splitlines())
    watched = {line.removeprefix(f"{game.root}/") for line in lines(ran)}
    assert {"assets", "assets/a", "assets/a/one.txt", "assets/a/two.inc"} <= watched
    assert {"manifests/toy.toml", "dodo.py", "doit.cfg", "encoders/toy.py"} <= watched
    assert "built" in ran.err
    again = game.process("cargo", "--into", str(to), "toy")
    assert again.code == 0
    assert again.out == ran.out


def test_a_failed_build_leaves_the_copy_as_it_was(game):
    game.write("assets/one.txt", "hello")
    to = game.path("out")
    game.process("cargo", "toy", "--into", str(to))
    game.write("assets/one.txt", "boom")
    ran = game.process("cargo", "toy", "--into", str(to))
    assert ran.code == 1
    assert ran.out == ""
    assert "it went boom" in ran.err
    assert (to / "one.out").read_text() == "HELLO"


def test_warnings_reach_cargo_every_time(game):
    game.write("assets/one.txt", "lossy")
    for _ in range(2):
        ran = game.process("cargo", "toy", "--into", str(game.path("out")))
        assert "cargo:warning=toy:one: something was lost" in ran.out


def test_folders_that_outputs_lie_in_are_not_watched(game):
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "*.txt"\n')
    game.write("one.txt", "hello")
    watched = lines(game.process("cargo", "toy", "--into", str(game.path("out"))))
    assert str(game.root) not in watched
    assert f"{game.root}/one.txt" in watched


@pytest.mark.parametrize("words", [("toy",), ("--into", "x"), ("toy", "b", "--into", "x")])
def test_cargo_wants_one_manifest_and_a_folder(game, words):
    ran = game.process("cargo", *words)
    assert ran.code == 3
    assert "one manifest" in ran.out + ran.err


def test_a_folder_with_other_files_is_refused_by_the_command(game):
    game.write("assets/one.txt", "hello")
    game.write("out/theirs", "x")
    ran = game.process("cargo", "toy", "--into", str(game.path("out")))
    assert ran.code == 3
    assert "holds files" in ran.out + ran.err
