"""UntoldEngine: tiles with their textures. The engine has v upwards and turns it when it draws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image
from raster import Camera, Picture, Soup, draw, join, look_around

from encoders.untold.format.layout import VERTEX
from encoders.untold.format.reader import unpack_untold
from encoders.untold.format.untold_file import MeshRecord
from encoders.untold.mesh.vertex import unpack_direction

# How far tiles move apart, by their distance from the middle.
GAP = 0.1


def read_soup(path: Path) -> Soup:
    """Return a file's triangles with the textures that it refers to."""
    content = unpack_untold(path.read_bytes(), path.name)
    textures = [
        np.asarray(Image.open(path.parent / str(one.uri)).convert("RGBA"))
        for one in content.textures
    ]
    parts = []
    for mesh in content.meshes:
        points, normals, uvs = _columns(mesh)
        texture = content.materials[mesh.material].textures[0]
        parts.append(Soup(points, normals, uvs, np.full(len(points), 0), [textures[texture]]))
    return join(parts)


def _columns(mesh: MeshRecord) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stored = VERTEX.unpack(mesh.vertices, mesh.vertex_count)
    corners = mesh.indices.astype(int).reshape(-1, 3)
    normals = unpack_direction(np.stack([stored[f"normal_{axis}"] for axis in "xyz"], axis=1))
    uvs = stored["uv0"].astype(float) * [1, -1] + [0, 1]  # v = 0 is the first row here
    return stored["position"].astype(float)[corners], normals[corners], uvs[corners]


def draw_map(build: Path, size: tuple[int, int]) -> Picture:
    """Draw all tiles from high above, moved apart a little."""
    tiles = json.loads((build / "village.json").read_text())["tiles"]
    soups = []
    for tile in tiles:
        soup = read_soup(build / tile["path_relative_to_manifest"])
        x, _, z = tile["center"]
        soup.points += np.array([x, 0, z]) * GAP
        soups.append(soup)
    whole = join(soups)
    middle = (whole.points.min(axis=(0, 1)) + whole.points.max(axis=(0, 1))) / 2
    return draw(whole, Camera(middle + np.array([24, 58, 58]), middle, 1.15), size)


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the map, and a tile with its levels."""
    pictures = [("untold: all tiles, moved apart", draw_map(build, (480, 320)))]
    for level in ("", "_lod2", "_hlod"):
        soup = read_soup(build / f"village/tile_0_0_-1{level}.untold")
        camera = look_around(soup, 25, 0.7)
        title = f"untold: tile_0_0_-1{level}, {len(soup.points)} triangles"
        pictures.append((title, draw(soup, camera, (300, 240))))
    return pictures
