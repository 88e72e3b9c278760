"""A software renderer that follows the console's rules: 320 x 240, no filtering, no depth buffer.

Triangles are sorted by one depth each and painted from back to front, and textures are mapped
without perspective. Triangles that the runtime or the graphics processor drops are not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.image.pixel import expand_bits
from encoders.kit.view.camera import START, choose_camera
from encoders.kit.view.draw import fit_picture
from encoders.kit.view.request import ViewRequest
from encoders.splashpack.format import COLORS, Splashpack, Words
from encoders.splashpack.view import ONE, SOURCE_AXES, place_vertices, read_page
from encoders.splashpack.vram.image import build_vram

WIDTH, HEIGHT = 320, 240
CENTRE = np.array([160, 120])
DISTANCE = 120
# The geometry engine saturates the quotient of distance and depth here.
STEEPEST = 0x1FFFF / 0x10000
# Registers of the geometry engine have 16 bits.
VIEW_LEAST, VIEW_GREATEST = -32768, 32767
# Screen coordinates have 11 bits. The graphics processor drops triangles of a larger extent, and
# the runtime those that are further away.
SCREEN_LEAST, SCREEN_GREATEST = -1024, 1023
WIDEST, TALLEST = 1023, 511
FAR = 6144
HALF = 0.5 + 1e-6
# What the runtime clears the screen to.
BACKGROUND = (63, 63, 100)
# A camera sees right, up and the depth; the console has y down.
SCREEN_AXES = (1, -1, 1)

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ScreenTriangle:
    """A triangle on the screen: positions, texels and tints of its corners, and its page."""

    screen: Ints
    uv: Ints
    color: Ints
    page: Words


def render_scene(pack: Splashpack, request: ViewRequest) -> Bytes:
    """Draw a scene at 320 x 240 from the camera that is asked for, else with all of it in view."""
    world = place_vertices(pack)
    if request.camera == START or not len(world):
        return fit_picture(draw(pack, world), request.size)
    # From far enough to see all of a large scene, the runtime would drop most of it.
    far = FAR if request.eye is not None else None
    return fit_picture(draw(pack, look_at(world, request), far), request.size)


def look_at(world: Ints, request: ViewRequest) -> Ints:
    """Return vertices in the console's axes of the camera that is asked for."""
    source = world / ONE * SOURCE_AXES
    # In the source's axes corners go the other way round.
    camera = choose_camera(request, source[:, [0, 2, 1]], (WIDTH, HEIGHT), DISTANCE / HEIGHT)
    return np.rint(camera.see(source) * SCREEN_AXES * ONE).astype(np.int64)


def project(view: Ints) -> tuple[Ints, Ints]:
    """Return screen positions (triangles, 3, 2) and depths (triangles, 3) of all vertices."""
    depth = np.clip(view[..., 2], 0, 65535)
    share = np.minimum(DISTANCE / np.maximum(depth, 1), STEEPEST)
    across = np.clip(view[..., :2], VIEW_LEAST, VIEW_GREATEST)
    screen = np.floor(across * share[..., None]).astype(np.int64) + CENTRE
    return np.clip(screen, SCREEN_LEAST, SCREEN_GREATEST), depth


def sort_depths(depth: Ints) -> Ints:
    """Return the depth by which the runtime sorts each triangle: the largest of three.

    It reads the queue of depths one slot early, and so takes the last corner of the triangle before
    and the first two corners of this one. Before the first triangle comes the last of the frame
    before, which shows the same.
    """
    previous = np.roll(depth[:, 2], 1)
    largest: Ints = np.maximum(previous, depth[:, :2].max(axis=1))
    return largest


def find_visible(screen: Ints, depth: Ints, far: int | None = FAR) -> npt.NDArray[np.bool_]:
    """Tell which triangles are drawn: clockwise, not too far, not too large, on the screen.

    A corner behind the camera does not matter: its depth is 0, and it is drawn at the edge.
    """
    first, second = screen[:, 1] - screen[:, 0], screen[:, 2] - screen[:, 0]
    is_front = first[:, 0] * second[:, 1] - second[:, 0] * first[:, 1] > 0
    low, high = screen.min(axis=1), screen.max(axis=1)
    extent = high - low
    is_small = (extent[:, 0] <= WIDEST) & (extent[:, 1] <= TALLEST)
    is_on = (high > 0).all(axis=1) & (low[:, 0] < WIDTH) & (low[:, 1] < HEIGHT)
    is_near = np.ones(len(depth), np.bool_) if far is None else sort_depths(depth) < far
    return np.asarray(is_front & is_small & is_on & is_near)


def draw(pack: Splashpack, view: Ints, far: int | None = FAR) -> Bytes:
    """Paint all visible triangles, the furthest first; of equally far ones the first is on top."""
    pixels = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    pixels[:] = BACKGROUND
    screen, depth = project(view)
    rows = np.flatnonzero(find_visible(screen, depth, far))
    order = sort_depths(depth)[rows] if len(rows) else rows
    columns = {key: np.asarray(column).astype(np.int64) for key, column in pack.triangles.items()}
    colors = np.stack([columns[key] for key in COLORS], axis=1)
    vram = build_vram(pack)
    pages: dict[tuple[int, ...], Words] = {}
    # The runtime draws a bucket of equal depth from the last triangle to the first.
    for row in rows[np.lexsort((-rows, -order))].tolist():
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
    # The graphics processor rounds to the nearest; a little more keeps exact halves above.
    u, v = (np.floor(share.T @ triangle.uv[:, axis] + HALF).astype(np.int64) for axis in range(2))
    words = triangle.page[v, np.minimum(u, triangle.page.shape[1] - 1)]
    tint = np.floor(share.T @ triangle.color + HALF).astype(np.int64)
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
