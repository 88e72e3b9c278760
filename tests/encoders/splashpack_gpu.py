"""A second renderer of splashpack scenes, by the rules of the console alone: slow, exact, scalar.

It knows the file's columns and the picture of the VRAM, and shares no code with the renderer that
it is compared with. Fractions take the place of floating point, loops that of arrays.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

WIDTH, HEIGHT, FAR = 320, 240, 6144
CLEAR, HALF = (63, 63, 100), Fraction(1, 2)
Point = tuple[int, int]


def saturate(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def project(corner: Any) -> tuple[Point, int]:
    """The geometry engine: view space has 16 bits, and the quotient of 120 and the depth 17."""
    x, y = (saturate(int(one), -32768, 32767) for one in corner[:2])
    depth = saturate(int(corner[2]), 0, 65535)
    quotient = Fraction(0x1FFFF, 0x10000)
    if 2 * depth > 120:
        quotient = min(quotient, Fraction(120, depth))
    place = (floor(x * quotient) + 160, floor(y * quotient) + 120)
    return (saturate(place[0], -1024, 1023), saturate(place[1], -1024, 1023)), depth


def edge(a: Point, b: Point, x: int, y: int) -> int:
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])


def owns(a: Point, b: Point) -> bool:
    """Whether pixels on an edge belong to the triangle: on its left, and on a level top."""
    return b[1] < a[1] or (b[1] == a[1] and b[0] > a[0])


def texel(vram: Any, page: tuple[int, int, int], clut: Point, u: int, v: int) -> int:
    """Read a word of a texture page: 4, 8 or 16 bits a texel."""
    column, row, depth = page
    x, y = column * 64, row * 256 + v
    if depth == 2:
        return int(vram[y, x + u])
    per_word, bits = (4, 4) if depth == 0 else (2, 8)
    word = int(vram[y, x + u // per_word])
    index = word >> bits * (u % per_word) & (1 << bits) - 1
    return int(vram[clut[1], clut[0] * 16 + index])


def draw(triangles: dict[str, Any], vram: Any, view: Any) -> list[list[tuple[int, ...]]]:
    """Draw triangles whose corners are given in view space."""
    screen = [[(*CLEAR,) for _ in range(WIDTH)] for _ in range(HEIGHT)]
    projected = [[project(corner) for corner in corners] for corners in view]
    buckets: dict[int, list[int]] = {}
    for number, corners in enumerate(projected):
        # The queue of depths is read one slot early.
        before = projected[number - 1][2][1]
        depth = max(before, corners[0][1], corners[1][1])
        if depth < FAR and is_drawn([place for place, _ in corners]):
            buckets.setdefault(depth, []).append(number)
    for depth in sorted(buckets, reverse=True):
        for number in reversed(buckets[depth]):
            fill(screen, triangles, vram, number, [place for place, _ in projected[number]])
    return screen


def is_drawn(corners: list[Point]) -> bool:
    across, down = [x for x, _ in corners], [y for _, y in corners]
    if edge(corners[0], corners[1], *corners[2]) <= 0:
        return False
    return max(across) - min(across) <= 1023 and max(down) - min(down) <= 511


def fill(screen: Any, triangles: Any, vram: Any, number: int, corners: list[Point]) -> None:
    page = tuple(int(triangles[key][number]) for key in ("page_x", "page_y", "depth"))
    clut = (int(triangles["clut_x"][number]), int(triangles["clut_y"][number]))
    # Two texel coordinates and three tints at each corner.
    values = [
        [int(one) for one in (*triangles["uv"][number][n], *triangles[f"color_{n}"][number])]
        for n in range(3)
    ]
    across, down = [x for x, _ in corners], [y for _, y in corners]
    for y in range(max(min(down), 0), min(max(down), HEIGHT)):
        for x in range(max(min(across), 0), min(max(across), WIDTH)):
            shares = shares_at(corners, x, y)
            if shares is None:
                continue
            u, v, *tint = (
                floor(sum(s * one[n] for s, one in zip(shares, values, strict=True)) + HALF)
                for n in range(5)
            )
            word = texel(vram, page, clut, u, v)  # type: ignore[arg-type]
            levels = [min((word >> 5 * c & 31) * tint[c] // 128, 31) for c in range(3)]
            if word:
                screen[y][x] = tuple(level << 3 | level >> 2 for level in levels)


def shares_at(corners: list[Point], x: int, y: int) -> list[Fraction] | None:
    """Return the weights of the corners at a pixel, None outside of the triangle."""
    found = []
    for one in range(3):
        side = corners[(one + 1) % 3], corners[(one + 2) % 3]
        distance = edge(*side, x, y)
        if distance < 0 or (distance == 0 and not owns(*side)):
            return None
        found.append(Fraction(distance, edge(corners[0], corners[1], *corners[2])))
    return found
