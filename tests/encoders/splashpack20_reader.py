"""A second reader of version 20 files, as the runtime walks them: struct and nothing of ours."""

from __future__ import annotations

import struct

from tests.encoders.splashpack_reader import read_triangle


class Cursor:
    """Bytes that are read from front to back."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, form: str) -> tuple:
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return found


def read20(data: bytes) -> dict:
    cursor = Cursor(data)
    magic, version, lua, objects, atlases, cluts, colliders, _ = cursor.take("2s7H")
    assert (magic, version) == (b"SP", 20)
    start = cursor.take("3h")
    rotation = cursor.take("3h")
    height, script, nodes, refs, _, triggers, old, _, regions, _ = cursor.take("10H")
    assert (triggers, old) == (0, 0)
    speeds = cursor.take("5H2x")
    names, clips, audio = cursor.take("IH2xI")
    fog = cursor.take("5Bx")
    assert not any(data[cursor.at : 120])
    cursor.at = 120
    scripts = [data[at : at + size] for at, size in (cursor.take("2I") for _ in range(lua))]
    found = {
        "start": (start, rotation, height, *speeds),
        "fog": fog,
        "script": scripts[script] if script != 0xFFFF else b"",
        "objects": [read_object(data, cursor) for _ in range(objects)],
        "colliders": [cursor.take("6i2BHI") for _ in range(colliders)],
        "nodes": [cursor.take("6i4H") for _ in range(nodes)],
        "refs": [cursor.take("2H") for _ in range(refs)],
        "nav": read_nav(cursor) if regions else None,
        "atlases": [cursor.take("I4H") for _ in range(atlases)],
        "cluts": [cursor.take("I4H") for _ in range(cluts)],
        "sounds": [read_clip(data, audio + 16 * n) for n in range(clips)],
    }
    for one in found["objects"]:
        one["name"] = data[names + 1 : names + 1 + data[names]].decode()
        names += data[names] + 2
        assert data[names - 1] == 0
    return found


def read_object(data: bytes, cursor: Cursor) -> dict:
    values = cursor.take("I12iHhIHBBI6i")
    offset, count = values[0], values[13]
    assert offset % 4 == 0
    assert values[14:20] == (-1, 1, 0xFFFF, 0, 0, 0)
    return {
        "position": values[1:4],
        "rotation": values[4:13],
        "triangles": [read_triangle(data, offset + 52 * n) for n in range(count)],
        "bounds": values[20:],
    }


def read_nav(cursor: Cursor) -> dict:
    assert cursor.take("4H") == (1, 0, 0, 0)
    values = cursor.take("16i3iH6B")
    corners = [*zip(values[:8], values[8:16], strict=True)][: values[21]]
    return {"corners": corners, "floor": values[16:19], "room": values[23]}


def read_clip(data: bytes, at: int) -> tuple[str, int, int, int]:
    zero, size, rate, loop, length, offset = struct.unpack_from("<2IH2BI", data, at)
    assert zero == 0
    assert data[offset + length] == 0
    return data[offset : offset + length].decode(), size, rate, loop


def read_vram20(data: bytes) -> dict:
    cursor = Cursor(data)
    magic, atlases, cluts, fonts, _ = cursor.take("2s2H2B")
    assert (magic, fonts) == (b"VR", 0)
    found: dict = {"atlases": [], "cluts": []}
    for _ in range(atlases):
        x, y, width, height = cursor.take("4H")
        # What the runtime's upload asserts.
        assert width * height % 2 == 0
        assert cursor.at % 4 == 0
        words = cursor.take(f"{width * height}H")
        found["atlases"].append({"x": x, "y": y, "width": width, "height": height, "words": words})
    for _ in range(cluts):
        x, y, count, _ = cursor.take("4H")
        assert count % 2 == 0
        assert cursor.at % 4 == 0
        found["cluts"].append({"x": 16 * x, "y": y, "words": cursor.take(f"{count}H")})
    assert cursor.at == len(data)
    return found


def read_spu20(data: bytes) -> list[tuple[int, int, bytes]]:
    cursor = Cursor(data)
    magic, count = cursor.take("2sH")
    assert magic == b"SA"
    clips = []
    for _ in range(count):
        size, rate, loop, _ = cursor.take("IH2B")
        assert size % 16 == 0
        clips.append((rate, loop, data[cursor.at : cursor.at + size]))
        cursor.at += size
    assert cursor.at == len(data)
    return clips


def drawn(found: dict) -> list[tuple[int, int]]:
    """Walk the tree as the runtime does, with everything in view: (object, triangle) in order."""
    stack, refs = [0], []
    while stack:
        assert len(stack) <= 32
        *_, left, right, first, count = found["nodes"][stack.pop()]
        if left == right == 0xFFFF:
            refs += found["refs"][first : first + count]
        stack += [one for one in (right, left) if one != 0xFFFF]
    return refs
