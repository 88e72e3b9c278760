"""Painted surfaces: planks, bricks, tiles, leaves. Each is a function of a size and a seed.

Light comes from above and from the left in all of them: an edge that looks there is bright, its
opposite dark.
"""

from __future__ import annotations

import numpy as np

from sample.colour import Field, Picture, blend, tint
from sample.noise import clouds, grid, scatter

Size = tuple[int, int]


def unit(size: Size) -> tuple[Field, Field]:
    """Return coordinates from 0 to 1 across a surface."""
    x, y = grid(*size)
    return x / size[0], y / size[1]


def fall(size: Size, top: float, bottom: float) -> Field:
    """Return a gradient from the upper edge to the lower."""
    return top + (bottom - top) * unit(size)[1]


def rough(size: Size, seed: int, cells: int, strength: float) -> Field:
    """Return clouds around zero."""
    u, v = unit(size)
    return (clouds(u, v, seed, cells) - 0.5) * strength


def frame(size: Size, width: int, strength: float = 0.3) -> Field:
    """Return light on the upper and left edge and shadow on the others."""
    x, y = grid(*size)
    lit = (np.minimum(x, y) < width) * strength
    dim = (np.minimum(size[0] - x, size[1] - y) < width) * strength
    return np.where(dim > 0, -dim, lit)


def planks(
    size: Size, seed: int, name: str = "wood", count: int = 4, upright: bool = True
) -> Picture:
    """Paint boards with grain, gaps and nails."""
    across, along = unit(size) if upright else unit(size)[::-1]
    board = np.floor(across * count)
    inside = across * count - board
    grain = clouds(across * 3 + board * 0.37, along / 2 + board * 0.61, seed, 8)
    value = 0.35 + scatter(board, board, seed) * 0.3 + (grain - 0.5) * 0.55
    side = (size[0] if upright else size[1]) / count
    value = np.where(inside * side < 1, -0.2, value)
    value = np.where((inside * side >= 1) & (inside * side < 2), value + 0.22, value)
    nail = (abs(inside - 0.5) * side < 1) & (abs(abs(along - 0.5) - 0.42) * side * count < 1.5)
    return tint(np.where(nail, 0.0, value), name)


def masonry(size: Size, seed: int, name: str, rows: int, columns: int) -> Picture:
    """Paint stones in courses, each a little different, with bevelled edges and dark joints."""
    u, v = unit(size)
    row = np.floor(v * rows)
    shifted = u * columns + (row % 2) * 0.5
    column = np.floor(shifted) % columns
    x, y = (shifted - np.floor(shifted)) * size[0] / columns, (v * rows - row) * size[1] / rows
    high = size[1] / rows
    value = 0.42 + scatter(column, row, seed) * 0.3 + rough(size, seed, 8, 0.35)
    value = value + (y < 2.2) * 0.2 - (y > high - 2) * 0.18 + (x < 2.2) * 0.08
    joint = (x < 1) | (y < 1) | ((scatter(column, row, seed + 9) < 0.4) & (x + y < 3.5))
    return tint(np.where(joint, 0.02 + rough(size, seed, 8, 0.1), value), name)


def shingles(size: Size, seed: int, name: str, rows: int, columns: int) -> Picture:
    """Paint rounded tiles that overlap downwards."""
    u, v = unit(size)
    value = np.zeros_like(u)
    for row in range(rows + 1, -2, -1):
        shifted = u * columns + (row % 2) * 0.5
        column = np.floor(shifted) % columns
        x, y = shifted - np.floor(shifted) - 0.5, v * rows - row
        reach = 1.22 - 1.3 * x**4 * 4
        shade = 0.34 + scatter(column, np.full_like(column, row % rows), seed) * 0.34
        shade = shade + (y - 0.6) * 0.28 - (abs(x) > 0.45) * 0.25 + (reach - y < 0.16) * 0.16
        shade = np.where(reach - y < 0.06, 0.0, shade)
        value = np.where((y >= 0) & (y < reach), shade, value)
    return tint(value + rough(size, seed, 8, 0.16) - 0.1 * v, name)


def thatch(size: Size, seed: int, name: str = "thatch") -> Picture:
    """Paint straw that hangs down in layers."""
    u, v = unit(size)
    strand = clouds(u * 2, v / 4, seed, 16)
    layer = v * 4 + clouds(u, v * 0, seed + 3, 8) * 0.5
    step = layer - np.floor(layer)
    return tint(0.25 + strand * 0.5 + step * 0.35 - (step > 0.9) * 0.5, name)


def plaster(size: Size, seed: int) -> Picture:
    """Paint a lime-washed wall, darker towards the ground and below the eaves."""
    v = unit(size)[1]
    shadow = np.clip(0.14 - v, 0, 1) * 2.2 + np.clip(v - 0.82, 0, 1) * 1.6
    return tint(0.82 - shadow + rough(size, seed, 4, 0.4), "plaster")


def beam_mask(size: Size, lines: list[tuple[float, float, float, float]], width: float) -> Field:
    """Return the distance from beams, given by their ends, in halves of their width."""
    x, y = grid(*size)
    best = np.full(x.shape, 9.0)
    for x0, y0, x1, y1 in lines:
        dx, dy = x1 - x0, y1 - y0
        along = np.clip(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy), 0, 1)
        off_x, off_y = x - x0 - along * dx, y - y0 - along * dy
        best = np.minimum(best, np.sqrt(off_x * off_x + off_y * off_y) / (width / 2))
    return best


def timbered(size: Size, seed: int, lines: list[tuple[float, float, float, float]]) -> Picture:
    """Paint plaster between dark beams that throw a small shadow."""
    distance = beam_mask(size, lines, 7)
    shadow = np.roll(distance, (2, 1), (0, 1)) < 1
    wall = plaster(size, seed)
    wall = blend(wall, tint(0.25 + rough(size, seed, 4, 0.2), "plaster"), shadow)
    grain = 0.5 + rough(size, seed + 5, 16, 0.7) - (distance > 0.72) * 0.35
    return blend(wall, tint(grain, "timber"), distance < 1)


def foliage(size: Size, seed: int, name: str) -> Picture:
    """Paint leaves as overlapping strokes, bright at the top of the picture."""
    u, v = unit(size)
    value = fall(size, 0.86, 0.1)
    for layer, cells in enumerate((6, 9, 13)):
        x, y = u * cells, v * cells + scatter(np.floor(u * cells), u * 0, seed + layer) * 0.7
        cell_x, cell_y = np.floor(x), np.floor(y)
        fx, fy = x - cell_x - 0.5, y - cell_y - 0.5
        leaf = fx * fx * 1.6 + fy * fy < 0.2
        lift = (scatter(cell_x, cell_y, seed + layer) - 0.5) * 0.5 - fy * 0.5
        value = np.where(leaf, value + lift, value - 0.05)
    return tint(value, name)


def rings(size: Size, seed: int, name: str = "wood") -> Picture:
    """Paint the end of a log."""
    u, v = unit(size)
    radius = np.sqrt((u - 0.5) ** 2 + (v - 0.5) ** 2) * 2 + rough(size, seed, 4, 0.12)
    ring = radius * 6 - np.floor(radius * 6)
    value = 0.75 - ring * 0.35 - (radius > 0.88) * 0.5 + rough(size, seed, 8, 0.1)
    return tint(value, name)
