"""Find the media of all sources and nodes: from the store, or drawn in this or in other processes.

The picture of a node is that of the first of its files that has one. A drawing depends on the
file's content, on files beside it that were read, and on the code that draws.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from PIL import Image

from pipeline.content.code import add_project_encoders, load_function
from pipeline.disk.file import leads_out, read_file, read_if_there
from pipeline.plan.find_reader import Origin, find_readers
from pipeline.plan.referred_file import read_referred
from pipeline.plan.source_view import SOURCE_FUNCTIONS
from pipeline.plan.target import all_targets
from pipeline.project import Project
from pipeline.report.page import picture
from pipeline.report.page.media_store import Files, MediaStore
from pipeline.report.page.page_data import PageData, PageEntry, PageNode
from pipeline.report.page.picture import NOTHING, Media, media_of_output, media_of_source

Mapper = Callable[[Callable[..., Any], list[tuple[Any, ...]]], Iterable[Any]]
IN_PARALLEL_FROM = 128  # drawings; fewer are done before worker processes have started
STORE = "report/media.db"
GONE, CHANGED = "the file is gone since the build", "the file was changed since the build"
MOST_FILES = 3  # that are tried for the picture of a node


@dataclass(frozen=True)
class Drawing:
    """A file to draw: an output with its target, or a source with the files that it refers to."""

    path: str
    sha: str
    target: str = ""
    task: str = ""
    others: tuple[str, ...] = ()


# What is to be shown, and the files that may show it; media, and the other files that were read.
Wanted = tuple[PageEntry | PageNode, list[Drawing]]
Drawn = tuple[Media, list[str]]


@dataclass
class PageMedia:
    """Media by a short key, which pages and addresses use.

    `by_path` has the digest of each file and what it looks like; `late` counts the drawings that a
    page in a hurry left for later.
    """

    by_key: dict[str, Media]
    by_path: dict[str, tuple[str, Media]] = field(default_factory=dict)
    late: int = 0

    def find(self, key: str) -> Media | None:
        """Return the media of a key."""
        return self.by_key.get(key)

    def show(self, shown: PageEntry | PageNode, one: Drawing, media: Media) -> bool:
        """Note what there is of an entry or a node; tell whether there is something."""
        self.by_path[one.path] = (one.sha, media)
        shown.problem = shown.problem or media.problem
        is_seen = bool(media.thumbnail or media.glb or media.sound)
        if is_seen:
            key = media_key(media)
            self.by_key[key] = media
            shown.problem = ""
            shown.picture = key if media.thumbnail else None
            shown.glb = key if media.glb else None
            shown.sound = key if media.sound else None
        return is_seen

    def keep(self, earlier: PageMedia, late: Iterable[Wanted]) -> None:
        """Show what an earlier page showed of files that are drawn later."""
        for shown, several in late:
            self.late += bool(several)
            for one in several:
                sha, media = earlier.by_path.get(one.path, ("", NOTHING))
                if self.show(shown, replace(one, sha=sha), media):
                    break


@dataclass(frozen=True)
class Hurry:
    """Draw until time is up; what is left keeps the picture that the page shows now.

    With `only_changed` that goes for all but sources that changed and what they became: somebody
    waits for these.
    """

    shown: PageMedia
    is_over: Callable[[], bool]
    only_changed: bool = False

    def may_wait(self, entry: PageEntry) -> bool:
        """Tell whether an entry can keep its pictures for now."""
        known = self.shown.by_path.get(entry.path or "", ("", NOTHING))
        # A pack has no source, and so no digest.
        return self.only_changed and known[0] == entry.sha


def draw_all(
    project: Project,
    data: PageData,
    store: MediaStore,
    code: str,
    in_parallel: Mapper,
    hurry: Hurry | None = None,
) -> PageMedia:
    """Draw what has not been drawn before, and note in the data which entry has what."""
    digests: dict[str, str | None] = {
        file["path"]: file["sha256"]
        for node in data.result["nodes"]
        for file in (*node["inputs"], *node["outputs"])
    }
    targets = {one["stem"]: one["target"] for one in data.manifests}
    suffixes = {name: [one.suffix for one in target.readers] for name, target in all_targets()}
    wanted: list[Wanted] = []
    found = PageMedia({})
    for entry in data.entries:
        several: list[Wanted] = [(entry, _drawings_of_source(entry))]
        for node in entry.nodes:
            target = targets[node.stem]
            several.append((node, _drawings_of_node(node, target, suffixes.get(target, ()))))
        if hurry is not None and hurry.may_wait(entry):
            found.keep(hurry.shown, several)
        else:
            wanted += several
    digest_of = partial(_digest, project.root, digests)
    artist = _Artist(project.root, store, code, in_parallel, digest_of, hurry)
    # The next file of a node is drawn only where those before it show nothing.
    while wanted:
        wanted = [(shown, several) for shown, several in wanted if several]
        media_of = artist.find([several[0] for _, several in wanted])
        late = [one for one in wanted if one[1][0] not in media_of]
        if hurry is not None:
            found.keep(hurry.shown, late)
        drawn = [one for one in wanted if one[1][0] in media_of]
        unseen = [one for one in drawn if not found.show(one[0], one[1][0], media_of[one[1][0]])]
        wanted = [(shown, several[1:]) for shown, several in unseen]
    return found


@dataclass(frozen=True)
class _Artist:
    """Finds media in the store, and draws and keeps those that it lacks."""

    root: str
    store: MediaStore
    code: str
    in_parallel: Mapper
    digest_of: Callable[[str], str | None]
    hurry: Hurry | None

    def find(self, drawings: Iterable[Drawing]) -> dict[Drawing, Media]:
        """Return the media of files, without those for which there was no time."""
        keys = {one: _key(one, self.code) for one in drawings}
        known = {one: self.store.find(key, self.digest_of) for one, key in keys.items()}
        missing = [one for one, media in known.items() if media is None]
        for one, (media, files) in self._draw(missing):
            known[one] = media
            # A file that is not what was built may be so again, and then has to be drawn.
            if media.problem not in (GONE, CHANGED):
                read = {path: self.digest_of(path) for path in files}
                self.store.keep(keys[one], read, media)
        self.store.note_use(keys.values())
        return {one: media for one, media in known.items() if media is not None}

    def _draw(self, missing: list[Drawing]) -> Iterable[tuple[Drawing, Drawn]]:
        calls = [(self.root, one) for one in missing]
        if self.hurry is None and len(calls) >= IN_PARALLEL_FROM:
            yield from zip(missing, self.in_parallel(draw, calls), strict=True)
            return
        for one in missing:
            if self.hurry is not None and self.hurry.is_over():
                return
            yield one, draw(self.root, one)


def _digest(root: str, digests: dict[str, str | None], path: str) -> str | None:
    """Return the digest of a file, also of one that a picture needs and no node reads."""
    if path not in digests:
        data = None if leads_out(f"{root}/{path}", root) else read_if_there(f"{root}/{path}")
        digests[path] = None if data is None else hashlib.sha256(data).hexdigest()
    return digests[path]


def media_key(media: Media) -> str:
    """Return a digest of media: a browser that knows a key need not ask for it again."""
    digest = hashlib.sha256()
    for one in (media.thumbnail, media.glb, media.sound):
        digest.update(b"-" if one is None else hashlib.sha256(one).digest())
    return digest.hexdigest()[:20]


def _drawings_of_source(entry: PageEntry) -> list[Drawing]:
    if not entry.path or not entry.sha:
        return []
    others = {
        file["path"]
        for node in entry.nodes
        if node.source == entry.path
        for file in node.result["inputs"]
    }
    return [Drawing(entry.path, entry.sha, others=tuple(sorted(others - {entry.path})))]


def _drawings_of_node(node: PageNode, target: str, suffixes: Sequence[str]) -> list[Drawing]:
    """Return a node's files, the one that stands for the whole first.

    That is the one with the shortest name, such as `barrel.rs` before its patches; of files that
    differ in the suffix alone, such as those of a scene, the kind that the target names first.
    """

    def rank(file: tuple[str, str]) -> tuple[int, int, str]:
        base, suffix = os.path.splitext(file[0])
        known = suffixes.index(suffix) if suffix in suffixes else len(suffixes)
        return len(base), known, base

    files = [(one["path"], one["sha256"]) for one in node.result["outputs"]]
    files = sorted(files, key=rank)[:MOST_FILES]
    return [Drawing(path, sha, target, node.task) for path, sha in files]


def code_digest(project: Project) -> str:
    """Return a digest of the code that draws: this room's, and that of all encoders."""
    # All views import most of the kit, so one digest for all redraws hardly more than one a view.
    digest = hashlib.sha256(read_file(picture.__file__))
    for dotted in _drawing_functions():
        table = project.code.table(dotted)
        digest.update(json.dumps([dotted, dict(table)], sort_keys=True).encode())
    return digest.hexdigest()


def load_drawing() -> None:
    """Import everything that draws, so that the first drawing need not wait for it."""
    Image.init()
    for dotted in _drawing_functions():
        with suppress(Exception):  # the drawing itself tells what is wrong
            load_function(dotted)
    with suppress(ImportError):
        import pygltflib  # type: ignore[import-untyped,unused-ignore] # noqa: F401


def _drawing_functions() -> list[str]:
    views = {reader.view for _, target in all_targets() for reader in target.readers if reader.view}
    return sorted({*views, *picture.DRAWING, *SOURCE_FUNCTIONS})


def _key(one: Drawing, code: str) -> str:
    # The name decides the reader, and names of siblings are relative to it.
    parts = (one.path, one.sha, one.target, *one.others, code)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def draw(root: str, one: Drawing) -> Drawn:
    """Draw a file; also return the paths of the other files that were read, or missed."""
    add_project_encoders(root)
    data = read_if_there(f"{root}/{one.path}")
    # What is on the disk is not what the page tells of.
    if data is None or hashlib.sha256(data).hexdigest() != one.sha:
        problem = GONE if data is None else CHANGED
        return Media(problem=problem), [one.path]
    if not one.target:
        read = {path: read_if_there(f"{root}/{path}") for path in one.others}
        read = {**read_referred(root, one.path), **read}
        inputs = {path: found for path, found in read.items() if found is not None}
        return media_of_source(data, one.path, inputs), list(read)
    files: Files = {}
    folder = os.path.dirname(one.path)

    def read_sibling(name: str) -> bytes | None:
        path = os.path.normpath(f"{folder}/{name}").replace(os.sep, "/")
        # The name comes from the file, and may be anything.
        if leads_out(f"{root}/{path}", f"{root}/{folder}"):
            return None
        files[path] = None
        return read_if_there(f"{root}/{path}")

    readers = find_readers(data, one.path, Origin(one.task, one.target, one.sha))
    media = media_of_output([r for r in readers if r.view], data, one.path, read_sibling)
    return media, list(files)


def media_bytes(media: Media, kind: str) -> tuple[bytes, str] | None:
    """Return the bytes of one of the media and their type for browsers."""
    kinds: Mapping[str, tuple[bytes | None, str]] = {
        "thumbnail": (media.thumbnail, "image/webp"),
        "glb": (media.glb, "model/gltf-binary"),
        "sound": (media.sound, "audio/wav"),
    }
    data, form = kinds.get(kind, (None, ""))
    return None if data is None else (data, form)
