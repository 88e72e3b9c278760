"""A second reader of SPLASHPACK files, from the specification alone: struct and nothing of ours."""

from __future__ import annotations

import struct

Colors = tuple[int, int, int]


def read(data: bytes) -> dict:
    magic, version, objects, atlases, cluts, reserved = struct.unpack_from("<2s5H", data)
    assert (magic, version, reserved) == (b"SP", 1, 0)
    at = 12
    found: dict = {"objects": [], "atlases": [], "cluts": []}
    for _ in range(objects):
        values = struct.unpack_from("<14i", data, at)
        triangles = [read_triangle(data, values[12] + 52 * n) for n in range(values[13])]
        found["objects"].append(
            {"position": values[:3], "rotation": values[3:12], "triangles": triangles}
        )
        at += 56
    for _ in range(atlases):
        offset, width, height, x, y = struct.unpack_from("<i4H", data, at)
        assert offset % 4 == 0
        words = struct.unpack_from(f"<{width * height}H", data, offset)
        found["atlases"].append({"x": x, "y": y, "width": width, "height": height, "words": words})
        at += 12
    for _ in range(cluts):
        words = struct.unpack_from("<256H", data, at)
        x, y, count, zero = struct.unpack_from("<4H", data, at + 512)
        assert zero == 0
        assert not any(words[count:])
        found["cluts"].append({"x": 16 * x, "y": y, "words": words[:count]})
        at += 520
    triangles = sum(len(one["triangles"]) for one in found["objects"])
    words = sum(one["width"] * one["height"] for one in found["atlases"])
    assert len(data) == at + 52 * triangles + 2 * words
    return found


def read_triangle(data: bytes, at: int) -> dict:
    numbers = struct.unpack_from("<12h12B6B5H", data, at)
    colors = numbers[12:24]
    assert colors[3::4] == (0, 0, 0)
    uv = numbers[24:30]
    padding, page, clut_x, clut_y, reserved = numbers[30:]
    assert (padding, reserved) == (0, 0)
    return {
        "vertices": [numbers[0:3], numbers[3:6], numbers[6:9]],
        "normal": numbers[9:12],
        "colors": [colors[0:3], colors[4:7], colors[8:11]],
        "uv": [uv[0:2], uv[2:4], uv[4:6]],
        "page": page,
        "clut": (16 * clut_x, clut_y),
    }


class Console:
    """VRAM after loading, and what a triangle reads from it."""

    def __init__(self, found: dict) -> None:
        self.vram = [[0] * 1024 for _ in range(512)]
        self.taken: set[tuple[int, int]] = set()
        for atlas in found["atlases"]:
            width = atlas["width"]
            assert width in (64, 128, 256)
            assert atlas["height"] == 256
            for row in range(256):
                self.upload(atlas["x"], atlas["y"] + row, atlas["words"][row * width :][:width])
        for clut in found["cluts"]:
            assert len(clut["words"]) % 2 == 0
            self.upload(clut["x"], clut["y"], clut["words"])

    def upload(self, x: int, y: int, words: tuple[int, ...]) -> None:
        place = {(column, y) for column in range(x, x + len(words))}
        assert not place & self.taken
        assert x + len(words) <= 1024
        self.taken |= place
        self.vram[y][x : x + len(words)] = words

    def texel(self, triangle: dict, u: int, v: int) -> int:
        """The colour word that a triangle shows at a texel of its page."""
        page = triangle["page"]
        x, y = (page & 15) * 64, (page >> 4 & 1) * 256 + v
        assert page >> 9 == 1
        depth = page >> 7 & 3
        if depth == 2:
            return self.vram[y][x + u]
        bits = 4 << depth
        per_word = 16 // bits
        index = self.vram[y][x + u // per_word] >> (u % per_word * bits) & ((1 << bits) - 1)
        clut_x, clut_y = triangle["clut"]
        return self.vram[clut_y][clut_x + index]


def rgb(word: int) -> Colors | None:
    """The colour that a word shows in 8 bits a channel; None is a hole."""
    if word == 0:
        return None
    levels = [word >> shift & 31 for shift in (0, 5, 10)]
    red, green, blue = (level << 3 | level >> 2 for level in levels)
    return red, green, blue
