"""KAC: models as Kelpo shows them. Its view is left-handed, so z is turned around for ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from raster import Camera, Picture, Soup, draw, join, look_around

from encoders.kac.reader import unpack_kac
from encoders.kac.view import decode_level

ABOVE = Camera((26, 24, 40), (1, 0, -2), 1.1)
ASIDE = Camera((-4, 4.5, 17), (0.5, 2, -4), 0.9)


def read_soup(path: Path) -> Soup:
    """Return a file's triangles with the textures that it holds."""
    kac = unpack_kac(path.read_bytes(), path.name)
    turn = np.array([1.0, 1.0, -1.0])
    # Mirroring z turns fronts into backs, so corners are taken the other way round.
    corners = kac.corners.astype(int)[:, ::-1]
    return Soup(
        kac.vertices[corners[..., 0]] * turn,
        kac.normals[corners[..., 1]] * turn,
        kac.uvs[corners[..., 2]].astype(float),
        kac.materials["texture_idx"][kac.material_idx].astype(int),
        # `decode_level` puts v = 0 at the bottom; the renderer's first row is v = 0.
        [decode_level(texture.levels()[0])[::-1] for texture in kac.textures],
    )


def draw_village(build: Path, camera: Camera, size: tuple[int, int]) -> Picture:
    """Draw the village and its woods."""
    scenes = [read_soup(build / f"scenes/{name}.kac") for name in ("village", "woods")]
    return draw(join(scenes), camera, size)


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the scene and some of the small things."""
    pictures = [
        ("kac: the village from above", draw_village(build, ABOVE, (480, 320))),
        ("kac: the square", draw_village(build, ASIDE, (480, 320))),
    ]
    for name in ("crate", "barrel", "well", "lantern", "chest", "bench"):
        soup = read_soup(build / f"props/{name}.kac")
        pictures.append((f"kac: {name}", draw(soup, look_around(soup), (240, 240))))
    return pictures
