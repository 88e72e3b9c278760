"""A second reader of the RP2350 formats, written from the specification alone.

It shares no code with the encoders: plain loops over bytes, and regular expressions over Rust.
"""

from __future__ import annotations

import re
import struct

NO_KICK, KICK_012, KICK_021 = 0, 1, 2


def rgba4444_texel(level: bytes, width: int, x: int, y: int) -> tuple[int, ...]:
    """Base + ((y/4)(W/4) + x/4) 32 + ((y%4) 4 + x%4) 2; nibbles are replicated."""
    columns = max(width // 4, 1)
    address = ((y // 4) * columns + x // 4) * 32 + ((y % 4) * 4 + x % 4) * 2
    low, high = level[address], level[address + 1]
    return tuple(nibble * 17 for nibble in (high >> 4, high & 15, low >> 4, low & 15))


def bc1_texel(level: bytes, width: int, x: int, y: int) -> tuple[int, ...]:
    """The processor mixes inside the 5/6/5 integers and expands afterwards."""
    columns = max(width // 4, 1)
    address = ((y // 4) * columns + x // 4) * 8
    first, second, indices = struct.unpack_from("<HHI", level, address)
    index = indices >> 2 * ((y % 4) * 4 + x % 4) & 3
    if first <= second and index == 3:
        return (0, 0, 0, 0)
    out = []
    for shift, bits in ((11, 5), (5, 6), (0, 5)):
        a, b = (color >> shift & (1 << bits) - 1 for color in (first, second))
        if first > second:
            value = (a, b, (2 * a + b + 1) // 3, (2 * b + a + 1) // 3)[index]
        else:
            value = (a, b, (a + b) // 2)[index]
        out.append(value << (8 - bits) | value >> (2 * bits - 8))
    return (*out, 255)


def indexed_texel(indices: bytes, palette: bytes, width: int, x: int, y: int) -> tuple[int, ...]:
    """An index for 2x2 texels, in blocks of 4x4 indices; an entry has the four texels."""
    columns = max(1, -(-(width // 2) // 4))
    i, j = x >> 1, y >> 1
    index = indices[((j >> 2) * columns + (i >> 2)) * 16 + (j & 3) * 4 + (i & 3)]
    start = index * 16 + ((y & 1) * 2 + (x & 1)) * 4
    return tuple(palette[start : start + 4])


def level_bytes(form: str, width: int, height: int) -> int:
    return max(width // 4, 1) * max(height // 4, 1) * {"RGBA4444": 32, "BC1": 8}[form]


def read_patch(data: bytes, count: int, entries: int):
    """Give positions, normals, UVs and (vertex, kick) pairs."""
    assert len(data) == 16 * count + entries
    unsigned = struct.unpack_from(f"<{3 * count}H", data)
    signed = struct.unpack_from(f"<{5 * count}h", data, 6 * count)
    position = [tuple(unsigned[axis * count + i] for axis in range(3)) for i in range(count)]
    normal = [tuple(signed[axis * count + i] for axis in range(3)) for i in range(count)]
    uv = [tuple(signed[axis * count + i] for axis in (3, 4)) for i in range(count)]
    commands = []
    for byte in data[16 * count :]:
        assert byte & 3 == 0
        assert byte >> 2 & 3 != 3
        commands.append((byte >> 4, byte >> 2 & 3))
    return position, normal, uv, commands


def check_segments(commands) -> None:
    """Each segment begins with exactly two pushes and has at least one kick."""
    kicks = "".join("p" if kick == NO_KICK else "k" for _, kick in commands)
    assert re.fullmatch("(ppk+)+", kicks), kicks


def draw_sliding(commands):
    """The window slides: oldest, middle, newest."""
    window, triangles = [], []
    for vertex, kick in commands:
        window = [*window, vertex][-3:]
        if kick:
            triangles.append(tuple(window[i] for i in ((0, 1, 2), (0, 2, 1))[kick - 1]))
    return triangles


def draw_round_robin(commands):
    """Three slots are written in turn, and triangles come in the order of the slots.

    Every second or third push stands at another slot than in a sliding window, which turns the
    triangle but not its winding.
    """
    slots, triangles = [0, 0, 0], []
    for count, (vertex, kick) in enumerate(commands):
        slots[count % 3] = vertex
        if kick:
            triangles.append(tuple(slots[i] for i in ((0, 1, 2), (0, 2, 1))[kick - 1]))
    return triangles


def turned(triangle):
    """Give the least of the three rotations; the winding stays."""
    return min((*triangle[i:], *triangle[:i]) for i in range(3))


def multiset(triangles):
    return sorted(turned(tuple(triangle)) for triangle in triangles)


def constants(text: str) -> dict[str, str]:
    """The constants of Rust text, each with what stands behind its `=`."""
    bare = re.sub("//.*", "", text)
    found = re.findall(r"pub const (\w+): [^=]+ = (.*?);", bare, re.DOTALL)
    assert len({name for name, _ in found}) == len(found)
    return dict(found)
