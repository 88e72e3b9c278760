"""Many files at once: natively and in Python alike, by rename, and never behind a link."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from pipeline.disk import batch
from pipeline.disk.batch import WORTH_A_FOLDER, write_batch, write_files_in_python
from pipeline.disk.inside import OutsideError
from pipeline.disk.listing import take_stamp

HAS_NATIVE = batch._write_files is not write_files_in_python
FILES = {"build/toy/empty": b"", "build/toy/größe.out": b"12345", "build/toy/deep/large": b"x" * 99}
MANY = {f"build/toy/{n}.out": b"%d" % n for n in range(WORTH_A_FOLDER + 1)}


@pytest.fixture(params=["native", "reference"])
def either(request, monkeypatch):
    """Both loops, one after the other."""
    if request.param == "reference":
        monkeypatch.setattr(batch, "_write_files", write_files_in_python)
    elif not HAS_NATIVE:
        pytest.skip("the extension is not built")


@pytest.fixture
def root(tmp_path, either):
    """A project without anything but the folder for temporary files."""
    (tmp_path / "game/tmp").mkdir(parents=True)
    return str(tmp_path / "game")


def write(root, files):
    return write_batch(root, files, f"{root}/tmp")


def read_all(root):
    """Return all files below `build` by path."""
    found = {}
    for folder, _, names in os.walk(f"{root}/build"):
        for name in names:
            path = f"{folder}/{name}"
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = file.read()
    return found


@pytest.mark.parametrize("files", [FILES, MANY], ids=["few", "a new folder"])
def test_files_have_their_bytes_and_the_stamps_that_are_returned(root, files):
    stamps = write(root, files)
    assert read_all(root) == files
    assert stamps == {path: take_stamp(f"{root}/{path}") for path in files}
    assert os.listdir(f"{root}/tmp") == []


def test_a_whole_new_folder_and_files_one_by_one_have_the_same_permissions(root):
    write(root, MANY)
    alone = dict.fromkeys(["build/other/1.out"], b"1")
    write(root, alone)
    kinds = [
        [stat.S_IMODE(os.stat(f"{root}/{path}").st_mode) for path in (name, os.path.dirname(name))]
        for name in ("build/toy/1.out", "build/other/1.out")
    ]
    assert kinds[0] == kinds[1]


def test_what_is_there_is_replaced_and_not_written_to(root, tmp_path):
    write(root, FILES)
    mine = tmp_path / "mine"
    os.link(f"{root}/build/toy/größe.out", mine)
    os.unlink(f"{root}/build/toy/empty")
    os.symlink(mine, f"{root}/build/toy/empty")
    write(root, dict.fromkeys(FILES, b"new"))
    assert read_all(root) == dict.fromkeys(FILES, b"new")
    assert mine.read_bytes() == b"12345"
    assert not os.path.islink(f"{root}/build/toy/empty")


@pytest.mark.parametrize("files", [FILES, MANY], ids=["few", "a new folder"])
def test_nothing_is_written_behind_a_link_that_leads_out(root, files, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", f"{root}/build")
    with pytest.raises(OutsideError):
        write(root, files)
    assert [one for one in (tmp_path / "elsewhere").rglob("*") if one.is_file()] == []


def test_a_link_that_stays_inside_is_followed(root):
    os.makedirs(f"{root}/there")
    os.symlink("there", f"{root}/build")
    write(root, MANY)
    assert sorted(os.listdir(f"{root}/there/toy")) == sorted(os.path.basename(one) for one in MANY)


@pytest.mark.parametrize("files", [FILES, MANY], ids=["few", "a new folder"])
def test_a_file_that_cannot_be_replaced_is_named_and_leaves_no_temporary(root, files):
    name = sorted(files)[-1]
    os.makedirs(f"{root}/{name}/mine")
    with pytest.raises(OSError, match="directory") as caught:
        write(root, files)
    assert caught.value.filename == f"{root}/{name}"
    assert os.path.isdir(f"{root}/{name}/mine")
    assert os.listdir(f"{root}/tmp") == []


def test_a_folder_that_somebody_makes_meanwhile_keeps_its_files(root, monkeypatch):
    os.makedirs(f"{root}/build/toy")
    with open(f"{root}/build/toy/mine", "wb") as file:
        file.write(b"my own work")
    monkeypatch.setattr(batch, "_is_there", lambda *_: False)
    write(root, MANY)
    assert read_all(root) == MANY | {"build/toy/mine": b"my own work"}
    assert os.listdir(f"{root}/tmp") == []


@pytest.mark.parametrize("files", [FILES, MANY], ids=["few", "a new folder"])
def test_files_for_another_device_get_there_too(root, files, monkeypatch):
    write_files, rename = batch._write_files, os.rename

    def refuse(scratch, temporary, *rest):
        if temporary:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), rest[1][0])
        return write_files(scratch, temporary, *rest)

    def refuse_folder(*given, **named):
        if "dst_dir_fd" in named:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), given[0])
        rename(*given, **named)

    monkeypatch.setattr(batch, "_write_files", refuse)
    monkeypatch.setattr(os, "rename", refuse_folder)
    stamps = write(root, files)
    assert read_all(root) == files
    assert stamps == {path: take_stamp(f"{root}/{path}") for path in files}


def test_a_full_disk_is_said_with_the_file_and_leaves_no_temporary(root):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    files = {**MANY, "build/toy/zz": b"x" * 5000}
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match="zz") as caught:
            write(root, files)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert "build/toy/zz" not in read_all(root)
    assert os.listdir(f"{root}/tmp") == []


@pytest.mark.skipif(not HAS_NATIVE, reason="the extension is not built")
@pytest.mark.parametrize(
    ("names", "contents", "error"),
    [
        (["a", "b"], [b""], ValueError),
        (["a"], ["text"], TypeError),
        ([1], [b""], TypeError),
        (["a\0b"], [b""], ValueError),
        (("a",), (b"",), TypeError),
    ],
)
def test_the_native_loop_refuses_what_is_no_list_of_files(tmp_path, names, contents, error):
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(error):
            batch._write_files(handle, "temporary", handle, names, contents)
    finally:
        os.close(handle)
    assert os.listdir(tmp_path) == []
