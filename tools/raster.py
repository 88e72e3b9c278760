"""A small software renderer for looking at what was built: textured triangles, one light, depth.

The axes are those of glTF: y up, right-handed, fronts counter-clockwise. A texture's first row is
v = 0. Texels that are less than half opaque are holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]
LIGHT = np.array([0.45, 0.8, 0.55]) / np.sqrt(0.45**2 + 0.8**2 + 0.55**2)
NEAR = 0.1  # triangles with a corner nearer than this are not drawn
SKY = (np.array([134.0, 176, 214]), np.array([226.0, 232, 220]))


@dataclass
class Soup:
    """Triangles that share nothing: (n, 3, 3) points and normals, (n, 3, 2) UVs, (n) textures."""

    points: Floats
    normals: Floats
    uvs: Floats
    texture: npt.NDArray[np.integer]
    textures: Sequence[Picture]


@dataclass(frozen=True)
class Camera:
    """Where it stands, where it looks, and how wide it sees (the focal length in screen widths)."""

    eye: Sequence[float]
    target: Sequence[float]
    focal: float = 1.2

    def axes(self) -> Floats:
        """Return the directions right, up and backwards, a row each."""
        back = _unit(np.subtract(self.eye, self.target).astype(float))
        right = _unit(np.cross([0.0, 1, 0], back))
        return np.array([right, np.cross(back, right), back])


def _unit(vector: Floats) -> Floats:
    return vector / np.sqrt((vector * vector).sum())


def look_around(soup: Soup, degrees: float = 35, height: float = 0.55) -> Camera:
    """Return a camera that sees all of a soup from the front, turned about y."""
    low, high = soup.points.min(axis=(0, 1)), soup.points.max(axis=(0, 1))
    middle, reach = (low + high) / 2, float(np.sqrt(((high - low) ** 2).sum()))
    turn = np.radians(degrees)
    way = _unit(np.array([np.sin(turn), height, np.cos(turn)]))
    return Camera(middle + way * reach * 1.35, middle)


def draw(soup: Soup, camera: Camera, size: tuple[int, int], fine: int = 2) -> Picture:
    """Render fronts only, each pixel the mean of `fine` x `fine`."""
    width, height = size[0] * fine, size[1] * fine
    axes = camera.axes()
    seen = (soup.points - np.array(camera.eye, float)) @ axes.T
    depth = -seen[..., 2]
    safe = np.maximum(depth, NEAR)
    scale = camera.focal * width
    screen = np.stack(
        [width / 2 + scale * seen[..., 0] / safe, height / 2 - scale * seen[..., 1] / safe], axis=-1
    )
    light = 0.45 + 0.65 * np.clip((soup.normals * LIGHT).sum(axis=-1), 0, 1)
    fade = np.linspace(0, 1, height)[:, None, None]
    canvas = np.broadcast_to(SKY[0] * (1 - fade) + SKY[1] * fade, (height, width, 3)).copy()
    nearest = np.full((height, width), np.inf)
    for number in np.flatnonzero((depth > NEAR).all(axis=1)):
        corners = (screen[number], depth[number], light[number], soup.uvs[number])
        _fill(canvas, nearest, corners, soup.textures[soup.texture[number]])
    return canvas.reshape(size[1], fine, size[0], fine, 3).mean(axis=(1, 3)).astype(np.uint8)


def _fill(
    canvas: Floats,
    nearest: Floats,
    corners: tuple[Floats, Floats, Floats, Floats],
    texture: Picture,
) -> None:
    (a, b, c), depth, light, uvs = corners
    area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
    if area >= 0:  # y runs down on the screen, so fronts have a negative area
        return
    low = np.maximum(np.floor(np.minimum(np.minimum(a, b), c)), 0).astype(int)
    limit = (canvas.shape[1], canvas.shape[0])
    high = np.minimum(np.ceil(np.maximum(np.maximum(a, b), c)), limit).astype(int)
    if (low >= high).any():
        return
    y, x = np.mgrid[low[1] : high[1], low[0] : high[0]] + 0.5  # the middles of pixels
    # Divided by depth, weights are linear on the screen; multiplied by the depth of the pixel
    # afterwards, they interpolate with the right perspective.
    weights = _weights((a, b, c), area, x, y) / depth
    inverse = weights.sum(axis=-1)
    near = 1 / np.where(inverse == 0, 1, inverse)
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    mask = (weights >= 0).all(axis=-1) & (near < nearest[window])
    u, v = np.moveaxis(weights @ uvs * near[..., None], -1, 0)
    rows = np.floor(v % 1 * texture.shape[0]).astype(int) % texture.shape[0]
    columns = np.floor(u % 1 * texture.shape[1]).astype(int) % texture.shape[1]
    texels = texture[rows, columns]
    mask &= texels[..., 3] > 127
    shade = (weights @ light * near)[..., None]
    canvas[window][mask] = np.clip(texels[..., :3] * shade, 0, 255)[mask]
    nearest[window][mask] = near[mask]


def _weights(corners: Sequence[Floats], area: float, x: Floats, y: Floats) -> Floats:
    (a, b, c) = corners
    first = ((b[0] - x) * (c[1] - y) - (c[0] - x) * (b[1] - y)) / area
    second = ((c[0] - x) * (a[1] - y) - (a[0] - x) * (c[1] - y)) / area
    return np.stack([first, second, 1 - first - second], axis=-1)


def join(soups: Sequence[Soup]) -> Soup:
    """Return all triangles of several soups as one."""
    # The sums have one entry more than there are soups: where the last one ends.
    offsets = np.cumsum([0, *(len(one.textures) for one in soups)])
    shifted = [one.texture + offset for one, offset in zip(soups, offsets, strict=False)]
    return Soup(
        np.concatenate([one.points for one in soups]),
        np.concatenate([one.normals for one in soups]),
        np.concatenate([one.uvs for one in soups]),
        np.concatenate(shifted),
        [texture for one in soups for texture in one.textures],
    )


def on_checks(picture: Picture, width: int) -> Picture:
    """Return a picture with alpha over a pattern of squares, enlarged by whole texels."""
    factor = max(1, width // picture.shape[1])
    large = picture.repeat(factor, axis=0).repeat(factor, axis=1).astype(float)
    y, x = np.mgrid[0 : large.shape[0], 0 : large.shape[1]] // 8
    checks = np.where((x + y) % 2, 200.0, 235.0)[..., None]
    alpha = large[..., 3:] / 255
    return (large[..., :3] * alpha + checks * (1 - alpha)).astype(np.uint8)
