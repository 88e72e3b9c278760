"""A software renderer that follows the console's rules: 320 x 240, no filtering, no depth buffer.

Triangles are sorted by their mean depth and painted from back to front, and textures are mapped
without perspective. Triangles that the runtime or the graphics processor drops are not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.image.pixel import expand_bits
from encoders.kit.image.png_writer import encode_png
from encoders.splashpack.format import COLORS, Splashpack, Words
from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.view import place_vertices, read_page
from encoders.splashpack.vram.image import build_vram

WIDTH, HEIGHT = 320, 240
CENTRE = np.array([160, 120])
DISTANCE = 120
# The geometry engine saturates the quotient of distance and depth here.
STEEPEST = 0x1FFFF / 0x10000
# Screen coordinates have 11 bits. The graphics processor drops triangles of a larger extent, and
# the runtime those that are further away.
SCREEN_LEAST, SCREEN_GREATEST = -1024, 1023
WIDEST, TALLEST = 1023, 511
FAR = 6144

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ScreenTriangle:
    """A triangle on the screen: positions, texels and tints of its corners, and its page."""

    screen: Ints
    uv: Ints
    color: Ints
    page: Words


def render_scene(data: bytes, name: str) -> dict[str, bytes]:
    """Draw the scene from the origin; if nothing is visible, from where all of it is in view."""
    pack = unpack_splashpack(data, name)
    world = place_vertices(pack)
    view = world
    if not find_visible(*project(view)).any() and len(world):
        view = world - step_back(world)
    return {"scene.png": encode_png(draw(pack, view))}


def step_back(world: Ints) -> Ints:
    """Return a position in front of the scene from which all of it is in view."""
    low, high = world.min(axis=(0, 1)), world.max(axis=(0, 1))
    middle = (low + high) // 2
    # The depth at which half the extent reaches the edge of the screen: x * 120 / depth = 160,
    # y * 120 / depth = 120.
    reach = max(int(high[0] - low[0]) * 3 // 8, int(high[1] - low[1]) // 2, DISTANCE // 2)
    return np.array([middle[0], middle[1], low[2] - reach - 1])


def project(view: Ints) -> tuple[Ints, Ints]:
    """Return screen positions (triangles, 3, 2) and depths (triangles, 3) of all vertices."""
    depth = np.clip(view[..., 2], 0, 65535)
    share = np.minimum(DISTANCE / np.maximum(depth, 1), STEEPEST)
    screen = np.floor(view[..., :2] * share[..., None]).astype(np.int64) + CENTRE
    return np.clip(screen, SCREEN_LEAST, SCREEN_GREATEST), depth


def find_visible(screen: Ints, depth: Ints) -> npt.NDArray[np.bool_]:
    """Tell which triangles are drawn: clockwise, within range, not too large, on the screen."""
    first, second = screen[:, 1] - screen[:, 0], screen[:, 2] - screen[:, 0]
    is_front = first[:, 0] * second[:, 1] - second[:, 0] * first[:, 1] > 0
    low, high = screen.min(axis=1), screen.max(axis=1)
    extent = high - low
    is_small = (extent[:, 0] <= WIDEST) & (extent[:, 1] <= TALLEST)
    is_on = (high > 0).all(axis=1) & (low[:, 0] < WIDTH) & (low[:, 1] < HEIGHT)
    is_between = (depth < FAR).all(axis=1) & (depth > 0).all(axis=1)
    return np.asarray(is_front & is_small & is_on & is_between)


def draw(pack: Splashpack, view: Ints) -> Bytes:
    """Paint all visible triangles, the furthest first; of equally far ones the first is on top."""
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    screen, depth = project(view)
    rows = np.flatnonzero(find_visible(screen, depth))
    mean = depth[rows].sum(axis=1) // 3
    columns = {key: np.asarray(column).astype(np.int64) for key, column in pack.triangles.items()}
    colors = np.stack([columns[key] for key in COLORS], axis=1)
    vram = build_vram(pack)
    pages: dict[tuple[int, ...], Words] = {}
    # The runtime draws a bucket of equal depth from the last triangle to the first.
    for row in rows[np.lexsort((-rows, -mean))].tolist():
        page = tuple(int(columns[key][row]) for key in ("page_x", "page_y", "depth"))
        clut = (int(columns["clut_x"][row]), int(columns["clut_y"][row]))
        if (*page, *clut) not in pages:
            pages[*page, *clut] = read_page(vram, (page[0], page[1], page[2]), clut)
        texels, words = columns["uv"][row], pages[*page, *clut]
        paint(pixels, ScreenTriangle(screen[row], texels, colors[row], words))
    return pixels


def paint(pixels: Bytes, triangle: ScreenTriangle) -> None:
    """Fill a triangle without its right and bottom edges; texels of word 0 are holes."""
    covered = cover(triangle.screen)
    if covered is None:
        return
    rows, columns, share = covered
    # A little more, so that rounding does not turn a whole coordinate into its neighbour.
    u, v = (np.floor(share.T @ triangle.uv[:, axis] + 1e-6).astype(np.int64) for axis in range(2))
    words = triangle.page[v, np.minimum(u, triangle.page.shape[1] - 1)]
    tint = np.floor(share.T @ triangle.color + 1e-6).astype(np.int64)
    levels = np.stack([words >> shift & 31 for shift in (0, 5, 10)], axis=1).astype(np.int64)
    # A tint of 128 leaves the texel as it is; the result saturates.
    lit = np.minimum(levels * tint // 128, 31).astype(np.uint8)
    shown = words != 0
    pixels[rows[shown], columns[shown]] = expand_bits(lit[shown], 5)


def cover(screen: Ints) -> tuple[Ints, Ints, npt.NDArray[np.float64]] | None:
    """Return rows and columns of the pixels of a triangle, and the weights of its corners there."""
    left, top = np.maximum(screen.min(axis=0), 0).tolist()
    right, bottom = np.minimum(screen.max(axis=0), (WIDTH, HEIGHT)).tolist()
    y, x = np.mgrid[top:bottom, left:right]
    found = _barycentric(screen, x, y)
    if found is None:
        return None
    weights, inside = found
    rows, columns = np.nonzero(inside)
    return rows + top, columns + left, weights[:, rows, columns]


def _barycentric(
    screen: Ints, x: Ints, y: Ints
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None:
    """Return the corners' weights at all pixels, and which pixels are inside; None for none."""
    inside = np.ones(x.shape, np.bool_)
    weights = []
    for corner in range(3):
        (ax, ay), (bx, by) = screen[(corner + 1) % 3].tolist(), screen[(corner + 2) % 3].tolist()
        weight = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        # The rule of the graphics processor: pixels on a top or left edge belong to the triangle,
        # others do not, so that neighbours share none.
        is_top_left = by < ay or (by == ay and bx > ax)
        inside &= (weight > 0) | ((weight == 0) & is_top_left)
        weights.append(weight)
    total = weights[0] + weights[1] + weights[2]
    if not total.size or not inside.any():
        return None
    return np.stack(weights) / total, inside
