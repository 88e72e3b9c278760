"""A second reader of rigged `.untold` and `.untoldanim` files, and the engine's formulas.

Written from the specification with `struct` alone; positions are computed in plain numpy.
"""

from __future__ import annotations

import hashlib
import struct
from itertools import pairwise

import numpy as np

NONE = 0xFFFFFFFF
SIZES = {8: 24, 9: 144, 10: 48, 11: 4, 12: 28, 13: 28, 14: 20, 15: 20}


def chunks_of(data: bytes) -> dict[int, tuple[bytes, int]]:
    """Return payload and element count of each chunk; a wrong hash fails an assertion."""
    assert data[:8] == b"UNTOLD\0\0"
    count = struct.unpack_from("<I", data, 24)[0]
    found = {}
    for number in range(count):
        kind, packed, start, stored, full, elements, zero = struct.unpack_from(
            "<IIQQQII", data, 204 + 40 * number
        )
        assert (packed, start % 16, stored, zero) == (0, 0, full, 0)
        found[kind] = (data[start : start + stored], elements)
        if kind in SIZES:
            assert stored == elements * SIZES[kind]
    joined = b"".join(found[kind][0] for kind in sorted(found))
    assert hashlib.sha256(joined).digest() == data[140:172]
    return found


def read_rig(data: bytes) -> dict:
    """Return skeletons, skins, meshes and clips of a file."""
    chunks = chunks_of(data)
    strings = chunks[1][0]

    def text(offset: int) -> str | None:
        return None if offset == NONE else strings[offset : strings.index(b"\0", offset)].decode()

    def rows(kind: int, form: str) -> list[tuple]:
        payload, count = chunks.get(kind, (b"", 0))
        size = struct.calcsize(form)
        return [struct.unpack_from(form, payload, size * n) for n in range(count)]

    joints = [
        {"parent": row[0], "path": text(row[1]), "bind": _matrix(row[4:20])}
        | {"rest": _matrix(row[20:36])}
        for row in rows(9, "<4I32f")
    ]
    mapping = [row[0] for row in rows(11, "<I")]
    moves, turns = rows(14, "<4fI"), rows(15, "<5f")
    channels = [
        {"path": text(row[0]), "moves": moves[row[1] : row[1] + row[2]]}
        | {"turns": turns[row[3] : row[3] + row[4]]}
        for row in rows(13, "<7I")
    ]
    return {
        "kinds": list(chunks),
        "skeletons": {
            row[0]: {"name": text(row[1]), "joints": joints[row[2] : row[2] + row[3]]}
            for row in rows(8, "<6I")
        },
        "skins": [_skin(row, mapping, chunks) for row in rows(10, "<6I2Q2I")],
        "entities": [
            {"id": row[0], "parent": row[1], "name": text(row[2]), "box": row[6:12]}
            | {"transform": _matrix(row[18:34])}
            for row in rows(2, "<6I6f6f16f")
        ],
        "meshes": [_mesh(row, chunks) for row in rows(3, "<8I6Q6f")],
        "clips": [
            {"name": text(row[0]), "duration": row[1]}
            | {"channels": channels[row[2] : row[2] + row[3]]}
            for row in rows(12, "<IfIIIII")
        ],
    }


def _matrix(values: tuple) -> np.ndarray:
    return np.array(values, float).reshape(4, 4).T


def _skin(row: tuple, mapping: list[int], chunks: dict) -> dict:
    entity, mesh, skeleton, count, first, vertices, slots, weights, *zeros = row
    assert zeros == [0, 0]
    return {
        "entity": entity,
        "mesh": mesh,
        "skeleton": skeleton,
        "joints": mapping[first : first + count],
        "slots": np.frombuffer(chunks[16][0], "<u2", vertices * 4, slots).reshape(-1, 4),
        "weights": np.frombuffer(chunks[17][0], "<f4", vertices * 4, weights).reshape(-1, 4),
    }


def _mesh(row: tuple, chunks: dict) -> dict:
    count, start = row[4], row[8]
    rows = np.frombuffer(chunks[6][0], np.uint8, count * 32, start).reshape(-1, 32)
    position = np.ascontiguousarray(rows[:, :12]).view("<f4").astype(float)
    form = "<u2" if row[3] == 1 else "<u4"
    indices = np.frombuffer(chunks[7][0], form, row[5], row[9]).reshape(-1, 3)
    return {"entity": row[0], "position": position, "triangles": indices, "box": row[14:20]}


def quaternion_matrix(q) -> np.ndarray:
    x, y, z, w = np.asarray(q, float) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _local(joint: dict, channel: dict | None, time: float) -> np.ndarray:
    """The engine: a missing track is at rest, and the scale is always that of the rest pose."""
    if channel is None:
        return joint["rest"]
    scale = np.linalg.norm(joint["rest"][:3, :3], axis=0)
    matrix = np.eye(4)
    turn = joint["rest"][:3, :3] / scale
    matrix[:3, 3] = joint["rest"][:3, 3]
    if channel["moves"]:
        before, after, part = _around(channel["moves"], time)
        matrix[:3, 3] = np.array(before[1:4]) * (1 - part) + np.array(after[1:4]) * part
    if channel["turns"]:
        before, after, part = _around(channel["turns"], time)
        turn = quaternion_matrix(_slerp(np.array(before[1:]), np.array(after[1:]), part))
    matrix[:3, :3] = turn * scale
    return matrix


def _around(keys: list[tuple], time: float) -> tuple[tuple, tuple, float]:
    for before, after in pairwise(keys):
        if before[0] <= time <= after[0]:
            return before, after, (time - before[0]) / (after[0] - before[0])
    raise AssertionError(f"no keys around {time}")


def _slerp(a: np.ndarray, b: np.ndarray, part: float) -> np.ndarray:
    # No detour is taken care of: the file must keep neighbours in one half-space.
    angle = np.arccos(np.clip(a @ b, -1, 1))
    if angle < 1e-6:
        return a * (1 - part) + b * part
    return (a * np.sin((1 - part) * angle) + b * np.sin(part * angle)) / np.sin(angle)


def shown(rig: dict, clip: dict | None = None, time: float = 0.0) -> dict[int, np.ndarray]:
    """Where the engine shows the vertices of each mesh record."""
    skinned = {skin["mesh"]: skin for skin in rig["skins"]}
    found = {}
    for number, mesh in enumerate(rig["meshes"]):
        if number not in skinned:
            found[number] = mesh["position"]
            continue
        skin = skinned[number]
        joints = rig["skeletons"][skin["skeleton"]]["joints"]
        worlds: list[np.ndarray] = []
        for joint in joints:
            channels = {one["path"]: one for one in clip["channels"]} if clip else {}
            local = _local(joint, channels.get(joint["path"]), time)
            above = np.eye(4) if joint["parent"] == NONE else worlds[joint["parent"]]
            worlds.append(above @ local)
        matrices = [worlds[one] @ np.linalg.inv(joints[one]["bind"]) for one in skin["joints"]]
        points = np.column_stack([mesh["position"], np.ones(len(mesh["position"]))])
        moved = np.einsum("sij,vj->vsi", np.array(matrices), points)
        chosen = np.take_along_axis(moved, skin["slots"][:, :, None].astype(int), axis=1)
        found[number] = (chosen * skin["weights"][:, :, None]).sum(axis=1)[:, :3]
    return found
