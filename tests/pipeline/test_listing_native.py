"""The native loop over a folder gives the listing of the Python loop, whatever is in the folder."""

import os

import pytest

from pipeline.disk import listing

needs_native = pytest.mark.skipif(listing._stamp_files is None, reason="the extension is not built")


@pytest.fixture
def folder(tmp_path):
    """A folder with everything that a file system can hold, as far as this one can."""
    (tmp_path / "plain.png").write_bytes(b"12345")
    (tmp_path / "empty").touch()
    (tmp_path / "below").mkdir()
    (tmp_path / "link.png").symlink_to("plain.png")
    (tmp_path / "linked folder").symlink_to("below")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    with open(os.fsencode(tmp_path) + b"/not utf-8 \xff", "wb"):
        pass
    os.utime(tmp_path / "empty", ns=(1, 1_234_567_890_123_456_789))
    return tmp_path


def in_python(monkeypatch, folder):
    with monkeypatch.context() as patch:
        patch.setattr(listing, "_stamp_files", None)
        return listing.take_listing(str(folder))


@needs_native
def test_the_native_listing_is_that_of_the_python_loop(folder, monkeypatch):
    found = listing.take_listing(str(folder))
    assert found == in_python(monkeypatch, folder)
    assert found["plain.png"][2] == 5
    assert found["empty"][0] == 1_234_567_890_123_456_789
    assert found["below/"] == listing.FOLDER
    assert "pipe" not in found


@needs_native
def test_a_folder_of_plain_files_needs_no_second_look(tmp_path, monkeypatch):
    (tmp_path / "one").touch()
    expected = in_python(monkeypatch, tmp_path)
    monkeypatch.setattr(listing.os, "scandir", lambda _: pytest.fail("listed twice"))
    monkeypatch.setattr(listing.os, "supports_fd", {listing.os.scandir})
    assert listing.take_listing(str(tmp_path)) == expected


@needs_native
def test_an_open_folder_can_be_listed_twice(folder):
    handle = os.open(folder, os.O_RDONLY)
    try:
        assert listing._stamp_files(handle) == listing._stamp_files(handle)
    finally:
        os.close(handle)


@needs_native
def test_no_handle_is_left_open(folder):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        listing.take_listing(str(folder))
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


@needs_native
def test_what_is_no_open_folder_is_refused(folder):
    handle = os.open(folder / "plain.png", os.O_RDONLY)
    try:
        with pytest.raises(NotADirectoryError):
            listing._stamp_files(handle)
    finally:
        os.close(handle)
    with pytest.raises(OSError, match="descriptor"):
        listing._stamp_files(handle)
    with pytest.raises(TypeError):
        listing._stamp_files("a folder")


def test_a_folder_that_is_not_there_has_no_listing(tmp_path):
    assert listing.take_listing(str(tmp_path / "nowhere")) is None


def packed(folder):
    handle = os.open(folder, os.O_RDONLY)
    try:
        return listing._pack_files(handle)
    finally:
        os.close(handle)


@needs_native
def test_a_folder_of_plain_files_is_packed_as_python_packs_its_listing(tmp_path):
    names = ["b", "a.png", "a", "B", "a-1", "a1", "x" * 255, " ", *(f"n{i}" for i in range(200))]
    for name in names:
        (tmp_path / name).touch()
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(5 * 2**30)  # without blocks
    times = (0, 1, -1, -(2**31), 2**31 - 1, 2**31, -1_234_567_890_123_456_789, 2**60)
    for name, time in zip(names, times, strict=False):
        os.utime(tmp_path / name, ns=(0, time))
    assert packed(tmp_path) == listing.pack_listing(listing.take_listing(str(tmp_path)))


@needs_native
def test_an_empty_folder_is_packed_as_python_packs_its_listing(tmp_path):
    assert packed(tmp_path) == listing.pack_listing({})


@needs_native
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("plain", path)])
def test_a_folder_with_more_than_plain_files_is_left_to_python(tmp_path, make):
    (tmp_path / "plain").touch()
    make(tmp_path / "other")
    assert packed(tmp_path) is None


@needs_native
def test_names_that_are_not_ascii_are_left_to_python(tmp_path):
    (tmp_path / "é").touch()
    assert packed(tmp_path) is None


@needs_native
def test_a_snapshot_lists_a_folder_once_however_it_is_asked(tmp_path):
    (tmp_path / "one").touch()
    snapshot, other = listing.Snapshot(str(tmp_path)), listing.Snapshot(str(tmp_path))
    before = snapshot.digest("")
    expected = other.listing("")
    (tmp_path / "two").touch()
    assert snapshot.listing("") == expected
    assert snapshot.digest("") == before == other.digest("")


def test_a_folder_that_cannot_be_listed_has_no_digest(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("not yours")

    monkeypatch.setattr(listing.os, "open", refuse)
    monkeypatch.setattr(listing.os, "scandir", refuse)
    snapshot = listing.Snapshot(str(tmp_path))
    assert snapshot.digest("") == b""
    assert isinstance(snapshot.error(""), PermissionError)
