"""A scene as triangles that share nothing, in one space and one pose, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.view.scene import ViewClip, ViewMesh, ViewScene

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Soup:
    """For each corner of n triangles: point, normal, UV, RGBA; for each triangle its material."""

    points: Array
    normals: Array
    uvs: Array
    colors: Array
    material: npt.NDArray[np.intp]


def make_soup(scene: ViewScene, frame: int | None = None) -> Soup:
    """Return the triangles of a scene in its rest pose, or in a frame of its clip."""
    parts = [_mesh_soup(scene, mesh, frame) for mesh in scene.meshes if len(mesh.triangles)]
    if not parts:
        empty = np.zeros((0, 3, 3))
        return Soup(empty, empty, empty[..., :2], np.zeros((0, 3, 4)), np.zeros(0, np.intp))
    columns = ("points", "normals", "uvs", "colors", "material")
    return Soup(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))


def _mesh_soup(scene: ViewScene, mesh: ViewMesh, frame: int | None) -> Soup:
    points, normals = place_mesh(scene, mesh, frame)
    corners = mesh.triangles.astype(np.intp)
    # A damaged file may hold numbers that are no places.
    corners = corners[np.isfinite(points[corners]).all(axis=(1, 2))]
    shown = points[corners]
    facets = normals[corners] if normals is not None else _facet_normals(shown)
    count = len(corners)
    uvs = np.zeros((count, 3, 2)) if mesh.uv is None else mesh.uv[corners].astype(float)
    colors = np.ones((count, 3, 4)) if mesh.color is None else mesh.color[corners].astype(float)
    material = np.full(count, mesh.material, np.intp)
    return Soup(shown, _unit(facets), np.nan_to_num(uvs), np.nan_to_num(colors), material)


def _facet_normals(points: Array) -> Array:
    normal = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    return np.repeat(normal[:, None], 3, axis=1)


def _unit(vectors: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
        return np.nan_to_num(vectors / np.where(length > 0, length, 1))


def place_mesh(scene: ViewScene, mesh: ViewMesh, frame: int | None) -> tuple[Array, Array | None]:
    """Return positions and normals of a mesh's vertices in the scene."""
    points = mesh.position.astype(float)
    normals = None if mesh.normal is None else mesh.normal.astype(float)
    blended = _blended(scene, mesh, frame)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers of damaged files
        if blended is None:
            turn = mesh.matrix[:3, :3]
            points = points @ turn.T + mesh.matrix[:3, 3]
            return points, None if normals is None else normals @ turn.T
        points = np.einsum("nij,nj->ni", blended[:, :3, :3], points) + blended[:, :3, 3]
        if normals is not None:
            normals = np.einsum("nij,nj->ni", blended[:, :3, :3], normals)
        return points, normals


def _blended(scene: ViewScene, mesh: ViewMesh, frame: int | None) -> Array | None:
    """Return a matrix for each vertex of a skinned mesh, None where the rest pose is shown."""
    if frame is None or scene.clip is None or scene.inverse_binds is None:
        return None
    if mesh.joints is None or mesh.weights is None:
        return None
    matrices = bone_matrices(scene.clip, frame) @ scene.inverse_binds.astype(float)
    # Linear blend skinning: the weighted mean of the matrices of a vertex's four bones.
    found: Array = np.zeros((len(mesh.position), 4, 4))
    for slot in range(mesh.joints.shape[1]):
        share = mesh.weights[:, slot].astype(float)[:, None, None]
        found += matrices[mesh.joints[:, slot].astype(np.intp)] * share
    return found


def bone_matrices(clip: ViewClip, frame: int) -> Array:
    """Return where a frame of a clip puts each bone, (bones, 4, 4)."""
    x, y, z, w = clip.rotation[frame].astype(float).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    found = np.tile(np.eye(4), (len(x), 1, 1))
    turned = np.moveaxis(np.array(rows), -1, 0)
    found[:, :3, :3] = turned * clip.scale[frame].astype(float)[:, None, :]
    found[:, :3, 3] = clip.translation[frame]
    return found
