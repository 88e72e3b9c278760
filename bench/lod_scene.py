"""Scenes to make levels of detail from: a city of houses, pipes and trees, and a terrain.

Every object has hard edges, texture seams and parts of very different sizes, which is what makes
levels hard; nothing is random from one run to the next.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

MATERIALS = 12
# Positions, normals, UVs and triangles.
Shape = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Glb:
    """A GLB file with a mesh of its own for each object."""

    def __init__(self, materials: int = MATERIALS) -> None:
        self.binary = bytearray()
        self.document: dict[str, Any] = {
            "asset": {"version": "2.0"},
            "bufferViews": [],
            "accessors": [],
            "meshes": [],
            "nodes": [],
            "materials": [
                {"pbrMetallicRoughness": {"baseColorFactor": [n / materials, 1, 1, 1]}}
                for n in range(materials)
            ],
        }

    def add(self, shapes: list[tuple[Shape, int]], translation: list, scale: list) -> None:
        """Add an object: a primitive for each shape and its material."""
        primitives = []
        for (position, normal, uv, triangles), material in shapes:
            attributes = {
                "POSITION": self._accessor(position, 5126, "VEC3", bounds=True),
                "NORMAL": self._accessor(normal, 5126, "VEC3"),
                "TEXCOORD_0": self._accessor(uv, 5126, "VEC2"),
            }
            indices = self._accessor(triangles.astype("<u4").reshape(-1), 5125, "SCALAR")
            primitives.append({"attributes": attributes, "indices": indices, "material": material})
        self.document["meshes"].append({"primitives": primitives})
        mesh = len(self.document["meshes"]) - 1
        node = {"name": f"object {mesh}", "mesh": mesh, "translation": translation, "scale": scale}
        self.document["nodes"].append(node)

    def _accessor(self, array: np.ndarray, kind: int, shape: str, bounds: bool = False) -> int:
        self.binary += bytes(-len(self.binary) % 4)
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": array.nbytes}
        self.document["bufferViews"].append(view)
        self.binary += array.tobytes()
        record = {"bufferView": len(self.document["bufferViews"]) - 1, "componentType": kind}
        record |= {"count": len(array), "type": shape}
        if bounds:
            record |= {"min": array.min(axis=0).tolist(), "max": array.max(axis=0).tolist()}
        self.document["accessors"].append(record)
        return len(self.document["accessors"]) - 1

    def glb(self) -> bytes:
        """Return the file."""
        self.document["buffers"] = [{"byteLength": len(self.binary)}]
        text = json.dumps(self.document).encode()
        text += b" " * (-len(text) % 4)
        binary = bytes(self.binary) + bytes(-len(self.binary) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    @property
    def triangles(self) -> int:
        """The number of triangles of all objects."""
        accessors = self.document["accessors"]
        primitives = [one for mesh in self.document["meshes"] for one in mesh["primitives"]]
        return sum(accessors[one["indices"]]["count"] // 3 for one in primitives)


def panel(origin: tuple, right: tuple, up: tuple, columns: int, rows: int) -> Shape:
    """A flat grid of quads, its texture once a metre."""
    row, column = np.meshgrid(np.arange(rows + 1), np.arange(columns + 1), indexing="ij")
    u, v = (column / columns).reshape(-1, 1), (row / rows).reshape(-1, 1)
    origin, right, up = (np.array(one, float) for one in (origin, right, up))
    position = origin + u * right + v * up
    normal = np.cross(right, up)
    normal = np.tile(normal / np.linalg.norm(normal), (len(position), 1))
    uv = np.concatenate([u * np.linalg.norm(right) / 4, v * np.linalg.norm(up) / 4], axis=1)
    return _shape(position, normal, uv, _grid(columns, rows))


def box(centre: tuple, size: tuple, cells: tuple = (1, 1, 1)) -> Shape:
    """A box with a panel for each side but the lower."""
    (x, y, z), (w, h, d), (a, b, c) = np.array(centre) - np.array(size) / 2, size, cells
    return join(
        [
            panel((x, y, z + d), (w, 0, 0), (0, h, 0), a, b),
            panel((x + w, y, z), (-w, 0, 0), (0, h, 0), a, b),
            panel((x + w, y, z + d), (0, 0, -d), (0, h, 0), c, b),
            panel((x, y, z), (0, 0, d), (0, h, 0), c, b),
            panel((x, y + h, z + d), (w, 0, 0), (0, 0, -d), a, c),
        ]
    )


def tube(base: tuple, height: float, radii: np.ndarray, sides: int) -> Shape:
    """An upright tube with these radii from its foot to its top."""
    rings = len(radii) - 1
    level, side = np.meshgrid(np.arange(rings + 1), np.arange(sides + 1), indexing="ij")
    angle = 2 * np.pi * (side % sides) / sides
    radius = np.asarray(radii)[level]
    position = np.stack(
        [radius * np.cos(angle), height * level / rings, -radius * np.sin(angle)], axis=-1
    ).reshape(-1, 3)
    normal = np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=-1).reshape(-1, 3)
    uv = np.stack([side / sides, level / rings], axis=-1).reshape(-1, 2)
    return _shape(position + np.array(base), normal, uv, _grid(sides, rings))


def join(shapes: list[Shape]) -> Shape:
    """Join shapes into one."""
    starts = np.cumsum([0, *(len(shape[0]) for shape in shapes)])
    triangles = [shape[3] + start for shape, start in zip(shapes, starts, strict=False)]
    columns = [np.concatenate([shape[n] for shape in shapes]) for n in range(3)]
    return columns[0], columns[1], columns[2], np.concatenate(triangles)


def house(floors: int, bays: int, pipes: int) -> list[tuple[Shape, int]]:
    """A house 8 m wide: walls in panels, windows before them, a parapet, chimneys and pipes."""
    height = 3.0 * floors
    body = box((0, height / 2, 0), (8, height, 6), (bays, floors, bays))
    windows = [
        box((-4 + 8 * (bay + 0.5) / bays, 3 * floor + 1.6, side * 3.0), (1.0, 1.4, 0.3))
        for floor in range(floors)
        for bay in range(bays)
        for side in (-1, 1)
    ]
    roof = [box((0, height + 0.2, z), (8, 0.4, 0.2)) for z in (-2.9, 2.9)]
    roof += [box((2, height + 0.8, 1), (0.7, 1.6, 0.7), (2, 3, 2))]
    down = [
        tube((-4.1, 0, -2.5 + 5 * n / max(pipes - 1, 1)), height, np.full(7, 0.08), 8)
        for n in range(pipes)
    ]
    return [(body, 0), (join(windows), 1), (join(roof + down), 2)]


def tree(rings: int, sides: int) -> list[tuple[Shape, int]]:
    """A tree 5 m high: a trunk and a wavy crown."""
    trunk = tube((0, 0, 0), 2.4, np.array([0.25, 0.18, 0.15, 0.12]), 8)
    height = np.linspace(0, 1, rings + 1)
    radii = (
        1.6 * np.sqrt(np.maximum(0.0, 1 - (2 * height - 1) ** 2)) * (1 + 0.1 * np.sin(21 * height))
    )
    return [(trunk, 3), (tube((0, 1.8, 0), 3.2, radii, sides), 4)]


def city(columns: int, rows: int, objects: int, tile: float = 25.0) -> Glb:
    """A city of so many objects on a ground of that many tiles: a tree for every two houses."""
    scene = Glb()
    random = np.random.default_rng(22)
    width, depth = columns * tile, rows * tile
    for number in range(objects):
        at = [random.uniform(6, width - 6), 0.0, -random.uniform(6, depth - 6)]
        scale = [random.uniform(0.8, 1.3)] * 3
        shapes = tree(12, 14) if number % 3 == 2 else house(2 + number % 3, 4, 2 + number % 2)
        shift = number // 3 % 2 * 5
        scene.add([(shape, material + shift) for shape, material in shapes], at, scale)
    return scene


def terrain(side: float, cells: int) -> Glb:
    """A terrain of hills and fine noise, as one object that tiles cut."""
    scene = Glb()
    position, normal, uv, triangles = panel((0, 0, 0), (side, 0, 0), (0, 0, -side), cells, cells)
    position = position.astype(np.float64)
    x, z = position[:, 0], -position[:, 2]
    random = np.random.default_rng(24)
    position[:, 1] = 0
    for wave in (60.0, 27.0, 13.0, 6.0, 3.0):
        a, b, c = random.uniform(0, 2 * np.pi, 3)
        turn = x * np.cos(a) + z * np.sin(a), z * np.cos(a) - x * np.sin(a)
        position[:, 1] += (
            wave
            / 18
            * np.sin(2 * np.pi * turn[0] / wave + b)
            * np.cos(2 * np.pi * turn[1] / wave + c)
        )
    height = position[:, 1].reshape(cells + 1, cells + 1)
    slope_z, slope_x = np.gradient(height, side / cells)
    normal = np.stack([-slope_x, np.ones_like(height), slope_z], axis=-1).reshape(-1, 3)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    scene.add([(_shape(position, normal, uv, triangles), 0)], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    return scene


def _grid(columns: int, rows: int) -> np.ndarray:
    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    low = (row * (columns + 1) + column).reshape(-1)
    up, right = low + columns + 1, low + 1
    return np.concatenate([np.stack([low, right, up + 1], 1), np.stack([low, up + 1, up], 1)])


def _shape(
    position: np.ndarray, normal: np.ndarray, uv: np.ndarray, triangles: np.ndarray
) -> Shape:
    """Return float32 columns, without the triangles that have no area."""
    position = position.astype("<f4")
    corners = position[triangles].astype(np.float64)
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    kept = triangles[(area * area).sum(axis=1) > 1e-14]
    return position, normal.astype("<f4"), uv.astype("<f4"), kept
