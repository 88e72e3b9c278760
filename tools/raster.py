"""Pictures for the contact sheet: views of built files before a sky, and textures on squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.view import camera as view_camera
from encoders.kit.view.draw import FINE, shrink
from encoders.kit.view.raster import draw_soup
from encoders.kit.view.request import ViewRequest
from encoders.kit.view.scene import ViewScene
from encoders.kit.view.soup import make_soup

Floats = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]
SKY = (np.array([134.0, 176, 214]), np.array([226.0, 232, 220]))


@dataclass(frozen=True)
class Camera:
    """Where it stands, where it looks, and how wide it sees (the focal length in screen widths)."""

    eye: Sequence[float]
    target: Sequence[float]
    focal: float = 1.2

    def axes(self) -> Floats:
        """Return the directions right, up and backwards, a row each."""
        return view_camera.look(np.subtract(self.eye, self.target).astype(float))


def draw(
    scene: ViewScene, camera: Camera | None, size: tuple[int, int], frame: int | None = None
) -> Picture:
    """Draw a scene before the sky; without a camera all of it is in view."""
    soup = make_soup(scene, frame)
    if camera is None:
        seen = view_camera.choose_camera(ViewRequest(), soup.points, size)
    else:
        # The kit counts focal lengths in heights.
        focal = camera.focal * size[0] / size[1]
        seen = view_camera.Camera(np.array(camera.eye, float), camera.axes(), focal)
    fine = (size[0] * FINE, size[1] * FINE)
    pixels = shrink(draw_soup(soup, scene.materials, seen, fine)).astype(float)
    fade = np.linspace(0, 1, size[1])[:, None, None]
    sky = np.broadcast_to(SKY[0] * (1 - fade) + SKY[1] * fade, (size[1], size[0], 3))
    alpha = pixels[..., 3:] / 255
    return (pixels[..., :3] * alpha + sky * (1 - alpha)).astype(np.uint8)


def join(scenes: Sequence[ViewScene]) -> ViewScene:
    """Return the meshes of several scenes as one."""
    meshes, materials = [], []
    for scene in scenes:
        first = len(materials)
        meshes += [replace(mesh, material=mesh.material + first) for mesh in scene.meshes]
        materials += scene.materials
    return ViewScene(tuple(meshes), tuple(materials))


def on_checks(picture: Picture, width: int) -> Picture:
    """Return a picture with alpha over a pattern of squares, enlarged by whole texels."""
    factor = max(1, width // picture.shape[1])
    large = picture.repeat(factor, axis=0).repeat(factor, axis=1).astype(float)
    y, x = np.mgrid[0 : large.shape[0], 0 : large.shape[1]] // 8
    checks = np.where((x + y) % 2, 200.0, 235.0)[..., None]
    alpha = large[..., 3:] / 255
    return (large[..., :3] * alpha + checks * (1 - alpha)).astype(np.uint8)
