"""A second reader of KAC 1.0, written from the specification alone: struct, shifts and masks.

It follows the file front to back as Kelpo does, one field at a time, and shares nothing with the
encoder that it checks.
"""

from __future__ import annotations

import hashlib
import struct


class Cursor:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, code: str) -> tuple:
        found = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return found


def read(data: bytes) -> dict:
    cursor = Cursor(data)
    assert cursor.take("4sf") == (b"KAC ", 1.0)
    found: dict = {}
    while "TXTR" not in found:
        name, count = cursor.take("4sI")
        found[name.decode().strip()] = READERS[name](cursor, count)
    assert cursor.at == len(data)
    check(found)
    return found


def vectors(width: int):
    return lambda cursor, count: [cursor.take("f" * width) for _ in range(count)]


def triangles(cursor: Cursor, count: int) -> list[dict]:
    found = []
    for _ in range(count):
        (material,) = cursor.take("H")
        corners = [
            dict(zip(("VERT", "NORM", "UV"), cursor.take("HHH"), strict=True)) for _ in range(3)
        ]
        found.append({"material": material, "corners": corners})
    return found


def materials(cursor: Cursor, count: int) -> list[dict]:
    found = []
    for _ in range(count):
        color, metadata = cursor.take("HI")
        assert metadata >> 18 == 0
        found.append(
            {
                "color": tuple(color >> shift & 15 for shift in (0, 4, 8, 12)),
                "texture": metadata & 0xFFFF if metadata >> 16 & 1 else None,
                "smooth": bool(metadata >> 17 & 1),
            }
        )
    return found


def textures(cursor: Cursor, count: int) -> list[dict]:
    found = []
    for _ in range(count):
        (parameters,) = cursor.take("I")
        (hashed,) = cursor.take("16s")
        assert parameters >> 18 == 0
        side = parameters & 0xFFFF
        levels, start = [], cursor.at
        size = side
        while size >= 1:
            words = cursor.take("H" * size * size)
            rows = [words[row * size : (row + 1) * size] for row in range(size)]
            levels.append([[texel(word) for word in row] for row in rows])
            size //= 2
        level_0 = cursor.data[start : start + 2 * side * side]
        assert hashed == hashlib.sha256(level_0).digest()[:16]
        found.append(
            {
                "side": side,
                "linear": bool(parameters >> 16 & 1),
                "clamp": bool(parameters >> 17 & 1),
                "levels": levels,
            }
        )
    return found


def texel(word: int) -> tuple[int, int, int, int]:
    return word & 31, word >> 5 & 31, word >> 10 & 31, word >> 15


def check(found: dict) -> None:
    for name in ("NORM", "UV", "VERT", "3MSH", "MATE"):
        assert found[name], f"{name} is empty"
    for triangle in found["3MSH"]:
        assert triangle["material"] < len(found["MATE"])
        for corner in triangle["corners"]:
            assert all(index < len(found[name]) for name, index in corner.items())
    for material in found["MATE"]:
        assert material["texture"] is None or material["texture"] < len(found["TXTR"])
    for texture in found["TXTR"]:
        assert texture["side"] in (1, 2, 4, 8, 16, 32, 64, 128, 256)
    for name in ("NORM", "UV", "VERT", "MATE", "TXTR"):
        assert len(found[name]) <= 65536


def soup(found: dict) -> list[tuple]:
    """Every triangle by its values: material, then position, normal and UV of each corner."""
    return [
        (
            tuple(sorted(found["MATE"][triangle["material"]].items(), key=str)),
            tuple(
                (found["VERT"][c["VERT"]], found["NORM"][c["NORM"]], found["UV"][c["UV"]])
                for c in triangle["corners"]
            ),
        )
        for triangle in found["3MSH"]
    ]


READERS = {
    b"NORM": vectors(3),
    b"UV  ": vectors(2),
    b"VERT": vectors(3),
    b"3MSH": triangles,
    b"MATE": materials,
    b"TXTR": textures,
}
