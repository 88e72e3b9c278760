"""Emberware: the hero out of the ROM, posed by its clips as the console would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from raster import Camera, Floats, Picture, Soup, draw, on_checks

from encoders.emberware.codec.octahedral import unpack_directions
from encoders.emberware.format.clip import CLIP_HEADER, Transforms, unpack_clip
from encoders.emberware.format.rom_reader import unpack_rom
from encoders.emberware.format.vertex import unpack_vertices

POSES = (("idle", 20), ("walk", 4), ("walk", 20), ("wave", 17))


def read_pack(build: Path) -> dict[str, dict[str, Any]]:
    """Return the ROM's assets by kind and id."""
    path = next(build.glob("*.ewz"))
    _, rom = unpack_rom(path.read_bytes(), path.name)
    return {kind: {one["id"]: one for one in found} for kind, found in rom["data_pack"].items()}


def pose_matrices(pack: dict[str, dict[str, Any]], clip: str, frame: int) -> Floats:
    """Return a matrix for each bone: where the clip puts it, from where it was bound."""
    record = pack["keyframes"][clip]
    # The ROM keeps the counts in the record and leaves the clip's own header out.
    header = CLIP_HEADER.pack({key: record[key] for key in ("bone_count", "frame_count")})
    found = unpack_clip(header + record["data"], clip)
    moved = _matrices(found, frame)
    # Stored as three rows; the fourth is always 0 0 0 1.
    binds = np.tile(np.eye(4), (len(moved), 1, 1))
    for number, matrix in enumerate(pack["skeletons"]["hero"]["inverse_bind_matrices"]):
        binds[number, :3] = [matrix[f"row{row}"] for row in range(3)]
    return moved @ binds


def _matrices(transforms: Transforms, frame: int) -> Floats:
    # A unit quaternion as a rotation matrix.
    x, y, z, w = transforms.rotation[frame].astype(float).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    found = np.tile(np.eye(4), (len(x), 1, 1))
    turned = np.moveaxis(np.array(rows), -1, 0)
    found[:, :3, :3] = turned * transforms.scale[frame][:, None, :]
    found[:, :3, 3] = transforms.position[frame]
    return found


def read_soup(pack: dict[str, dict[str, Any]], clip: str, frame: int) -> Soup:
    """Return the hero's triangles in a pose."""
    mesh = pack["meshes"]["hero"]
    found = unpack_vertices(mesh["vertex_data"], mesh["format"], mesh["vertex_count"], "hero")
    matrices = pose_matrices(pack, clip, frame)[found["joints"].astype(int)]
    # Linear blend skinning: the weighted mean of the matrices of a vertex's four bones.
    blended = (matrices * (found["weights"] / 255)[..., None, None]).sum(axis=1)
    points = np.einsum("nij,nj->ni", blended[:, :3, :3], found["position"].astype(float))
    points = points + blended[:, :3, 3]
    normals = np.einsum("nij,nj->ni", blended[:, :3, :3], unpack_directions(found["normal"]))
    triangles = np.asarray(mesh["index_data"]).astype(int).reshape(-1, 3)
    uvs = found["uv"] / 65535
    points, normals, uvs = (one[triangles] for one in (points, normals, uvs))
    zeros = np.zeros(len(triangles), int)
    return Soup(points, normals, uvs, zeros, [read_texture(pack, "hero")])


def read_texture(pack: dict[str, dict[str, Any]], name: str) -> Picture:
    """Return a texture of the ROM."""
    one = pack["textures"][name]
    return np.frombuffer(one["data"], np.uint8).reshape(one["height"], one["width"], 4)


def draw_hero(pack: dict[str, dict[str, Any]], clip: str, frame: int, width: int = 200) -> Picture:
    """Draw the hero from the front, a little from its left."""
    camera = Camera((1.1, 1.5, 3.2), (0, 0.98, 0), 1.9)
    return draw(read_soup(pack, f"hero_{clip}", frame), camera, (width, width * 3 // 2))


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return poses, and a texture."""
    pack = read_pack(build)
    pictures = [
        (f"emberware: {clip}, frame {frame}", draw_hero(pack, clip, frame)) for clip, frame in POSES
    ]
    return [*pictures, ("emberware: emblem", on_checks(read_texture(pack, "emblem"), 160))]
