"""A picture of a version 20 scene by the runtime's rules.

Triangles that cross the near plane are split as the runtime does, and large ones survive. Fog is
not drawn, but what lies behind its wall is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.image.pixel import expand_bits
from encoders.kit.view.camera import START
from encoders.kit.view.draw import fit_picture
from encoders.kit.view.request import ViewRequest
from encoders.splashpack.format import COLORS, Words
from encoders.splashpack.render import (
    CENTRE,
    DISTANCE,
    HALF,
    HEIGHT,
    SCREEN_GREATEST,
    SCREEN_LEAST,
    WIDTH,
    Bytes,
    Ints,
    ScreenTriangle,
    cover,
    look_at,
    paint,
)
from encoders.splashpack.v20.camera import view_matrix
from encoders.splashpack.v20.format import Scene20, is_untextured
from encoders.splashpack.v20.vram_file import VramFile
from encoders.splashpack.view import place_vertices, read_page
from encoders.splashpack.vram.image import build_vram

NEAR, FAR = 4, 16384
SPLITS = 5
# Nothing is drawn whose corners all lie behind this depth, divided by the density.
FOG_WALL = 20000
PAGE_KEYS = ("page_x", "page_y", "depth", "clut_x", "clut_y")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Corners:
    """Corners of triangles: in view (n, 3, 3), texels (n, 3, 2), colours, and rows in the file."""

    view: Floats
    uv: Floats
    color: Floats
    row: Ints

    def take(self, chosen: npt.NDArray[np.bool_]) -> _Corners:
        return _Corners(self.view[chosen], self.uv[chosen], self.color[chosen], self.row[chosen])


def render_scene(scene: Scene20, uploads: VramFile, request: ViewRequest) -> Bytes:
    """Draw a scene at 320 x 240 from the camera that is asked for, else with all of it in view."""
    world = place_vertices(scene)
    if request.camera == START or not len(world):
        return fit_picture(draw(scene, uploads, _look(scene, world)), request.size)
    view = look_at(world, request).astype(np.float64)
    # Cameras that the user places obey the console's limits of distance; fitted ones see all.
    far = FAR if request.eye is not None else None
    return fit_picture(draw(scene, uploads, view, far), request.size)


def _look(scene: Scene20, world: Ints) -> Floats:
    """Return vertices in the axes of the camera."""
    # Without a nav region or a script the runtime ignores the start.
    if scene.nav is None and not scene.script:
        return world.astype(np.float64)
    moved = world - np.array(scene.player.position)
    return np.asarray(moved @ view_matrix(scene.player.rotation).T)


def find_drawn(scene: Scene20, view: Floats, far: int | None = FAR) -> _Corners:
    """Return the triangles that are drawn, split where they cross the near plane."""
    uv = np.asarray(scene.triangles["uv"]).astype(np.float64)
    color = np.stack([scene.triangles[key] for key in COLORS], axis=1).astype(np.float64)
    corners = _Corners(view, uv, color, np.arange(len(view)))
    for _ in range(SPLITS):
        is_near = corners.view[..., 2] < NEAR
        crosses = np.asarray(is_near.any(axis=1) & ~is_near.all(axis=1))
        corners = _join([corners.take(~crosses), *_split(corners.take(crosses))])
    depth = corners.view[..., 2]
    wall = FOG_WALL / scene.fog.density if scene.fog.enabled and far else np.inf
    is_between = (depth >= NEAR).all(axis=1) & (depth < (far or np.inf)).all(axis=1)
    return _on_screen(corners.take(np.asarray(is_between & (depth < wall).any(axis=1))))


def _on_screen(corners: _Corners) -> _Corners:
    """Return the triangles that are clockwise and not outside of the screen."""
    screen = project(corners.view)
    first, second = screen[:, 1] - screen[:, 0], screen[:, 2] - screen[:, 0]
    is_front = first[:, 0] * second[:, 1] - second[:, 0] * first[:, 1] > 0
    low, high = screen.min(axis=1), screen.max(axis=1)
    is_on = (high > 0).all(axis=1) & (low[:, 0] < WIDTH) & (low[:, 1] < HEIGHT)
    return corners.take(np.asarray(is_front & is_on))


def _split(corners: _Corners) -> list[_Corners]:
    """Split each triangle in four at the middles of its edges."""
    columns = (corners.view, corners.uv, corners.color)
    middles = [(one + one[:, [1, 2, 0]]) / 2 for one in columns]
    parts = []
    # Corner n with the middles of the edges to it; the last one is the triangle between them.
    for picks in (((0, 0), (1, 0), (1, 2)), ((1, 0), (0, 1), (1, 1)), ((1, 2), (1, 1), (0, 2))):
        view, uv, color = (
            np.stack([(mid if kind else one)[:, at] for kind, at in picks], axis=1)
            for one, mid in zip(columns, middles, strict=True)
        )
        parts.append(_Corners(view, uv, color, corners.row))
    view, uv, color = middles
    return [*parts, _Corners(view, uv, color, corners.row)]


def _join(parts: list[_Corners]) -> _Corners:
    keys = ("view", "uv", "color", "row")
    return _Corners(*(np.concatenate([getattr(one, key) for one in parts]) for key in keys))


def project(view: Floats) -> Ints:
    """Return positions on the screen, clamped as the runtime clamps them."""
    depth = np.maximum(view[..., 2:], 1)
    screen = np.floor(view[..., :2] * DISTANCE / depth).astype(np.int64) + CENTRE
    return np.asarray(np.clip(screen, SCREEN_LEAST, SCREEN_GREATEST))


def draw(scene: Scene20, uploads: VramFile, view: Floats, far: int | None = FAR) -> Bytes:
    """Paint all visible triangles over the clear colour, the furthest first."""
    clear = expand_bits(np.array(scene.fog.color, np.uint8) >> np.uint8(3), 5)
    pixels = np.broadcast_to(clear, (HEIGHT, WIDTH, 3)).copy()
    corners = find_drawn(scene, view, far)
    screen = project(corners.view)
    plain, vram = is_untextured(scene.triangles), build_vram(uploads)
    columns = {key: np.asarray(scene.triangles[key]).astype(np.int64) for key in PAGE_KEYS}
    pages: dict[tuple[int, ...], Words] = {}
    mean = corners.view[..., 2].astype(np.int64).sum(axis=1) // 3
    for at in np.lexsort((-corners.row, -mean)).tolist():
        row = int(corners.row[at])
        if plain[row]:
            paint_plain(pixels, screen[at], corners.color[at])
            continue
        key = tuple(int(columns[one][row]) for one in PAGE_KEYS)
        if key not in pages:
            pages[key] = read_page(vram, (key[0], key[1], key[2]), (key[3], key[4]))
        uv, color = corners.uv[at].astype(np.int64), corners.color[at].astype(np.int64)
        paint(pixels, ScreenTriangle(screen[at], uv, color, pages[key]))
    return pixels


def paint_plain(pixels: Bytes, screen: Ints, color: Floats) -> None:
    """Fill a triangle without a texture: colours between those of its corners, in 5 bits."""
    covered = cover(screen)
    if covered is None:
        return
    rows, columns, share = covered
    mixed = np.floor(share.T @ color + HALF).astype(np.uint8)
    pixels[rows, columns] = expand_bits(mixed >> np.uint8(3), 5)
