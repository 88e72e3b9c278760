"""A source model as a scene to look at, to be compared with what targets made of it.

Only base colours and their textures are shown; an image that is missing or damaged is left out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.srgb import LINEAR_WHITE, from_linear
from encoders.kit.mesh.mesh import Mesh, Welded, weld
from encoders.kit.plan import Inputs
from encoders.kit.source.image import open_image
from encoders.kit.source.material import Material
from encoders.kit.source.model import Model, open_model
from encoders.kit.view.scene import ViewMaterial, ViewMesh, ViewScene, srgb_color

PLAIN = ViewMaterial("none")


def view_model(inputs: Inputs, source: str) -> ViewScene:
    """Return the triangles of a source, a mesh for each material."""
    model = open_model(inputs, source)
    mesh, welded = model.mesh, weld(model.mesh)
    # Materials are numbered from 0; triangles without one come last.
    numbers = np.where(mesh.material < 0, len(mesh.materials), mesh.material)
    meshes = tuple(_part(mesh, welded, numbers, one) for one in np.unique(numbers).tolist())
    materials = [_material(model, one) for one in mesh.materials]
    return ViewScene(meshes, (*materials, PLAIN))


def _part(mesh: Mesh, welded: Welded, numbers: npt.NDArray[np.integer], material: int) -> ViewMesh:
    triangles = welded.indices[numbers == material]
    used, rows = np.unique(triangles, return_inverse=True)
    corners = welded.corners[used]
    has_normals = mesh.normal is not None and mesh.normal.is_complete
    return ViewMesh(
        position=mesh.position.at(corners),
        triangles=rows.reshape(-1, 3),
        material=material,
        name=f"material_{material}",
        normal=mesh.normal.at(corners) if mesh.normal is not None and has_normals else None,
        uv=_uv(mesh, material, corners),
        color=_color(mesh, corners),
    )


def _color(mesh: Mesh, corners: npt.NDArray[np.intp]) -> npt.NDArray[np.float64] | None:
    """Return the vertices' RGBA as shown on a screen."""
    if mesh.color is None or not mesh.color.is_complete:
        return None
    given = np.nan_to_num(mesh.color.at(corners).astype(float))
    color: npt.NDArray[np.float64] = np.clip(given, 0, 1)
    if mesh.has_linear_color:
        color[:, :3] = from_linear(np.rint(color[:, :3] * LINEAR_WHITE).astype(np.int64)) / 255
    return color


def _uv(mesh: Mesh, material: int, corners: npt.NDArray[np.intp]) -> npt.NDArray[np.float32] | None:
    texture = None
    if material < len(mesh.materials):
        texture = mesh.materials[material].textures.get("base_color")
    chosen = texture.uv_set if texture else 0
    if chosen >= len(mesh.uv):
        return None
    uv = mesh.uv[chosen].at(corners)
    return np.column_stack([uv[:, 0], 1 - uv[:, 1]]) if mesh.has_v_up else uv


def _material(model: Model, material: Material) -> ViewMaterial:
    color = srgb_color(material.rgba) if model.mesh.has_linear_color else material.rgba
    cutoff = material.alpha_cutoff if material.alpha_mode != "opaque" else None
    texture = _texture(model, material)
    return ViewMaterial(
        material.name,
        color,
        texture=texture,
        cutoff=cutoff,
        is_double_sided=material.double_sided,
        is_linear=True,
    )


def _texture(model: Model, material: Material) -> Rgba8 | None:
    if "base_color" not in material.textures:
        return None
    try:
        data = model.image_data(material, "base_color")
        return open_image(data, model.image_name(material, "base_color"))
    except EncodeError:  # the build tells what is wrong with it
        return None
