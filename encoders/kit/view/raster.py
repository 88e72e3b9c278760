"""A software rasteriser in numpy: z-buffer, perspective-correct UVs, nearest texel, one light.

Visibility comes first: for each pixel the nearest piece of a triangle. Then each visible pixel is
shaded once. Triangles that cross the plane near the camera are cut there. Only fronts are drawn,
except for double-sided materials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.view.camera import Camera
from encoders.kit.view.scene import ViewMaterial
from encoders.kit.view.soup import Soup

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# The nearest depth that is drawn, as a share of the greatest depth of the scene.
NEAR_SHARE = 1e-4
# So many fragments are worked on at once; more would take more memory, not less time.
BATCH = 400_000
# The light comes from above the left shoulder, so that every side of a scene is lit alike.
LIGHT = np.array([-0.35, 0.6, 0.72])
AMBIENT, DIFFUSE = 0.48, 0.56
NOTHING = -1


@dataclass(frozen=True, eq=False)
class Pieces:
    """Triangles on the screen: the soup's triangle, and what is linear over the screen.

    `weight` (n, 3, 3) gives a corner's weight as `a x + b y + c`. `inverse` (n, 3) is one over the
    depth of each corner, and `share` (n, 3, 3) each corner's weights in the soup's triangle, None
    where no triangle was cut. `depth` (3, n) gives one over the depth of a pixel.
    """

    owner: Ints
    screen: Array
    weight: Array
    inverse: Array
    share: Array | None
    depth: Array


# Which piece is drawn at which pixel: arrays of the same length.
Fragments = tuple[Ints, Ints, Ints]


def draw_soup(
    soup: Soup, materials: Sequence[ViewMaterial], camera: Camera, size: tuple[int, int]
) -> npt.NDArray[np.uint8]:
    """Draw triangles as RGBA (height, width, 4); alpha is 0 where there is nothing."""
    pieces = project(soup, materials, camera, size)
    visible = find_visible(pieces, soup, materials, size)
    # A pixel is written as one number: rows of four bytes take numpy several times longer.
    pixels = np.zeros(size[1] * size[0], np.uint32)
    at = np.flatnonzero(visible != NOTHING)
    if len(at):
        colors = shade(pieces, soup, materials, camera, (at, visible[at], size[0]))
        pixels[at] = colors.view(np.uint32)[:, 0]
    return pixels.view(np.uint8).reshape(size[1], size[0], 4)


def project(
    soup: Soup, materials: Sequence[ViewMaterial], camera: Camera, size: tuple[int, int]
) -> Pieces:
    """Return the pieces that face the camera and lie on the screen at least in part."""
    seen = camera.see(soup.points)
    # Not a fixed distance: a scene may be as small as its numbers can be.
    near = max(float(seen[..., 2].max(initial=0)) * NEAR_SHARE, float(np.finfo(np.float32).tiny))
    owner, seen, share = cut_near(seen, near)
    scale = camera.focal * size[1]
    depth = seen[..., 2:]
    screen = seen[..., :2] / depth * (scale, -scale) + (size[0] / 2, size[1] / 2)
    first, second = screen[:, 1] - screen[:, 0], screen[:, 2] - screen[:, 0]
    area = first[:, 0] * second[:, 1] - second[:, 0] * first[:, 1]
    double = np.array([one.is_double_sided for one in materials], bool)
    # y runs down on the screen, so fronts have a negative area.
    is_shown = (area < 0) | ((area > 0) & double[soup.material[owner]])
    low, high = screen.min(axis=1), screen.max(axis=1)
    is_shown &= (high > 0).all(axis=1) & (low < size).all(axis=1) & np.isfinite(area)
    rows = np.flatnonzero(is_shown)
    weight = _weights(screen[rows], area[rows])
    is_cut = bool((share[rows] != np.eye(3)).any())
    kept = share[rows] if is_cut else None
    inverse = 1 / seen[rows, :, 2]
    return Pieces(owner[rows], screen[rows], weight, inverse, kept, _plane(weight, inverse))


def _plane(weight: Array, corners: Array) -> Array:
    """Return a, b, c (3, n) of what has these values (n, 3) at the corners of pieces."""
    return np.ascontiguousarray(np.einsum("nkc,nk->cn", weight, corners))


def _weights(screen: Array, area: Array) -> Array:
    """Return a, b, c of each corner's weight, which is 1 there and 0 on the opposite edge."""
    found = np.empty((len(screen), 3, 3))
    for corner in range(3):
        one, other = screen[:, (corner + 1) % 3], screen[:, (corner + 2) % 3]
        found[:, corner, 0] = one[:, 1] - other[:, 1]
        found[:, corner, 1] = other[:, 0] - one[:, 0]
        found[:, corner, 2] = one[:, 0] * other[:, 1] - other[:, 0] * one[:, 1]
    return found / area[:, None, None]


def cut_near(seen: Array, near: float) -> tuple[Ints, Array, Array]:
    """Cut triangles at the near plane; return owners, corners, and their shares of the owner."""
    is_front = seen[..., 2] > near
    count = is_front.sum(axis=1)
    whole = np.flatnonzero(count == 3)
    parts = [(whole, seen[whole], np.tile(np.eye(3), (len(whole), 1, 1)))]
    for in_front in (1, 2):
        rows = np.flatnonzero(count == in_front)
        if len(rows):
            parts += _cut(rows, seen[rows], is_front[rows], near)
    owner, corners, share = (np.concatenate(column) for column in zip(*parts, strict=True))
    return owner, corners, share


def _cut(rows: Ints, seen: Array, is_front: Mask, near: float) -> list[tuple[Ints, Array, Array]]:
    # Turn each triangle so that the corner that is alone on its side comes first.
    is_one = is_front.sum(axis=1) == 1
    alone = np.where(is_one, is_front.argmax(axis=1), (~is_front).argmax(axis=1))
    order = (alone[:, None] + np.arange(3)) % 3
    share = np.eye(3)[order]
    corners = np.take_along_axis(seen, order[..., None], axis=1)
    a, b, c = (share[:, corner] for corner in range(3))
    depth = corners[..., 2]
    ab, ac = (
        a + ((near - depth[:, 0]) / (depth[:, k] - depth[:, 0]))[:, None] * (share[:, k] - a)
        for k in (1, 2)
    )
    shapes = [(a, ab, ac)] if is_one.all() else [(ab, b, c), (ab, c, ac)]
    found = []
    for shape in shapes:
        shares = np.stack(shape, axis=1)
        places = shares @ seen
        # Rounding must not leave a corner behind the plane.
        places[..., 2] = np.maximum(places[..., 2], near)
        found.append((rows, places, shares))
    return found


def find_visible(
    pieces: Pieces, soup: Soup, materials: Sequence[ViewMaterial], size: tuple[int, int]
) -> Ints:
    """Return the nearest piece of each pixel, row by row; NOTHING where there is none."""
    nearest = np.zeros(size[0] * size[1])
    visible = np.full(size[0] * size[1], NOTHING, np.int64)
    has_holes = np.array([_has_holes(one) for one in materials], bool)[soup.material[pieces.owner]]
    for piece, x, y in find_fragments(pieces, size):
        inverse = _at(pieces.depth, (piece, x, y))
        pixel = y * size[0] + x
        kept = inverse > nearest[pixel]
        holed = np.flatnonzero(kept & has_holes[piece])
        if len(holed):
            kept[holed] = _is_solid(pieces, soup, materials, (piece[holed], x[holed], y[holed]))
        pixel, inverse = pixel[kept], inverse[kept]
        np.maximum.at(nearest, pixel, inverse)
        won = inverse == nearest[pixel]
        # From the last to the first: of equally near ones the first triangle is seen.
        visible[pixel[won][::-1]] = piece[kept][won][::-1]
    return visible


def find_fragments(pieces: Pieces, size: tuple[int, int]) -> Iterator[Fragments]:
    """Give piece, x and y of all pixels whose middles pieces cover, in batches."""
    top = np.clip(np.ceil(pieces.screen[..., 1].min(axis=1) - 0.5), 0, size[1]).astype(np.int64)
    bottom = np.clip(np.ceil(pieces.screen[..., 1].max(axis=1) - 0.5), 0, size[1]).astype(np.int64)
    piece, y = _expand(np.arange(len(top)), top, bottom - top)
    left, right = _spans(pieces, piece, y, size[0])
    count = np.maximum(right - left, 0)
    ends = np.cumsum(count)
    start = 0
    while start < len(count):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + BATCH, side="right")), start + 1)
        row, x = _expand(np.arange(start, stop), left[start:stop], count[start:stop])
        yield piece[row], x, y[row]
        start = stop


def _expand(rows: Ints, first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Repeat each row `count` times, beside numbers that run on from `first`."""
    count = np.maximum(count, 0)
    steps = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(rows, count), np.repeat(first, count) + steps


def _spans(pieces: Pieces, piece: Ints, y: Ints, width: int) -> tuple[Ints, Ints]:
    """Return the first x of each row of a piece, and the first behind the last."""
    least = np.full(len(piece), 0.0)
    most = np.full(len(piece), float(width))
    for corner in range(3):
        a = pieces.weight[piece, corner, 0]
        rest = pieces.weight[piece, corner, 1] * (y + 0.5) + pieces.weight[piece, corner, 2]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            border = -rest / a - 0.5  # the middle of pixel x is at x + 0.5
        least = np.where(a > 0, np.maximum(least, np.ceil(border)), least)
        # A middle on a border between two triangles belongs to the one on its right.
        most = np.where(a < 0, np.minimum(most, np.ceil(border)), most)
        most = np.where((a == 0) & (rest < 0), 0.0, most)
    return least.astype(np.int64), np.maximum(most, 0).astype(np.int64)


def _at(plane: Array, fragments: Fragments) -> Array:
    """Return what a plane says of each fragment."""
    piece, x, y = fragments
    # Column by column: numpy is several times slower where each fragment is a row of nine.
    found: Array = plane[0].take(piece)
    found *= x + 0.5
    rise = plane[1].take(piece)
    rise *= y + 0.5
    found += rise
    found += plane[2].take(piece)
    return found


def _interpolate(pieces: Pieces, values: Array, fragments: Fragments, inverse: Array) -> Array:
    """Return values (triangles, 3) of corners at fragments, right in perspective.

    A value over the depth is linear on the screen, and so is `inverse`, one over the depth.
    """
    corners = values[pieces.owner]
    if pieces.share is not None:
        corners = np.einsum("nkj,nj->nk", pieces.share, corners)
    found = _at(_plane(pieces.weight, pieces.inverse * corners), fragments)
    found /= inverse
    return found


def _has_holes(material: ViewMaterial) -> bool:
    if material.texture is None or material.cutoff is None:
        return False
    return bool((material.texture[..., 3] < material.cutoff * 255).any())


def _is_solid(
    pieces: Pieces, soup: Soup, materials: Sequence[ViewMaterial], fragments: Fragments
) -> Mask:
    uv = _uvs(pieces, soup, fragments, _at(pieces.depth, fragments))
    used = soup.material[pieces.owner[fragments[0]]]
    found = np.ones(len(used), bool)
    for number in _numbers(used):
        rows, material = np.flatnonzero(used == number), materials[number]
        if material.texture is not None and material.cutoff is not None:
            alpha = sample(material.texture, uv[rows], clamps=material.clamps_uv)[:, 3]
            found[rows] = alpha >= material.cutoff * 255
    return found


def _uvs(pieces: Pieces, soup: Soup, fragments: Fragments, inverse: Array) -> Array:
    axes = (soup.uvs[..., axis] for axis in (0, 1))
    return np.stack([_interpolate(pieces, one, fragments, inverse) for one in axes], axis=1)


def sample(texture: npt.NDArray[np.uint8], uv: Array, *, clamps: bool) -> npt.NDArray[np.uint8]:
    """Return the nearest texel of each UV; outside of 0 to 1 the texture repeats or is clamped."""
    height, width = texture.shape[:2]
    inside = np.clip(uv, 0, 1) if clamps else uv - np.floor(uv)
    # The end of the range belongs to the last texel.
    column = np.minimum((inside[:, 0] * width).astype(np.intp), width - 1)
    row = np.minimum((inside[:, 1] * height).astype(np.intp), height - 1)
    texels: npt.NDArray[np.uint8] = texture[row, column]
    return texels


def shade(
    pieces: Pieces,
    soup: Soup,
    materials: Sequence[ViewMaterial],
    camera: Camera,
    visible: tuple[Ints, Ints, int],
) -> npt.NDArray[np.uint8]:
    """Return the colours (n, 4) of visible pixels: texel times tint times light."""
    pixel, piece, width = visible
    fragments = (piece, pixel % width, pixel // width)
    inverse = _at(pieces.depth, fragments)
    used = soup.material[pieces.owner].take(piece)
    texels = _texels(used, materials, lambda: _uvs(pieces, soup, fragments, inverse))
    # The light at the corners is enough: it changes slowly, and one number costs less than three.
    light = _interpolate(pieces, brightness(soup.normals, camera), fragments, inverse)
    found = np.full((len(used), 4), 255, np.uint8)
    for channel in range(3):
        color = light * np.array([one.color[channel] for one in materials]).take(used)
        tint = soup.colors[..., channel]
        if (tint != 1).any():
            color *= _interpolate(pieces, tint, fragments, inverse)
        if texels is not None:
            color *= texels[:, channel] / np.float32(255)
        np.clip(color, 0, 1, out=color)
        color *= 255
        color += 0.5
        found[:, channel] = color
    return found


def _texels(
    used: npt.NDArray[np.intp], materials: Sequence[ViewMaterial], uvs: Callable[[], Array]
) -> npt.NDArray[np.uint8] | None:
    """Return the texels of fragments, white where there is no texture; None for none at all."""
    found = {number: materials[number].texture for number in _numbers(used)}
    textures = {number: texture for number, texture in found.items() if texture is not None}
    if not textures:
        return None
    uv = uvs()
    texels = np.full((len(used), 4), 255, np.uint8)
    for number, texture in textures.items():
        clamps = materials[number].clamps_uv
        if len(found) == 1:
            return sample(texture, uv, clamps=clamps)
        rows = np.flatnonzero(used == number)
        texels[rows] = sample(texture, uv[rows], clamps=clamps)
    return texels


def _numbers(used: npt.NDArray[np.intp]) -> list[int]:
    """Return the different numbers among some small ones."""
    return np.flatnonzero(np.bincount(used)).tolist()


def brightness(normal: Array, camera: Camera) -> Array:
    """Return the share of light on surfaces with these normals."""
    way = LIGHT / np.sqrt((LIGHT * LIGHT).sum()) @ camera.axes
    # Both sides alike: a double-sided triangle has one normal.
    facing = normal @ way
    back = normal @ camera.axes[2] < -0.2
    found: Array = AMBIENT + DIFFUSE * np.clip(np.where(back, -facing, facing), 0, 1)
    return found
