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
from pipeline.report.page.media import PageMedia, media_bytes
from pipeline.report.page.page_data import FAILED, PageData, PageNode, grouped_warnings
from pipeline.report.page.viewer import viewer_page

STATIC = f"{os.path.dirname(__file__)}/static"
SCRIPTS = ("store.js", "chart.js", "detail.js", "page.js")
# What a page may hold of models and sounds, before they are packed; the smallest come first.
MEDIA_LIMIT_BYTES = 7_000_000
POLICY = (
    "default-src 'none'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; "
    "connect-src 'self' data: blob:; frame-src 'self' blob:; base-uri 'none'; form-action 'none'"
)


def page_index(data: PageData, project_name: str) -> dict[str, Any]:
    """Return what the page needs to list and filter everything."""
    result = data.result
    number = {node.task: n for n, node in enumerate(data.nodes)}
    return {
        "project": project_name,
        "started": result["started"],
        "seconds": result["seconds"],
        "exitCode": result["exit_code"],
        "version": result["cartwright"],
        "manifests": data.manifests,
        "nodes": [_index_node(node) for node in data.nodes],
        "entries": [
            {
                "name": entry.name,
                "path": entry.path,
                "bytes": entry.size,
                "picture": entry.picture,
                "glb": entry.glb,
                "sound": entry.sound,
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


def _index_node(node: PageNode) -> dict[str, Any]:
    found = {
        "task": node.task,
        "stem": node.stem,
        "outcome": node.result["outcome"],
        "seconds": round(node.seconds, 4),
        "bytes": node.size,
        "picture": node.picture,
        "warnings": len(node.result["warnings"]),
        "error": node.result["error"] if node.result["outcome"] == FAILED else None,
    }
    return {key: value for key, value in found.items() if value not in (None, 0)}


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
    thumbnails = {
        key: base64.b64encode(one.thumbnail).decode()
        for key, one in media.by_key.items()
        if one.thumbnail
    }
    parts = [
        _script("index", _json(page_index(data, project_name)), "application/json"),
        _script("thumbnails", _json(thumbnails), "application/json"),
        _script("details", _packed(_json(page_details(data)).encode())),
        *(_script(name, _packed(content)) for name, content in _chosen_media(media)),
    ]
    viewer = viewer_page()
    if viewer is not None:
        parts.append(_script("viewer", _packed(viewer)))
    return fill_page("\n".join(parts))


def fill_page(parts: str) -> bytes:
    """Return the HTML of the page around its data."""
    texts = {name: read_file(f"{STATIC}/{name}").decode() for name in ("page.html", "page.css")}
    scripts = "\n".join(read_file(f"{STATIC}/{name}").decode() for name in SCRIPTS)
    page = texts["page.html"]
    # Data last: it may contain the name of another place.
    for place, text in (
        ("@policy@", POLICY),
        ("/*@style@*/", texts["page.css"]),
        ("/*@script@*/", scripts),
        ("<!--@data@-->", parts),
    ):
        head, _, tail = page.partition(place)
        page = f"{head}{text}{tail}"
    return page.encode()


def _chosen_media(media: PageMedia) -> Iterable[tuple[str, bytes]]:
    """Return models and sounds until the page is large enough, the smallest first."""
    found = [
        (f"{kind}-{key}", content[0])
        for key, one in media.by_key.items()
        for kind in ("glb", "sound")
        if (content := media_bytes(one, kind)) is not None
    ]
    found.sort(key=lambda one: (len(one[1]), one[0]))
    total = 0
    for name, content in found:
        total += len(content)
        if total > MEDIA_LIMIT_BYTES:
            return
        yield name, content


def _json(value: Mapping[str, Any] | list[Any]) -> str:
    # A closing tag in a name would end the script element.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def _script(name: str, text: str, form: str = "text/plain") -> str:
    return f'<script type="{form}" id="data-{name}">{text}</script>'
