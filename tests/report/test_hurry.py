"""A page that does not wait for all pictures: what was saved comes first."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pipeline.report.page import media
from pipeline.report.page.media import Hurry, PageMedia
from pipeline.report.page.media_store import MediaStore
from pipeline.report.page.page_data import PageData, PageEntry, PageNode
from pipeline.report.page.picture import Media
from tests.report.test_report_page import result


@pytest.fixture
def drawn(monkeypatch):
    """The paths that were drawn; a picture holds the digest of its file."""
    paths: list[str] = []

    def draw(root, one):
        del root
        paths.append(one.path)
        return Media(one.sha.encode(), one.sha.encode()), []

    monkeypatch.setattr(media, "draw", draw)
    return paths


@pytest.fixture
def show(tmp_path):
    """A function that draws the pictures of a page with these digests of sources."""

    def draw_page(shas: dict[str, str], hurry: Hurry | None = None) -> tuple[PageData, PageMedia]:
        data = page_of(shas)
        with MediaStore(str(tmp_path / "media.db")) as store:
            project = SimpleNamespace(root=str(tmp_path))
            return data, media.draw_all(project, data, store, "code", map, hurry)

    return draw_page


def page_of(shas: dict[str, str]) -> PageData:
    """Return a page with a source and a node for each name, and a pack of all."""
    entries = []
    for name, sha in shas.items():
        entry = PageEntry(name, f"assets/{name}", [node_of(f"t:{name}", f"{name}.out", sha)])
        entries.append(replace(entry, sha=sha))
    pack = node_of("t:pack", "pack.out", "".join(shas.values()))
    entries.insert(0, PageEntry("t:pack", None, [pack]))
    nodes = [node.result for entry in entries for node in entry.nodes]
    return PageData(result(nodes), [{"stem": "t", "target": "t"}], entries)


def node_of(task: str, path: str, sha: str) -> PageNode:
    files = [{"path": f"build/{path}", "bytes": 1, "sha256": f"built {sha}"}]
    return PageNode(task, "t", {"inputs": [], "outputs": files}, None, 0, "", {}, [])


def pictures(found: tuple[PageData, PageMedia]) -> dict[str, bytes | None]:
    """Return what is shown of each node."""
    data, drawn = found
    return {node.task: drawn.by_key[node.picture].thumbnail for node in data.nodes}


def test_what_was_saved_is_drawn_first_and_the_rest_keeps_its_pictures(drawn, show):
    before = show({"a": "1", "b": "1"})
    drawn.clear()
    saved = {"a": "1", "b": "2"}
    first = show(saved, Hurry(before[1], lambda: False, only_changed=True))
    assert drawn == ["assets/b", "build/b.out"]
    assert pictures(first) == {"t:a": b"built 1", "t:b": b"built 2", "t:pack": b"built 11"}
    assert first[1].late
    drawn.clear()
    rest = show(saved, Hurry(first[1], lambda: False))
    assert drawn == ["build/pack.out"]
    assert pictures(rest)["t:pack"] == b"built 12"
    assert rest[1].late == 0


def test_pictures_for_which_there_is_no_time_are_drawn_the_next_time(drawn, show):
    before = show({"a": "1", "b": "1"})
    drawn.clear()
    saved = {"a": "2", "b": "2"}
    first = show(saved, Hurry(before[1], lambda: bool(drawn)))
    assert drawn == ["build/pack.out"]
    assert pictures(first) == {"t:a": b"built 1", "t:b": b"built 1", "t:pack": b"built 22"}
    assert first[1].late == 4
    rest = show(saved, Hurry(first[1], lambda: False))
    assert len(drawn) == len(set(drawn)) == 5
    assert pictures(rest) == {"t:a": b"built 2", "t:b": b"built 2", "t:pack": b"built 22"}


def test_a_new_source_does_not_wait(drawn, show):
    before = show({"a": "1"})
    drawn.clear()
    show({"a": "1", "b": "1"}, Hurry(before[1], lambda: False, only_changed=True))
    assert drawn == ["assets/b", "build/b.out"]
