"""From a scene to nodes: sources are read once, tiles put together once, levels made from those.

A source's node gives what each tile gets of it, so that an edit of one object goes no further
than the tiles it lies in: the others get the same bytes again, and nothing that reads them runs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Family, Node, Place, Product, Settings, Source, Surveys
from encoders.kit.source.source_input import plan_inputs
from encoders.untold.grid import Box, Grid, Span, assign, auto_size, places_of, tile_name
from encoders.untold.origin import Origin, Thing, survey_origin
from encoders.untold.picture import Request, embedded_name, image_stem

SHARED = "shared"
FILE_TYPES = {"tile": 1, "lod": 2, "hlod": 3, "shared": 4}
# The suffix of the node that puts a tile together.
WHOLE = "_cut"


@dataclass(frozen=True)
class Level:
    """A level of a tile: what it is, the share it keeps, and the level that it may not exceed."""

    suffix: str
    kind: str
    share: float
    before: str = ""
    hands_on: bool = False


def plan_scene(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan everything of one scene; its own node, which writes the manifest, comes last."""
    _check_lods(asset)
    origins = [survey_origin(number, path, surveys) for number, path in enumerate(asset.sources)]
    things = [thing for origin in origins for thing in origin.things]
    boxes = [thing.box for thing in things if thing.box is not None]
    if not things:
        facts = {"asset": ", ".join(asset.sources)}
        raise EncodeError("the scene has no triangles", facts, "Put a mesh into a source.")
    planner = _Planner(asset, settings.source_root, origins, _grid(asset, boxes), surveys)
    for thing in things:
        planner.place(thing)
    yield from planner.read_nodes()
    yield from planner.texture_nodes()
    yield from planner.tile_nodes()
    yield planner.manifest_node()


def _check_lods(asset: Asset) -> None:
    lods: Any = asset.options["lods"]
    if any(one < other for one, other in pairwise(lods)):
        facts = {"scene": asset.id, "lods": lods}
        raise EncodeError("a LOD keeps more than the one before", facts, "Let the shares fall.")


def _grid(asset: Asset, boxes: list[Box]) -> Grid:
    wanted: Any = asset.options["tile_size"]
    size = wanted
    if wanted == "auto":
        size = auto_size(boxes) if boxes else (25.0, 10000.0, 25.0)
    floor = min((box.low[1] for box in boxes), default=0.0)
    return Grid((float(size[0]), float(size[1]), float(size[2])), floor)


class _Planner:
    """What is being planned: which things are in which tile, and what the tiles need."""

    def __init__(
        self, asset: Asset, root: str, origins: list[Origin], grid: Grid, surveys: Surveys
    ) -> None:
        self.asset, self.root, self.origins, self.grid = asset, root, origins, grid
        self.options, self.scene, self.there = asset.options, asset.place, set(surveys)
        self.places: list[list[tuple[Thing, tuple[Span, Span, Span] | None]]] = [
            [] for _ in origins
        ]
        self.tiles: dict[str, list[Thing]] = {}
        self.coordinates: dict[str, tuple[int, int, int]] = {}
        self.requests = sorted(
            {one for origin in origins for slots in origin.materials for one in slots.values()}
        )
        self.texture_names = _distinct_stems(self.requests)

    def place(self, thing: Thing) -> None:
        """Put a thing into the tiles that it lies in, or into the shared bucket."""
        spans = None
        if thing.box is not None:
            spans = assign(thing.box, self.grid, clip=bool(self.options["clip"]))
        self.places[thing.source].append((thing, spans))
        if spans is None:
            self.tiles.setdefault(SHARED, []).append(thing)
            return
        for one in places_of(spans):
            self.coordinates[tile_name(one)] = one
            self.tiles.setdefault(tile_name(one), []).append(thing)

    def _read_name(self, number: int) -> str:
        path = self.origins[number].path.removeprefix(self.root + "/")
        return f"{self.asset.name}/read/{path}".replace("=", "%3D")

    def read_nodes(self) -> Iterable[Node]:
        """Plan a node for each source, with a private output for each tile and material."""
        for number, origin in enumerate(self.origins):
            placed = self.places[number]
            tiles = [
                name for name, things in self._tiles() if any(t.source == number for t in things)
            ]
            outputs: dict[str, Place] = dict.fromkeys(tiles)
            outputs |= {f"material_{index}": None for index in range(len(origin.materials))}
            outputs |= {f"image_{index}": None for index in sorted(origin.embedded)}
            params: dict[str, Any] = {
                "source": origin.path,
                "tile_size": list(self.grid.size),
                "floor": self.grid.floor,
                "clip": self.options["clip"],
                "objects": [[thing.key, _flat(spans)] for thing, spans in placed],
                "tiles": list(tiles),
                "materials": len(origin.materials),
                "material_keys": list(origin.keys),
                "images": sorted(origin.embedded),
                "shows_emissive": self.options["format_version"] != 1,
            }
            files = plan_inputs(self.asset.name, origin.files)
            yield from files.nodes
            name = self._read_name(number)
            yield Node(name, "encoders.untold.read:encode_source", files.inputs, params, outputs)

    def _tiles(self) -> list[tuple[str, list[Thing]]]:
        return sorted(self.tiles.items())

    def _texture_node(self, request: Request) -> str:
        return f"{self.asset.name}/Textures/{self.texture_names[request]}".replace("=", "%3D")

    def texture_nodes(self) -> Iterable[Node]:
        """Plan a node for each texture; an image inside of a source comes from its node."""
        for request in self.requests:
            inputs: dict[str, Source | Product] = {}
            params: dict[str, Any] = {
                "kind": request.kind,
                "channel": request.channel,
                "image": request.image,
                "alpha": request.alpha,
                "stem": self.texture_names[request],
                "textures": self.options["textures"],
            }
            for image in filter(None, (request.image, request.alpha)):
                inputs[image] = self._image(image)
                if isinstance(inputs[image], Source) and image not in self.there:
                    params["missing"] = [image, *self._named_in(image)]
            prefix = f"{self.scene}/Textures/{self.texture_names[request]}_"
            suffixes = ("utex",) if self.options["textures"] == "astc" else ("png", "jpg")
            outputs: dict[str, Place] = {
                suffix: Family(prefix, f".{suffix}", hashed=True) for suffix in suffixes
            }
            outputs["facts"] = None
            encoder = "encoders.untold.texture:encode_texture"
            yield Node(self._texture_node(request), encoder, inputs, params, outputs)

    def _image(self, image: str) -> Source | Product:
        for number, origin in enumerate(self.origins):
            for index in origin.embedded:
                if embedded_name(origin.path, index) == image:
                    return Product(self._read_name(number), f"image_{index}")
        return Source(image)

    def _named_in(self, image: str) -> tuple[str, str, str, str]:
        for origin in self.origins:
            if image in origin.named_in:
                return (origin.path, *origin.named_in[image])
        return ("", "", "", "")

    def tile_nodes(self) -> Iterable[Node]:
        """Plan for each tile the node that puts it together, and one for each of its levels."""
        for name, things in self._tiles():
            yield self._cut_node(name, things)
            for level in self._levels(name):
                yield self._level_node(name, level, things)

    def _levels(self, tile: str) -> list[Level]:
        """Return the levels of a tile, each with the one before among those that are reduced."""
        if tile == SHARED:
            return [Level("", "shared", 1.0)]
        lods: Any = self.options["lods"]
        hlod: Any = self.options["hlod"]
        shares = [(f"_lod{number}", "lod", share) for number, share in enumerate(lods, 1)]
        if hlod:
            shares.append(("_hlod", "hlod", hlod))
        before = ["", *(suffix for suffix, _, _ in shares)]
        found = [
            Level(suffix, kind, share, other, hands_on=suffix != before[-1])
            for (suffix, kind, share), other in zip(shares, before, strict=False)
        ]
        return [Level("", "tile", 1.0), *found]

    def _stem(self, tile: str) -> str:
        return f"{posixpath.basename(self.scene)}_shared" if tile == SHARED else tile

    def _cut_node(self, tile: str, things: list[Thing]) -> Node:
        inputs: dict[str, Source | Product] = {}
        for thing in things:
            read = self._read_name(thing.source)
            inputs[f"piece/{thing.source:06}"] = Product(read, tile)
            for material in thing.materials:
                if material >= 0:
                    role = f"material_{material}"
                    inputs[f"material/{thing.source:06}/{material:06}"] = Product(read, role)
        name = f"{self.asset.name}/{self._stem(tile)}{WHOLE}"
        params = {"tile": self._stem(tile)}
        return Node(name, "encoders.untold.cut:encode_cut", inputs, params, {"cut": None})

    def _level_node(self, tile: str, level: Level, things: list[Thing]) -> Node:
        stem = self._stem(tile)
        inputs: dict[str, Source | Product] = {
            "cut": Product(f"{self.asset.name}/{stem}{WHOLE}", "cut")
        }
        if level.before:
            inputs["before"] = Product(f"{self.asset.name}/{stem}{level.before}", "cut")
        for request in self._requests_of(things):
            inputs[f"texture/{request.key}"] = Product(self._texture_node(request), "facts")
        params: dict[str, Any] = {
            "file_type": FILE_TYPES[level.kind],
            "share": level.share,
            "tile_size": list(self.grid.size),
            "hands_on": level.hands_on,
            "name": stem,
            "file": stem + level.suffix,
            "compression": self.options["compression"],
            "format_version": self.options["format_version"],
            "hashed": self.options["hashed_names"],
        }
        place = f"{self.scene}/{stem}{level.suffix}"
        # A box is larger than what it holds, so a tile may turn out to be empty and make no file.
        family = Family(f"{place}_", ".untold", alone=f"{place}.untold", hashed=True)
        name = f"{self.asset.name}/{stem}{level.suffix}"
        outputs: dict[str, Place] = {"file": family, "facts": None}
        if level.hands_on:
            outputs["cut"] = None
        return Node(name, "encoders.untold.level:encode_level", inputs, params, outputs)

    def _requests_of(self, things: list[Thing]) -> list[Request]:
        found = {
            request
            for thing in things
            for material in thing.materials
            if material >= 0
            for request in self.origins[thing.source].materials[material].values()
        }
        return sorted(found)

    def manifest_node(self) -> Node:
        """Plan the manifest, which stands on what every level says of itself."""
        inputs = {
            f"{name}{level.suffix}": Product(
                f"{self.asset.name}/{self._stem(name)}{level.suffix}", "facts"
            )
            for name, _ in self._tiles()
            for level in self._levels(name)
        }
        params: dict[str, Any] = {
            "scene": posixpath.basename(self.scene),
            "tile_size": list(self.grid.size),
            "tile_size_mode": "auto" if self.options["tile_size"] == "auto" else "manual",
            "tiles": {
                name: list(self.coordinates[name]) for name, _ in self._tiles() if name != SHARED
            },
            "lods": len(self._levels("tile")) - 1 - bool(self.options["hlod"]),
            "hlod": bool(self.options["hlod"]),
            "hashed": self.options["hashed_names"],
        }
        outputs: dict[str, Place] = {"manifest": f"{self.scene}.json"}
        if self.options["hashed_names"]:
            outputs["hashed"] = Family(f"{self.scene}_", ".json", hashed=True)
        encoder = "encoders.untold.manifest:encode_manifest"
        return Node(self.asset.name, encoder, inputs, params, outputs)


def _flat(spans: tuple[Span, Span, Span] | None) -> list[int] | None:
    return None if spans is None else [number for span in spans for number in span]


def _distinct_stems(requests: list[Request]) -> dict[Request, str]:
    """Name textures after their images; those of one name are numbered by their paths' order."""
    names: dict[Request, str] = {}
    taken: set[str] = set()
    for request in requests:
        path = request.image or request.alpha
        stem = image_stem(path) + request.suffix
        chosen, count = stem, 1
        while chosen.casefold() in taken:
            count += 1
            chosen = f"{stem}-{count}"
        taken.add(chosen.casefold())
        names[request] = chosen
    return names
