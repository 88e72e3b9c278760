"""How far levels of detail are from the whole, beside public simplifiers at the same counts.

`python bench/quality_lod.py`; `rows()` gives the same table to `bench/quality.py`. Each tile of
the sample's village, of a city and of a terrain is simplified by the target `untold`, and by each
peer to the number of triangles that our level has. A peer gets the tile welded by position,
without seams, which suits it best; on the terrain all keep the borders. Errors are distances in
metres between the surfaces, in both directions: the mean over the area, and the largest. Edges are
unequal where a tile ends at one that its neighbour has not. Seconds are those of the processor for
all levels: ours with reading the tile, attributes and writing, a peer's for positions alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fast_simplification
import lod_scene
import numpy as np
from kit_geometry import distances, sampled
from lod_border import unequal_edges

from encoders.kit.mesh.weld import weld_mesh
from encoders.kit.plan import Asset, Settings, Source
from encoders.kit.source.registry import load, survey_functions
from encoders.untold.format.layout import VERTEX_SIZE
from encoders.untold.format.reader import unpack_untold
from encoders.untold.target import OPTIONS, TARGET

ROOT = Path(__file__).resolve().parent.parent
LEVELS = ("lod1", "lod2", "hlod")
HEADER = (
    "scene and level",
    "triangles",
    "mean error m (largest)",
    "ratio of mean to ours",
    "unequal edges",
)
# meshoptimizer's flags: keep the border; drop components that are smaller than the error.
LOCK_BORDER, PRUNE = 1, 8
CELL_M = 0.25
# The position is the first of a vertex's fields.
POSITION_BYTES = 12
POINTS = 6000
# The longer side of a tile of the default size.
TILE_M = 25.0

Mesh = tuple[np.ndarray, np.ndarray]
Place = tuple[int, int]
Peer = Callable[[Mesh, int, bool], Mesh]


@dataclass(frozen=True)
class Error:
    """How far two surfaces are from each other, and the triangles of the second."""

    mean: float
    largest: float
    triangles: int

    @classmethod
    def of(cls, whole: Mesh, level: Mesh) -> Error:
        """Measure a level of a scene, in both directions."""
        there, back = _distances(whole, level), _distances(level, whole)
        mean = float(there.mean() + back.mean()) / 2
        return cls(mean, float(max(there.max(), back.max())), len(level[1]))


def by_meshoptimizer(mesh: Mesh, target: int, keeps_border: bool) -> Mesh:
    """Simplify with meshoptimizer, with no limit of the error."""
    import meshoptimizer

    points, triangles = mesh
    found = np.zeros(triangles.size, np.uint32)
    count = meshoptimizer.simplify(
        found,
        triangles.reshape(-1).astype(np.uint32),
        points,
        target_index_count=3 * target,
        target_error=1e9,
        options=PRUNE | (LOCK_BORDER if keeps_border else 0),
    )
    return points, found[:count].reshape(-1, 3).astype(np.int32)


def by_pyfqmr(mesh: Mesh, target: int, keeps_border: bool) -> Mesh:
    """Simplify with pyfqmr."""
    import pyfqmr

    simplifier = pyfqmr.Simplify()
    simplifier.setMesh(*mesh)
    simplifier.simplify_mesh(target, preserve_border=keeps_border, verbose=False)
    points, triangles, _ = simplifier.getMesh()
    return points.astype(np.float32), triangles.astype(np.int32)


def by_fast_simplification(mesh: Mesh, target: int, _keeps_border: bool) -> Mesh:
    """Simplify with fast-simplification, which cannot keep borders."""
    points, triangles = fast_simplification.simplify(*mesh, target_count=target)
    return points.astype(np.float32), triangles.astype(np.int32)


ALL_PEERS: dict[str, Peer] = {
    "meshoptimizer": by_meshoptimizer,
    "pyfqmr": by_pyfqmr,
    "fast_simplification": by_fast_simplification,
}
# Those of the extra `bench` that are installed.
PEERS = {name: peer for name, peer in ALL_PEERS.items() if find_spec(name)}


def rows() -> Iterator[tuple[str, ...]]:
    """Return the table: a header, rows for each scene, level and simplifier, and their times."""
    yield HEADER
    for name, files, keeps_border in scenes():
        scene = build_tiles(files)
        seconds = {"ours": scene.seconds, **dict.fromkeys(PEERS, 0.0)}
        for level in LEVELS:
            yield from _rows(f"{name} {level}", scene, level, keeps_border, seconds)
        for peer, spent in seconds.items():
            ratio = f"{spent / scene.seconds:.2f} x time"
            yield f"{name} all levels: {peer}", "", f"{spent:.3f} s", ratio


@dataclass
class Tiles:
    """The meshes of each tile, the whole one as "", then by level; `seconds` for the levels."""

    meshes: dict[Place, dict[str, Mesh]] = field(default_factory=dict)
    seconds: float = 0.0

    def of(self, level: str) -> dict[Place, Mesh]:
        """Return the mesh of each tile at a level."""
        return {place: meshes[level] for place, meshes in self.meshes.items()}


def scenes() -> Iterator[tuple[str, dict[str, bytes], bool]]:
    """Return name, files, and whether peers have to keep borders."""
    yield "city", {"assets/city.glb": lod_scene.city(2, 2, 24).glb()}, False
    yield "terrain", {"assets/terrain.glb": lod_scene.terrain(50.0, 100).glb()}, True
    village = ("assets/scenes/village.gltf", "assets/scenes/village.bin")
    pictures = [str(path.relative_to(ROOT)) for path in (ROOT / "assets/textures").glob("*.png")]
    yield "village", {path: (ROOT / path).read_bytes() for path in (*village, *pictures)}, False


def build_tiles(files: dict[str, bytes]) -> Tiles:
    """Build a scene; return the meshes of each tile and level."""
    found = Tiles()
    built = dict(encode_scene(files, found))
    for name in built:
        stem, _, level = name.removesuffix(".untold").rpartition("_")
        if level != LEVELS[0]:
            continue
        _, x, _, z = stem.rpartition("/")[2].split("_")
        levels = {one: mesh_of(built[f"{stem}_{one}.untold"]) for one in LEVELS}
        found.meshes[int(x), int(z)] = {"": mesh_of(built[f"{stem}.untold"]), **levels}
    return found


def encode_scene(files: dict[str, bytes], tiles: Tiles) -> Iterator[tuple[str, bytes]]:
    """Follow the plan of a scene without the engine; return the `.untold` files, count seconds."""
    functions = {**survey_functions(), **TARGET.surveys}
    surveys = {
        name: load(functions[f".{name.rpartition('.')[2]}"])(data, name)
        for name, data in files.items()
        if f".{name.rpartition('.')[2]}" in functions
    }
    sources = tuple(name for name in files if name.endswith((".gltf", ".glb")))
    options: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
    asset = Asset("scene", "scene", sources, ("scene",), options, "scene")
    made: dict[str, dict[str, bytes]] = {}
    for node in TARGET.plan(asset, surveys, Settings({}, {}, "assets")):
        if not node.name.rpartition("/")[0]:
            continue  # the manifest, which has no mesh
        inputs = {
            name: files.get(one.path) if isinstance(one, Source) else made[one.node][one.role]
            for name, one in node.inputs.items()
        }
        given = {name: data for name, data in inputs.items() if data is not None}
        start = time.process_time()
        made[node.name] = load(node.encoder)(given, node.params)
        if node.encoder.endswith(":encode_levels"):
            tiles.seconds += time.process_time() - start
        if "file" in made[node.name]:
            yield f"{node.name}.untold", made[node.name]["file"]


def _rows(
    label: str, scene: Tiles, level: str, keeps_border: bool, seconds: dict[str, float]
) -> Iterator[tuple[str, ...]]:
    ours = scene.of(level)
    found = {"ours": ours}
    for name, simplify in PEERS.items():
        start = time.process_time()
        found[name] = {
            place: simplify(mesh, len(ours[place][1]), keeps_border)
            for place, mesh in scene.of("").items()
        }
        seconds[name] += time.process_time() - start
    # All tiles together: what stands beside a dropped part may lie in the next tile.
    whole = _joined(scene.of("").values())
    errors = {name: Error.of(whole, _joined(tiles.values())) for name, tiles in found.items()}
    for name, error in errors.items():
        shown = f"{error.mean:.4f} ({error.largest:.2f})"
        ratio = f"{error.mean / max(errors['ours'].mean, 1e-12):.2f}"
        lost, count = unequal_edges(found[name], TILE_M)
        edges = f"{lost:,} of {count:,}"
        yield f"{label}: {name}", f"{error.triangles:,}", shown, ratio, edges


def _joined(tiles: Iterable[Mesh]) -> Mesh:
    meshes = list(tiles)
    starts = np.cumsum([0, *(len(points) for points, _ in meshes)])
    triangles = [mesh[1] + start for mesh, start in zip(meshes, starts, strict=False)]
    return np.concatenate([points for points, _ in meshes]), np.concatenate(triangles)


def mesh_of(data: bytes) -> Mesh:
    """Return a file's positions and triangles, welded by position."""
    file = unpack_untold(data, "tile")
    points, triangles, start = [], [], 0
    for mesh in file.meshes:
        rows_of = np.frombuffer(mesh.vertices, np.uint8).reshape(-1, VERTEX_SIZE)
        points.append(rows_of[:, :POSITION_BYTES].copy().view("<f4"))
        triangles.append(mesh.indices.reshape(-1, 3).astype(np.int32) + start)
        start += len(rows_of)
    [places], welded = weld_mesh([np.concatenate(points)], np.concatenate(triangles))
    distinct = (welded != np.roll(welded, 1, axis=1)).all(axis=1)
    return places.astype(np.float32), welded[distinct]


def _distances(start: Mesh, surface: Mesh) -> np.ndarray:
    """Return the distance of points on one surface to another, however far it is."""
    points = sampled(*start, 1, POINTS)
    found = np.full(len(points), np.inf)
    cell = CELL_M
    # A grid finds what is within a cell; the rest is looked for in larger cells.
    while (is_far := found > cell / 2).any() and cell < 1e4:
        cell *= 2
        rest = distances(points[is_far], *surface, cell)
        found[is_far] = np.minimum(found[is_far], rest)
    return found


if __name__ == "__main__":
    for cells in rows():
        padded = zip(cells, (40, 12, 26, 24, 16), strict=False)
        print("".join(f"{cell:<{width}}" for cell, width in padded), flush=True)
