"""A KAC file as a scene to look at, as Kelpo shows it.

Kelpo's view is left-handed, so z is mirrored here, and with it the order of corners.
"""

from __future__ import annotations

import numpy as np

from encoders.kac.format import KacFile
from encoders.kac.reader import unpack_kac
from encoders.kac.view import decode_level
from encoders.kit.plan import Siblings
from encoders.kit.view.scene import ViewMaterial, ViewMesh, ViewScene

MIRROR = np.array([1.0, 1.0, -1.0])
# Colours of materials have 4 bits a channel.
COLOR_TOP = 15


def view_kac(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return the file's triangles, a mesh for each material."""
    del siblings
    kac = unpack_kac(data, name)
    used = np.unique(kac.material_idx).tolist()
    meshes = tuple(_mesh(kac, material) for material in used)
    materials = tuple(_material(kac, row) for row in range(len(kac.materials["r"])))
    return ViewScene(meshes, materials)


def _mesh(kac: KacFile, material: int) -> ViewMesh:
    corners = kac.corners[kac.material_idx == material].astype(np.intp)[:, ::-1]
    # Vertex, normal and UV have an index each; vertices here are distinct combinations of them.
    distinct, numbers = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return ViewMesh(
        position=kac.vertices[distinct[:, 0]] * MIRROR,
        triangles=numbers.reshape(-1, 3),
        material=material,
        name=f"material_{material}",
        normal=kac.normals[distinct[:, 1]] * MIRROR,
        uv=kac.uvs[distinct[:, 2]],
    )


def _material(kac: KacFile, row: int) -> ViewMaterial:
    red, green, blue, alpha = (float(kac.materials[key][row]) / COLOR_TOP for key in "rgba")
    name = f"material_{row}"
    if not kac.materials["has_texture"][row]:
        return ViewMaterial(name, (red, green, blue, alpha))
    texture = kac.textures[int(kac.materials["texture_idx"][row])]
    return ViewMaterial(
        name,
        (red, green, blue, alpha),
        # `decode_level` puts v = 0 at the bottom.
        texture=np.ascontiguousarray(decode_level(texture.levels()[0])[::-1]),
        clamps_uv=texture.clamp_uv,
        is_linear=texture.sample_linearly,
    )
