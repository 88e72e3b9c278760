"""A whole model in KAC's terms: geometry, materials as columns of the MATE table, and textures.

It is written as one file, or as several that each hold some triangles and only what these use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from encoders.kac.format import MATERIAL, KacFile, KacTexture
from encoders.kac.geometry import Array, KacGeometry, build_geometry
from encoders.kac.material import MaterialColor, describe_losses, encode_color
from encoders.kac.texture import encode_textures
from encoders.kit.mesh.import_mesh import flip_v, import_mesh
from encoders.kit.mesh.mesh import Attribute, Mesh, first_use, prune
from encoders.kit.mesh.normal import Shading
from encoders.kit.plan import Params
from encoders.kit.source.model import Model

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class KacMesh:
    """Triangles and their arrays; `material` has each triangle's row of `materials`' columns.

    Arrays hold only what triangles use, in order of first use.
    """

    position: Array
    normal: Array
    uv: Array
    material: Numbers
    materials: dict[str, Numbers]
    textures: tuple[KacTexture, ...]


def build_mesh(model: Model, params: Params) -> tuple[KacMesh, tuple[str, ...]]:
    """Convert a model; also return warnings about what a KAC file cannot hold."""
    shading = cast(Shading, params["shading"])
    warnings = [*model.warnings]
    mesh = _imported(model, params, warnings)
    choice = params.get("double_sided")
    geometry = build_geometry(
        mesh, model.source, shading, mirror=bool(params["mirror"]), double_sided=choice
    )
    materials = geometry.materials
    colors = [encode_color(one, is_linear=mesh.has_linear_color) for one in materials]
    textures = encode_textures(model, materials, colors, params)
    warnings += geometry.warnings
    for one, color in zip(materials, colors, strict=True):
        warnings += describe_losses(one, color, tells_of_backs=choice is None)
    columns = _material_columns(geometry, colors, textures.numbers)
    # KAC materials have no names, so equal ones are merged.
    first, merged = first_use([columns[name] for name in MATERIAL.columns])
    built = KacMesh(
        position=geometry.position,
        normal=geometry.normal,
        uv=geometry.uv,
        material=merged[geometry.material],
        materials={name: column[first] for name, column in columns.items()},
        textures=textures.textures,
    )
    # Each warning once: several materials can lose the same thing.
    return built, tuple(dict.fromkeys([*warnings, *textures.warnings]))


def _imported(model: Model, params: Params, warnings: list[str]) -> Mesh:
    """Apply the manifest's import options to the mesh."""
    # KAC has no skinning, so nothing keeps a skinned mesh where its joints are.
    mesh = replace(model.mesh, joints=None, weights=None)
    told: list[str] = []
    mesh = import_mesh(mesh, params, model.source, told.append)
    warnings += [f"{model.source}: {text}" for text in told]
    return flip_v(mesh) if params.get("flip_v") else mesh


def _material_columns(
    geometry: KacGeometry, colors: list[MaterialColor], numbers: tuple[int, ...]
) -> dict[str, Numbers]:
    """Return the columns of MATERIAL; a material is smooth unless any of its triangles is flat."""
    # Shading is a flag of the material in KAC, and of the triangle in sources.
    flat = np.bincount(geometry.material, ~geometry.is_smooth, len(colors))
    texture = np.array(numbers)
    rgba = np.array([color.color for color in colors])
    return {
        **{name: rgba[:, channel] for channel, name in enumerate("rgba")},
        # -1 stands for no texture; the field is unsigned, and ignored without has_texture.
        "texture_idx": np.maximum(texture, 0),
        "has_texture": (texture >= 0).astype(np.intp),
        "has_smooth_shading": (flat == 0).astype(np.intp),
    }


def select_file(mesh: KacMesh, triangles: Numbers) -> KacFile:
    """Return the file that holds these triangles and what they use, in order of first use."""
    position, normal, uv = mesh.position, mesh.normal, mesh.uv
    # All triangles use all that the arrays hold.
    if len(triangles) < len(mesh.material):
        position, normal, uv = (
            prune(Attribute(array.values, array.corner[triangles]))
            for array in (position, normal, uv)
        )
    used, material = np.unique(mesh.material[triangles], return_inverse=True)
    materials = {name: column[used] for name, column in mesh.materials.items()}
    # Textures of the file are renumbered; materials without one keep index 0.
    has_texture = materials["has_texture"] == 1
    kept, texture_idx = np.unique(materials["texture_idx"][has_texture], return_inverse=True)
    materials["texture_idx"] = np.zeros_like(used)
    materials["texture_idx"][has_texture] = texture_idx
    return KacFile(
        normals=normal.values,
        uvs=uv.values,
        vertices=position.values,
        material_idx=material,
        # Vertex, normal, uv: the order of CORNER_INDICES.
        corners=np.stack([position.corner, normal.corner, uv.corner], axis=2),
        materials=materials,
        textures=tuple(mesh.textures[number] for number in kept.tolist()),
    )
