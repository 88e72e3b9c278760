"""The page as JSON and as one HTML file.

The file holds an index (small, read at once), thumbnails, details of nodes (one packed part, read
when the first node is opened), and models and sounds, each read when it is opened. `doit serve`
gives the same parts by address.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.disk.file import read_file
from pipeline.report.failure_group import FailureKey, failure_key
from pipeline.report.page.media import PageMedia, media_bytes
from pipeline.report.page.page_data import FAILED, PageData, PageNode, grouped_warnings
from pipeline.report.page.viewer import viewer_page

STATIC = f"{os.path.dirname(__file__)}/static"
SCRIPTS = ("store.js", "chart.js", "detail.js", "page.js")
# What a page may hold, in bytes before base64: small thumbnails are taken where large ones are more
# than the first, and packed models and sounds, the smallest first, while all is within the last.
LARGE_LIMIT, THUMBNAIL_LIMIT, MEDIA_LIMIT = 5_000_000, 10_000_000, 12_000_000
POLICY = (
    "default-src 'none'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; "
    "connect-src 'self' data: blob:; frame-src 'self' blob:; base-uri 'none'; form-action 'none'"
)


def page_index(data: PageData, project_name: str) -> dict[str, Any]:
    """Return what the page needs to list and filter everything."""
    result = data.result
    number = {node.task: n for n, node in enumerate(data.nodes)}
    alike = _alike(data)
    return {
        "project": project_name,
        "started": result["started"],
        "seconds": result["seconds"],
        "exitCode": result["exit_code"],
        "version": result["cartwright"],
        "manifests": [{**one, "contents": _contents(data, one["stem"])} for one in data.manifests],
        "nodes": [_index_node(node, alike.get(node.task)) for node in data.nodes],
        "entries": [
            {
                "name": entry.name,
                "path": entry.path,
                "bytes": entry.size,
                "picture": entry.picture,
                "glb": entry.glb,
                "sound": entry.sound,
                "problem": entry.problem,
                "nodes": [number[node.task] for node in entry.nodes],
            }
            for entry in data.entries
        ],
        "warnings": grouped_warnings(data),
        "charts": [
            number[node.task]
            for node in data.nodes
            if node.chart and node.chart["kind"] in ("areas", "tiles")
        ],
    }


def _contents(data: PageData, stem: str) -> list[dict[str, Any]] | None:
    """Return what is in the manifest's packed files; None where no target tells."""
    charts = [node.chart for node in data.nodes if node.stem == stem and node.chart]
    packs = [one["parts"] for one in charts if one["kind"] == "sizes"]
    return [part for parts in packs for part in parts] or None


def _alike(data: PageData) -> dict[str, str]:
    """Return for each node that failed the first one that failed alike, as in the terminal."""
    first: dict[FailureKey, str] = {}
    found = {}
    for node in data.nodes:
        error = node.result["error"]
        if error is not None:
            own = [file["path"] for file in node.result["inputs"]]
            key = failure_key(error["problem"], error["hint"], error["facts"], own)
            found[node.task] = first.setdefault(key, node.task)
    return found


def _index_node(node: PageNode, alike: str | None) -> dict[str, Any]:
    found = {
        "task": node.task,
        "stem": node.stem,
        "outcome": node.result["outcome"],
        "seconds": round(node.seconds, 4),
        "bytes": node.size,
        "picture": node.picture,
        "problem": node.problem,
        "warnings": len(node.result["warnings"]),
        "error": node.result["error"] if node.result["outcome"] == FAILED else None,
        "alike": alike,
    }
    return {key: value for key, value in found.items() if value not in (None, 0, "")}


def page_details(data: PageData) -> list[dict[str, Any]]:
    """Return what the page shows of each node when it is opened, in the order of the index."""
    readers: dict[str, list[str]] = {}
    for node in data.nodes:
        for task in node.needs:
            readers.setdefault(task, []).append(node.task)
    return [_detail(node, readers.get(node.task, [])) for node in data.nodes]


def _detail(node: PageNode, used_by: list[str]) -> dict[str, Any]:
    return {
        "reason": node.reason,
        "options": node.options,
        "inputs": [[one["path"], one["bytes"]] for one in node.result["inputs"]],
        "outputs": [[one["path"], one["bytes"], one["sha256"]] for one in node.result["outputs"]],
        "needs": node.needs,
        "used_by": used_by,
        "warnings": node.result["warnings"],
        "error": node.result["error"],
        "glb": node.glb,
        "sound": node.sound,
        "chart": node.chart,
        "peak": node.result["peak_bytes"],
    }


def whole_page(data: PageData, media: PageMedia, project_name: str) -> bytes:
    """Return the page as one file that needs nothing else."""
    thumbnails = choose_thumbnails(media)
    left = MEDIA_LIMIT - sum(map(len, thumbnails.values()))
    pictures = {key: base64.b64encode(one).decode() for key, one in thumbnails.items()}
    index = _script("index", _json(page_index(data, project_name)), "application/json")
    parts = [
        _script("thumbnails", _json(pictures), "application/json"),
        _script("details", _packed(_json(page_details(data)).encode())),
        *(_script(name, _text(content)) for name, content in _choose_media(media, left)),
    ]
    viewer = viewer_page()
    if viewer is not None:
        parts.append(_script("viewer", _packed(viewer)))
    return fill_page(index, "\n".join(parts))


def fill_page(index: str = "", parts: str = "") -> bytes:
    """Return the HTML of the page around its data.

    The index stands before the scripts and the rest behind them, so that a browser shows the list
    while it still reads megabytes of pictures.
    """
    texts = {name: read_file(f"{STATIC}/{name}").decode() for name in ("page.html", "page.css")}
    scripts = "\n".join(read_file(f"{STATIC}/{name}").decode() for name in SCRIPTS)
    page = texts["page.html"]
    found = []
    # In the order of the places, so that none is looked for in what was put in.
    for place, text in (
        ("@policy@", POLICY),
        ("/*@style@*/", texts["page.css"]),
        ("<!--@index@-->", index),
        ("/*@script@*/", scripts),
        ("<!--@data@-->", parts),
    ):
        head, _, page = page.partition(place)
        found += [head, text]
    return "".join([*found, page]).encode()


def choose_thumbnails(media: PageMedia) -> dict[str, bytes]:
    """Return the thumbnails of a page: large ones, or small ones where there are many."""
    large = {key: one.thumbnail for key, one in media.by_key.items() if one.thumbnail}
    if sum(map(len, large.values())) <= LARGE_LIMIT:
        return large
    small = {key: one.small for key, one in media.by_key.items() if one.small}
    return dict(within(sorted(small.items(), key=lambda one: len(one[1])), THUMBNAIL_LIMIT))


def within(contents: Iterable[tuple[str, bytes]], limit: int) -> Iterable[tuple[str, bytes]]:
    """Yield the first contents that are not larger than the limit together."""
    total = 0
    for name, content in contents:
        total += len(content)
        if total > limit:
            return
        yield name, content


def _choose_media(media: PageMedia, limit: int) -> Iterable[tuple[str, bytes]]:
    """Return packed models and sounds, the smallest first."""
    found: list[tuple[str, bytes]] = []
    for key, one in media.by_key.items():
        contents = ((kind, media_bytes(one, kind)) for kind in ("glb", "sound"))
        found += [(f"{kind}-{key}", content[0]) for kind, content in contents if content]
    found.sort(key=lambda one: (len(one[1]), one[0]))
    return within(((name, _pack(content)) for name, content in found), limit)


def _json(value: Mapping[str, Any] | list[Any]) -> str:
    # A closing tag in a name would end the script element.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _packed(content: bytes) -> str:
    return _text(_pack(content))


def _pack(content: bytes) -> bytes:
    return gzip.compress(content, 6, mtime=0)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _script(name: str, text: str, form: str = "text/plain") -> str:
    return f'<script type="{form}" id="data-{name}">{text}</script>'
