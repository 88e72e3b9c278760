"""Emberware: the hero out of the ROM, posed by its clips as the console would."""

from __future__ import annotations

from pathlib import Path

from raster import Camera, Picture, draw, on_checks

from encoders.emberware.scene_view import view_rom
from encoders.kit.view.scene import View, ViewPicture, ViewScene

POSES = (("idle", 20), ("walk", 4), ("walk", 20), ("wave", 17))


def read_pack(build: Path) -> dict[str, View | None]:
    """Return the views of the ROM's assets by id and kind, such as `hero (meshes)`."""
    path = next(build.glob("*.ewz"))
    return dict(view_rom(path.read_bytes(), path.name, lambda _: None).cells)


def draw_hero(pack: dict[str, View | None], clip: str, frame: int, width: int = 200) -> Picture:
    """Draw the hero from the front, a little from its left."""
    scene = pack[f"hero_{clip} (keyframes)"]
    if not isinstance(scene, ViewScene):
        raise TypeError(f"{clip} is no clip")
    camera = Camera((1.1, 1.5, 3.2), (0, 0.98, 0), 1.9)
    return draw(scene, camera, (width, width * 3 // 2), frame)


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return poses, and a texture."""
    pack = read_pack(build)
    pictures = [
        (f"emberware: {clip}, frame {frame}", draw_hero(pack, clip, frame)) for clip, frame in POSES
    ]
    emblem = pack["emblem (textures)"]
    if not isinstance(emblem, ViewPicture):
        raise TypeError("emblem is no texture")
    return [*pictures, ("emberware: emblem", on_checks(emblem.pixels, 160))]
