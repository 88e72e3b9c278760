"""UntoldEngine: tiles with their textures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from raster import Camera, Picture, draw, join

from encoders.kit.view.scene import ViewScene
from encoders.kit.view.soup import make_soup
from encoders.untold.picture.scene_view import view_untold

# How far tiles move apart, by their distance from the middle.
GAP = 0.1


def read_scene(path: Path) -> ViewScene:
    """Return a file's triangles with the textures that it refers to."""
    return view_untold(path.read_bytes(), path.name, lambda one: (path.parent / one).read_bytes())


def _moved(scene: ViewScene, center: list[float]) -> ViewScene:
    x, _, z = center
    apart = np.array([x, 0, z]) * GAP
    meshes = [replace(mesh, position=mesh.position + apart) for mesh in scene.meshes]
    return replace(scene, meshes=tuple(meshes))


def draw_map(build: Path, size: tuple[int, int]) -> Picture:
    """Draw all tiles from high above, moved apart a little."""
    tiles = json.loads((build / "village.json").read_text())["tiles"]
    whole = join(
        [
            _moved(read_scene(build / one["path_relative_to_manifest"]), one["center"])
            for one in tiles
        ]
    )
    points = make_soup(whole).points
    middle = (points.min(axis=(0, 1)) + points.max(axis=(0, 1))) / 2
    return draw(whole, Camera(middle + np.array([24, 58, 58]), middle, 1.15), size)


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the map, and a tile with its levels."""
    pictures = [("untold: all tiles, moved apart", draw_map(build, (480, 320)))]
    for level in ("", "_lod2", "_hlod"):
        scene = read_scene(build / f"village/tile_0_0_-1{level}.untold")
        count = sum(len(mesh.triangles) for mesh in scene.meshes)
        title = f"untold: tile_0_0_-1{level}, {count} triangles"
        pictures.append((title, draw(scene, None, (300, 240))))
    return pictures
