"""A second reader of everything, written from the formats' descriptions alone: slow and plain.

It shares nothing with the target but the bytes.
"""

from __future__ import annotations

import math
import struct

PER_BYTE = {2: 8, 3: 5, 4: 4, 6: 3, 16: 2}
BYTE_STATES = {0: 256, 2: 16, 4: 6, 6: 4, 8: 3, 10: 2}

VEC, STR, OPT, ENUM = "vec", "str", "opt", "enum"
METADATA = [
    *((name, STR) for name in ("id", "title", "author", "version", "description")),
    ("tags", (VEC, STR)),
    ("platform_game_id", (OPT, STR)),
    ("platform_author_id", (OPT, STR)),
    ("created_at", STR),
    ("tool_version", STR),
    ("render_mode", (OPT, "u32")),
    ("default_resolution", (OPT, STR)),
    ("target_fps", (OPT, "u32")),
]
NETPLAY = [
    ("console_type", (ENUM, 2)),
    ("tick_rate", (ENUM, 3)),
    ("max_players", "u8"),
    ("rom_hash", "u64"),
]
ROW = ("array", "f32", 4)
MESH = [
    ("id", STR),
    ("format", "u8"),
    ("vertex_count", "u32"),
    ("index_count", "u32"),
    ("vertex_data", (VEC, "u8")),
    ("index_data", (VEC, "u16")),
]
GLYPH = [
    ("codepoint", "u32"),
    *((name, "u16") for name in "xywh"),
    *((name, "f32") for name in ("x_offset", "y_offset", "advance")),
]
FONT = [
    ("id", STR),
    ("atlas_width", "u32"),
    ("atlas_height", "u32"),
    ("atlas_data", (VEC, "u8")),
    ("line_height", "f32"),
    ("baseline", "f32"),
    ("glyphs", (VEC, GLYPH)),
]
TRACKER = [
    ("id", STR),
    ("format", (ENUM, 2)),
    ("pattern_data", (VEC, "u8")),
    ("sample_ids", (VEC, STR)),
]


def rom_schema(profile: str) -> list:
    texture = [
        ("id", STR),
        ("width", "u16"),
        ("height", "u16"),
        ("format", (ENUM, 2 if profile == "C" else 3)),
        ("data", (VEC, "u8")),
    ]
    pack = [
        ("textures", (VEC, texture)),
        ("meshes", (VEC, MESH)),
        (
            "skeletons",
            (
                VEC,
                [
                    ("id", STR),
                    ("bone_count", "u32"),
                    ("inverse_bind_matrices", (VEC, [("row0", ROW), ("row1", ROW), ("row2", ROW)])),
                ],
            ),
        ),
        (
            "keyframes",
            (
                VEC,
                [
                    ("id", STR),
                    ("bone_count", "u8"),
                    ("frame_count", "u16"),
                    ("data", (VEC, "u8")),
                ],
            ),
        ),
        ("fonts", (VEC, FONT)),
        ("sounds", (VEC, [("id", STR), ("data", (VEC, "i16"))])),
        ("data", (VEC, [("id", STR), ("data", (VEC, "u8"))])),
        *([("trackers", (VEC, TRACKER))] if profile == "F" else []),
    ]
    return [
        ("version", "u32"),
        ("metadata", METADATA + ([("netplay", NETPLAY)] if profile == "F" else [])),
        ("code", (VEC, "u8")),
        ("data_pack", (OPT, pack)),
        ("thumbnail", (OPT, (VEC, "u8"))),
        ("screenshots", (VEC, (VEC, "u8"))),
    ]


class Stream:
    def __init__(self, data: bytes, place: int = 0) -> None:
        self.data, self.place = data, place

    def take(self, size: int) -> bytes:
        assert self.place + size <= len(self.data), "too short"
        self.place += size
        return self.data[self.place - size : self.place]

    def states(self, count: int, states: int) -> list[int]:
        if states < 2 or not count:
            return [0] * count
        if states == 256:
            return list(self.take(count))
        values = []
        for byte in self.take(-(-count // PER_BYTE[states])):
            values += [byte // states**place % states for place in range(PER_BYTE[states])]
        return values[:count]

    def bytes(self, count: int) -> list[int]:
        if count <= 2:
            return list(self.take(count))
        header = self.take(1)[0]
        low = self.take(1)[0] if header % 2 else 0
        return [(v + low) % 256 for v in self.states(count, BYTE_STATES[header + header % 2])]

    def integers(self, count: int, width: int) -> list[int]:
        if not count:
            return []
        if count == 1 and width == 2:
            return [int.from_bytes(self.take(2), "little")]
        header = self.take(1)[0]
        low = int.from_bytes(self.take(width), "little") if header % 2 else 0
        stored = {0: width, 2: width // 2, 4: width // 4, 6: width // 8}[header + header % 2]
        if stored == 1:
            values = self.bytes(count)
        else:
            values = [int.from_bytes(self.take(stored), "little") for _ in range(count)]
        return [(value + low) % (1 << 8 * width) for value in values]

    def lengths(self, count: int) -> list[int]:
        short = self.bytes(count)
        long = iter(self.integers(short.count(255), 8))
        return [next(long) if value == 255 else value for value in short]

    def read(self, kind, count: int) -> list:
        if not count:
            return []
        if isinstance(kind, list):
            columns = [(name, self.read(one, count)) for name, one in kind]
            return [{name: values[i] for name, values in columns} for i in range(count)]
        if isinstance(kind, tuple):
            return self.compound(kind, count)
        return self.scalar(kind, count)

    def compound(self, kind: tuple, count: int) -> list:
        if kind[0] == VEC:
            lengths = self.lengths(count)
            elements = iter(self.read(kind[1], sum(lengths)))
            return [[next(elements) for _ in range(length)] for length in lengths]
        if kind[0] == OPT:
            flags = self.states(count, 2)
            values = iter(self.read(kind[1], sum(flags)))
            return [next(values) if flag else None for flag in flags]
        if kind[0] == ENUM:
            return self.states(count, kind[1])
        values = self.read(kind[1], count * kind[2])
        return [values[i * kind[2] : (i + 1) * kind[2]] for i in range(count)]

    def scalar(self, kind: str, count: int) -> list:
        if kind == STR:
            return [self.take(length).decode() for length in self.lengths(count)]
        if kind == "u8":
            return self.bytes(count)
        if kind == "f32":
            low, top = self.take(3 * count), self.take(count)
            parts = [low[3 * i : 3 * i + 3] + top[i : i + 1] for i in range(count)]
            return [struct.unpack("<f", part)[0] for part in parts]
        values = self.integers(count, int(kind[1:]) // 8)
        return [v - 65536 if kind == "i16" and v > 32767 else v for v in values]


def read_rom(data: bytes, profile: str) -> dict:
    assert data[:4] == (b"NCZX" if profile == "F" else b"EWZ\0")
    stream = Stream(data, 4)
    value = stream.read(rom_schema(profile), 1)[0]
    assert stream.place == len(data), "bytes left over"
    return value


def read_clip(data: bytes) -> list[list[tuple]]:
    """Frames of bones of (rotation, position, scale)."""
    bones, flags, frames = struct.unpack_from("<BBH", data)
    assert flags == 0
    assert len(data) == 4 + 16 * bones * frames
    found = []
    for frame in range(frames):
        row = []
        for bone in range(bones):
            word, *halves = struct.unpack_from("<I6e", data, 4 + 16 * (frame * bones + bone))
            row.append((read_quaternion(word), tuple(halves[:3]), tuple(halves[3:])))
        found.append(row)
    return found


def read_quaternion(word: int) -> tuple[float, ...]:
    kept = [((word >> shift & 1023) / 511.5 - 1) / math.sqrt(2) for shift in (22, 12, 2)]
    largest = math.sqrt(max(0.0, 1 - sum(value * value for value in kept)))
    kept.insert(word & 3, largest)
    return tuple(kept)


def angle_between(a, b) -> float:
    """Degrees between two rotations."""
    dot = abs(sum(x * y for x, y in zip(a, b, strict=True)))
    return math.degrees(2 * math.acos(min(1.0, dot)))


def matrix_of(rotation, position, scale) -> list[list[float]]:
    """Three rows of four: T R S, as the console builds it."""
    x, y, z, w = rotation
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return [[rows[r][c] * scale[c] for c in range(3)] + [position[r]] for r in range(3)]


def read_skeleton(data: bytes) -> list[list[list[float]]]:
    count, reserved = struct.unpack_from("<II", data)
    assert reserved == 0
    assert len(data) == 8 + 48 * count
    found = []
    for bone in range(count):
        n = struct.unpack_from("<12f", data, 8 + 48 * bone)
        found.append([[n[r], n[3 + r], n[6 + r], n[9 + r]] for r in range(3)])
    return found


def read_mesh(data: bytes) -> dict:
    vertices, indices, form = struct.unpack_from("<IIB", data)
    assert data[9:12] == bytes(3)
    sizes = [("uv", 1, "<2H"), ("color", 2, "<4B"), ("normal", 4, "<I"), ("skin", 8, "<4B4B")]
    rows, place = [], 12
    for _ in range(vertices):
        x, y, z, w = struct.unpack_from("<4e", data, place)
        assert w == 1
        row, place = {"position": (x, y, z)}, place + 8
        for name, flag, code in sizes:
            if form & flag:
                row[name] = struct.unpack_from(code, data, place)
                place += struct.calcsize(code)
        rows.append(row)
    found = struct.unpack_from(f"<{indices}H", data, place)
    assert place + 2 * indices == len(data)
    return {"format": form, "vertices": rows, "indices": list(found)}
