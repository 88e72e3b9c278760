"""The nodes of a scene: one for each source, texture, tile and level, and one for the manifest.

A source's node has an output for each tile. An edit of one object therefore goes no further than
the tiles it lies in: all others get the same bytes again, and nothing that reads them runs. A large
source is cut into parts first, which are read by nodes of their own.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.mesh.import_option import FLIP_V, MESH_IMPORT
from encoders.kit.option import chosen
from encoders.kit.plan import Asset, Family, Node, Place, Product, Settings, Source, Surveys
from encoders.kit.source.shown_triangles import check_shown_triangles
from encoders.kit.source.source_input import plan_inputs
from encoders.untold.scene.grid import (
    MAX_TILE_NUMBER,
    SHARED,
    Box,
    Grid,
    Point,
    Span,
    assign_tiles,
    auto_size,
    count_tiles,
    float32_step,
    furthest_coordinate,
    is_too_far,
    max_scene_cuts,
    size_that_cuts,
    tile_name,
    tiles_in,
)
from encoders.untold.scene.import_object import import_objects
from encoders.untold.scene.scene_source import SceneObject, SceneSource, describe_source
from encoders.untold.scene.source_part import Placed, find_parts
from encoders.untold.scene.texture_plan import TexturePlan

# The numbers of `format`, which is not imported here because it needs numpy.
FILE_TYPES = {"tile": 1, "lod": 2, "hlod": 3, "shared": 4}
# The suffix of the node that merges a tile, and of the one that simplifies it for all levels.
MERGE_SUFFIX, SIMPLIFY_SUFFIX = "_cut", "_simplified"


@dataclass(frozen=True)
class Level:
    """A level of a tile: the suffix of its file, its kind, and the share of triangles it keeps."""

    suffix: str
    kind: str
    share: float

    @property
    def is_simplified(self) -> bool:
        """Tell whether this is not the whole tile."""
        return self.kind in ("lod", "hlod")

    @property
    def role(self) -> str:
        """The output of the simplifying node that this level is made from."""
        return self.suffix.removeprefix("_")


def plan_scene(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan all nodes of a scene; the last one, named like the scene, writes the manifest."""
    for path in asset.sources:
        check_shown_triangles(path, surveys, asset.options)
    sources = [describe_source(number, path, surveys) for number, path in enumerate(asset.sources)]
    objects = [one for source in sources for one in source.objects]
    if not objects:
        facts = {"asset": ", ".join(asset.sources)}
        raise EncodeError("the scene has no triangles", facts, "Put a mesh into a source.")
    objects, pivot = import_objects(objects, asset)
    boxes = [one.box for one in objects if one.box is not None]
    planner = _Planner(asset, settings.source_root, sources, _grid(asset, boxes), surveys)
    planner.place_all(objects, pivot)
    yield from planner.source_nodes()
    yield from planner.textures.nodes()
    yield from planner.tile_nodes()
    yield planner.manifest_node()


def check_lods(asset: Asset) -> str:
    """Return what is wrong with the shares that LODs keep, or nothing."""
    lods: Any = asset.options["lods"]
    if all(one >= other for one, other in pairwise(lods)):
        return ""
    return f"found {lods}; write the largest share first: {sorted(lods, reverse=True)}"


def _grid(asset: Asset, boxes: list[Box]) -> Grid:
    wanted: Any = asset.options["tile_size"]
    size = wanted
    if wanted == "auto":
        size = auto_size(boxes) if boxes else (25.0, 10000.0, 25.0)
    # Only y counts from the lowest point: see `grid`.
    floor = min((box.low[1] for box in boxes), default=0.0)
    return Grid((float(size[0]), float(size[1]), float(size[2])), floor)


class _Planner:
    """A scene while it is planned: which objects lie in which tile, and the textures needed."""

    def __init__(
        self, asset: Asset, root: str, sources: list[SceneSource], grid: Grid, surveys: Surveys
    ) -> None:
        self.asset, self.root, self.sources, self.grid = asset, root, sources, grid
        self.options, self.scene, self.surveys = asset.options, asset.place, surveys
        self.places: list[list[Placed]] = [[] for _ in sources]
        # The parts of each source by name, and the part of each object by source and key.
        self.parts: list[dict[str, list[Placed]]] = []
        self.part_of: dict[tuple[int, str], str] = {}
        self.pivot: Point | None = None
        self.tiles: dict[str, list[SceneObject]] = {}
        self.coordinates: dict[str, tuple[int, int, int]] = {}
        self.textures = TexturePlan(asset, sources, surveys, self._source_node)

    def place_all(self, objects: list[SceneObject], pivot: Point | None) -> None:
        """Assign each object to its tiles, unless there are more of them than a scene may have.

        The objects have been moved so that `pivot` is the origin.
        """
        self.pivot = pivot
        placed = [(one, self._spans(one)) for one in objects]
        cuts = [0 if spans is None else count_tiles(spans) for _, spans in placed]
        allowed = max_scene_cuts(len(objects), sum(one.triangles for one in objects))
        if sum(cuts) > allowed:
            widest = objects[cuts.index(max(cuts))]
            facts = {"tiles of all objects": sum(cuts), "allowed": allowed, "most": max(cuts)}
            hint = "Take a larger `tile_size`, or correct the bounds of the object in its file."
            raise EncodeError(
                "the scene has too many tiles", {**self._object_facts(widest), **facts}, hint
            )
        for one, spans in placed:
            self._place(one, spans)
        for source, own in zip(self.sources, self.places, strict=True):
            self.parts.append(find_parts(own, self.surveys[source.path], self.options))
        self.part_of = {
            (one.source, one.key): name
            for parts in self.parts
            for name, own in parts.items()
            for one, _ in own
        }

    def _spans(self, one: SceneObject) -> tuple[Span, Span, Span] | None:
        if one.box is None:
            return None
        clip = bool(self.options["clip"])
        spans = assign_tiles(one.box, self.grid, clip=clip, triangles=one.triangles)
        if spans is not None and is_too_far(spans):
            raise self._too_far(one)
        return spans

    def _too_far(self, one: SceneObject) -> EncodeError:
        """Say which coordinate of an object is too large, and for what."""
        assert one.box is not None
        axis, value = furthest_coordinate(one.box, self.grid)
        limit = MAX_TILE_NUMBER * self.grid.size[axis]
        facts = {
            **self._object_facts(one),
            "tile size": list(self.grid.size),
            "found": f"{'xyz'[axis]} = {value:.6g}",
            "allowed": f"-{limit:.6g} to {limit:.6g} with these tiles",
            "precision": f"float32 positions have steps of {float32_step(value):.6g} m there",
        }
        hint = 'Move the scene with `pivot = "center"`, or correct the transform in the file.'
        return EncodeError("an object is too far from the origin", facts, hint)

    def _object_facts(self, one: SceneObject) -> dict[str, object]:
        """Name an object and the bounds that its file declares."""
        assert one.box is not None
        low, high = (
            " ".join(f"{value:.6g}" for value in end) for end in (one.box.low, one.box.high)
        )
        path = self.sources[one.source].path
        return {"asset": path, "object": one.name or one.key, "bounds": f"{low} to {high}"}

    def _place(self, one: SceneObject, spans: tuple[Span, Span, Span] | None) -> None:
        """Put an object into its tiles, or into the shared bucket."""
        self.places[one.source].append((one, spans))
        if spans is None:
            self.tiles.setdefault(SHARED, []).append(one)
            return
        for tile in tiles_in(spans):
            self.coordinates[tile_name(tile)] = tile
            self.tiles.setdefault(tile_name(tile), []).append(one)

    def _source_node(self, number: int) -> str:
        path = self.sources[number].path.removeprefix(self.root + "/")
        # doit reads `name=value` on the command line as a variable.
        return f"{self.asset.name}/read/{path}".replace("=", "%3D")

    def source_nodes(self) -> Iterable[Node]:
        """Plan the nodes of each source, with a private output for each tile and material."""
        for number, source in enumerate(self.sources):
            files = plan_inputs(self.asset.name, source.files, self.surveys, self.options)
            yield from files.nodes
            if self.parts[number]:
                yield self._cut_node(number, files.inputs)
                yield from self._part_nodes(number)
                continue
            placed = self.places[number]
            tiles = self._tiles_of(placed)
            outputs: dict[str, Place] = {**dict.fromkeys(tiles), **_surface_outputs(source)}
            params = self._surface_params(source) | self._read_params(source, placed, tiles)
            encoder = "encoders.untold.node_source:encode_source"
            yield Node(self._source_node(number), encoder, files.inputs, params, outputs)

    def _cut_node(self, number: int, inputs: Mapping[str, Source | Product]) -> Node:
        """Plan the node that cuts a source into parts."""
        source, parts = self.sources[number], self.parts[number]
        outputs: dict[str, Place] = {f"part_{name}": None for name in parts}
        outputs |= _surface_outputs(source)
        shown = {material for one, _ in self.places[number] for material in one.materials}
        params: dict[str, Any] = {
            **self._surface_params(source),
            **self._mesh_import(),
            "parts": {name: [int(one.key) for one, _ in own] for name, own in parts.items()},
            "shown": sorted(shown - {-1}),
        }
        encoder = "encoders.untold.node_part:encode_parts"
        return Node(self._source_node(number), encoder, inputs, params, outputs)

    def _part_nodes(self, number: int) -> Iterable[Node]:
        """Plan the nodes that read the parts of a source."""
        source, encoder = self.sources[number], "encoders.untold.node_part:encode_part"
        for name, placed in self.parts[number].items():
            # Nodes of a part are numbered from 0.
            own = [(replace(one, key=str(n)), spans) for n, (one, spans) in enumerate(placed)]
            tiles = self._tiles_of(placed)
            inputs = {source.path: Product(self._source_node(number), f"part_{name}")}
            params = self._read_params(source, own, tiles)
            task = self._part_node(number, name)
            yield Node(task, encoder, inputs, params, dict.fromkeys(tiles))

    def _part_node(self, number: int, part: str) -> str:
        return f"{self._source_node(number)}/{part}"

    def _tiles_of(self, placed: Sequence[Placed]) -> list[str]:
        """Return the names of all tiles that objects lie in."""
        found: set[str] = set()
        for _, spans in placed:
            found |= {SHARED} if spans is None else set(map(tile_name, tiles_in(spans)))
        return sorted(found)

    def _surface_params(self, source: SceneSource) -> dict[str, Any]:
        """Return the params that concern materials and images."""
        return {
            "source": source.path,
            "materials": len(source.materials),
            "material_keys": list(source.material_keys),
            "images": sorted(source.embedded),
            # Newer engines ignore the emissive factor of version 1.
            "shows_emissive": self.options["format_version"] != 1,
        }

    def _read_params(
        self, source: SceneSource, placed: Sequence[Placed], tiles: Sequence[str]
    ) -> dict[str, Any]:
        """Return the params that concern geometry."""
        return {
            "source": source.path,
            "material_keys": list(source.material_keys),
            "tile_size": list(self.grid.size),
            "floor": self.grid.floor,
            "clip": self.options["clip"],
            "shading": self.options["shading"],
            "objects": [[one.key, _flat(spans)] for one, spans in placed],
            "shared": {one.key: self._advice(one) for one, spans in placed if spans is None},
            "tiles": list(tiles),
            **self._mesh_import(),
        }

    def _mesh_import(self) -> dict[str, Any]:
        """Return the options that change a mesh on import, where they are not the defaults."""
        found: dict[str, Any] = chosen(self.options, {**MESH_IMPORT, **FLIP_V})
        if self.pivot is not None:
            found["pivot"] = list(self.pivot)
        if self.options["double_sided"] != "source":
            found["asks_for_sides"] = True
        return found

    def _advice(self, one: SceneObject) -> str:
        """Say why an object is in the shared bucket, and what would put it into tiles."""
        if one.box is None:
            return (
                "is in no tile because its bounds are not known: a skin has none, and other "
                "positions need `min` and `max` in the file"
            )
        if not self.options["clip"]:
            return "is too wide for one tile; `clip = true` cuts it into tiles"
        size = size_that_cuts(one.box, self.grid)
        wide = "spans too many tiles for its triangles"
        if size is None:
            return f"{wide}; split it, or correct its bounds in the file"
        return f"{wide}; `tile_size = [{', '.join(f'{side:.15g}' for side in size)}]` cuts it"

    def _tiles(self) -> list[tuple[str, list[SceneObject]]]:
        return sorted(self.tiles.items())

    def tile_nodes(self) -> Iterable[Node]:
        """Plan for each tile the nodes that merge and simplify it, and one for each level."""
        for name, objects in self._tiles():
            yield self._tile_node(name, objects)
            levels = [level for level in self._levels(name) if level.is_simplified]
            if levels:
                yield self._simplify_node(name, levels)
            for level in self._levels(name):
                yield self._level_node(name, level, objects)

    def _levels(self, tile: str) -> list[Level]:
        """Return the levels of a tile, the whole one first."""
        if tile == SHARED:
            return [Level("", "shared", 1.0)]
        lods: Any = self.options["lods"]
        hlod: Any = self.options["hlod"]
        found = [Level("", "tile", 1.0)]
        found += [Level(f"_lod{number}", "lod", share) for number, share in enumerate(lods, 1)]
        return [*found, Level("_hlod", "hlod", hlod)] if hlod else found

    def _stem(self, tile: str) -> str:
        return f"{posixpath.basename(self.scene)}_shared" if tile == SHARED else tile

    def _tile_node(self, tile: str, objects: list[SceneObject]) -> Node:
        inputs: dict[str, Source | Product] = {}
        for one in objects:
            source = self._source_node(one.source)
            part = self.part_of.get((one.source, one.key))
            if part is None:
                inputs[f"mesh/{one.source:06}"] = Product(source, tile)
            else:
                reader = self._part_node(one.source, part)
                inputs[f"mesh/{one.source:06}/{part}"] = Product(reader, tile)
            for material in one.materials:
                if material >= 0:
                    role = f"material_{material}"
                    inputs[f"material/{one.source:06}/{material:06}"] = Product(source, role)
        name = f"{self.asset.name}/{self._stem(tile)}{MERGE_SUFFIX}"
        params: dict[str, Any] = {
            "tile": self._stem(tile),
            "textures": self.textures.shared(objects),
            "sources": {f"{one.source:06}": self.sources[one.source].path for one in objects},
        }
        return Node(name, "encoders.untold.node_tile:encode_tile", inputs, params, {"tile": None})

    def _simplify_node(self, tile: str, levels: Sequence[Level]) -> Node:
        stem = f"{self.asset.name}/{self._stem(tile)}"
        params: dict[str, Any] = {
            "levels": [[level.role, level.share] for level in levels],
            "tile_size": list(self.grid.size),
        }
        inputs: dict[str, Source | Product] = {"tile": Product(stem + MERGE_SUFFIX, "tile")}
        outputs: dict[str, Place] = {level.role: None for level in levels}
        encoder = "encoders.untold.node_simplify:encode_levels"
        return Node(stem + SIMPLIFY_SUFFIX, encoder, inputs, params, outputs)

    def _level_node(self, tile: str, level: Level, objects: list[SceneObject]) -> Node:
        stem = self._stem(tile)
        task = f"{self.asset.name}/{stem}"
        whole = Product(task + MERGE_SUFFIX, "tile")
        inputs: dict[str, Source | Product] = {
            "tile": Product(task + SIMPLIFY_SUFFIX, level.role) if level.is_simplified else whole
        }
        inputs |= {f"texture/{key}": one for key, one in self.textures.facts_of(objects).items()}
        params: dict[str, Any] = {
            "file_type": FILE_TYPES[level.kind],
            "share": level.share,
            "name": stem,
            "file": stem + level.suffix,
            "compression": self.options["compression"],
            "has_backs": self.options["double_sided"] is True,
            "format_version": self.options["format_version"],
            "hashed": self.options["hashed_names"],
        }
        place = f"{self.scene}/{stem}{level.suffix}"
        # An object's bounds may reach into a tile that its triangles do not; then there is no file.
        family = Family(f"{place}_", ".untold", alone=f"{place}.untold", hashed=True)
        outputs: dict[str, Place] = {"file": family, "facts": None}
        is_zstd = self.options["compression"] == "zstd"
        encoder = "node_level_zstd:encode_level_zstd" if is_zstd else "node_level:encode_level"
        return Node(task + level.suffix, f"encoders.untold.{encoder}", inputs, params, outputs)

    def manifest_node(self) -> Node:
        """Plan the manifest, which needs the facts about every level."""
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
            "compression": self.options["compression"],
            "hashed": self.options["hashed_names"],
        }
        outputs: dict[str, Place] = {"manifest": f"{self.scene}.json"}
        if self.options["hashed_names"]:
            outputs["hashed"] = Family(f"{self.scene}_", ".json", hashed=True)
        encoder = "encoders.untold.node_manifest:encode_manifest"
        return Node(self.asset.name, encoder, inputs, params, outputs)


def _surface_outputs(source: SceneSource) -> dict[str, Place]:
    """Return a private output for each material of a source and each image inside of it."""
    materials: dict[str, Place] = {
        f"material_{index}": None for index in range(len(source.materials))
    }
    return materials | {f"image_{index}": None for index in sorted(source.embedded)}


def _flat(spans: tuple[Span, Span, Span] | None) -> list[int] | None:
    return None if spans is None else [number for span in spans for number in span]
