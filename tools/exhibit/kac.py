"""KAC: models as Kelpo shows them."""

from __future__ import annotations

from pathlib import Path

from raster import Camera, Picture, draw, join

from encoders.kac.scene_view import view_kac
from encoders.kit.view.scene import ViewScene

ABOVE = Camera((26, 24, 40), (1, 0, -2), 1.1)
ASIDE = Camera((-4, 4.5, 17), (0.5, 2, -4), 0.9)


def read_scene(path: Path) -> ViewScene:
    """Return a file's triangles with the textures that it holds."""
    return view_kac(path.read_bytes(), path.name, lambda _: None)


def draw_village(build: Path, camera: Camera, size: tuple[int, int]) -> Picture:
    """Draw the village and its woods."""
    scenes = [read_scene(build / f"scenes/{name}.kac") for name in ("village", "woods")]
    return draw(join(scenes), camera, size)


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the scene and some of the small things."""
    pictures = [
        ("kac: the village from above", draw_village(build, ABOVE, (480, 320))),
        ("kac: the square", draw_village(build, ASIDE, (480, 320))),
    ]
    for name in ("crate", "barrel", "well", "lantern", "chest", "bench"):
        scene = read_scene(build / f"props/{name}.kac")
        pictures.append((f"kac: {name}", draw(scene, None, (240, 240))))
    return pictures
