"""Reading a report page as a browser would."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

from tests.pipeline.game import Game

REPORT = "build/report.html"


def parts(page: str) -> dict[str, str]:
    """Return the data elements of a page by name."""
    return dict(re.findall(r'<script type="[a-z/]+" id="data-([^"]+)">(.*?)</script>', page, re.S))


def unpack(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


class Page:
    """A report of a game."""

    def __init__(self, game: Game, name: str = REPORT) -> None:
        self.text = game.read(name).decode()
        self.parts = parts(self.text)
        self.index: dict[str, Any] = json.loads(self.parts["index"])
        self.thumbnails: dict[str, str] = json.loads(self.parts["thumbnails"])
        self.details: list[dict[str, Any]] = json.loads(unpack(self.parts["details"]))

    def entry(self, name: str) -> dict[str, Any]:
        return next(one for one in self.index["entries"] if one["name"] == name)

    def number(self, task: str) -> int:
        return next(n for n, one in enumerate(self.index["nodes"]) if one["task"] == task)

    def node(self, task: str) -> dict[str, Any]:
        found: dict[str, Any] = self.index["nodes"][self.number(task)]
        return found

    def detail(self, task: str) -> dict[str, Any]:
        return self.details[self.number(task)]

    def picture(self, key: str) -> bytes:
        return base64.b64decode(self.thumbnails[key])
