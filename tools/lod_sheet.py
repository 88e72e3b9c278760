"""Draw the levels of the sample's village beside those of meshoptimizer at the same counts.

Run `doit untold`, then `python tools/lod_sheet.py docs/images/levels.png`; the extra `bench` has
meshoptimizer. A column for the whole village and each level; in the rows are ours, ours without
textures, and those of the peer, which has positions alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from exhibit.untold import read_scene
from PIL import Image, ImageDraw
from raster import Camera, Picture, draw, join

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import quality_lod as bench

from encoders.kit.view.scene import ViewMaterial, ViewMesh, ViewScene

BUILD = bench.ROOT / "build/untold"
SIZE, MARGIN, CAPTION, COLORS = (340, 220), 6, 13, 160  # in pixels, as all sizes here
CAMERA = Camera((24, 13, 25), (0, 1.5, 0), 1.05)
PAPER, INK = (250, 247, 240), (40, 34, 48)
STONE = ViewMaterial(color=(0.77, 0.73, 0.66, 1.0), is_double_sided=True)


def level_paths(level: str) -> list[Path]:
    """Return the files of all tiles at a level; "" is the whole."""
    tiles = json.loads((BUILD / "village.json").read_text())["tiles"]
    paths = [BUILD / one["path_relative_to_manifest"] for one in tiles]
    return [path.with_stem(f"{path.stem}_{level}") if level else path for path in paths]


def draw_plain(meshes: Sequence[bench.Mesh]) -> Picture:
    """Draw meshes with flat faces of one colour."""
    parts = [ViewMesh(points, triangles) for points, triangles in meshes]
    return draw(ViewScene(tuple(parts), (STONE,)), CAMERA, SIZE)


def column(level: str) -> list[tuple[str, Picture]]:
    """Return the pictures of a level with their titles."""
    paths = level_paths(level)
    ours, whole = (
        [bench.mesh_of(path.read_bytes()) for path in one] for one in (paths, level_paths(""))
    )
    peer = [
        bench.by_meshoptimizer(mesh, len(one[1]), False) if level else mesh
        for mesh, one in zip(whole, ours, strict=True)
    ]
    counts = [sum(len(triangles) for _, triangles in meshes) for meshes in (ours, peer)]
    name = level or "whole"
    textured = draw(join([read_scene(path) for path in paths]), CAMERA, SIZE)
    return [
        (f"{name}: {counts[0]:,} triangles", textured),
        (f"{name}, without textures", draw_plain(ours)),
        (f"{name}, meshoptimizer: {counts[1]:,} triangles", draw_plain(peer)),
    ]


def main(path: str) -> None:
    """Draw the sheet."""
    columns = [column(level) for level in ("", *bench.LEVELS)]
    cell = np.array([SIZE[0] + MARGIN, SIZE[1] + CAPTION + MARGIN])
    size = cell * [len(columns), len(columns[0])] + MARGIN
    sheet = Image.new("RGB", tuple(size.tolist()), PAPER)
    pen = ImageDraw.Draw(sheet)
    for x, pictures in enumerate(columns):
        for y, (title, picture) in enumerate(pictures):
            left, top = (cell * [x, y] + MARGIN).tolist()
            pen.text((left, top), title, INK)
            sheet.paste(Image.fromarray(picture), (left, top + CAPTION))
    sheet.quantize(COLORS).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
