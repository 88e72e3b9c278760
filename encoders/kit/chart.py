"""Charts of what a node made, as plain data that the report draws.

A target declares a function for each encoder whose result is better seen than read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

ChartValue: TypeAlias = "str | int | float | Sequence[ChartValue] | dict[str, ChartValue]"
Chart: TypeAlias = dict[str, ChartValue]


class NamedArea(NamedTuple):
    """A rectangle of a memory that is addressed as a plane."""

    kind: str
    name: str
    x: int
    y: int
    width: int
    height: int


class TileLevel(NamedTuple):
    """One level of detail of a tile."""

    name: str
    triangles: int
    bytes: int


class MapTile(NamedTuple):
    """A tile of a scene, seen from above: its bounds on the ground and its levels."""

    name: str
    low: tuple[float, float]
    high: tuple[float, float]
    levels: tuple[TileLevel, ...]


class SizedPart(NamedTuple):
    """A part of a packed file: what it is, its bytes, and the task that made it, if one did."""

    name: str
    kind: str
    bytes: int
    node: str = ""


def size_chart(title: str, parts: Iterable[SizedPart]) -> Chart:
    """Return what a packed file holds; on the page it is the map of the manifest's sizes."""
    rows: list[ChartValue] = [dict(one._asdict()) for one in parts]
    return {"kind": "sizes", "title": title, "parts": rows}


def area_chart(title: str, size: tuple[int, int], areas: Iterable[NamedArea]) -> Chart:
    """Return a map of named areas."""
    rows: list[ChartValue] = [dict(one._asdict()) for one in areas]
    return {"kind": "areas", "title": title, "width": size[0], "height": size[1], "areas": rows}


def tile_chart(title: str, tiles: Iterable[MapTile]) -> Chart:
    """Return a map of tiles with their levels."""
    rows: list[ChartValue] = [
        {
            "name": tile.name,
            "low": list(tile.low),
            "high": list(tile.high),
            "levels": [dict(level._asdict()) for level in tile.levels],
        }
        for tile in tiles
    ]
    return {"kind": "tiles", "title": title, "tiles": rows}


def palette_chart(colors: Iterable[tuple[int, int, int, int]]) -> Chart:
    """Return a palette of RGBA colours from 0 to 255."""
    return {
        "kind": "palette",
        "colors": [f"#{r:02x}{g:02x}{b:02x}{a:02x}" for r, g, b, a in colors],
    }
